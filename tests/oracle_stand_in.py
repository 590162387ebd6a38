"""A driver of a framework that is no framework: what a test asks of it, it does."""

import os
import sys
import time
import warnings
from pathlib import Path

import yaml

from oracles.drivers.serving import NotAskable, serve


def check(main: Path) -> None:
    """Check the accept, refuse, crash, hang, or say that it cannot."""
    document = yaml.safe_load(main.read_text(encoding="utf-8"))
    wish = document["wish"]
    if wish == "refuse":
        message = f"{document['key']} is refused"
        raise ValueError(message)
    if wish == "crash":
        os.abort()
    if wish == "hang":
        time.sleep(60)
    if wish == "warn":
        warnings.warn("an old key", DeprecationWarning, stacklevel=1)
    if wish == "read":
        main.with_name(document["beside"]).read_text(encoding="utf-8")
    if wish == "cannot":
        message = "no package for it"
        raise NotAskable(message)
    if wish == "exit":
        sys.stderr.write("usage: it\n")
        sys.exit(2)


if __name__ == "__main__":
    sys.exit(serve("stand-in", check))
