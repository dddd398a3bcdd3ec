"""The page of a tuning: one file that needs no network and no scripts."""

from __future__ import annotations

import html
import math
from typing import Any

from ._tuning import Trial, Tuning

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 70rem; padding: 1rem; }
pre { overflow-x: auto; } figure { display: inline-block; margin: 0.5rem; }
:root { color-scheme: light dark; }
"""

_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")

_WIDTH, _HEIGHT, _MARGIN = 420, 240, 48


def page(tuning: Tuning) -> str:
    """Returns the page of ``tuning``."""
    pictures = [_progress(tuning)]
    for place, name in enumerate(tuning.axes):
        drawn = _over(tuning, place, name)
        if drawn:
            pictures.append(drawn)
    title = html.escape(tuning.title)
    return (
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"generator\" content=\"schedlab\">"
        f"<title>{title} - schedlab</title><style>{_STYLE}</style></head><body>"
        f"<h1>{title}</h1><pre>{html.escape(tuning.report())}</pre>"
        + "".join(f"<figure>{picture}</figure>" for picture in pictures)
        + "</body></html>\n"
    )


def _cost(trial: Trial) -> float | None:
    cost = sum(trial.costs) / len(trial.costs)
    return cost if not trial.pruned and math.isfinite(cost) and cost < 1e8 else None


def _scale(values: list[float], room: int, log: bool) -> Any:
    low, high = min(values), max(values)
    if log and low > 0 and high > low:
        return lambda value: room * math.log(value / low) / math.log(high / low)
    return lambda value: room * (value - low) / ((high - low) or 1.0)


def _frame(title: str, x: str, y: str, body: str, ends: tuple[str, str, str, str]) -> str:
    width, height = _WIDTH + 2 * _MARGIN, _HEIGHT + 2 * _MARGIN
    left, right, low, high = (html.escape(end) for end in ends)
    bottom = _HEIGHT + _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{html.escape(title)}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12" '
        f'fill="currentColor"><text x="{_MARGIN}" y="20" font-size="14">{html.escape(title)}</text>'
        f'<path d="M{_MARGIN} {_MARGIN}V{bottom}H{_WIDTH + _MARGIN}" fill="none" '
        f'stroke="currentColor"/>{body}'
        f'<text x="{_MARGIN}" y="{bottom + 16}">{left}</text>'
        f'<text x="{_WIDTH + _MARGIN}" y="{bottom + 16}" text-anchor="end">{right}</text>'
        f'<text x="{width // 2}" y="{bottom + 34}" text-anchor="middle">{html.escape(x)}</text>'
        f'<text x="{_MARGIN - 4}" y="{bottom}" text-anchor="end">{low}</text>'
        f'<text x="{_MARGIN - 4}" y="{_MARGIN + 8}" text-anchor="end">{high}</text>'
        f'<text x="{_MARGIN}" y="38">{html.escape(y)}</text></svg>'
    )


def _progress(tuning: Tuning) -> str:
    """Returns the lowest cost so far of each search."""
    lines: dict[str, list[float]] = {}
    for name, trials in tuning.trials.items():
        best, line = math.inf, []
        for trial in trials:
            cost = _cost(trial)
            if cost is not None and trial.met:
                best = min(best, cost)
            line.append(best)
        lines[name] = line
    known = [cost for line in lines.values() for cost in line if math.isfinite(cost)]
    if not known:
        return ""
    most = max(len(line) for line in lines.values())
    place = _scale([0.0, *known], _HEIGHT, False)
    body = ""
    for number, (name, line) in enumerate(lines.items()):
        color = _COLORS[number % len(_COLORS)]
        points = " ".join(
            f"{_MARGIN + _WIDTH * at / max(most - 1, 1):.1f},{_HEIGHT + _MARGIN - place(cost):.1f}"
            for at, cost in enumerate(line) if math.isfinite(cost)
        )
        body += f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>'
        body += (f'<text x="{_WIDTH + _MARGIN}" y="{_MARGIN + 14 * number}" fill="{color}" '
                 f'text-anchor="end">{html.escape(name)}</text>')
    return _frame("best so far", "settings tried", "part of the default's", body,
                  ("1", str(most), "0", f"{max(known):.3g}"))


def _over(tuning: Tuning, place: int, name: str) -> str:
    """Returns all trials over an axis of numbers."""
    points: list[tuple[float, float, int]] = []
    for number, trials in enumerate(tuning.trials.values()):
        for trial in trials:
            value, cost = trial.point[place], _cost(trial)
            if isinstance(value, (int, float)) and cost is not None:
                points.append((float(value), cost, number))
    values = [point[0] for point in points]
    if len(set(values)) < 3:
        return ""
    log = min(values) > 0 and max(values) / min(values) > 20
    across = _scale(values, _WIDTH, log)
    up = _scale([0.0, *(point[1] for point in points)], _HEIGHT, False)
    body = "".join(
        f'<circle cx="{_MARGIN + across(value):.1f}" cy="{_HEIGHT + _MARGIN - up(cost):.1f}" '
        f'r="3" fill="{_COLORS[number % len(_COLORS)]}" fill-opacity="0.6"/>'
        for value, cost, number in points
    )
    ends = (f"{min(values):.4g}", f"{max(values):.4g}", "0",
            f"{max(point[1] for point in points):.3g}")
    return _frame(name, name, "part of the default's", body, ends)
