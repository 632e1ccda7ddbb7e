"""What is made of the pages when the site is built: formulas, tables, docstrings."""

import re
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from streams import module_of

HOOKS = Path(__file__).parents[1] / "docs" / "hooks"


def hook(name, needs):
    pytest.importorskip(needs, reason="the documentation is not installed")
    if not HOOKS.is_dir():
        pytest.skip("hooks are in a checkout only")
    return module_of(HOOKS / f"{name}.py")


def table(*rows):
    """As Markdown makes it."""
    cells = [
        "".join(f"<{tag}>{cell}</{tag}>" for cell in row)
        for tag, row in zip(["th", *["td"] * (len(rows) - 1)], rows, strict=True)
    ]
    return "<table>\n" + "\n".join(f"<tr>\n{row}\n</tr>" for row in cells) + "\n</table>"


ROWS = (
    ("", "a", "b", "c"),
    ("one", "1,745 ± 68", "<strong>2</strong>", "5 and 6"),
    ("two", "349 (0.95)", "", "7"),
    ("three", "400", "0.61", "8"),
)


@pytest.mark.parametrize(
    ("wanted", "best"),
    [
        ("lowest in columns 2-3 of each row", {(1, 2), (3, 2)}),
        ("highest in columns 2+3 of each row", {(1, 1), (3, 1)}),
        ("lowest in rows 1-3 of each column", {(2, 1), (3, 2), (2, 3)}),
        ("highest in rows 1, 2-3 of each column", {(3, 1), (3, 3)}),
        ("least in rows 1-2 of each column", None),
        ("lowest in rows 1-2 of each row", None),
    ],
)
def test_numbers_are_told_from_words_and_the_best_are_those_that_the_comment_asks_for(wanted, best):
    """All that is in the table is kept; a comment that is not understood stops the build."""
    tables, plain = hook("tables", "mkdocs"), table(*ROWS)
    page = f"<!-- best: {wanted} -->\n{plain}"
    if best is None:
        with pytest.raises(ValueError, match=re.escape(wanted)):
            tables.on_page_content(page)
        return
    made = ElementTree.fromstring(tables.on_page_content(page).replace("\u00a0", " "))
    assert [*made.itertext()] == [*ElementTree.fromstring(plain).itertext()]
    for i, row in enumerate(made):
        names = [cell.get("class", "").split() for cell in row]
        assert ["number" in each for each in names] == [False, True, True, False]
        assert {j for j, each in enumerate(names) if "best" in each} == {
            j for n, j in best if n == i
        }


def test_cells_of_a_wide_table_name_their_columns():
    tables = hook("tables", "mkdocs")
    assert "data-" not in tables.on_page_content(table(("a", "b"), ("1", "2")))
    for heads in (("<b>a &amp; b</b>", *"cdef"), ("x", "y", "long " * 20)):
        wide = tables.on_page_content(table(heads, ["1"] * len(heads)))
        first, second = ElementTree.fromstring(wide)
        said = [cell.get("data-label") for cell in second]
        assert said == ["".join(cell.itertext()).strip() for cell in first]


@pytest.mark.parametrize(
    ("tex", "shown"),
    [
        (r"\mathbf R_T", "\N{MATHEMATICAL BOLD CAPITAL R}T"),
        (r"\mathcal H^1", "\N{SCRIPT CAPITAL H}1"),
        (r"\mathbb R^{m}", "\N{DOUBLE-STRUCK CAPITAL R}m"),
        (r"T = 12{,}000", "T=12,000"),
        (r"\text{left} - \text{held}", "left−held"),
        (r"a < b", "a<b"),
    ],
)
def test_formulas_are_mathml_and_keep_their_tex(tex, shown):
    mathml = hook("mathml", "latex2mathml")
    page = f'<p>So <span class="arithmatex">\\({tex.replace("<", "&lt;")}\\)</span>.</p>'
    content = mathml.on_page_content(page)
    assert "arithmatex" not in content
    (semantics,) = ElementTree.fromstring(re.search("<math.*</math>", content)[0])
    formula, source = semantics
    assert source.text == tex
    assert "".join(formula.itertext()) == shown
    assert "mathvariant" not in content


def test_a_formula_of_its_own_has_limits_below_and_letters_that_a_browser_draws():
    mathml = hook("mathml", "latex2mathml")
    content = mathml.on_page_content('<div class="arithmatex">\\[\n\\max_{i} f\n\\]</div>')
    assert content.startswith('<div class="equation"><math')
    assert "<munder><mo>max</mo>" in content
    with pytest.raises(ValueError, match="alphabet"):
        mathml.mathml(r"\mathfrak{ab}", "inline")


def test_a_figure_that_is_not_there_stops_the_build_and_names_its_page():
    pytest.importorskip("matplotlib", reason="needs the extra benchmark")
    fill = hook("fill", "mkdocs")
    page = SimpleNamespace(file=SimpleNamespace(src_uri="some/page.md"))
    assert fill.on_page_markdown("{{ tabular.over_forest }}", page).startswith("0.")
    with pytest.raises(Exception, match=r"some/page\.md: \{\{ tabular\.none \}\}"):
        fill.on_page_markdown("{{ tabular.none }}", page)


DOCSTRING = '''    """Do.

    Parameters
    ----------
    a, b
        Both.

    Returns
    -------
    A sentence of
    two lines.

    Raises
    ------
    ValueError, TypeError
        Why.
    """
'''


def test_what_is_returned_and_parameters_of_one_description_have_their_own_types(tmp_path):
    griffe = pytest.importorskip("griffe", reason="the documentation is not installed")
    extensions = griffe.load_extensions(hook("docstrings", "griffe").Docstrings)
    given = "a: int = 1, b: str = 'x'"
    source = f"def f({given}) -> dict[str, float]:\n{DOCSTRING}\n"
    source += f"class C:\n{DOCSTRING}\n    def __init__(self, {given}): ...\n"
    (tmp_path / "subject.py").write_text(source)
    module = griffe.load("subject", search_paths=[tmp_path], extensions=extensions)
    for name in ("f", "C"):
        found = {each.kind.value: each.value for each in module[name].docstring.parse("numpy")}
        told = [(p.name, str(p.annotation), p.value, p.description) for p in found["parameters"]]
        assert told == [("a", "int", "1", "Both."), ("b", "str", "'x'", "Both.")]
        assert len(found["raises"]) == 1
    found = {each.kind.value: each.value for each in module["f"].docstring.parse("numpy")}
    (returned,) = found["returns"]
    assert str(returned.annotation) == "dict[str, float]"
    assert returned.description.strip() == "A sentence of\ntwo lines."


def test_a_figure_of_a_page_becomes_four():
    """Of light and dark, for wide and narrow screens; `.narrow` leaves out those for wide ones."""
    pictures = hook("pictures", "mkdocs")
    line = '<p><img alt="Labels &amp; budgets"{} src="../assets/a-light.svg#only-light" /></p>'
    made = pictures.on_page_content(line.format(""))
    images = re.findall(r'srcset="([^"]+)"><img alt="([^"]+)" src="([^"]+)">', made)
    assert images == [
        (f"../assets/a-narrow-{s}.svg", "Labels &amp; budgets", f"../assets/a-{s}.svg#only-{s}")
        for s in ("light", "dark")
    ]
    made = pictures.on_page_content(line.format(' class="narrow"'))
    assert re.findall('src="([^"]+)"', made) == [
        f"../assets/a-narrow-{s}.svg#only-{s}" for s in ("light", "dark")
    ]
    other = '<p><img alt="a" src="../assets/logo.svg" /></p>'
    assert pictures.on_page_content(other) == other


def test_a_long_wide_table_is_folded():
    tables = hook("tables", "mkdocs")
    heads = tuple("abcde")
    for n_rows, folds in ((8, False), (9, True)):
        made = tables.on_page_content(table(heads, *[tuple("12345")] * n_rows))
        assert ('<div class="folded">' in made) == folds
        assert not folds or f"Show the table of {n_rows} rows" in made
    assert 'class="folded"' not in tables.on_page_content(table(("a", "b"), *[("1", "2")] * 50))
