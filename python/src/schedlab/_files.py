"""Writing files."""

from __future__ import annotations

import errno
import os
import shutil


def write(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file completely or not at all. A symbolic link is followed; a device or a pipe
    receives the text directly."""
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        return
    if not os.path.isdir(os.path.dirname(target)):
        raise FileNotFoundError(errno.ENOENT, "there is no such directory", os.path.dirname(target))
    temporary = f"{target}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        if os.path.exists(target):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise
