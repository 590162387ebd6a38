"""The edition as people read it: numbers, requirements, `spec list`, `spec show`."""

import pytest

from speccheck.validator.editions.compose import compose
from speccheck.validator.editions.edition import (
    Edition,
    Number,
    NumberValue,
    Unit,
    load_edition,
    number_text,
)
from speccheck.validator.editions.show import clause_text, list_text

COUNT = Unit("count", is_bare=True)


@pytest.fixture(scope="module")
def edition() -> Edition:
    return load_edition("1.0")


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        (COUNT, 1000, "1,000"),
        (Unit("ratio", is_bare=True), 2.0, "2"),
        (Unit("compute capability", is_bare=True), 10.0, "10.0"),
        (Unit("name", is_bare=True), "PXB", "PXB"),
        (Unit("list", is_bare=True), ("a", "b", 3), "a, b and 3"),
        (Unit("list", is_bare=True), ("a",), "a"),
        (Unit("nodes", singular="node"), 1, "1 node"),
        (Unit("nodes", singular="node"), 16384, "16,384 nodes"),
        (Unit("s"), 90, "90 s"),
        (Unit("per node-day"), 0.004, "0.004 per node-day"),
        (Unit("B"), 4096, "4,096 B"),
        (Unit("B"), 47_185_920, "45 MiB"),
        (Unit("B"), 10_307_921_510, "9.6 GiB"),
        (Unit("ports"), None, "[port count of the profile]"),
    ],
)
def test_a_number_is_written_as_people_do(
    unit: Unit, value: NumberValue | None, expected: str
) -> None:
    number = Number("port_count", value, unit, {}, "source", "derived")
    assert number_text(number, value) == expected


def test_a_requirement_shows_its_numbers(edition: Edition) -> None:
    clause = edition.clauses["FT-005"]
    assert clause.requirement_text() == (
        "Jobs of size class M and above should configure at least 1 restart by the "
        "launcher, the scheduler or the job controller."
    )
    numbers = compose(edition, use="ci").numbers("COMM-001", nodes=64)
    text = edition.clauses["COMM-001"].requirement_text(numbers)
    assert "On jobs of at least 8 nodes" in text
    assert "smaller than 0.5 times 9.6 GiB, the size above which" in text


def test_all_clauses_are_listed_by_area(edition: Edition) -> None:
    lines = list_text(edition, compose(edition, use="ci", size="L")).splitlines()
    assert lines[0].startswith(f"Edition 1.0 ({edition.stage}), sha256 ")
    assert lines[0].endswith("profiles base, size/L, use/ci")
    assert "COMM  Communication" in lines
    assert "  CKPT-001  must*   core     Periodic checkpointing enabled" in lines
    assert "  FT-006    should  added    Hot spares declared" in lines
    assert "  MEM-011   advice  proposed User-buffer registration" in lines
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    assert listed == list(edition.clauses)
    composed = compose(edition, use="ci", size="L")
    judged = sum(clause.is_selected for clause in composed.clauses)
    assert lines[-2].startswith(f"{len(listed)} clauses, {judged} judged: ")
    assert max(map(len, lines)) <= 80


def test_a_clause_is_shown_with_all_that_it_rests_on(edition: Edition) -> None:
    composed = compose(edition, use="certify", size="L")
    text = clause_text(edition, "FT-001", composed)
    flat = " ".join(text.split())
    assert text.startswith("FT-001  Recovery budget from a single GPU failure\n")
    for part in (
        "must, of certification level L1; should where no profile raises it",
        "raised to must by base: From 64 GPUs on a lost GPU stops a whole cluster",
        "after a single GPU failure should be at most 90 s.",
        "only where the job is of size class M or above",
        "recovery_max: 90 s; secondary: claim S2#43",
        "public claims: S2#42; S2#43",
        "They are not text of OpenAI, of the Open Compute Project or of any vendor",
    ):
        assert part in flat


def test_a_clause_tells_where_its_level_is_higher(edition: Edition) -> None:
    flat = " ".join(clause_text(edition, "FT-001").split())
    assert (
        "must in use/preflight or use/certify, with size/M or size/L or size/XL or "
        "size/XXL: From 64 GPUs on"
    ) in flat


@pytest.mark.parametrize("use", ["ci", "preflight", "certify"])
def test_every_clause_can_be_shown(edition: Edition, use: str) -> None:
    composed = compose(edition, use=use, size="XL", instance="aws-p5")
    for name in edition.clauses:
        text = clause_text(edition, name, composed)
        assert "{" not in text
        assert max(map(len, text.splitlines())) <= 80, name


def test_a_clause_that_does_not_exist(edition: Edition) -> None:
    with pytest.raises(KeyError):
        clause_text(edition, "COMM-999")
