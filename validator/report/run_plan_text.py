"""What to run for a certificate, as text for people."""

from collections.abc import Iterator

from speccheck.validator.certification.run_plan import RunPlan, Step
from speccheck.validator.report.style import counted, printable, wrap

_WIDTH = 88
_MINUTE, _HOUR = 60, 3600


def run_plan_text(plan: RunPlan) -> str:
    """The steps in order: why, on how many nodes, how long, and the commands."""
    lines = [*_head(plan)]
    for number, step in enumerate(plan.steps, 1):
        lines.extend(("", *_step(number, step)))
    rows = (row for line in lines for row in line.split("\n"))
    return "\n".join(map(printable, rows)) + "\n"


def _head(plan: RunPlan) -> Iterator[str]:
    asked = plan.asked
    of = f" for {asked.instance_type}" if asked.instance_type else ""
    yield (
        f"Level {asked.level} of edition {asked.composed.edition.id}{of}: "
        f"{counted(len(plan.steps), 'step')}, {counted(plan.nodes, 'node')} with "
        f"{counted(plan.gpus, 'GPU')} each, about {about(plan.seconds)}"
    )
    yield wrap(f"{plan.engine}: {plan.note}", _WIDTH, "")


def about(seconds: float) -> str:
    """A time as people say it."""
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"


def _step(number: int, step: Step) -> Iterator[str]:
    where = f" · {counted(step.nodes, 'node')}" if step.nodes else ""
    time = f" · about {about(step.seconds)}" if step.seconds else ""
    yield f"{number}. {step.title}{where}{time}"
    for one in step.settles:
        yield f"   {one.level} {one.track}: {_counts(one.musts, one.shoulds)}"
    for words in step.words:
        is_line = words.startswith("{")
        yield f"   {words}" if is_line else wrap(words, _WIDTH, "   ")
    if step.commands:
        yield ""
    for command in step.commands:
        yield f"   $ {command}"


def _counts(musts: int, shoulds: int) -> str:
    told = []
    if musts:
        told.append(counted(musts, "must"))
    if shoulds:
        told.append(counted(shoulds, "should"))
    return ", ".join(told)
