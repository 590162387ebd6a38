"""Plans of stated leaves, for tests of forecasts."""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import Value


def plan(base: dict[str, object], **changes: object) -> TrainingPlan:
    """A plan of stated leaves; `section__field` changes one, None takes it out."""
    named = {name.replace("__", "."): one for name, one in changes.items()}
    leaves = {**base, **named}
    known = {
        name: Value(name, one, "stated")
        for name, one in leaves.items()
        if one is not None
    }
    return TrainingPlan(known)
