"""HTML fragments for notebooks: tables, escaped, without scripts."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """Returns a table; numbers are aligned right."""
    out = ["<table>"]
    if caption:
        out.append(f"<caption>{html.escape(caption)}</caption>")
    cells = "".join(f"<th>{html.escape(head)}</th>" for head in heads)
    out.append(f"<thead><tr>{cells}</tr></thead><tbody>")
    for row in rows:
        cells = "".join(_cell(value) for value in row)
        out.append(f"<tr>{cells}</tr>")
    out.append("</tbody></table>")
    return "".join(out)


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, (int, float)):
        return f'<td style="text-align:right">{value}</td>'
    return f"<td>{html.escape(str(value))}</td>"


def text(plain: str) -> str:
    """Returns preformatted text."""
    return f"<pre>{html.escape(plain)}</pre>"
