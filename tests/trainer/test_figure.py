"""A figure shows every curve where its values are, and no label can break out of it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from trainer.figure import HEIGHT, LEFT, RIGHT, WIDTH, curves_svg, running_mean

SVG = "{http://www.w3.org/2000/svg}"


def points(svg: str) -> list[list[tuple[float, float]]]:
    lines = ElementTree.fromstring(svg).iter(f"{SVG}polyline")
    return [
        [
            (float(x), float(y))
            for x, y in (pair.split(",") for pair in line.get("points", "").split())
        ]
        for line in lines
    ]


def test_a_curve_begins_left_ends_right_and_rises_upwards() -> None:
    raw, smooth = points(curves_svg({"seed 0": [0.0, 0.5, 1.0]}, title="Success"))
    assert raw[0][0] == LEFT
    assert raw[-1][0] == WIDTH - RIGHT
    assert raw[0][1] > raw[1][1] > raw[2][1]
    assert len(smooth) == 3


def test_values_outside_the_axis_stay_inside_the_picture() -> None:
    for line in points(curves_svg({"odd": [-3.0, 7.0]}, title="")):
        assert all(0 <= y <= HEIGHT for _, y in line)


def test_labels_are_text_and_never_markup() -> None:
    svg = curves_svg({"<script>alert(1)</script>": [0.5]}, title='"><script>')
    root = ElementTree.fromstring(svg)
    assert not list(root.iter(f"{SVG}script"))
    assert "<script>alert(1)</script>" in [node.text for node in root.iter(f"{SVG}text")]


def test_a_running_mean_uses_what_there_is() -> None:
    assert running_mean([1.0, 0.0, 0.0, 1.0], 2) == pytest.approx([1.0, 0.5, 0.0, 0.5])
