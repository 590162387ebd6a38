"""The chapters of the document of an edition, in the order of a standard."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from speccheck.validator.editions.compose import ComposedEdition, compose
from speccheck.validator.editions.edition import (
    Clause,
    Edition,
    level_word,
    number_text,
)
from speccheck.validator.editions.edition_models import (
    ClaimSource,
    EditionSource,
    ProfileSource,
    TermSource,
)
from speccheck.validator.editions.show import (
    by_profile_text,
    conditions_text,
    origin_texts,
    raised_elsewhere,
)
from speccheck.validator.report.document import (
    Badges,
    Block,
    Code,
    Heading,
    Inline,
    Items,
    Line,
    Link,
    Paragraph,
    Parts,
    Strong,
    Table,
    Terms,
    joined,
    line,
)

_CLAUSE = re.compile(r"\b[A-Z]{2,5}-\d{3}\b")
STAGES = {
    "draft": "A draft: it may change in any way, and nothing is certified by it.",
    "candidate": (
        "A candidate: it is judged and certified by, and may still change until it is "
        "approved."
    ),
    "approved": "Approved: it does not change any more. What follows is a new edition.",
    "retired": "Retired: it is kept so that old reports can be judged again.",
}
CONFIDENCE = (
    ("verified", "read in the source that is named"),
    ("derived", "our calculation from numbers that have a source"),
    ("secondary", "reported by others than the source itself"),
    ("engineering-default", "our choice, without any authority"),
)
TRACKS = {
    "comm-topology": "communication libraries, and how ranks lie on the machines",
    "memory-batch-precision": "memory, batches, number formats, kernels and data",
    "checkpoint-recovery": "checkpoints, faults and the return from them",
    "observability": "what is measured and logged, and that it can be relied on",
    "fabric": "the network between nodes",
    "security-energy": "secrets, listeners, power and clocks",
}
_LEVEL_WORDS = (
    ("L1", "files of configuration alone settle it"),
    ("L2", "a snapshot of a live node is needed"),
    ("L3", "a measured run is needed: bandwidths, telemetry, a recovery drill"),
)
_VERDICTS = (
    ("pass", "the evidence was seen, and the requirement holds"),
    ("fail", "the evidence was seen, and the requirement does not hold"),
    ("unknown", "evidence is missing; it is never counted as a pass"),
    (
        "not applicable",
        "a condition does not hold, or a profile leaves the clause out",
    ),
    ("error", "the program that judges broke; it says nothing of what is judged"),
)
_NORMATIVE = (
    "Normative are the requirements of chapter 3 with their numbers and conditions, "
    "the profiles of chapter 4 and the terms of chapter 5. Rationale, remedies, notes, "
    "sources and annexes are informative."
)


def table(caption: str, heads: Iterable[str], rows: Iterable[Iterable[Parts]]) -> Table:
    """Return a table of rows of lines."""
    return Table(caption, tuple(heads), tuple(tuple(row) for row in rows))


def anchor_of(name: str) -> str:
    """Return the anchor of a clause, an area or a profile, by its name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


class Linked:
    """Makes references of the ids of clauses that there are."""

    def __init__(self, clauses: Collection[str]) -> None:
        """Take the ids."""
        self._clauses = clauses

    def __call__(self, text: str) -> Line:
        """Return a text in which each id of a clause is a reference."""
        parts: list[Inline] = []
        end = 0
        for match in _CLAUSE.finditer(text):
            if match[0] in self._clauses:
                parts += [text[end : match.start()], self.clause(match[0])]
                end = match.end()
        parts.append(text[end:])
        return tuple(part for part in parts if part)

    def clause(self, name: str) -> Inline:
        """Return a reference to a clause; its id alone where there is none."""
        return Link(name, anchor_of(name), "ref") if name in self._clauses else name

    def clauses(self, names: Iterable[str]) -> Line:
        """Return the references to clauses, one after another."""
        return joined(self.clause(name) for name in names)


def front(edition: Edition, source: EditionSource) -> Iterator[Block]:
    """Yield the status, scope and conventions."""
    yield from _status(edition, source)
    yield from _scope(edition, source)
    yield from _conventions(edition, source)


def _status(edition: Edition, source: EditionSource) -> Iterator[Block]:
    clauses = edition.clauses.values()
    counts = ", ".join(
        f"{sum(clause.level == level for clause in clauses)} {level_word(level)}"
        for level in ("must", "should", "may")
    )
    core = sum(clause.status == "core" for clause in clauses)
    base = getattr(source.head, "extends", None)
    yield Heading(1, "Status of this document", "status", "-")
    yield Paragraph(STAGES[edition.stage])
    rows: list[tuple[str, Parts]] = [
        ("Edition", edition.id),
        ("Stage", edition.stage),
        ("Clauses", f"{len(edition.clauses)}: {counts}; {core} core"),
        ("Profiles", str(len(edition.profiles))),
        ("Identity", line("sha256 ", Code(edition.sha256))),
    ]
    if base is not None:
        rows.insert(2, ("Extends", f"edition {base.id}"))
    yield Terms(tuple(rows))
    yield Paragraph(
        "The identity is the SHA-256 of the compiled edition: its canonical JSON, "
        "with sorted keys, without blanks, in UTF-8. Every report and certificate "
        "names it. This document is made of the same files and says nothing that "
        "they do not say."
    )


def _scope(edition: Edition, source: EditionSource) -> Iterator[Block]:
    titles = [area.title.lower() for area in source.head.areas]
    yield Heading(1, "Scope", "scope")
    yield Paragraph(edition.statement)
    yield Paragraph(
        "This edition states requirements for large-scale distributed training of "
        "neural networks: for the files that configure a run, for the machines "
        "that it runs on, and for what is measured on them. It covers "
        f"{', '.join(titles[:-1])} and {titles[-1]}."
    )
    yield Paragraph(
        "It does not specify a protocol, a file format, an accelerator or a "
        "service, and does not judge the quality of a model. Where a framework, a "
        "library or a vendor documents a limit, that documentation counts; clauses "
        "name it as their source."
    )
    yield Paragraph(_NORMATIVE)


def _conventions(edition: Edition, source: EditionSource) -> Iterator[Block]:
    yield Heading(1, "Conventions", "conventions")
    yield from _words()
    yield from _numbers(source)
    yield from _conditions(source)
    yield from _certification(edition, source)
    yield from _evidence(source)


def _words() -> Iterator[Block]:
    yield Heading(2, "Words of requirement", "words-of-requirement")
    yield Paragraph(
        line(
            "The words ",
            *(Strong("MUST"), ", ", Strong("SHOULD"), " and ", Strong("MAY")),
            ", and their negations, are to be interpreted as described in BCP 14 (RFC "
            "2119, RFC 8174) when, and only when, they appear in capitals, as they do "
            "in the requirements of clauses. In lower case they are ordinary English.",
        )
    )
    rows = (
        ("MUST", "an error", "denies a certificate"),
        ("SHOULD", "a warning", "counts into the coverage"),
        ("MAY", "an info", "is of no effect"),
    )
    yield table(
        "What a failure of each level is",
        ("level", "a failure is", "in a certificate it"),
        ((Strong(a), b, c) for a, b, c in rows),
    )
    yield Heading(2, "Clauses", "clauses-explained")
    yield Paragraph(
        "A clause is one numbered requirement. Its id is permanent and is never "
        "given to another one. A core clause is always judged, a proposed clause "
        "where a profile adds it or evidence of its kind is at hand. The level "
        "stands at the clause; profiles may raise it, and never lower it."
    )
    yield Heading(2, "Verdicts", "verdicts")
    yield Terms(tuple((name, text) for name, text in _VERDICTS))
    yield Paragraph(
        "Several rules may judge one clause. The clause is as good as its worst "
        "verdict, and unknown beats pass."
    )


def _numbers(source: EditionSource) -> Iterator[Block]:
    yield Heading(2, "Numbers", "numbers")
    yield Paragraph(
        "Each threshold is a named number of its clause, with unit, source and "
        "confidence. Of several values that of the most specific profile counts: "
        "of size, accelerator, fabric, use and instance type the last that has "
        "one; then that of the precision; then the table over node counts, read by "
        "linear interpolation; then the value by default. A number without a value "
        "for a job leaves the clause unknown. The plausible range is one that no "
        "value leaves, an own one of a user neither."
    )
    yield table(
        "How sure a number is",
        ("confidence", "what stands behind it"),
        ((name, text) for name, text in CONFIDENCE),
    )
    yield table(
        "Units",
        ("unit", "meaning"),
        (
            (name, unit.text or f"one {unit.one}, several {name}")
            for name, unit in source.head.units.items()
        ),
    )


def _conditions(source: EditionSource) -> Iterator[Block]:
    yield Heading(2, "Conditions of application", "conditions")
    yield Paragraph(
        "A clause applies where all its conditions hold, and everywhere where it "
        "has none. A condition whose fact nobody states is open: the clause is "
        "unknown then, and not passed."
    )
    yield table(
        "Conditions of application",
        ("condition", "fact", "holds where"),
        (
            (Code(name), Code(condition.fact), condition.text)
            for name, condition in source.conditions.items()
        ),
    )


def _certification(edition: Edition, source: EditionSource) -> Iterator[Block]:
    yield Heading(2, "Levels of certification and tracks", "certification-levels")
    yield Terms(tuple((name, text) for name, text in _LEVEL_WORDS))
    clauses = edition.clauses.values()
    yield table(
        "Tracks",
        ("track", "what it is about", "clauses"),
        (
            (
                name,
                TRACKS.get(name, ""),
                str(sum(name in clause.tracks for clause in clauses)),
            )
            for name in source.head.tracks
        ),
    )


def _evidence(source: EditionSource) -> Iterator[Block]:
    yield Heading(2, "Kinds of evidence", "evidence")
    yield table(
        "Kinds of evidence",
        ("kind", "what it holds"),
        ((Code(name), text) for name, text in source.head.evidence_kinds.items()),
    )


def requirements(edition: Edition, linked: Linked) -> Iterator[Block]:
    """Yield the chapter of requirements."""
    yield Heading(1, "Requirements", "requirements")
    composed = compose(edition, use="ci")
    for code, title in edition.areas.items():
        clauses = [clause for clause in edition.clauses.values() if clause.area == code]
        if not clauses:
            continue
        yield Heading(2, f"{title} ({code})", anchor_of(f"area {code}"))
        yield Paragraph(_count(clauses))
        for clause in clauses:
            yield from _Clause(clause, composed, linked).blocks()


def _count(clauses: list[Clause]) -> str:
    counts = [
        f"{number} {level_word(level)}"
        for level in ("must", "should", "may")
        if (number := sum(clause.level == level for clause in clauses))
    ]
    noun = "clause" if len(clauses) == 1 else "clauses"
    return f"{len(clauses)} {noun}: {', '.join(counts)}."


class _Clause:
    """One clause as blocks."""

    def __init__(
        self, clause: Clause, composed: ComposedEdition, linked: Linked
    ) -> None:
        self._clause = clause
        self._composed = composed
        self._edition = composed.edition
        self._linked = linked

    def blocks(self) -> Iterator[Block]:
        clause = self._clause
        yield Heading(
            3, f"{clause.id} {clause.title}", anchor_of(clause.id), is_clause=True
        )
        words = (clause.status, clause.certification_level, *clause.tracks)
        yield Badges(clause.level, words)
        yield Paragraph(normative(clause), "requirement")
        if clause.numbers:
            yield self._numbers()
        yield Terms(tuple(self._terms()))

    def _numbers(self) -> Table:
        return table(
            f"Numbers of {self._clause.id}",
            ("number", "value", "plausible", "confidence", "source"),
            (self._number(name) for name in self._clause.numbers),
        )

    def _number(self, name: str) -> Iterator[Parts]:
        number = self._clause.numbers[name]
        texts = [] if number.value is None else [number_text(number, number.value)]
        if number.by_profile:
            texts.append(by_profile_text(number))
        plausible = ""
        if number.plausible is not None:
            low, high = (_whole(value) for value in number.plausible)
            plausible = f"{number_text(number, low)} to {number_text(number, high)}"
        yield Code(name)
        yield "; ".join(texts)
        yield plausible
        yield number.confidence
        yield number.source

    def _terms(self) -> Iterator[tuple[str, Parts]]:
        clause, edition = self._clause, self._edition
        yield "Applies", line(*conditions_text(clause, edition))
        judged = self._composed.judged(clause.id)
        for text in raised_elsewhere(clause, edition, judged):
            yield "Raised", self._linked(text)
        adding = [p.id for p in edition.profiles.values() if clause.id in _added(p)]
        if clause.status == "proposed" and adding:
            yield "Added by", ", ".join(adding)
        deprecated = getattr(clause, "deprecated", None)
        if deprecated is not None:
            yield "Deprecated", self._linked(deprecated.text)
        yield "Rationale", self._linked(clause.rationale)
        yield "Remedy", self._linked(clause.remedy)
        yield "Evidence", joined(map(Code, clause.evidence))
        yield "Rests on", "; ".join(origin_texts(clause))
        for name, number in clause.numbers.items():
            if number.note:
                yield "Note", line(Code(name), ": ", *self._linked(number.note))
        if clause.note:
            yield "Note", self._linked(clause.note)


def _added(profile: object) -> set[str]:
    adds: tuple[str, ...] = getattr(profile, "adds", ())
    besides = getattr(profile, "adds_with_evidence", {}).values()
    return {*adds, *(name for names in besides for name in names)}


def _whole(value: float) -> float:
    return int(value) if value % 1 == 0 else value


def normative(clause: Clause) -> Line:
    """Return the requirement, its word of RFC 2119 in capitals."""
    text = clause.requirement_text()
    names = {number_text(number, None): name for name, number in clause.numbers.items()}
    unset = "|".join(map(re.escape, names)) or "(?!)"
    word = re.compile(rf"\b{clause.level}( not)?\b|{unset}")
    parts: list[Inline] = []
    end = 0
    for match in word.finditer(text):
        name = names.get(match[0])
        shown = Strong(match[0].upper()) if name is None else Code(name)
        parts += [text[end : match.start()], shown]
        end = match.end()
    return tuple(item for item in (*parts, text[end:]) if item)


_KINDS = (
    ("size", "Size classes", "How many GPUs and nodes the job has."),
    ("accel", "Accelerators", "The part; its facts stand in the hardware catalogue."),
    ("fabric", "Fabrics", "The network between nodes."),
    ("instance", "Instance types", "A provider's type: accelerator and fabric."),
    ("use", "Uses", "What the judgement is for; chapter 5 has its terms."),
)


def profiles(source: EditionSource, linked: Linked) -> Iterator[Block]:
    """Yield the chapter of profiles."""
    yield Heading(1, "Profiles", "profiles")
    yield Paragraph(
        "Profiles compose in this order: base, size class, accelerator, fabric, "
        "use, instance type. Of two numbers that of the later one counts; levels "
        "are only ever raised; what one profile leaves out stays out. A profile "
        "that is proposed is judged by, and is no basis for a certificate."
    )
    by_kind = {kind: _of_kind(source, kind) for kind, *_ in _KINDS}
    base = next(profile for profile in source.profiles if profile.id == "base")
    yield Heading(2, "Base", "profile-base")
    yield Paragraph(f"Every composition begins with it: {base.title}.")
    yield Terms(tuple(_effects(base, linked)))
    for kind, title, text in _KINDS:
        yield Heading(2, title, f"profiles-{kind}")
        yield Paragraph(text)
        if kind == "instance":
            yield _instances(by_kind[kind])
            continue
        for profile_source in by_kind[kind]:
            yield from _profile(profile_source, linked)


def _of_kind(source: EditionSource, kind: str) -> list[ProfileSource]:
    return [profile for profile in source.profiles if profile.id.startswith(f"{kind}/")]


def _profile(profile: ProfileSource, linked: Linked) -> Iterator[Block]:
    title = f"{profile.id}: {profile.title}" if profile.title else profile.id
    yield Heading(3, title, anchor_of(f"profile {profile.id}"))
    rows = list(_facts(profile, linked))
    rows += _effects(profile, linked)
    if rows:
        yield Terms(tuple(rows))
    if profile.settings:
        yield _settings(profile)


def _facts(profile: ProfileSource, linked: Linked) -> Iterator[tuple[str, Parts]]:
    if profile.status != "core":
        yield "Status", profile.status
    for name, bounds in (("Nodes", profile.nodes), ("GPUs", profile.gpus)):
        if bounds is not None:
            yield name, _bounds(*bounds)
    if profile.reason:
        words = f" ({profile.confidence})" if profile.confidence else ""
        yield "Reason", line(*linked(profile.reason), words)
    if profile.link_layer:
        yield "Link layer", profile.link_layer
    for name, is_so in (("RDMA", profile.rdma), ("Lossless", profile.lossless)):
        if is_so is not None:
            yield name, ("yes" if is_so else "no")
    if profile.network_names:
        yield "Networks of NCCL", ", ".join(profile.network_names)
    if profile.note:
        yield "Note", linked(profile.note)


def _effects(profile: ProfileSource, linked: Linked) -> Iterator[tuple[str, Parts]]:
    if profile.adds:
        yield "Adds", linked.clauses(profile.adds)
    for kind, names in profile.adds_with_evidence.items():
        yield f"Adds with {kind}", linked.clauses(names)
    for entry in profile.raises_when:
        where = [", ".join(names) for names in (entry.use, entry.size) if names]
        words = f"in {' with '.join(where)}: " if where else ""
        by_level: dict[str, list[str]] = {}
        for clause, raised in entry.raises.items():
            by_level.setdefault(raised, []).append(clause)
        for level, clauses in by_level.items():
            parts = linked.clauses(clauses)
            yield f"Raises to {level}", line(words, *parts, ". ", entry.reason)
    for name, reason in profile.not_applicable.items():
        yield "Leaves out", line(*linked(name), f": {reason}")


def _settings(profile: ProfileSource) -> Table:
    rows = (
        (
            setting.where,
            name,
            text,
            line(setting.confidence, ": ", setting.source),
        )
        for setting in profile.settings
        for name, text in setting.values.items()
    )
    caption = f"What {profile.id} shows where it is sound (informative)"
    return table(caption, ("evidence", "name", "value", "source"), rows)


def _instances(profile_sources: Sequence[ProfileSource]) -> Table:
    return table(
        "Instance types",
        ("instance type", "accelerator", "fabric", "status", "note"),
        (
            (
                profile_source.id,
                (profile_source.accelerator or "").partition("/")[2],
                (profile_source.fabric or "").partition("/")[2],
                profile_source.status,
                profile_source.note or "",
            )
            for profile_source in profile_sources
        ),
    )


def _bounds(least: int, most: int | None) -> str:
    if most is None:
        return f"{least:,} and more"
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


_UNKNOWN = {
    "listed": "is listed, and changes nothing as long as some must was judged",
    "inconclusive": "makes the result inconclusive",
    "denied": "denies the level",
}
_UNITS = {"d": "days", "ratio": "", "nodes": "machines"}
_TERMS = {
    "validity": ("Validity", "from the day on which the certificate was made"),
    "evidence_age": ("Age of evidence", "at most, on that day"),
    "coverage_floor": (
        "Coverage floor",
        "share of the musts and shoulds that apply, and were judged",
    ),
    "specimens": ("Specimens", "at least, of one type"),
}


def conformance(source: EditionSource) -> Iterator[Block]:
    """Yield the chapter of conformance."""
    yield Heading(1, "Conformance", "conformance")
    uses = [profile for profile in source.profiles if profile.id.startswith("use/")]
    yield Heading(2, "Uses", "conformance-uses")
    yield Paragraph(
        "A job, a machine or an instance type conforms to this edition for a use "
        "when every must that applies to it was judged and holds, under the "
        "profiles of the job, and nothing of what the use requires is unknown. A "
        "claim of conformance names edition, identity, profiles and use."
    )
    yield table(
        "Uses",
        ("use", "evidence of levels", "a must without evidence", "edition named"),
        (_use(use) for use in uses),
    )
    for use in uses:
        if use.validity is not None or use.coverage_floor is not None:
            yield from _certificate(use)
    yield from _deviations()


def _use(profile: ProfileSource) -> tuple[Parts, ...]:
    return (
        f"{profile.id}: {profile.title}",
        ", ".join(profile.certification_levels),
        _UNKNOWN[profile.unknown_must or "listed"],
        profile.edition_pin or "",
    )


def _certificate(profile: ProfileSource) -> Iterator[Block]:
    yield Heading(2, "What a certificate asks", "certificate")
    yield Paragraph(
        "Certificates state tracks and levels. A track has level L1, L2 or L3 "
        "where every must of the track up to that level passes or does not apply "
        "under the profile of the instance type, none is unknown or failed, and "
        "the coverage floor is reached. A level is denied track by track: a track "
        "without evidence denies itself alone. A higher level includes the lower "
        "ones."
    )
    rows: list[tuple[Parts, ...]] = []
    for name, (title, text) in _TERMS.items():
        term: TermSource | None = getattr(profile, name)
        if term is not None:
            words = f"{term.confidence}: {term.source}"
            if term.confidence == "engineering-default":
                words = term.source
            rows.append(
                (
                    title,
                    f"{term.value:g} {_UNITS[term.unit]}".strip(),
                    text,
                    (f"{words}. {term.note}" if term.note else words),
                )
            )
    yield table("Terms of a certificate", ("term", "value", "what", "source"), rows)
    yield Items(tuple(_requirements(profile)))
    if profile.note:
        yield Paragraph(profile.note)


def _requirements(profile: ProfileSource) -> Iterator[Parts]:
    yield "The edition is named with its identity; a draft certifies nothing."
    if profile.bound_to:
        bound = ", ".join(profile.bound_to)
        yield f"A certificate is bound to: {bound}. Where one changes, it ends."
    yield (
        "It holds what was measured with its conditions, digests of all evidence, "
        "every verdict, and what could not be judged: whoever has the evidence can "
        "judge it again, and the verdicts must come out again."
    )
    yield "Evidence of machines that do not exist is said to be synthetic in it."


def _deviations() -> Iterator[Block]:
    yield Heading(2, "Waivers and own numbers", "deviations")
    yield Paragraph(
        "A failure may be waived by who answers for it, with a reason and an end. "
        "It stays a failure, is shown as one, and denies a level in a certificate "
        "unless the waiver is in force when it is made; the certificate lists it."
    )
    yield Paragraph(
        "A number may be replaced by an own one, within its plausible range, with "
        "a reason, an owner and an end. Every report and certificate then says how "
        "many numbers are tailored, and marks each verdict that would be a failure "
        "by the number of this edition. What holds by own numbers alone does not "
        "conform to this edition, but to the edition as tailored."
    )


_LEVELS = ("L1", "L2", "L3")


def changes(source: EditionSource, linked: Linked) -> Iterator[Block]:
    """Yield the chapter of changes."""
    changes_source = source.changes
    yield Heading(1, "Changes", "changes")
    yield Heading(2, f"Since the {_before(changes_source.before)}", "changes-since")
    yield table(
        "Changes with their reasons",
        ("kind", "clauses", "what and why"),
        (
            (
                change.kind,
                linked.clauses(change.clauses),
                line(
                    *([f"{change.from_} to {change.to}. "] if change.to else []),
                    *linked(change.reason),
                ),
            )
            for change in changes_source.changes
        ),
    )
    yield from _ended("Withdrawn clauses", "withdrawn", source, linked)
    yield from _ended("Deprecated clauses", "deprecated", source, linked)


def _before(text: str) -> str:
    return text.removeprefix("the ")


def _ended(
    title: str, name: str, source: EditionSource, linked: Linked
) -> Iterator[Block]:
    """Yield the clauses that are gone, or will go; editions without any say so."""
    rows: Mapping[str, Any] = getattr(source.head, name, {})
    yield Heading(2, title, name)
    if not rows:
        yield Paragraph("None.")
        return
    yield table(
        title,
        ("clause", "since", "in its place", "reason"),
        (
            (
                linked.clause(clause),
                str(row.since),
                (linked.clause(row.replaced_by) if row.replaced_by else "nothing"),
                line(_removal(row), *linked(row.reason)),
            )
            for clause, row in rows.items()
        ),
    )


def _removal(item: object) -> str:
    removed = getattr(item, "removed_in", None)
    return f"To be withdrawn in {removed}: " if removed else ""


def annexes(edition: Edition, source: EditionSource, linked: Linked) -> Iterator[Block]:
    """Yield the provenance and the indexes."""
    yield from _provenance(source, linked)
    yield from _by_track(edition, source, linked)
    yield from _index(edition, linked)


def _provenance(source: EditionSource, linked: Linked) -> Iterator[Block]:
    provenance_source = source.provenance
    yield Heading(1, "Provenance (informative)", "provenance", "Annex A")
    yield Paragraph(provenance_source.statement)
    yield table(
        "Reports",
        ("report", "title", "subject"),
        (
            (report.id, report.title, report.subject)
            for report in provenance_source.reports
        ),
    )
    yield Heading(2, "Where reports contradict each other", "contradictions", "-")
    for contradiction in provenance_source.contradictions:
        words = "; ".join(
            f"{name}: {text}" for name, text in contradiction.statements.items()
        )
        yield Terms(((contradiction.topic, f"{words}. {contradiction.resolution}"),))
    yield Heading(2, "Claims", "claims", "-")
    yield Paragraph(
        "Public claims in our own words, and the clauses that take them up."
    )
    yield table(
        "Claims",
        ("claim", "what is claimed", "clauses"),
        (_claim(claim, linked) for claim in provenance_source.claims),
    )


def _claim(claim: ClaimSource, linked: Linked) -> tuple[Parts, ...]:
    text: list[Inline] = [claim.claim]
    if claim.number is not None:
        number = claim.number
        text.append(f" Number: {_shown(number.value)} {number.unit} ({number.kind}).")
    if claim.note:
        text.append(f" {claim.note}")
    used = f"; {claim.used_for}" if claim.used_for else ""
    return claim.id, tuple(text), line(*linked.clauses(claim.clauses), used)


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _by_track(
    edition: Edition, source: EditionSource, linked: Linked
) -> Iterator[Block]:
    yield Heading(1, "Clauses by track and level (informative)", "by-track", "Annex B")
    for track in source.head.tracks:
        clauses = [
            clause for clause in edition.clauses.values() if track in clause.tracks
        ]
        yield Heading(2, track, anchor_of(f"track {track}"), "-")
        rows = [
            (f"{level} {word}", joined(map(linked.clause, _ids(clauses, level, word))))
            for level in _LEVELS
            for word in ("must", "should", "may")
        ]
        yield Terms(tuple(row for row in rows if row[1]))


def _ids(clauses: list[Clause], level: str, word: str) -> Iterator[str]:
    for clause in clauses:
        if clause.certification_level == level and clause.level == word:
            yield clause.id


def _index(edition: Edition, linked: Linked) -> Iterator[Block]:
    yield Heading(1, "Index of clauses (informative)", "index", "Annex C")
    yield table(
        "Index of clauses",
        ("clause", "title", "level", "status", "certification"),
        (
            (
                linked.clause(clause.id),
                clause.title,
                clause.level,
                clause.status,
                clause.certification_level,
            )
            for clause in sorted(edition.clauses.values(), key=lambda item: item.id)
        ),
    )
