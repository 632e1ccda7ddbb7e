"""How figures look: colours of methods, points, and the size of the files on pages."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from river_ineural.benchmark import changes, drawing, speed, theory
from river_ineural.compare import refitted

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "docs" / "assets"


def test_a_method_has_one_colour_whatever_stands_beside_it():
    figures = [
        ("I-NeurAL, 3%", "Margin, 3%", "I-NeurAL, 10%"),
        ("I-NeurAL", *refitted.REFITTED, "River's best learner"),
        (*speed.COLUMNS,),
        (*theory.LEARNERS,),
        ("Random", "ALPS", "I-NeurAL", changes.OUTPUTS),
    ]
    found = {}
    for names in figures:
        for name, colour in drawing.colours(names).items():
            method = drawing.SAME.get(name, name.partition(", ")[0])
            if method in drawing.METHODS:
                assert found.setdefault(method, colour) == colour
    assert found["I-NeurAL"] == "C0"
    assert len({*found.values()}) == len(found) >= 7


def test_other_names_take_colours_that_no_method_of_the_figure_has():
    named = drawing.colours(("slow twin", "I-NeurAL", "floor", "Margin"))
    assert len({*named.values()}) == 4


def test_each_palette_has_a_colour_a_method():
    assert {len(palette) for palette in drawing.PALETTES.values()} == {len(drawing.METHODS)}
    for palette in drawing.PALETTES.values():
        assert len({*palette}) == len(palette)


@pytest.mark.parametrize("n", [1, 39, 40, 41, 80, 100, 12_345])
def test_thinned_lines_end_where_the_lines_did(n):
    values = drawing.thinned(np.arange(2 * n).reshape(2, n))
    assert values.shape[1] <= drawing.POINTS
    assert values.shape[1] > min(n, drawing.POINTS) // 2
    assert values[:, -1].tolist() == [n - 1, 2 * n - 1]
    assert len({*np.diff(values[0]).tolist()}) <= 1  # evenly


def test_compact_outlines_are_the_same_to_a_tenth():
    paths = "M 1.26 -2.04 \nL 3.0 4.96 \nL 5.55 6.0 \nz", "M 1.0 2 \nQ 3 4 5 6 \nL 7 8"
    svg = "".join(f'<path d="{path}"/>' for path in paths)
    line, glyph = re.findall('d="(.*?)"', drawing.compact(svg))
    assert line == "M 1.3 -2 3 5 5.5 6 z"
    assert glyph == "M 1 2 Q 3 4 5 6 L 7 8"  # after Q numbers alone would be a curve


@pytest.mark.skipif(not ASSETS.is_dir(), reason="figures are in a checkout only")
def test_figures_of_pages_are_at_most_150_kb_and_come_in_pairs():
    figures = sorted(ASSETS.glob("*.svg"))
    assert figures
    for figure in figures:
        assert figure.stat().st_size <= 150_000, figure.name
        other = {"light": "dark", "dark": "light"}[figure.stem.rpartition("-")[2]]
        assert figure.with_name(f"{figure.stem.rpartition('-')[0]}-{other}.svg").exists()
