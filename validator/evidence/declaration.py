"""What a judgement for a certificate says of itself: by what, of what, when.

Only `speccheck certify` makes one. Nothing of it is read from the machine.
"""

from speccheck.validator.evidence.record import Record


class EvidenceDigest(Record):
    """A file that was judged; sha256: in lower case hex, empty where it is not known.

    path: relative to the folder of the evidence.
    """

    path: str
    sha256: str = ""


class Declared(Record):
    """How a judgement for a certificate was asked for.

    edition: its exact id, `1.0`. edition_named: as the user wrote it, in settings or on
    the command line; empty where nobody did. edition_stage: draft, candidate, approved
    or retired. profiles_named: those that the user named. tool_version, edition_sha256:
    of what judged. evidence: all files that were judged. judged_seconds: when, since
    1970 UTC; None where that is not told.
    """

    edition: str
    edition_named: str = ""
    edition_stage: str = ""
    edition_sha256: str = ""
    profiles_named: tuple[str, ...] = ()
    tool_version: str = ""
    evidence: tuple[EvidenceDigest, ...] = ()
    judged_seconds: float | None = None


class Declaration(Declared):
    """The same as rules ask for it.

    kind: what messages call it where there is none. scope: a judgement for a
    certificate runs the rules on measurements, with or without any at hand.
    """

    __slots__ = ()
    kind = "declaration"
    scope = "measurement"
