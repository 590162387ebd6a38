"""A certificate that does not say by what, and of which files, it was judged.

Why it hurts: what nobody can judge again is only an assertion.

What passes: the release of the tool, the digest of the edition, and a digest of every
file that was judged.

Where it does not apply: uses other than certification.

Source: claims S0#11, S2#49; engineering practice.

Bad::

    evidence: node-1.json                  # which one?

Good::

    evidence: node-1.json, sha256 9f86d081884c7d659a2feaa0c55ad015...
"""

from collections.abc import Iterator

from speccheck.validator.evidence.declaration import Declaration
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_DIGITS = frozenset("0123456789abcdef")


class Digests(Numbers):
    """How long a digest is."""

    digits: int


@rule(clause="META-002")
def report_without_digests(declaration: Declaration, limit: Digests) -> Verdicts:
    """Judge what the certificate would carry."""
    lacking = [*_lacking(declaration, limit)]
    if lacking:
        yield fail(
            f"the report has no {', no '.join(lacking)}; all are required",
            measured=len(lacking),
            required=0,
            cost="the judgement cannot be repeated",
        )
        return
    yield passed(measured=len(declaration.evidence))


def _lacking(declaration: Declaration, limit: Digests) -> Iterator[str]:
    if not declaration.tool_version:
        yield "release of the tool"
    if not _is_digest(declaration.edition_sha256, limit):
        yield "digest of the edition"
    if not declaration.evidence:
        yield "list of the evidence"
    bare = [
        evidence_digest.path
        for evidence_digest in declaration.evidence
        if not _is_digest(evidence_digest.sha256, limit)
    ]
    if bare:
        more = f" and {len(bare) - 1} more files" if bare[1:] else ""
        yield f"digest of {bare[0]}{more}"


def _is_digest(text: str, limit: Digests) -> bool:
    return len(text) == limit.digits and _DIGITS.issuperset(text)
