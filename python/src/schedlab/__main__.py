"""The program ``schedlab``, which is part of the wheel: ``python -m schedlab run FILE``."""

from __future__ import annotations

import os
import signal
import sys

from . import _native


def main() -> int:
    """Runs the program with the arguments of this process, and returns its exit status."""
    # While the engine works, the interpreter would only record an interrupt.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Clusters and searches are implemented in this package: the program starts it for them.
    os.environ.setdefault("SCHEDLAB_PYTHON", sys.executable)
    return _native.cli_main(["schedlab", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
