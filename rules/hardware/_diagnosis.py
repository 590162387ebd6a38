"""What rules on results of a diagnosis share."""

from speccheck.validator.evidence.measurement.device import DiagnosticResult

PASS, WARN, FAIL = "pass", "warn", "fail"


def result_text(test: DiagnosticResult) -> str:
    """Return what the test says of its result, with the number of the error."""
    message, code = test.message.value, test.error_code.value
    number = f" (error {code})" if code else ""
    return number + (f": {message}" if message else "")
