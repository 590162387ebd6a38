"""Which level each track has, and what stands between it and the next.

A level of a track needs every must of the track up to that level to pass or not to
apply, and as much of its musts and shoulds judged as the edition asks. What denies a
track denies itself alone.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from speccheck.validator.certification.judging import LEVELS, JudgedClauseResult
from speccheck.validator.editions.edition import Edition
from speccheck.validator.evidence.node.node import SPECIMENS
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.shared_values import Unseen, shared_values

Content = Mapping[str, Any]
# Settings of a host are judged; they do not make it another type of machine.
_SETTINGS = frozenset(
    {
        "host.kernel_arguments",
        "host.transparent_hugepages",
        "host.numa_balancing",
        "host.governors",
        "host.clock_source",
        "host.memory_total_bytes",  # firmware keeps more or less of it for itself
        "network_interfaces.mtu_bytes",
    }
)
# When one of these changes, what was measured before says nothing any more.
INVALIDATORS = (
    "host.instance_type",
    "host.kernel_release",
    "driver.version",
    "driver.cuda_version",
    "driver.nccl_version",
    "driver.nccl_plugins",
    "driver.ofed_version",
    "driver.fabric_manager_version",
    "gpus.vbios_version",
    "gpus.gsp_firmware_version",
    "rdma_devices.firmware_version",
)
_MOST_TEXT = 4_000
_DIGEST, _DIGITS = "hashed:", 16  # as snapshots have them


class Differing(Record):
    """A field in which machines are not of one type, with the machines of each text."""

    field: str
    values: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def words(self) -> str:
        """The texts, each with its machines."""
        result = (f"{text} on {', '.join(names)}" for text, names in self.values)
        return f"{self.field}: {'; '.join(result)}"


def type_fields(content: Content) -> dict[str, str]:
    """Return what a snapshot states of the type of its machine.

    Nothing that is unknown.
    """
    result = {
        name: str(text)
        for name, text in shared_values(content)
        if name not in _SETTINGS and not isinstance(text, Unseen)
    }
    result.update(_nvlinks(content))
    return {name: text[:_MOST_TEXT] for name, text in sorted(result.items())}


def _nvlinks(content: Content) -> Iterator[tuple[str, str]]:
    """Yield each GPU's place, how many of its NVLinks are up, and what they end at."""
    gpus = content.get("gpus")
    if not isinstance(gpus, list) or not all(isinstance(gpu, dict) for gpu in gpus):
        return
    for name, texts in (
        ("gpus.nvlinks_up", [_up(gpu.get("nvlink_is_active")) for gpu in gpus]),
        ("gpus.nvlink_ends", [_ends(gpu.get("nvlink_remote_type")) for gpu in gpus]),
        ("gpus.numa_nodes", [_number(gpu.get("numa_node")) for gpu in gpus]),
    ):
        if texts and all(texts):
            yield name, " ".join(texts)


def _up(flags: object) -> str:
    return str(sum(flag is True for flag in flags)) if isinstance(flags, list) else ""


def _ends(kinds: object) -> str:
    """Return the kinds of what links end at: 0 a GPU, 2 a switch (nvml.h)."""
    if not isinstance(kinds, list):
        return ""
    return "+".join(sorted({str(kind) for kind in kinds if isinstance(kind, int)}))


def _number(result: object) -> str:
    return str(result) if isinstance(result, int) else ""


def common(
    machines: Sequence[tuple[str, Mapping[str, str]]],
) -> tuple[dict[str, str], list[Differing]]:
    """Return the fields that all machines share, and those in which some differ.

    A field that some do not tell is no field of the type.
    """
    names = dict.fromkeys(name for _, fields in machines for name in fields)
    shared: dict[str, str] = {}
    differing: list[Differing] = []
    for name in names:
        by_text: dict[str, list[str]] = {}
        for machine, fields in machines:
            if name in fields:
                by_text.setdefault(fields[name], []).append(machine)
        if len(by_text) > 1:
            values = ((text, tuple(texts)) for text, texts in by_text.items())
            differing.append(Differing(name, tuple(values)))
        elif sum(map(len, by_text.values())) == len(machines):
            shared[name] = next(iter(by_text))
    return shared, differing


def type_digest(fields: Mapping[str, str]) -> str:
    """Return the SHA-256 of the fields in the order of their names, without blanks."""
    text = json.dumps(
        dict(fields), sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def specimen_fields(content: Content, salt: str) -> dict[str, str]:
    """Return what names this machine and no other, as digests.

    salt: for names that the snapshot tells in the clear: no certificate does.
    """
    result: dict[str, str] = {}
    for leaf in sorted(SPECIMENS):
        kind, _, field = leaf.partition(".")
        part = content.get(kind)
        parts = part if isinstance(part, list) else [part]
        outcome = [
            part.get(field) if isinstance(part, dict) else None for part in parts
        ]
        texts = [_hidden(text, salt) for text in outcome if isinstance(text, str)]
        if texts:
            result[leaf] = " ".join(texts)[:_MOST_TEXT]
    return result


def _hidden(text: str, salt: str) -> str:
    if text.startswith(_DIGEST):
        return text
    salted = f"{salt}\0{text}".encode("utf-8", "replace")
    return f"{_DIGEST}{hashlib.sha256(salted).hexdigest()[:_DIGITS]}"


_JUDGED = frozenset({"pass", "fail", "waived"})
_SHOWN = frozenset({"pass", "waived"})
_HOLDS = frozenset({"pass", "waived", "not_applicable"})
_WORDS = {
    "fail": "fails",
    "unknown": "is not known",
    "error": "could not be judged: a bug of speccheck",
}


class Obstacle(Record):
    """What denies a level, and all above it, whatever the clauses come to.

    tracks: of which it does; empty for all of them.
    """

    level: str
    reason: str
    tracks: tuple[str, ...] = ()


class Denial(Record):
    """The reason why a track is denied a level.

    clause: empty where no single clause is the reason.
    outcome: of the clause; `coverage` where too little was judged; empty for what
        denies every track.
    """

    level: str
    clause: str
    outcome: str
    reason: str


class Grant(Record):
    """The level of a track.

    Attributes:
        level: the highest that it has; None for none.
        highest: the highest of which a clause applies.
        required, passed, not_applicable: musts and shoulds up to `highest`.
        coverage: the judged share of those that apply; None where none does.
        denied: what stands before the next level.

    """

    track: str
    level: str | None
    highest: str
    required: int
    passed: int
    not_applicable: int
    coverage: float | None
    denied: tuple[Denial, ...]

    def reaches(self, level: str) -> bool:
        """Return whether nothing of it that applies up to that level is denied."""
        denials = [
            denial for denial in self.denied if denial.outcome != "not_applicable"
        ]
        return all(denial.level > level for denial in denials)


def grants(
    edition: Edition,
    results: Sequence[JudgedClauseResult],
    floor: float,
    obstacles: Sequence[Obstacle] = (),
) -> list[Grant]:
    """Return the level of each track of an edition.

    Args:
        edition: with the tracks.
        results: of all clauses that are required.
        floor: the share of applicable musts and shoulds that must be judged.
        obstacles: to levels of every track.

    """
    tracks = sorted(
        {name for clause in edition.clauses.values() for name in clause.tracks}
    )
    return [
        _grant(
            track,
            [result for result in results if track in result.clause.tracks],
            floor,
            [
                obstacle
                for obstacle in obstacles
                if not obstacle.tracks or track in obstacle.tracks
            ],
        )
        for track in tracks
    ]


def _grant(
    track: str,
    results: Sequence[JudgedClauseResult],
    floor: float,
    obstacles: Sequence[Obstacle],
) -> Grant:
    weighed = [result for result in results if result.level != "may"]
    held: str | None = None
    denied: tuple[Denial, ...] = ()
    there = [item for item in LEVELS if _applicable(weighed, item)]
    for level in there:
        upto = [
            clause_result
            for clause_result in weighed
            if clause_result.clause.certification_level <= level
        ]
        denied = tuple(_denials(level, upto, floor, obstacles))
        if denied:
            break
        if not any(
            clause_result.outcome in _SHOWN
            for clause_result in _applicable(weighed, level)
        ):
            text = "nothing that it asks for at this level was seen to hold"
            denied = (Denial(level, "", "coverage", text),)
            break
        held = level
    if not there:
        denied = (Denial(LEVELS[0], "", "not_applicable", "nothing of it applies"),)
    return Grant(
        track,
        held,
        there[-1] if there else LEVELS[0],
        len(weighed),
        sum(clause_result.outcome == "pass" for clause_result in weighed),
        sum(clause_result.outcome == "not_applicable" for clause_result in weighed),
        coverage(weighed),
        denied,
    )


def _applicable(
    results: Sequence[JudgedClauseResult], level: str
) -> list[JudgedClauseResult]:
    """Return the clauses of exactly that level which apply."""
    return [
        result
        for result in results
        if result.clause.certification_level == level
        and result.outcome != "not_applicable"
    ]


def coverage(results: Sequence[JudgedClauseResult]) -> float | None:
    """Return the judged share of what applies; None where nothing does."""
    applicable = [result for result in results if result.outcome != "not_applicable"]
    if not applicable:
        return None
    return sum(clause_result.outcome in _JUDGED for clause_result in applicable) / len(
        applicable
    )


def _denials(
    level: str,
    upto: Sequence[JudgedClauseResult],
    floor: float,
    obstacles: Sequence[Obstacle],
) -> Iterator[Denial]:
    for obstacle in obstacles:
        if obstacle.level <= level:
            yield Denial(level, "", "", obstacle.reason)
    for clause_result in upto:
        if clause_result.level == "must" and clause_result.outcome not in _HOLDS:
            yield Denial(
                level,
                clause_result.clause.id,
                clause_result.outcome,
                _reason(clause_result),
            )
    share = coverage(upto)
    if share is not None and share < floor:
        judged = f"{share:.0%} of what applies was judged, at least {floor:.0%} must be"
        yield Denial(level, "", "coverage", judged)


def _reason(result: JudgedClauseResult) -> str:
    """Return what the first finding says that makes the clause what it is."""
    for judged in result.judged:
        finding = judged.finding
        is_it = finding.outcome == result.outcome and not finding.waiver
        # A must that only advice speaks against is not known, though a rule failed.
        is_doubt = result.outcome == "unknown" and finding.outcome == "fail"
        if is_it or is_doubt:
            where = f"{judged.specimen}: " if judged.specimen else ""
            subject = f"{finding.subject}: " if finding.subject else ""
            return f"{where}{subject}{finding.message}"
    return _WORDS[result.outcome]
