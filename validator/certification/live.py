"""Whether a machine is of the type that a certificate is about."""

from collections.abc import Mapping

from speccheck.validator.certification.certificate_model import Certificate
from speccheck.validator.certification.identity import type_fields
from speccheck.validator.certification.verifying import Step

_MOST_TOLD = 5


def live_step(found: Certificate, content: Mapping[str, object]) -> Step:
    """Lay a machine beside the type, by the content of its snapshot."""
    told = {name: str(value) for name, value in found.type.fields.items()}
    there = type_fields(content)
    other = [
        f"{name} is {there[name] or 'empty'}, certified is {value or 'empty'}"
        for name, value in told.items()
        if name in there and there[name] != value
    ]
    unseen = [name for name in told if name not in there]
    if other:
        return Step("this machine", "fail", "; ".join(other[:_MOST_TOLD]))
    if unseen:
        text = f"not known of it: {', '.join(unseen[:_MOST_TOLD])}"
        more = f" and {len(unseen) - _MOST_TOLD} more" if unseen[_MOST_TOLD:] else ""
        return Step("this machine", "unknown", text + more)
    return Step("this machine", "pass", f"is of the type, by {len(told)} fields")
