"""Runs one probe and tells what it finds on standard output: `collect` starts it.

Libraries may print: what they write to standard output goes where errors go, and our
lines to a copy of it.
"""

import os
import sys
from importlib import import_module
from typing import Any

from speccheck.probes.parent import end_with_parent
from speccheck.probes.raw_value import Sheet, line
from speccheck.probes.root import Root


def main(name: str, folder: str, *arguments: str) -> None:
    """Run the probe of that name on the files below a folder."""
    end_with_parent()
    lines = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def tell(result: list[Any]) -> None:
        lines.write(line(result))
        lines.flush()

    try:
        probe = import_module(f"speccheck.probes.{name}").probe
        probe(Root(folder), Sheet(tell), *arguments)
    except Exception as error:
        tell(["failed", f"{type(error).__name__}: {error}"])
        raise
    tell(["done"])


if __name__ == "__main__":
    main(*sys.argv[1:])
