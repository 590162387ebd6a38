"""Plans of stated leaves, for tests of forecasts."""

from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import Value


def plan(base: dict[str, object], **changes: object) -> TrainingPlan:
    """Return a plan of stated leaves; `section__field` changes one, None drops it."""
    named = {name.replace("__", "."): item for name, item in changes.items()}
    leaves = {**base, **named}
    known = {
        name: Value(name, item, "stated")
        for name, item in leaves.items()
        if item is not None
    }
    return TrainingPlan(known)
