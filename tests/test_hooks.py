"""What is made of the pages when the site is built: formulas, tables, docstrings."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

HOOKS = Path(__file__).parents[1] / "docs" / "hooks"


def hook(name, needs):
    pytest.importorskip(needs, reason="the documentation is not installed")
    if not HOOKS.is_dir():
        pytest.skip("hooks are in a checkout only")
    spec = importlib.util.spec_from_file_location(f"hooks_{name}", HOOKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(*rows):
    """As Markdown makes it."""
    cells = [
        "".join(f"<{tag}>{cell}</{tag}>" for cell in row)
        for tag, row in zip(["th", *["td"] * (len(rows) - 1)], rows, strict=True)
    ]
    return "<table>\n" + "\n".join(f"<tr>\n{row}\n</tr>" for row in cells) + "\n</table>"


def classes(content):
    """Of the cells of each row."""
    rows = ElementTree.fromstring(content)
    return [[cell.get("class", "") for cell in row] for row in rows]


ROWS = (
    ("", "a", "b", "c"),
    ("one", "1,745 ± 68", "<strong>2</strong>", "5 and 6"),
    ("two", "349 (0.95)", "", "7"),
    ("three", "400", "0.61", "8"),
)


def test_columns_of_numbers_are_told_from_words():
    tables = hook("tables", "mkdocs")
    found = classes(tables.on_page_content(table(*ROWS)))
    assert found == [["", "number", "number", ""]] * 4


@pytest.mark.parametrize(
    ("wanted", "best"),
    [
        ("lowest in columns 2-3 of each row", {(1, 2), (3, 2)}),
        ("highest in columns 2+3 of each row", {(1, 1), (3, 1)}),
        ("lowest in rows 1-3 of each column", {(2, 1), (3, 2), (2, 3)}),
        ("highest in rows 1, 2-3 of each column", {(3, 1), (3, 3)}),
    ],
)
def test_the_best_are_those_that_the_comment_asks_for(wanted, best):
    tables = hook("tables", "mkdocs")
    content = tables.on_page_content(f"<!-- best: {wanted} -->\n{table(*ROWS)}")
    found = {
        (i, j)
        for i, row in enumerate(classes(content))
        for j, name in enumerate(row)
        if "best" in name.split()
    }
    assert found == best


def test_cells_of_a_wide_table_name_their_columns():
    tables = hook("tables", "mkdocs")
    assert "data-" not in tables.on_page_content(table(("a", "b"), ("1", "2")))
    for heads in (("<b>a &amp; b</b>", *"cdef"), ("x", "y", "long " * 20)):
        first, second = ElementTree.fromstring(
            tables.on_page_content(table(heads, ["1"] * len(heads)))
        )
        said = [cell.get("data-label") for cell in second]
        assert said == ["".join(cell.itertext()).strip() for cell in first]


def test_a_comment_that_is_not_understood_stops_the_build():
    tables = hook("tables", "mkdocs")
    for wrong in ("least in rows 1-2 of each column", "lowest in rows 1-2 of each row"):
        with pytest.raises(ValueError, match=re.escape(wrong)):
            tables.on_page_content(f"<!-- best: {wrong} -->\n{table(*ROWS)}")


def test_tables_keep_all_that_is_in_them():
    tables = hook("tables", "mkdocs")
    before, after = table(*ROWS), tables.on_page_content(table(*ROWS))
    plain = after.replace("\u00a0", " ")
    text = [*ElementTree.fromstring(before).itertext()]
    assert [*ElementTree.fromstring(plain).itertext()] == text


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


def test_a_letter_that_no_browser_would_draw_stops_the_build():
    mathml = hook("mathml", "latex2mathml")
    with pytest.raises(ValueError, match="alphabet"):
        mathml.mathml(r"\mathfrak{ab}", "inline")


def test_limits_stand_below_in_a_paragraph_of_its_own():
    mathml = hook("mathml", "latex2mathml")
    page = '<div class="arithmatex">\\[\n\\max_{i} f\n\\]</div>'
    content = mathml.on_page_content(page)
    assert content.startswith('<div class="equation"><math')
    assert "<munder><mo>max</mo>" in content


def test_a_figure_that_is_not_there_stops_the_build_and_names_its_page():
    pytest.importorskip("matplotlib", reason="needs the extra benchmark")
    fill = hook("fill", "mkdocs")
    page = SimpleNamespace(file=SimpleNamespace(src_uri="some/page.md"))
    assert fill.on_page_markdown("no figure", page) == "no figure"
    assert fill.on_page_markdown("{{ tabular.over_forest }}", page).startswith("0.")
    with pytest.raises(Exception, match=r"some/page\.md: \{\{ tabular\.none \}\}") as error:
        fill.on_page_markdown("{{ tabular.none }}", page)
    assert type(error.value).__name__ == "PluginError"


def sections(folder, source):
    """Of the docstring of f, by kind."""
    griffe = pytest.importorskip("griffe", reason="the documentation is not installed")
    extensions = griffe.load_extensions(hook("docstrings", "griffe").Docstrings)
    (folder / "subject.py").write_text(source)
    module = griffe.load("subject", search_paths=[folder], extensions=extensions)
    return {each.kind.value: each.value for each in module["f"].docstring.parse("numpy")}


def test_what_is_returned_has_the_type_of_the_annotation(tmp_path):
    found = sections(
        tmp_path,
        "def f() -> dict[str, float]:\n"
        '    """Do.\n\n    Returns\n    -------\n    A sentence of\n    two lines.\n\n'
        '    Raises\n    ------\n    ValueError\n        Why.\n    """\n',
    )
    (returned,) = found["returns"]
    assert str(returned.annotation) == "dict[str, float]"
    assert returned.description.strip() == "A sentence of\ntwo lines."


SHARED = '''    """Do.

    Parameters
    ----------
    a, b
        Both.

    Raises
    ------
    ValueError, TypeError
        Why.
    """
'''


@pytest.mark.parametrize(
    "source",
    [
        f"def f(a: int = 1, b: str = 'x'):\n{SHARED}",
        f"class f:\n{SHARED}\n    def __init__(self, a: int = 1, b: str = 'x'): ...\n",
    ],
    ids=["function", "class"],
)
def test_parameters_with_one_description_have_their_own_types_and_defaults(tmp_path, source):
    found = sections(tmp_path, source)
    given = [(each.name, str(each.annotation), each.value) for each in found["parameters"]]
    assert given == [("a", "int", "1"), ("b", "str", "'x'")]
    assert [each.description for each in found["parameters"]] == ["Both.", "Both."]
    assert len(found["raises"]) == 1
