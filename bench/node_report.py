"""Draws docs/node-report.svg: what a terminal shows of a faulty machine.

It ends before what could not run, and the totals: these change with each rule.
"""

import os
import re
from pathlib import Path

from speccheck.validator.engine.request import Request
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.style import Style
from speccheck.validator.report.summary import summarize
from speccheck.validator.report.text import report as text_report
from speccheck.validator.report.verdict import exit_of
from speccheck.validator.run.run import run
from terminal_picture import WIDTH, terminal_picture

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "node-report.svg"
FOLDER = "fixtures/examples/faulty-node"
_NOT_RUN = re.compile(r"\n\n\d+ (?:required|recommended) checks? could not run")


def report() -> str:
    """Return the report with the colours of a terminal, as far as it is shown."""
    before = Path.cwd()
    os.chdir(ROOT / FOLDER)
    try:
        result = run(Request(arguments=("node.json",)))
    finally:
        os.chdir(before)
    summary = summarize(result.plans)
    ending = exit_of(result, summary, "error")
    style = Style(colour=True, unicode=True, width=WIDTH)
    text = "".join(text_report(ReportContext(result, summary, ending), style))
    return _NOT_RUN.split(text, maxsplit=1)[0].rstrip("\n")


def picture() -> str:
    """Return the same as SVG."""
    return terminal_picture(report(), title="speccheck node.json")


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
