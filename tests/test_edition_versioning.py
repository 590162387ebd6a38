"""What an edition may change by its id: each kind of difference, and what it weighs."""

from collections.abc import Callable
from contextlib import chdir as working_in
from pathlib import Path
from typing import Any

import pytest

from edition_folders import clause, compiled, reasons, write
from rule_fixtures import load, of_files, on_the_day, request_of
from speccheck.validator.clause_outcome import by_clause
from speccheck.validator.run import run
from speccheck.validator.selection import Selection
from speccheck.validator.spec.differing_numbers import direction
from speccheck.validator.spec.edition import (
    Clause,
    Condition,
    Edition,
    Profile,
    Raise,
    editions,
    load_edition,
)
from speccheck.validator.spec.edition_source import EditionSourceError
from speccheck.validator.spec.lifecycle import Deprecation, Tombstone
from speccheck.validator.spec.number import Number, NumberValue, Unit
from speccheck.validator.spec.versioning import differences, refusals, weight_between

NODES = Unit("nodes", singular="node")
COUNT = Unit("count", is_bare=True)
NOTICE = Deprecation("a test", "1.1", "2.0")
STONE = Tombstone("A-002", "Second", "a test", "1.1")
EVERY = 7  # of the rule fixtures, one in so many is judged by both editions


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


CERTIFY = Profile("use/certify", "", "core")


def edition(*clauses: Clause, **fields: Any) -> Edition:  # noqa: ANN401
    """An edition 1.0 of some clauses, by default of two, and of three profiles."""
    held = clauses or (a_clause(), a_clause("A-002"))
    stated = Edition(
        id="1.0",
        sha256="0",
        stage="approved",
        title="Title",
        statement="Ours.",
        areas={"A": "Area"},
        clauses={one.id: one for one in held},
        conditions={
            "several_nodes": Condition(
                "several_nodes", "cluster.nodes", "", more_than=1
            )
        },
        profiles={
            "base": Profile("base", "", "core"),
            "use/certify": CERTIFY,
            "size/L": Profile("size/L", "", "core"),
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
TO_MUST = Raise({"A-001": "must"}, "a test")
Weighed = tuple[Edition, Edition, list[tuple[str, str, str]]]
CASES: dict[str, Weighed] = {
    "nothing": (edition(), edition(), []),
    "a_new_should": (
        edition(),
        edition(a_clause(), a_clause("A-002"), a_clause("A-003")),
        [("added", "A-003", "MINOR")],
    ),
    "a_new_must": (
        edition(a_clause()),
        edition(a_clause(), must(id="A-004")),
        [("added", "A-004", "MAJOR")],
    ),
    "a_new_should_that_certification_raises": (
        edition(a_clause("A-002")),
        edition(a_clause(), a_clause("A-002"))._replace(
            profiles=with_certify(raises=(TO_MUST,)).profiles
        ),
        [("added", "A-001", "MAJOR"), ("profile", "use/certify", "MAJOR")],
    ),
    "a_new_must_that_nobody_has_judged": (
        edition(a_clause()),
        edition(a_clause(), must(id="A-004", status="proposed")),
        [("added", "A-004", "MINOR")],
    ),
    "a_clause_that_goes_unannounced": (
        edition(),
        edition(a_clause(), withdrawn={"A-002": STONE}),
        [("withdrawn", "A-002", "MAJOR")],
    ),
    "a_clause_that_goes_as_announced": (
        edition(a_clause(), a_clause("A-002", deprecated=NOTICE)),
        edition(a_clause(), withdrawn={"A-002": STONE}),
        [("withdrawn", "A-002", "MINOR")],
    ),
    "a_clause_that_vanishes": (
        edition(),
        edition(a_clause()),
        [("withdrawn", "A-002", "MAJOR")],
    ),
    "an_id_that_comes_back": (
        edition(a_clause(), withdrawn={"A-002": STONE}),
        edition(),
        [("added", "A-002", "MINOR"), ("withdrawn", "A-002", "MAJOR")],
    ),
    "a_tombstone_that_vanishes": (
        edition(a_clause(), withdrawn={"A-002": STONE}),
        edition(a_clause()),
        [("withdrawn", "A-002", "MAJOR")],
    ),
    "a_deprecation": (
        edition(),
        with_first(deprecated=NOTICE),
        [("deprecated", "A-001", "MINOR")],
    ),
    "a_should_that_becomes_a_must": (
        edition(),
        edition(must(), a_clause("A-002")),
        [("level", "A-001", "MAJOR"), ("wording", "A-001", "PATCH")],
    ),
    "a_should_that_becomes_a_may": (
        edition(),
        with_first(level="may"),
        [("level", "A-001", "MINOR")],
    ),
    "a_may_that_becomes_a_should": (
        with_first(level="may"),
        edition(),
        [("level", "A-001", "MINOR")],
    ),
    "a_should_that_joins_the_core": (
        with_first(status="proposed"),
        edition(),
        [("level", "A-001", "MINOR")],
    ),
    "a_must_that_joins_the_core": (
        edition(must(status="proposed")),
        edition(must()),
        [("level", "A-001", "MAJOR")],
    ),
    "a_must_of_a_lower_level_of_certificates": (
        edition(must(certification_level="L2")),
        edition(must()),
        [("level", "A-001", "MAJOR")],
    ),
    "a_must_of_a_higher_one": (
        edition(must()),
        edition(must(certification_level="L2")),
        [("level", "A-001", "MINOR")],
    ),
    "a_ceiling_that_falls": (
        edition(),
        with_first(numbers={"most": number(7)}),
        [("number", "A-001", "MAJOR")],
    ),
    "a_ceiling_that_rises": (
        edition(),
        with_first(numbers={"most": number(9)}),
        [("number", "A-001", "MINOR")],
    ),
    "a_name_that_changes": (
        with_first(numbers={"most": number("RING")}),
        with_first(numbers={"most": number("TREE")}),
        [("number", "A-001", "MAJOR")],
    ),
    "a_value_where_there_was_none": (
        with_first(numbers={"most": number(None)}),
        edition(),
        [("number", "A-001", "MINOR")],
    ),
    "a_value_that_goes": (
        edition(),
        with_first(numbers={"most": number(None)}),
        [("number", "A-001", "MAJOR")],
    ),
    "a_value_for_a_profile_that_is_lower": (
        edition(),
        with_first(numbers={"most": number(by_profile={"size/L": 4})}),
        [("number", "A-001", "MAJOR")],
    ),
    "a_value_for_a_profile_that_is_new": (
        edition(),
        with_first(numbers={"most": number(by_profile={"size/XL": 4})}),
        [("number", "A-001", "MINOR")],
    ),
    "an_entry_of_a_table": (
        with_first(numbers={"most": number(by_profile={"nodes/8": 4})}),
        with_first(numbers={"most": number(by_profile={"nodes/8": 4, "nodes/9": 5})}),
        [("number", "A-001", "MAJOR")],
    ),
    "another_unit": (
        edition(),
        with_first(numbers={"most": number(unit=COUNT)}),
        [("number", "A-001", "MAJOR")],
    ),
    "another_number": (
        edition(),
        with_first(numbers={"most": number(), "least": number()}),
        [("number", "A-001", "MAJOR")],
    ),
    "a_number_fewer": (
        edition(),
        with_first(numbers={}),
        [("number", "A-001", "MAJOR")],
    ),
    "a_better_source": (
        edition(),
        with_first(numbers={"most": number(source="a book", confidence="verified")}),
        [("wording", "A-001", "PATCH"), ("wording", "A-001", "PATCH")],
    ),
    "a_should_that_applies_in_more_places": (
        edition(),
        with_first(applies_when=()),
        [("application", "A-001", "MINOR")],
    ),
    "a_must_that_applies_in_more_places": (
        edition(must()),
        edition(must(applies_when=())),
        [("application", "A-001", "MAJOR")],
    ),
    "a_must_that_applies_in_fewer_places": (
        edition(must(applies_when=())),
        edition(must()),
        [("application", "A-001", "MINOR")],
    ),
    "a_condition_of_a_must_that_changes": (
        edition(must()),
        edition(must())._replace(
            conditions={
                "several_nodes": Condition(
                    "several_nodes", "cluster.nodes", "", more_than=0
                )
            }
        ),
        [("application", "A-001", "MAJOR")],
    ),
    "evidence_of_a_must_that_goes": (
        edition(must(evidence=("plan.batch", "node.gpus"))),
        edition(must()),
        [("application", "A-001", "MAJOR")],
    ),
    "a_track_that_a_must_joins": (
        edition(must()),
        edition(must(tracks=("fabric", "observability"))),
        [("application", "A-001", "MAJOR")],
    ),
    "other_words": (
        edition(),
        with_first(remedy="Another remedy.", note="A note."),
        [("wording", "A-001", "PATCH")],
    ),
    "a_new_profile": (
        edition(),
        edition()._replace(
            profiles={**edition().profiles, "size/M": Profile("size/M", "", "core")}
        ),
        [("profile", "size/M", "MINOR")],
    ),
    "a_profile_that_goes": (
        edition(),
        edition()._replace(profiles={"base": Profile("base", "", "core")}),
        [("profile", "use/certify", "MAJOR"), ("profile", "size/L", "MAJOR")],
    ),
    "a_profile_that_adds_a_should": (
        edition(PROPOSED),
        edition(PROPOSED)._replace(profiles=with_certify(adds=("A-003",)).profiles),
        [("profile", "use/certify", "MINOR")],
    ),
    "a_profile_that_adds_a_must": (
        edition(must(status="proposed")),
        edition(must(status="proposed"))._replace(
            profiles=with_certify(adds_with_evidence={"fleet": ("A-001",)}).profiles
        ),
        [("profile", "use/certify", "MAJOR")],
    ),
    "a_profile_that_raises_to_a_must": (
        edition(),
        with_certify(raises=(TO_MUST,)),
        [("profile", "use/certify", "MAJOR")],
    ),
    "a_profile_that_raises_no_more": (
        with_certify(raises=(TO_MUST,)),
        edition(),
        [("profile", "use/certify", "MINOR")],
    ),
    "a_profile_that_says_the_same_in_two_entries": (
        with_certify(raises=(TO_MUST._replace(sizes=("size/L", "size/M")),)),
        with_certify(
            raises=(
                TO_MUST._replace(sizes=("size/L",)),
                TO_MUST._replace(sizes=("size/M",)),
            )
        ),
        [],
    ),
    "a_profile_that_leaves_more_out": (
        edition(),
        with_certify(not_applicable={"A": "a test"}),
        [("profile", "use/certify", "MINOR")],
    ),
    "a_profile_that_leaves_a_must_out_no_more": (
        edition(must())._replace(
            profiles=with_certify(not_applicable={"A": "a test"}).profiles
        ),
        edition(must()),
        [("profile", "use/certify", "MAJOR")],
    ),
    "an_instance_on_another_fabric": (
        with_certify(fabric="fabric/mrc"),
        with_certify(fabric="fabric/efa"),
        [("profile", "use/certify", "MAJOR")],
    ),
    "another_title": (
        edition(),
        edition(title="Another"),
        [("wording", "edition", "PATCH")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_difference_weighs_what_it_does_to_who_passed(case: str) -> None:
    before, after, expected = CASES[case]
    found = differences(before, after)
    assert [(one.kind, one.subject, one.weight) for one in found] == expected
    assert all(one.text and one.reason for one in found)


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("Buckets should be at most {most}.", "upper"),
        ("A job must keep at least {most}.", "lower"),
        ("Jobs of at least {most} must not force the ring.", ""),
        ("A ring must not be forced on at least {most}.", ""),
        ("A loss must be found within {most}.", ""),
        ("A tail should take at most {most} of it and be even.", "upper"),
        ("It should hold where a job has at most {most}.", ""),
        ("It should be at most twice, or {most}.", ""),
    ],
)
def test_which_way_is_stricter_is_read_only_where_it_is_plain(
    requirement: str, expected: str
) -> None:
    assert direction(a_clause(requirement=requirement), "most") == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("1.0", "1.1", "MINOR"),
        ("1.0", "1.1-draft", "MINOR"),
        ("1.0", "1.0.1", "PATCH"),
        ("1.0", "2.0", "MAJOR"),
        ("1.1-draft", "1.1", "PATCH"),
        ("1.9", "1.10", "MINOR"),
        ("1.1", "1.1-draft", None),
        ("1.1", "1.0.9", None),
        ("1.0", "1.0", None),
    ],
)
def test_an_id_claims_a_weight(before: str, after: str, expected: str | None) -> None:
    assert weight_between(before, after) == expected


@pytest.mark.parametrize(
    ("new_id", "change", "expected"),
    [
        ("1.1", lambda: edition(must(), a_clause("A-002")), "is MAJOR: should -> must"),
        ("1.0.1", lambda: edition(*edition().clauses.values(), PROPOSED), "is MINOR: "),
        ("2.0", lambda: edition(must(), a_clause("A-002")), ""),
        ("1.0.1", lambda: with_first(remedy="Another."), ""),
    ],
)
def test_an_id_that_claims_less_than_changes_is_refused(
    new_id: str, change: Callable[[], Edition], expected: str
) -> None:
    after = change()._replace(id=new_id)
    found = list(refusals(edition(), after, {"A-001", "A-003"}))
    assert [expected in one for one in found] == ([True] if expected else [])


def test_a_clause_is_not_withdrawn_before_its_time() -> None:
    before = edition(a_clause(), a_clause("A-002", deprecated=NOTICE))
    after = edition(a_clause(), withdrawn={"A-002": STONE})._replace(id="1.1")
    (found,) = refusals(before, after, {"A-002"})
    assert found == (
        "edition.yaml: withdrawn: A-002: was announced to be withdrawn in 2.0, not "
        "before"
    )


@pytest.mark.parametrize(
    ("name", "level", "is_refused"),
    [
        ("1.1-draft", "should", False),
        ("1.0.1-draft", "should", True),
        ("1.1-draft", "must", True),
        ("2.0-draft", "must", False),
    ],
)
def test_the_compiler_holds_an_edition_to_its_id(
    tmp_path: Path, name: str, level: str, *, is_refused: bool
) -> None:
    folder = write(
        tmp_path,
        name,
        {},
        clauses={"clauses": [clause(level=level)]},
        changes=reasons("added", "COMM-901"),
    )
    if not is_refused:
        assert compiled(folder).clauses["COMM-901"].level == level
        return
    with pytest.raises(EditionSourceError) as caught:
        compiled(folder)
    (problem,) = caught.value.problems
    claimed = "PATCH" if name.startswith("1.0") else "MINOR"
    assert problem.startswith(
        f"edition.yaml: id: {name} claims a {claimed} change of 1.0, but COMM-901 is "
    )


@pytest.mark.parametrize("name", editions()[1:])
def test_an_edition_claims_what_it_changes(name: str) -> None:
    after = load_edition(name)
    assert after.extends is not None
    before = load_edition(after.extends.id)
    named = set(after.clauses) | set(after.withdrawn)
    assert not list(refusals(before, after, named))


# What a MINOR edition does to files that passed

FIXTURES = of_files()[::EVERY]


def minor_steps() -> list[tuple[str, str]]:
    """The editions that claim to fail nothing, each with its base."""
    found: list[tuple[str, str]] = []
    for name in editions():
        base = load_edition(name).extends
        if base is not None and weight_between(base.id, name) != "MAJOR":
            found.append((base.id, name))
    return found


def outcomes(path: Path, spec: str) -> dict[tuple[int, str], str]:
    """How each clause of each plan of a rule's fixture came out."""
    fixture = load(path)
    for name, text in fixture.files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    with on_the_day(fixture.today):
        request = request_of(fixture)._replace(selection=Selection(), full=False)
        plans = run(request._replace(spec=spec)).plans
    return {
        (at, one.clause): one.outcome
        for at, plan in enumerate(plans)
        for one in by_clause([located.finding for located in plan.findings])
    }


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), minor_steps())
def test_a_minor_edition_turns_no_pass_into_a_failure(
    before: str, after: str, tmp_path: Path
) -> None:
    passed = 0
    for at, path in enumerate(FIXTURES):
        folder = tmp_path / str(at)
        folder.mkdir()
        with working_in(folder):
            old, new = outcomes(path, before), outcomes(path, after)
        for key, outcome in old.items():
            if outcome == "pass":
                passed += 1
                assert new.get(key) in {"pass", None}, (path, key)
            elif outcome != "fail":
                assert new.get(key) != "fail", (path, key)
        added = {key for key, outcome in new.items() if outcome == "fail"} - set(old)
        levels = {load_edition(after).clauses[clause].level for _, clause in added}
        assert "must" not in levels, (path, added)
    assert passed > len(FIXTURES)
