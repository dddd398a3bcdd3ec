"""Times in the format of users, and as text."""

from __future__ import annotations

import datetime
import numbers
import operator
import re
from collections.abc import Iterable
from typing import Any, TypeAlias

from ._errors import InputError

#: A time: a text with its unit ("6ms", "1.5s", "250us", "100ns"), or a timedelta.
Time: TypeAlias = "str | datetime.timedelta"

#: A moment or a length of a run: a :data:`Time`, or a number of seconds.
Moment: TypeAlias = "str | datetime.timedelta | float | int"

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}
_FORM = re.compile(r"\s*(\d+)(?:\.(\d+))?\s*([a-zµ]+)\s*\Z")


def time_ns(value: Time, what: str) -> int:
    """Returns a time in ns. ``what`` is what messages call it.

    Raises InputError for a number without a unit: the unit would be ambiguous.
    """
    if isinstance(value, datetime.timedelta):
        return round(value / datetime.timedelta(microseconds=1)) * 1000
    if isinstance(value, str) and (found := _FORM.match(value)):
        whole, part, unit = found.groups(default="")
        if unit in _UNITS:
            # In whole numbers: exact to the nanosecond.
            scaled: int = int(whole + part) * _UNITS[unit]
            scale: int = 10 ** len(part)
            ns, rest = divmod(scaled, scale)
            if rest:
                raise InputError(f"{what} is {value!r}; the shortest time is 1 ns")
            return ns
    raise InputError(
        f"{what} is {value!r}; it must be a time with its unit, such as '6ms', '1.5s' or '250us'"
    )


def time_us(value: Time, what: str) -> int:
    """Returns a time in whole us, the unit of rt-app."""
    us, rest = divmod(time_ns(value, what), 1000)
    if rest:
        raise InputError(f"{what} is {value!r}; rt-app's language takes whole microseconds")
    return us


def whole(value: Any, what: str, least: int = 0, most: int | None = None) -> int:
    """Returns a whole number, including NumPy's types."""
    if not isinstance(value, bool):
        try:
            number = operator.index(value)
        except TypeError:
            pass
        else:
            if number >= least and (most is None or number <= most):
                return number
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise InputError(f"{what} is {value!r}; it must be a whole number {bounds}")


def moment_ns(value: Moment, what: str) -> int:
    """Returns a moment in ns; numbers are seconds."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        value = float(value)
        if not 0 <= value <= 1e9:
            raise InputError(f"{what} is {value!r}; it must be 0 to 10^9 seconds")
        return round(value * 1e9)
    if isinstance(value, str) and re.fullmatch(r"\d+\.?\d*|\.\d+", value, re.ASCII):
        return moment_ns(float(value), what)
    return time_ns(value, what)  # type: ignore[arg-type]


def count(value: Any, what: str) -> int | None:
    """Returns a whole number of at least 1, or None, which leaves it open."""
    return None if value is None else whole(value, what, 1)


def window_ns(between: tuple[Moment, Moment]) -> tuple[int, int]:
    """Returns a window in ns."""
    if isinstance(between, str) or not isinstance(between, Iterable) or len(
        ends := list(between)
    ) != 2:
        raise InputError(f"between is {between!r}; it must be a pair of moments")
    start, end = (moment_ns(one, "between") for one in ends)
    if start >= end:
        raise InputError(f"between is {between!r}; it must be a moment and a later one")
    return start, end


def shown(ns: float) -> str:
    """Formats a time: ``12.5 ms``."""
    for unit, length in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if abs(ns) >= length:
            return f"{ns / length:.4g} {unit}"
    return f"{ns:.4g} ns"


def at(ns: int) -> str:
    """Formats a moment of a run: ``2.345678 s``."""
    return f"{ns / 1e9:.6f} s"
