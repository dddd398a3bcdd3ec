"""What several tests need."""

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
    """An evening at the desk."""
    return str(ROOT / "examples" / "desktop.json")


@pytest.fixture(scope="session")
def desktop_runs() -> schedlab.Runs:
    """The desktop under O(1) and EEVDF, for those who only look."""
    return schedlab.run(str(ROOT / "examples" / "desktop.json"), ["o_1", "cfs", "eevdf"])


@pytest.fixture
def program():
    """Runs the program of the package, and returns what it printed."""

    def call(*args: str, status: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "schedlab", *args], capture_output=True, text=True, cwd=ROOT
        )
        assert done.returncode == status, done.stderr
        return done.stdout

    return call
