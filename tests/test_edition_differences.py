"""What differs between two editions: each kind of difference, and what it weighs."""

import pytest

from small_editions import (
    COUNT,
    NOTICE,
    PROPOSED,
    STONE,
    a_clause,
    edition,
    must,
    number,
    with_certify,
    with_first,
)
from speccheck.validator.editions.difference import differences, direction
from speccheck.validator.editions.edition import (
    Condition,
    Edition,
    EditionProfile,
    Raise,
)

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
    "a_value_for_a_use_that_is_new": (
        edition(),
        with_first(numbers={"most": number(by_profile={"use/night": 4})}),
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
            profiles={
                **edition().profiles,
                "size/M": EditionProfile("size/M", "", "core"),
            }
        ),
        [("profile", "size/M", "MINOR")],
    ),
    "a_new_fabric_that_raises_to_a_must": (
        edition(),
        edition()._replace(
            profiles={
                **edition().profiles,
                "fabric/x": EditionProfile("fabric/x", "", "core", raises=(TO_MUST,)),
            }
        ),
        [("profile", "fabric/x", "MAJOR")],
    ),
    "a_new_use_that_raises_to_a_must": (
        edition(),
        edition()._replace(
            profiles={
                **edition().profiles,
                "use/night": EditionProfile("use/night", "", "core", raises=(TO_MUST,)),
            }
        ),
        [("profile", "use/night", "MINOR")],
    ),
    "a_profile_that_goes": (
        edition(),
        edition()._replace(profiles={"base": EditionProfile("base", "", "core")}),
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
    assert [
        (finding.kind, finding.subject, finding.weight) for finding in found
    ] == expected
    assert all(finding.text and finding.reason for finding in found)


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
