"""Figures of the pages are made of the rows of the benchmarks, and none is typed."""

import importlib
import re
from pathlib import Path

import pytest
from streams import module_of

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
if not (ROOT / "examples" / "benchmarks" / "results").is_dir():
    pytest.skip("rows are in a checkout only", allow_module_level=True)
pytest.importorskip("matplotlib", reason="needs the extra benchmark")
pytest.importorskip("sklearn", reason="needs the extra benchmark")

figures, labels, tabular = map(importlib.import_module, ("figures", "labels", "tabular"))


@pytest.mark.parametrize("page", PAGES)
def test_each_figure_of_a_page_is_in_the_rows(page):
    """The best of a table are looked for among as many rows and columns as it has."""
    filled = figures.filled((DOCS / page).read_text())
    assert "{{" not in filled
    for columns, table in re.findall(r"<!-- best: .*? in (.*?) of .*?-->\n+((?:\|.*\n)+)", filled):
        lines = [line.count("|") - 1 for line in table.splitlines()]
        assert len({*lines}) == 1
        most = lines[0] if columns.startswith("columns") else len(lines) - 2
        assert max(map(int, re.findall(r"\d+", columns))) <= most


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("tabular.nothing", "no figure tabular.nothing"),
        ("nothing.mean", "no nothing.csv"),
        ("tabular.over_forest budget=0.07", "No row of tabular.csv has budget = 0.07"),
        ("tabular.over_forest color=red", "tabular.csv has no column color"),
        ('tabular.ratio under="nobody"', "tabular.csv lacks I-NeurAL or nobody on magic"),
        ("regret.by_stream stream=mnist", "Rows of regret.csv are missing"),
    ],
)
def test_what_is_not_there_is_an_error_that_names_it(wanted, said):
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        figures.filled(f"a {{{{ {wanted} }}}} b")
    assert wanted in str(error.value)


def test_constants_that_a_page_names_are_in_the_code():
    source = "\n".join(path.read_text() for path in ROOT.glob("river_ineural/*/*.py"))
    constants = re.findall(r"`([A-Z][A-Z_]+)`", (DOCS / "deviations.md").read_text())
    assert len(constants) > 20
    assert not [n for n in constants if not re.search(rf"^ *(?:\w+, )*{n}\b.* = ", source, re.M)]


def test_labels_needed_are_read_off_between_two_shares():
    found = [("I-NeurAL", 0.01, 40), ("I-NeurAL", 0.04, 20), (tabular.FOREST, 0.05, 30)]
    rows = [{"stream": "sea", "learner": n, "budget": b, "regret": r} for n, b, r in found]
    rows = figures.pd.DataFrame(rows)
    assert labels.needed(rows, "sea", tabular.FOREST) == (pytest.approx(0.02), "")
    assert labels.needed(rows.replace(30, 50), "sea", tabular.FOREST) == (0.01, "<")
    assert labels.needed(rows.replace(30, 10), "sea", tabular.FOREST) == (0.04, ">")


def test_a_typed_number_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# 1 of 2\n\n0.5 as `0.5` and \\(0.5\\) in 2022; 42 % worse. {{ regret.mean digits=1 }}\n"
        "0.99<!-- tabular.over_forest --> of 10 % of the labels\n```text\n77\n```\n"
    )
    made = figures.text("tabular.over_forest")
    wrong = [f"0.99 is written, tabular.over_forest is {made}", "line 3: 0.5", "line 3: 42 %"]
    typed = module_of(DOCS / "typed.py")  # the script that looks for them
    assert typed.wrong_in(page) == wrong
    guide = tmp_path / "deviations.md"  # where constants may be typed, but no results
    guide.write_text("At most 1,024 of 0.5, and 42 % or 3.5 %.")
    assert typed.wrong_in(guide) == ["line 1: 42 %", "line 1: 3.5 %"]
