"""Small editions of two clauses and three profiles, made without a file."""

from typing import Any

from speccheck.validator.editions.edition import (
    Clause,
    Condition,
    Deprecation,
    Edition,
    EditionProfile,
    Number,
    NumberValue,
    Tombstone,
    Unit,
)

NODES = Unit("nodes", singular="node")
COUNT = Unit("count", is_bare=True)
NOTICE = Deprecation("a test", "1.1", "2.0")
STONE = Tombstone("A-002", "Second", "a test", "1.1")


def number(value: NumberValue | None = 8, **fields: Any) -> Number:  # noqa: ANN401
    stated = Number("most", value, NODES, {}, "a test", "derived")
    return stated._replace(**fields)


def a_clause(clause_id: str = "A-001", **fields: Any) -> Clause:  # noqa: ANN401
    stated = Clause(
        id=clause_id,
        area="A",
        title="A title",
        level="should",
        status="core",
        certification_level="L1",
        requirement="Buckets should be at most {most}.",
        rationale="A reason.",
        remedy="A remedy.",
        applies_when=("several_nodes",),
        evidence=("plan.batch",),
        tracks=("fabric",),
        numbers={"most": number()},
        origin={"engineering_default": ("a test",)},
        note="",
    )
    return stated._replace(**fields)


CERTIFY = EditionProfile("use/certify", "", "core")


def edition(*clauses: Clause, **fields: Any) -> Edition:  # noqa: ANN401
    """Return an edition 1.0 of some clauses, by default two, and three profiles."""
    held = clauses or (a_clause(), a_clause("A-002"))
    stated = Edition(
        id="1.0",
        sha256="0",
        stage="approved",
        title="Title",
        statement="Ours.",
        areas={"A": "Area"},
        clauses={item.id: item for item in held},
        conditions={
            "several_nodes": Condition(
                "several_nodes", "cluster.nodes", "", more_than=1
            )
        },
        profiles={
            "base": EditionProfile("base", "", "core"),
            "use/certify": CERTIFY,
            "size/L": EditionProfile("size/L", "", "core"),
        },
    )
    return stated._replace(**fields)


def with_first(**fields: Any) -> Edition:  # noqa: ANN401
    return edition(a_clause(**fields), a_clause("A-002"))


def with_certify(**fields: Any) -> Edition:  # noqa: ANN401
    stated = edition()
    found = CERTIFY._replace(**fields)
    return stated._replace(profiles={**stated.profiles, "use/certify": found})


def must(**fields: Any) -> Clause:  # noqa: ANN401
    requirement = "Buckets must be at most {most}."
    return a_clause(level="must", requirement=requirement, **fields)


PROPOSED = a_clause("A-003", status="proposed")
