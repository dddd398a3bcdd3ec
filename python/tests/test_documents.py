"""The Python code in the documents behaves as they state."""

from __future__ import annotations

import contextlib
import io
import os
import re

import pytest

import schedlab

from conftest import ROOT

#: Blocks of Python, each with the output that follows it, if any.
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.S)


@pytest.mark.parametrize("document", ["docs/python-policy.md", "docs/python.md", "README.md",
                                      "python/README.md"])
def test_the_python_of(document, tmp_path, monkeypatch):
    text = (ROOT / document).read_text()
    blocks = BLOCK.findall(text)
    assert blocks, "there is some Python in it"
    if "plot" in text and document == "docs/python.md":
        pytest.importorskip("matplotlib").use("Agg")
        pytest.importorskip("pandas")
        pytest.importorskip("polars")
    # The blocks read the repository's examples, and write into the current directory.
    for name in ("examples", "tests", "papers"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": document}
    changed = text
    for code, expected in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, document, "exec"), names)  # noqa: S102
        if os.environ.get("SCHEDLAB_UPDATE"):
            old = f"```python\n{code}```"
            if f"{old}\n\n```text\n" in changed:
                changed = changed.replace(
                    f"{old}\n\n```text\n{expected}```", f"{old}\n\n```text\n{out.getvalue()}```"
                )
        elif expected:
            assert out.getvalue() == expected
    if os.environ.get("SCHEDLAB_UPDATE"):
        (ROOT / document).write_text(changed)


def test_everything_public_is_documented():
    for name in schedlab.__all__:
        thing = getattr(schedlab, name)
        if isinstance(thing, type) or callable(thing):
            assert thing.__doc__, name
            for attribute, value in vars(thing).items() if isinstance(thing, type) else ():
                if not attribute.startswith("_") and callable(value):
                    assert value.__doc__, f"{name}.{attribute}"
