"""Profiles composed over the edition: levels, numbers and what is judged."""

import pytest

from speccheck.validator.editions.compose import (
    ComposedEdition,
    UnknownProfile,
    compose,
    find_profile,
    size_class,
)
from speccheck.validator.editions.edition import (
    Edition,
    Number,
    NumberValue,
    Unit,
    load_edition,
)
from speccheck.validator.engine.rule_index import rule_entries

RANK = {"may": 0, "should": 1, "must": 2}

SIZES = ("XS", "S", "M", "L", "XL", "XXL")
COUNT = Unit("count", is_bare=True)


@pytest.fixture(scope="module")
def edition() -> Edition:
    return load_edition("1.0")


def level(edition: Edition, clause: str, use: str, size: str | None = None) -> str:
    return compose(edition, use=use, size=size).judged(clause).level


def selected(composed: ComposedEdition) -> set[str]:
    return {clause.clause.id for clause in composed.clauses if clause.is_selected}


# Size classes


@pytest.mark.parametrize(
    ("world_size", "nodes", "expected"),
    [
        (1, None, "XS"),
        (8, 1, "XS"),
        (72, 1, "XS"),
        (8, None, None),
        (63, None, None),
        (2, 2, "S"),
        (63, 8, "S"),
        (64, None, "M"),
        (64, 8, "M"),
        (511, 64, "M"),
        (512, 64, "L"),
        (4095, 512, "L"),
        (4096, 512, "XL"),
        (16383, 2048, "XL"),
        (16384, None, "XXL"),
        (100_000, 12_500, "XXL"),
    ],
)
def test_a_job_is_of_a_size_class(
    world_size: int, nodes: int | None, expected: str | None
) -> None:
    assert size_class(world_size, nodes) == expected


# Levels


@pytest.mark.parametrize(
    ("clause", "use", "size", "expected"),
    [
        ("FT-001", "ci", "XXL", "should"),
        ("FT-001", "preflight", "S", "should"),
        ("FT-001", "preflight", "M", "must"),
        ("FT-001", "certify", None, "should"),
        ("FT-007", "certify", "L", "must"),
        ("COMM-001", "preflight", "M", "should"),
        ("COMM-001", "preflight", "L", "must"),
        ("COMM-004", "ci", "XL", "should"),
        ("COMM-004", "preflight", None, "must"),
        ("TOPO-001", "certify", "XS", "should"),
        ("TOPO-001", "certify", "S", "must"),
        ("CKPT-001", "ci", None, "should"),
        ("CKPT-001", "ci", "S", "should"),
        ("CKPT-001", "ci", "M", "must"),
        ("CKPT-001", "certify", "XS", "must"),
        ("CKPT-002", "ci", "M", "should"),
        ("CKPT-002", "ci", "L", "must"),
        ("CKPT-006", "preflight", "M", "must"),
        ("PREC-001", "certify", "M", "must"),
        ("PREC-002", "ci", None, "must"),
        ("OBS-002", "preflight", "XXL", "should"),
        ("OBS-002", "certify", "XS", "must"),
        ("FAB-007", "preflight", "XS", "must"),
        ("FT-008", "ci", "XL", "must"),
    ],
)
def test_use_and_size_raise_a_level(
    edition: Edition, clause: str, use: str, size: str | None, expected: str
) -> None:
    assert level(edition, clause, use, size) == expected


@pytest.mark.parametrize("use", ["ci", "preflight", "certify"])
def test_levels_only_rise(edition: Edition, use: str) -> None:
    for size in SIZES:
        for fabric in ("infiniband", "efa", "mrc", "ethernet-tcp", None):
            for judged in compose(edition, use=use, size=size, fabric=fabric).clauses:
                assert RANK[judged.level] >= RANK[judged.clause.level]
                assert bool(judged.raised_by) == (judged.level != judged.clause.level)


def test_a_raise_says_by_which_profile_and_why(edition: Edition) -> None:
    composed = compose(edition, use="certify", fabric="efa")
    (raised,) = composed.judged("COMM-002").raised_by
    assert (raised.profile, raised.level) == ("fabric/efa", "must")
    assert raised.reason.startswith("On EFA either variable switches the tuner")
    assert level(edition, "COMM-002", "certify") == "should"
    assert compose(edition, use="ci", fabric="efa").judged("COMM-002").level == "should"


# What is judged


def test_core_clauses_are_selected_and_profiles_add_proposed_ones(
    edition: Edition,
) -> None:
    core = {clause.id for clause in edition.clauses.values() if clause.status == "core"}
    assert selected(compose(edition, use="ci")) == core
    added = selected(compose(edition, use="ci", size="L")) - core
    assert added == {
        "CKPT-008",
        "COMM-007",
        "COMM-008",
        "FT-006",
        "FT-010",
        "FT-011",
        "KERN-005",
        "OBS-007",
        "PREC-008",
    }
    gpu = compose(edition, use="ci", accelerator="h100-sxm5-80gb")
    assert selected(gpu) - core == {"COMM-015", "PREC-006"}


def test_no_profile_adds_a_clause_that_no_rule_judges() -> None:
    """But with evidence that nothing reads yet: then it adds nothing."""
    newest = load_edition("1.1")
    judged = {entry.clause for entry in rule_entries()}
    unjudged = {
        (profile.id, clause)
        for profile in newest.profiles.values()
        for clause in profile.adds
        if clause not in judged
    }
    assert not unjudged
    unread = {
        kind
        for profile in newest.profiles.values()
        for kind, clauses in profile.adds_with_evidence.items()
        if not judged.issuperset(clauses)
    }
    assert unread == {"controller.mrc"}


def test_a_must_rests_on_a_source_or_on_arithmetic() -> None:
    """What only this project has chosen is a should."""
    unfounded = {
        clause.id
        for clause in load_edition("1.1").clauses.values()
        if clause.level == "must"
        and clause.origin.keys().isdisjoint({"primary", "secondary", "derived_model"})
    }
    chosen = {
        (clause.id, number.name)
        for clause in load_edition("1.1").clauses.values()
        for number in clause.numbers.values()
        if clause.level == "must" and number.confidence == "engineering-default"
    }
    assert (unfounded, chosen) == (set(), set())


def test_evidence_adds_clauses_of_a_fabric(edition: Edition) -> None:
    without = compose(edition, use="preflight", fabric="mrc")
    export = compose(
        edition, use="preflight", fabric="mrc", evidence=("controller.mrc",)
    )
    assert not without.judged("MRC-005").is_selected
    assert export.judged("MRC-005").is_selected
    assert not export.judged("MRC-006").is_selected


def test_a_profile_leaves_out_clauses_and_whole_areas(edition: Edition) -> None:
    composed = compose(edition, use="ci", fabric="infiniband")
    reasons = {clause.clause.id: clause.not_applicable for clause in composed.clauses}
    assert reasons["MRC-003"] == (
        "this fabric carries no MRC connections (fabric/infiniband)"
    )
    assert reasons["FAB-002"].startswith("InfiniBand addresses have no RoCE version")
    assert reasons["FAB-001"] == ""


def test_files_alone_let_live_clauses_fail_but_not_pass(edition: Edition) -> None:
    def live_only(use: str, *evidence: str) -> list[bool]:
        composed = compose(edition, use=use, evidence=evidence)
        names = ("COMM-003", "COMM-005", "COMM-010")
        return [composed.judged(name).live_only for name in names]

    assert live_only("ci") == [False, True, True]
    assert live_only("ci", "node.fabric") == [False, False, True]
    assert live_only("preflight") == [False, False, True]
    assert live_only("preflight", "bench.allreduce") == [False, False, False]
    assert live_only("certify") == [False, False, False]


def test_the_user_selects(edition: Edition) -> None:
    composed = compose(edition, use="ci")
    kept = composed.selecting(lambda item: item.clause.area == "MRC")
    of_area = {clause.id for clause in edition.clauses.values() if clause.area == "MRC"}
    assert selected(kept) == of_area
    assert selected(composed) != selected(kept)


# Which profiles


def test_profiles_are_in_order_of_effect(edition: Edition) -> None:
    composed = compose(
        edition,
        use="preflight",
        size="M",
        fabric="roce-lossless",
        accelerator="h200-sxm-141gb",
        instance="oci-h200-8",
    )
    assert [profile.id for profile in composed.profiles] == [
        "base",
        "size/M",
        "accel/h200-sxm-141gb",
        "fabric/roce-lossless",
        "use/preflight",
        "instance/oci-h200-8",
    ]
    assert (composed.use, composed.size) == ("preflight", "M")
    assert composed.unmatched == ()


def test_an_instance_type_brings_its_gpu_and_fabric(edition: Edition) -> None:
    composed = compose(edition, use="ci", instance="aws-p5")
    assert [profile.id for profile in composed.profiles[1:]] == [
        "accel/h100-sxm5-80gb",
        "fabric/efa",
        "use/ci",
        "instance/aws-p5",
    ]
    other = compose(edition, use="ci", instance="aws-p5", fabric="ethernet-tcp")
    assert "fabric/ethernet-tcp" in [profile.id for profile in other.profiles]


def test_a_named_profile_takes_the_place_of_the_jobs_own(edition: Edition) -> None:
    composed = compose(edition, use="ci", size="S", profiles=("xl", "use/certify"))
    assert (composed.use, composed.size) == ("certify", "XL")


def test_what_no_profile_is_for_is_listed(edition: Edition) -> None:
    composed = compose(edition, use="ci", accelerator="rtx-4090", fabric="token-ring")
    assert composed.unmatched == ("rtx-4090", "token-ring")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ci", "use/ci"),
        ("use/ci", "use/ci"),
        ("size/L", "size/L"),
        ("l", "size/L"),
        ("MRC", "fabric/mrc"),
        ("dgx-h100", "instance/dgx-h100"),
    ],
)
def test_a_profile_is_found_by_its_name(
    edition: Edition, name: str, expected: str
) -> None:
    assert find_profile(edition, name).id == expected


def test_profile_names_are_unique_without_their_prefix(edition: Edition) -> None:
    names = [name.rpartition("/")[2].lower() for name in edition.profiles]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("certfy", "use", "no profile certfy: must be one of certify, ci, preflight"),
        ("infinband", None, "no profile infinband: did you mean infiniband?"),
        (
            "zzzzzz",
            None,
            "no profile zzzzzz: kinds are size, accel, fabric, use, instance",
        ),
    ],
)
def test_a_profile_that_nobody_knows(
    edition: Edition, name: str, kind: str | None, message: str
) -> None:
    with pytest.raises(UnknownProfile) as caught:
        find_profile(edition, name, kind)
    assert str(caught.value) == message


# Numbers


@pytest.mark.parametrize(
    ("excluded", "expected"),
    [
        (0, "instance"),
        (1, "use"),
        (2, "fabric"),
        (3, "accel"),
        (4, "size"),
        (5, "precision"),
        (6, 40),
        (7, 7),
    ],
)
def test_the_most_specific_key_wins(excluded: int, expected: NumberValue) -> None:
    ranked: dict[str, NumberValue] = {
        "instance/i": "instance",
        "use/u": "use",
        "fabric/f": "fabric",
        "accel/a": "accel",
        "size/M": "size",
        "precision/fp8": "precision",
        "nodes/4": 40,
    }
    keys = dict(list(ranked.items())[excluded:])
    number = Number("n", 7, COUNT, keys, "source", "derived")
    profiles = ["base", "size/M", "accel/a", "fabric/f", "use/u", "instance/i"]
    assert number.under(profiles, 4, "fp8") == expected


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (None, None),
        (1, None),
        (2, 52_428_800),
        (3, 163_577_856),  # half of the way from 2 to 4 nodes
        (8, 851_443_712),
        (12, 1_499_463_680),  # half of the way from 8 to 16 nodes
        (512, 88_046_829_568),
        (4096, 88_046_829_568),  # the last value holds
    ],
)
def test_a_table_over_nodes_is_interpolated(
    edition: Edition, nodes: int | None, expected: int | None
) -> None:
    numbers = compose(edition, use="ci").numbers("COMM-001", nodes=nodes)
    assert numbers == {
        "min_nodes": 8,
        "safety_factor": 0.5,
        "crossover": expected,
    }


def test_numbers_follow_the_profiles(edition: Edition) -> None:
    def number(clause: str, name: str, **job: str) -> NumberValue | None:
        job.setdefault("use", "ci")
        return compose(edition, **job).numbers(clause)[name]

    assert number("CKPT-003", "waste_max") == 0.05
    assert number("CKPT-003", "waste_max", size="XL") == 0.1
    assert number("COMM-014", "max_level", use="preflight") == "INFO"
    assert number("COMM-014", "max_level", use="certify") == "WARN"
    assert number("HW-005", "host_copy") is None
    assert number("HW-005", "host_copy", accelerator="h100-sxm5-80gb") == 48
    assert number("FAB-001", "port_count", instance="aws-p5") == 32
    assert number("FAB-003", "netdev_mtu", fabric="mrc") == 4352
    assert number("FAB-011", "plane_counts", fabric="mrc") == (1, 2, 4, 8)


def test_a_number_may_depend_on_the_precision(edition: Edition) -> None:
    composed = compose(edition, use="ci", accelerator="h100-sxm5-80gb")
    assert composed.numbers("KERN-002", precision="bf16") == {
        "tile": 8,
        "tile_preferred": 128,
    }
    assert composed.numbers("KERN-002", precision="fp8")["tile"] == 16
