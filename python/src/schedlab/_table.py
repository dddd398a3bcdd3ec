"""Tables: columns of numbers and texts, for every library that takes Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native

if TYPE_CHECKING:
    import pandas
    import polars


class Table:
    """A table. Times are whole ns (int64) and end in ``_ns``; unknown values are null.

    polars, pyarrow, pandas (3) and DuckDB import it directly through the Arrow capsule interface;
    ``table["start_ns"]`` is a column as a numpy array.
    """

    def __init__(self, native: _native.Table, name: str) -> None:
        self._native = native
        self._name = name

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return self._native.columns

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self._native), len(self.columns)

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<{self._name}: {rows} rows of {columns} columns: {', '.join(self.columns)}>"

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """Returns a column as an array: numbers without a copy if all are known, otherwise with
        NaN."""
        numbers = self._native.numbers(name)
        if numbers is not None:
            return np.asarray(numbers)
        values = self._native.values(name)
        if any(isinstance(value, str) for value in values):
            return np.array(values, dtype=object)
        return np.array([np.nan if value is None else value for value in values], dtype=float)

    def __getitem__(self, name: str) -> Any:
        return self.column(name)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Returns the rows as dicts, one by one."""
        columns = {name: self._native.values(name) for name in self.columns}
        for number in range(len(self)):
            yield {name: values[number] for name, values in columns.items()}

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def to_numpy(self) -> dict[str, np.ndarray[Any, Any]]:
        """Returns all columns as arrays, by name."""
        return {name: self.column(name) for name in self.columns}

    def to_arrow(self) -> Any:
        """Returns the table as a pyarrow Table, without a copy."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the table as a pandas DataFrame; texts become categories, and numbers with
        unknown values become ``Int64``."""
        import pandas

        frame = {}
        for name in self.columns:
            values = self._native.values(name)
            if self._native.is_text(name):
                frame[name] = pandas.Series(pandas.Categorical(values))
            elif (numbers := self._native.numbers(name)) is not None:
                frame[name] = pandas.Series(np.asarray(numbers), copy=False)
            elif all(value is None or isinstance(value, int) for value in values):
                frame[name] = pandas.Series(values, dtype="Int64")
            else:
                frame[name] = pandas.Series(values, dtype="float64")
        return pandas.DataFrame(frame, copy=False)

    def to_polars(self) -> polars.DataFrame:
        """Returns the table as a polars DataFrame."""
        import polars

        return polars.DataFrame(self)

    def _repr_html_(self) -> str:
        from ._html import table

        most = 20
        rows = [list(row.values()) for row, _ in zip(self.rows(), range(most))]
        more = f"{len(self)} rows" + (f", the first {most} shown" if len(self) > most else "")
        return table(self.columns, rows, more)
