"""A test of the vendor's diagnosis that warned.

Why it hurts: it may not yet. Warnings tell of settings, of wear and of programs that
stood in the way of the test; the next stage of most of them is a failure.

What passes: each test that passed.

Where it does not apply: tests that failed, of which diagnosis_failed tells, and tests
that did not run.

Source: NVIDIA/DCGM, dcgmi diag.

Bad::

    dcgmi diag -r 1 -j   # "status": "WARN" of persistence_mode

Good::

    dcgmi diag -r 1 -j   # "status": "PASS" of each test
"""

from speccheck.rules.hardware._diagnosis import PASS, WARN, result_text
from speccheck.validator.evidence.measurement.device import DiagnosticResult
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-154")
def diagnosis_warned(test: DiagnosticResult) -> Verdicts:
    """Judge one result of one GPU, or of the machine."""
    result, name = test.result.need(), test.name.need()
    if result == PASS:
        yield passed(at=test.result, measured=result)
    elif result == WARN:
        yield fail(
            f"the test {name} warns{result_text(test)}",
            at=test.result,
            measured=result,
            required=PASS,
            action="MONITOR",
        )
