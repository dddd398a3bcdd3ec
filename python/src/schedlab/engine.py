"""Entry point of the program ``schedlab``: ``python -m schedlab.engine sweep|tune FILE``.

The program passes on its own options; users call ``schedlab sweep`` and ``schedlab tune``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from ._errors import Error
from ._files import write

_INTERRUPTED = 130


def _sweep(arguments: argparse.Namespace) -> int:
    from . import _sweep as sweeps

    space = sweeps.read_file(arguments.file, arguments.metrics)
    for note in space.notes:
        print(f"schedlab: note: {note}", file=sys.stderr)
    if arguments.check:
        print(f"{space.title}: {space.points} points, {space.runs} runs in {space.parts} parts")
        return 0
    done = sweeps.execute(
        space, engine=arguments.engine, address=arguments.address, workers=arguments.threads,
        out=arguments.output, parts=arguments.parts, progress=True,
    )
    if arguments.format == "csv":
        sys.stdout.write(done.to_csv())
    elif arguments.format == "json":
        print(json.dumps(done.summary(), indent=2))
    else:
        sys.stdout.write(done.table())
    if arguments.report:
        write(arguments.report, done.page())
    failed = done.failed
    if failed:
        print(f"schedlab: {len(failed)} of {len(done)} runs failed; the first: "
              f"{failed[0]['scheduler']}: {failed[0]['error']}", file=sys.stderr)
        return 2
    return 0


def _tune(arguments: argparse.Namespace) -> int:
    from ._tune import tune_file
    from ._tune_page import page

    found = tune_file(
        arguments.file, budget=arguments.budget, seed=arguments.seed, storage=arguments.storage,
        threads=arguments.threads, progress=True,
    )
    sys.stdout.write(found.report())
    if arguments.report:
        write(arguments.report, page(found))
    return 0 if found.found else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command, and returns its exit status."""
    parser = argparse.ArgumentParser(prog="schedlab")
    commands = parser.add_subparsers(required=True)
    sweep = commands.add_parser("sweep")
    sweep.set_defaults(run=_sweep)
    sweep.add_argument("file")
    sweep.add_argument("--engine", default="threads")
    sweep.add_argument("--output")
    sweep.add_argument("--address")
    sweep.add_argument("--threads", type=int)
    sweep.add_argument("--format", default="table")
    sweep.add_argument("--metrics", action="append", default=[])
    sweep.add_argument("--parts")
    sweep.add_argument("--report")
    sweep.add_argument("--check", action="store_true")
    tune = commands.add_parser("tune")
    tune.set_defaults(run=_tune)
    tune.add_argument("file")
    tune.add_argument("--budget", type=int)
    tune.add_argument("--seed", type=int)
    tune.add_argument("--storage")
    tune.add_argument("--threads", type=int)
    tune.add_argument("--report")
    given = parser.parse_args(arguments)
    try:
        return int(given.run(given))
    except Error as error:
        print(f"schedlab: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"schedlab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        kept = getattr(given, "output", None) or getattr(given, "storage", None)
        where = f"results are kept in {kept}; the same command continues there" if kept else (
            "nothing is kept"
        )
        print(f"schedlab: interrupted: {where}", file=sys.stderr)
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
