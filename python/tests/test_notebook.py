"""The notebook about the desktop runs from beginning to end; its own assertions hold."""

from __future__ import annotations

import warnings

import pytest

from conftest import ROOT


def test_the_desktops_story():
    reason = "SKIPPED LOUDLY: the notebook was not executed; pip install nbclient ipykernel"
    nbformat = pytest.importorskip("nbformat", reason=reason)
    nbclient = pytest.importorskip("nbclient", reason=reason)
    pytest.importorskip("ipykernel", reason=reason)
    pytest.importorskip("matplotlib", reason=reason)
    book = nbformat.read(ROOT / "examples" / "desktop-story.ipynb", as_version=4)
    place = {"metadata": {"path": str(ROOT / "examples")}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nbclient.NotebookClient(
            book, timeout=600, kernel_name="python3", resources=place
        ).execute()
    pictures = [
        output
        for cell in book.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert len(pictures) == 9
