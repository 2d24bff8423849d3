"""The page about a run: HTML that loads nothing, runs nothing and can be handed on as one file.

Every word from a record goes through `charts.text`, so that no model, user, world or person can
put markup into it; a policy in the page's head refuses whatever would be loaded all the same.
What is told, and in which order, belongs to `trainer.looking.report.sections`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from trainer.looking.report.charts import NUM_COLOURS, Curve, text

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What a browser may load for the page: nothing but the styles that stand in it."""
STYLE = Path(__file__).parent / "style.css"


class Section(NamedTuple):
    """One part of a page."""

    heading: str
    parts: Sequence[str]
    """HTML, every word of a record escaped."""


def page(title: str, lead: Sequence[str], sections: Iterable[Section]) -> str:
    """Return a whole page.

    Args:
        title: Its title, as text.
        lead: HTML below the title.
        sections: What follows; one without parts is left out.
    """
    body = [f"<h1>{text(title)}</h1>", *lead]
    for heading, parts in sections:
        if parts:
            body += [f"<section><h2>{text(heading)}</h2>", *parts, "</section>"]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(title)}</title>",
            f"<style>{STYLE.read_text('utf-8')}</style></head><body>",
            *body,
            "</body></html>",
            "",
        ]
    )


def paragraph(words: str, css: str = "") -> str:
    """Return a paragraph of plain words."""
    return f'<p class="{css}">{text(words)}</p>' if css else f"<p>{text(words)}</p>"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table that scrolls by itself where the page is too narrow.

    Args:
        headings: Words of its head; none leaves the head out.
        rows: Cells as `cell` returns them.
    """
    told = "".join(f"<th>{text(one)}</th>" for one in headings)
    head = f"<thead><tr>{told}</tr></thead>" if headings else ""
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    css = ' class="many"' if len(headings) >= 4 else ""
    return f'<div class="scroll"><table{css}>{head}<tbody>{body}</tbody></table></div>'


def cell(words: str, css: str = "") -> str:
    """Return a cell of plain words."""
    # The end of a line may part "->", but not an arrow.
    told = text(words).replace("-&gt;", "→")
    return f'<td class="{css}">{told}</td>' if css else f"<td>{told}</td>"


def figure(drawn: str, caption: str, curves: Sequence[Curve] = ()) -> str:
    """Return a chart with its caption and, for more than one curve, a legend."""
    told = f"<figcaption>{text(caption)}{_legend(curves)}</figcaption>"
    return f"<figure>{drawn}{told}</figure>"


def _legend(curves: Sequence[Curve]) -> str:
    if len(curves) < 2:
        return ""
    spans = "".join(
        f'<span><i class="c{one.colour % NUM_COLOURS}{" dash" if one.dashed else ""}"></i>'
        f"{text(one.label)}</span>"
        for one in curves
    )
    return f'<div class="legend">{spans}</div>'
