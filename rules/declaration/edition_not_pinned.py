"""A certificate for no exact edition, or for no profile.

Why it hurts: an edition that floats changes verdicts without any change of the machine,
and a certificate without a profile does not say of what it speaks.

What passes: an edition that the user named by its exact id, that is no draft, and a
profile that the user named.

Where it does not apply: uses other than certification.

Source: claims S2#47, S1#31; the practice of SLSA and of Pod Security Standards.

Bad::

    speccheck certify --spec latest ...

Good::

    speccheck certify --spec 1.0 --profile instance/azure-nd96isr-h100-v5 ...
"""

from collections.abc import Iterator

from speccheck.validator.evidence.declaration import Declaration
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Stages(Numbers):
    """The stages of editions that may certify."""

    stages: tuple[str, ...]


@rule(clause="META-001")
def edition_not_pinned(declaration: Declaration, limit: Stages) -> Verdicts:
    """Judge how the edition was chosen."""
    problems = [*_problems(declaration, limit)]
    for text, required, remedy in problems:
        yield fail(
            f"{text}; {required} is required",
            measured=text,
            required=required,
            cost="the verdict may change without any change of what was judged",
            remedy=remedy,
        )
    if not problems:
        profiles = ", ".join(declaration.profiles_named)
        yield passed(measured=f"{declaration.edition}: {profiles}")


def _problems(
    declaration: Declaration, limit: Stages
) -> Iterator[tuple[str, str, str]]:
    named, exact = declaration.edition_named, declaration.edition
    if named != exact:
        text = f"the edition is named {named}" if named else "no edition is named"
        yield text, f"the exact edition {exact}", f"Name it: --spec {exact}."
    if declaration.edition_stage not in limit.stages:
        stage = declaration.edition_stage or "unknown"
        stages = " or ".join(limit.stages)
        yield f"edition {exact} is {stage}", stages, "Certify by another edition."
    if not declaration.profiles_named:
        yield "no profile is named", "a profile", "Name it: --profile instance/NAME."
