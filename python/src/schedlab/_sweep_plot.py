"""Plots of a sweep, with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import InputError

if TYPE_CHECKING:
    from ._sweep import Sweep


def _axes(ax: Any) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise InputError(
            'plots need matplotlib, which is not installed: pip install "schedlab[matplotlib]"'
        ) from error
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


class SweepPlots:
    """Each method draws into the matplotlib Axes ``ax``, or new ones, and returns them."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep

    def _names(self, *names: str | None) -> list[str]:
        chosen = []
        for name, known in zip(names, (self._sweep.axes, self._sweep.metrics)):
            chosen.append(name or (known[0] if known else "scheduler"))
        return chosen

    def curve(
        self, x: str | None = None, y: str | None = None, *, by: str | None = None, ax: Any = None
    ) -> Any:
        """Draws ``y`` (a metric) over ``x`` (an axis), a curve for each value of ``by`` (default:
        the scheduler); means over the other axes, with 95 % confidence intervals over seeds if
        there are no other axes."""
        x, y = self._names(x, y)
        by = by or ("scheduler" if x != "scheduler" else self._sweep.axes[-1])
        ax = _axes(ax)
        groups: dict[Any, dict[Any, list[tuple[float, float | None]]]] = {}
        for row in self._sweep.summary():
            if x not in row or y not in row or by not in row:
                raise InputError(f"there is no {x}, {y} or {by}; the columns are {', '.join(row)}")
            if row[y] is not None and row[x] is not None:
                at = groups.setdefault(row[by], {}).setdefault(row[x], [])
                at.append((row[y], row[f"{y} ±"]))
        for name, points in groups.items():
            xs = list(points)
            if all(not isinstance(value, str) for value in xs):
                xs.sort()
            ys = [_mean([value for value, _ in points[at]]) for at in xs]
            single = all(len(points[at]) == 1 for at in xs)
            halves = [points[at][0][1] or 0.0 for at in xs] if single else None
            ax.errorbar(xs, ys, yerr=halves, marker="o", capsize=2, label=str(name))
        ax.set(xlabel=x, ylabel=self._label(y), title=self._sweep.title)
        if len(groups) > 1:
            ax.legend(title=by)
        return ax

    def heatmap(
        self, x: str | None = None, y: str | None = None, z: str | None = None, *, ax: Any = None
    ) -> Any:
        """Draws ``z`` (a metric) as colour over two axes; means over the other axes."""
        axes = self._sweep.axes
        if len(axes) < 2 and (x is None or y is None):
            raise InputError("a heat map needs two axes")
        x, y, z = x or axes[0], y or axes[1], z or self._sweep.metrics[0]
        ax = _axes(ax)
        cells: dict[tuple[Any, Any], list[float]] = {}
        for row in self._sweep.summary():
            if row[z] is not None:
                cells.setdefault((row[x], row[y]), []).append(row[z])
        xs = sorted({key[0] for key in cells}, key=_order)
        ys = sorted({key[1] for key in cells}, key=_order)
        none = [float("nan")]
        grid = [[_mean(cells.get((one, other), none)) for one in xs] for other in ys]
        image = ax.imshow(grid, origin="lower", aspect="auto")
        ax.set_xticks(range(len(xs)), [_tick(value) for value in xs], rotation=45, ha="right")
        ax.set_yticks(range(len(ys)), [_tick(value) for value in ys])
        ax.set(xlabel=x, ylabel=y, title=self._sweep.title)
        ax.figure.colorbar(image, ax=ax, label=self._label(z))
        return ax

    def pareto(self, x: str | None = None, y: str | None = None, *, ax: Any = None) -> Any:
        """Draws all points over two metrics, with the Pareto front as a line."""
        metrics = self._sweep.metrics
        if len(metrics) < 2 and (x is None or y is None):
            raise InputError("a Pareto front needs two metrics")
        x, y = x or metrics[0], y or metrics[1]
        front = self._sweep.pareto(x, y)
        rows = [row for row in self._sweep.summary() if None not in (row[x], row[y])]
        ax = _axes(ax)
        ax.scatter([row[x] for row in rows], [row[y] for row in rows], s=12, alpha=0.4)
        ax.plot([row[x] for row in front], [row[y] for row in front], "o-", color="tab:red")
        ax.set(xlabel=self._label(x), ylabel=self._label(y), title=self._sweep.title)
        return ax

    def _label(self, metric: str) -> str:
        units = {name: unit for name, unit, _ in self._sweep._space.metrics()}
        unit = units.get(metric, "")
        return f"{metric} ({unit})" if unit else metric


def _order(value: Any) -> tuple[int, Any]:
    return (1, value) if isinstance(value, str) else (0, float("-inf") if value is None else value)


def _tick(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
