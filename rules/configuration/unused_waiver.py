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
    for one in applied.waivers:
        if one.standing == "used":
            yield passed(at=one.waiver.place)
        elif one.standing == "idle":
            listed = ", ".join(one.names)
            hint = f"; did you mean line {one.beside}?" if one.beside else ""
            yield fail(
                f"{one.title} silences nothing: {listed} was judged and does not fail "
                f"{'there' if one.beside else 'where it holds'}{hint}",
                at=one.waiver.place,
                measured="silences nothing",
                required="silences a failure",
                remedy=f"Move it to line {one.beside}, or above it."
                if one.beside
                else "",
            )
