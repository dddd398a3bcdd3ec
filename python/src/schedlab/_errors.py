"""Exceptions of the package. All are :class:`Error`."""

from __future__ import annotations


class Error(Exception):
    """A request failed.

    ``file``, ``line`` and ``column`` (from 1) are the place if it is known, else None.
    """

    file: str | None
    line: int | None
    column: int | None

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column


class InputError(Error, ValueError):
    """The input is invalid: a file, a name, a value."""


class RunError(Error, RuntimeError):
    """A run failed: its tasks wait for each other, or a scheduler broke down."""


class PolicyError(RunError):
    """A policy written in Python failed; ``__cause__`` is the exception that it raised.

    ``at_ns`` is the virtual time, ns; ``hook`` is the method that was called.
    """

    at_ns: int | None = None
    hook: str | None = None


class SchedlabWarning(UserWarning):
    """A warning about a run."""
