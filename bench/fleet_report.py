"""Draws docs/fleet-report.svg: what a terminal shows of 64 nodes with three faults.

The fleet is that of fixtures/examples/simulated-fleet, made by `speccheck simulate`.
"""

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from speccheck.validator.cli.main import main
from speccheck.validator.fleet.attendance import Expected
from speccheck.validator.fleet.listing import listing
from speccheck.validator.fleet.run import judge_fleet
from speccheck.validator.fleet.verdict import fleet_verdict
from speccheck.validator.fleet.work import Work
from speccheck.validator.report.fleet_text import fleet_text
from speccheck.validator.report.fleet_told import FleetTold
from speccheck.validator.report.node_verdict import NodeVerdict
from speccheck.validator.report.style import Style
from speccheck.validator.request import Request
from terminal_picture import WIDTH, terminal_picture

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "fleet-report.svg"
_FAULTS = ROOT / "fixtures" / "examples" / "simulated-fleet" / "plan.yaml"
_FLEET = "pre"


def report() -> str:
    """The report with the colours of a terminal."""
    before = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            told = _told()
        finally:
            os.chdir(before)
    style = Style(colour=True, unicode=True, width=WIDTH)
    return "".join(fleet_text(told, style)).rstrip("\n")


def _told() -> FleetTold:
    words = ["--nodes", "64", "--out", _FLEET, "--faults", str(_FAULTS), "--quiet"]
    if main(["simulate", *words]) != 0:
        message = "speccheck simulate failed"
        raise SystemExit(message)
    request = Request(arguments=(), use="preflight")
    work = Work(request, (), NodeVerdict(request.use, "error"))
    run = judge_fleet(work, listing((_FLEET,)), Expected(), now=time.time())
    return FleetTold(run, fleet_verdict(run), (_FLEET,))


def picture() -> str:
    """The same as SVG."""
    return terminal_picture(report(), title=f"speccheck fleet {_FLEET}")


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
