"""A waiver that silences nothing.

Why it hurts: what it covered was mended, or it stands at the wrong place. The next
failure there would be hidden without anybody having decided so.

What passes: a waiver that silences a failure of this run.

Where it does not apply: where a run cannot tell - only a part of the files of a folder
is judged, what it names was not judged or could not be decided, or it has no effect for
another reason.

Source: engineering default.

Bad::

    lr: 2.0e-5  # speccheck: ignore[CONF-007] our loader reads floats itself

Good::

    lr: 2.0e-5
"""

from speccheck.validator.evidence.finding import AppliedWaivers
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-082")
def unused_waiver(applied: AppliedWaivers) -> Verdicts:
    """Judge each waiver of which this run can tell."""
    for waiver in applied.waivers:
        if waiver.standing == "used":
            yield passed(at=waiver.waiver.place)
        elif waiver.standing == "idle":
            listed = ", ".join(waiver.names)
            hint = f"; did you mean line {waiver.beside}?" if waiver.beside else ""
            yield fail(
                f"{waiver.title} silences nothing: {listed} was judged and does "
                "not fail "
                f"{'there' if waiver.beside else 'where it holds'}{hint}",
                at=waiver.waiver.place,
                measured="silences nothing",
                required="silences a failure",
                remedy=f"Move it to line {waiver.beside}, or above it."
                if waiver.beside
                else "",
            )
