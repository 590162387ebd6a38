"""A test of the vendor's diagnosis that failed.

Why it hurts: what fails on an idle node with nothing else to do fails in a job too, or
computes wrong values in it.

What passes: each test that ran and passed or only warned. A test that was skipped or
did not run has seen nothing, and is unknown.

Where it does not apply: nothing; a pass of the test nvbandwidth is no pass of copy
bandwidth, since DCGM does not judge what it measures there.

Source: NVIDIA/DCGM, dcgmi diag.

Bad::

    dcgmi diag -r 2 -j   # "status": "FAIL" of pcie on GPU 3

Good::

    dcgmi diag -r 2 -j   # "status": "PASS" of each test
"""

from speccheck.rules.hardware._diagnosis import FAIL, PASS, WARN, result_text
from speccheck.validator.evidence.finding import Action
from speccheck.validator.evidence.measurement.device import DiagnosticResult
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

# What a test looks at decides what helps; everything else is a fault of the GPU.
_ACTIONS: dict[str, Action] = {
    "software": "FIX_CONFIG",
    "page_retirement": "RESET_GPU",
    "inforom": "SUPPORT",
}


@rule(clause="HW-153")
def diagnosis_failed(test: DiagnosticResult) -> Verdicts:
    """Judge one result of one GPU, or of the machine."""
    result, name = test.result.need(), test.name.need()
    if result == FAIL:
        of_category = "software" if test.category.value == "Deployment" else ""
        action = _ACTIONS.get(name) or _ACTIONS.get(of_category, "ISOLATE")
        yield fail(
            f"the test {name} failed{result_text(test)}",
            at=test.result,
            measured=result,
            required=PASS,
            cost="a job on this node fails or computes wrong values",
            action=action,
        )
    elif result in {PASS, WARN}:
        yield passed(at=test.result, measured=result)
    else:
        yield unknown(
            f"the test {name} did not run{result_text(test)}",
            missing=[test.result.name],
            at=test.result,
        )
