"""Fixtures that several tests share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import schedlab

#: The repository.
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def desktop() -> str:
    """The example workload of a desktop."""
    return str(ROOT / "examples" / "desktop.json")


@pytest.fixture(scope="session")
def desktop_runs() -> schedlab.Runs:
    """Runs of the desktop under O(1), CFS and EEVDF, for tests that only read them."""
    return schedlab.run(str(ROOT / "examples" / "desktop.json"), ["o_1", "cfs", "eevdf"])


@pytest.fixture
def program():
    """Runs the program of the package, and returns its output."""

    def call(*args: str, status: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "schedlab", *args], capture_output=True, text=True, cwd=ROOT
        )
        assert done.returncode == status, done.stderr
        return done.stdout

    return call
