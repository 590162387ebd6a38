"""The profiles: what each kind selects, raises, leaves out and says for readers."""

from collections.abc import Iterator, Sequence

from speccheck.validator.editions.edition_models import EditionSource, ProfileSource
from speccheck.validator.report.specification.blocks import (
    Block,
    Heading,
    Line,
    Linked,
    Paragraph,
    Table,
    Terms,
    anchor_of,
    line,
    table,
)

_KINDS = (
    ("size", "Size classes", "How many GPUs and nodes the job has."),
    ("accel", "Accelerators", "The part; its facts stand in the hardware catalogue."),
    ("fabric", "Fabrics", "The network between nodes."),
    ("instance", "Instance types", "A provider's type: accelerator and fabric."),
    ("use", "Uses", "What the judgement is for; chapter 5 has its terms."),
)


def profiles(source: EditionSource, linked: Linked) -> Iterator[Block]:
    """The chapter of profiles."""
    yield Heading(1, "Profiles", "profiles")
    yield Paragraph(
        line(
            "Profiles compose in this order: base, size class, accelerator, fabric, "
            "use, instance type. Of two numbers that of the later one counts; levels "
            "are only ever raised; what one profile leaves out stays out. A profile "
            "that is proposed is judged by, and is no basis for a certificate."
        )
    )
    by_kind = {kind: _of_kind(source, kind) for kind, *_ in _KINDS}
    base = next(one for one in source.profiles if one.id == "base")
    yield Heading(2, "Base", "profile-base")
    yield Paragraph(line(f"Every composition begins with it: {base.title}."))
    yield Terms(tuple(_effects(base, linked)))
    for kind, title, text in _KINDS:
        yield Heading(2, title, f"profiles-{kind}")
        yield Paragraph(line(text))
        if kind == "instance":
            yield _instances(by_kind[kind])
            continue
        for one in by_kind[kind]:
            yield from _profile(one, linked)


def _of_kind(source: EditionSource, kind: str) -> list[ProfileSource]:
    return [one for one in source.profiles if one.id.startswith(f"{kind}/")]


def _profile(profile: ProfileSource, linked: Linked) -> Iterator[Block]:
    title = f"{profile.id}: {profile.title}" if profile.title else profile.id
    yield Heading(3, title, anchor_of(f"profile {profile.id}"))
    rows = list(_facts(profile, linked))
    rows += _effects(profile, linked)
    if rows:
        yield Terms(tuple(rows))
    if profile.settings:
        yield _settings(profile)


def _facts(profile: ProfileSource, linked: Linked) -> Iterator[tuple[str, Line]]:
    if profile.status != "core":
        yield "Status", line(profile.status)
    for name, bounds in (("Nodes", profile.nodes), ("GPUs", profile.gpus)):
        if bounds is not None:
            yield name, line(_bounds(*bounds))
    if profile.reason:
        told = f" ({profile.confidence})" if profile.confidence else ""
        yield "Reason", line(*linked(profile.reason), told)
    if profile.link_layer:
        yield "Link layer", line(profile.link_layer)
    for name, is_so in (("RDMA", profile.rdma), ("Lossless", profile.lossless)):
        if is_so is not None:
            yield name, line("yes" if is_so else "no")
    if profile.network_names:
        yield "Networks of NCCL", line(", ".join(profile.network_names))
    if profile.note:
        yield "Note", linked(profile.note)


def _effects(profile: ProfileSource, linked: Linked) -> Iterator[tuple[str, Line]]:
    if profile.adds:
        yield "Adds", linked.clauses(profile.adds)
    for kind, names in profile.adds_with_evidence.items():
        yield f"Adds with {kind}", linked.clauses(names)
    for entry in profile.raises_when:
        where = [", ".join(names) for names in (entry.use, entry.size) if names]
        told = f"in {' with '.join(where)}: " if where else ""
        by_level: dict[str, list[str]] = {}
        for clause, raised in entry.raises.items():
            by_level.setdefault(raised, []).append(clause)
        for level, clauses in by_level.items():
            parts = linked.clauses(clauses)
            yield f"Raises to {level}", line(told, *parts, ". ", entry.reason)
    for name, reason in profile.not_applicable.items():
        yield "Leaves out", line(*linked(name), f": {reason}")


def _settings(profile: ProfileSource) -> Table:
    rows = (
        (
            line(one.where),
            line(name),
            line(text),
            line(one.confidence, ": ", one.source),
        )
        for one in profile.settings
        for name, text in one.values.items()
    )
    caption = f"What {profile.id} shows where it is sound (informative)"
    return table(caption, ("evidence", "name", "value", "source"), rows)


def _instances(found: Sequence[ProfileSource]) -> Table:
    return table(
        "Instance types",
        ("instance type", "accelerator", "fabric", "status", "note"),
        (
            (
                line(one.id),
                line((one.accelerator or "").partition("/")[2]),
                line((one.fabric or "").partition("/")[2]),
                line(one.status),
                line(one.note or ""),
            )
            for one in found
        ),
    )


def _bounds(least: int, most: int | None) -> str:
    if most is None:
        return f"{least:,} and more"
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
