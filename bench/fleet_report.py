"""Draws what a terminal shows of two fleets with faults: of 64 and of 10,000 nodes.

The fleets are those of fixtures/examples/simulated-fleet, made by `speccheck simulate`.
"""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from speccheck.validator.cli.main import main
from speccheck.validator.engine.request import Request
from speccheck.validator.fleet.attendance import Expected
from speccheck.validator.fleet.reading import listing
from speccheck.validator.fleet.run import FleetWork, judge_fleet
from speccheck.validator.fleet.verdict import fleet_verdict
from speccheck.validator.report.context import FleetContext
from speccheck.validator.report.fleet_text import fleet_text
from speccheck.validator.report.node_outcome import NodeOutcome
from speccheck.validator.report.style import Style
from terminal_picture import WIDTH, terminal_picture

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "fleet-report.svg"
MANY_PICTURE = ROOT / "docs" / "fleet-report-10000.svg"
_FAULTS = ROOT / "fixtures" / "examples" / "simulated-fleet"
MANY_FAULTS = _FAULTS / "many.yaml"
MANY_WIDTH = 120
_FLEET = "pre"


def report() -> str:
    """Return 64 nodes with three faults, with the colours of a terminal."""
    with a_fleet(64, _FAULTS / "plan.yaml") as fleet_context:
        return shown(fleet_context, WIDTH)


@contextmanager
def a_fleet(nodes: int, faults: Path) -> Generator[FleetContext]:
    """Yield a fleet as it was judged, while its files are there."""
    before = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            words = ["--nodes", str(nodes), "--out", _FLEET, "--faults", str(faults)]
            if main(["simulate", *words, "--quiet"]) != 0:
                message = "speccheck simulate failed"
                raise SystemExit(message)
            request = Request(arguments=(), use="preflight")
            work = FleetWork(request, (), NodeOutcome(request.use, "error"))
            run = judge_fleet(work, listing((_FLEET,)), Expected(), now=time.time())
            yield FleetContext(run, fleet_verdict(run), (_FLEET,))
        finally:
            os.chdir(before)


def shown(context: FleetContext, width: int) -> str:
    """Return the report as a terminal shows it, with colours."""
    style = Style(colour=True, unicode=True, width=width)
    return "".join(fleet_text(context, style)).rstrip("\n")


def _draw() -> None:
    title = f"speccheck fleet {_FLEET}"
    PICTURE.write_text(terminal_picture(report(), title), encoding="utf-8")
    with a_fleet(10_000, MANY_FAULTS) as fleet_context:
        many = shown(fleet_context, MANY_WIDTH)
    drawn = terminal_picture(many, title, MANY_WIDTH)
    MANY_PICTURE.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    _draw()
