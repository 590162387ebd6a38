"""What holds of every node rule: it never passes on what was not seen."""

from collections import Counter
from functools import cache

import pytest

from judged_nodes import (
    OF_MACHINES,
    Readers,
    Snapshot,
    Verdict,
    failing,
    having,
    leaves,
    verdicts,
    without,
)
from slow_cases import few, first_of
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.evidence.node.node import KINDS, SEVERAL, SINGLES
from speccheck.validator.simulation.faults import AREAS
from speccheck.validator.simulation.healthy import healthy_node
from speccheck.validator.simulation.shape import instances

# One of each kind of network, of NVLink and of virtualisation.
SHAPES = (
    "dgx-h100",
    "aws-p5",
    "oci-gb200-4",
    "gcp-a3-mega",
    "azure-nc80adis-h100-v5",
    "aws-g5-12xlarge",
    "aws-p3dn",
)
ABSENCES: tuple[dict[str, str] | None, ...] = (
    {"status": "absent", "source": "/sys/nothing"},
    {"status": "not_supported", "source": "NVML", "code": "3"},
    {"status": "not_permitted", "source": "NVML", "code": "4"},
    {"status": "failed", "source": "NVML", "message": "timeout", "code": "10"},
    {"status": "of a later version"},
    {},
    None,
)
ODD: tuple[object, ...] = (
    "",
    "\x00",
    "NaN",
    -1,
    0,
    2**63,
    -0.5,
    1e308,
    True,
    [],
    [None],
    [[]],
    [{}],
)


RULES = {entry.name for entry in rule_entries()}
FAULTS = {
    name: fault
    for area, faults in AREAS.items()
    for name, fault in faults.items()
    if area != "the collection"  # whose machines are well
}
FIRST_FAULTS = first_of(
    FAULTS, lambda name: next(area for area, rows in AREAS.items() if name in rows)
)


def outcomes(found: Counter[Verdict]) -> set[str]:
    return {outcome for _, _, outcome in found}


def assert_no_better(before: Counter[Verdict], after: Counter[Verdict]) -> None:
    """Assert that no rule passes of more parts than before, and none breaks."""
    gained = [
        verdict
        for verdict, count in after.items()
        if verdict[2] == "pass" and count > before[verdict]
    ]
    assert not gained
    assert "error" not in outcomes(after)


@cache
def looked_at(name: str) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Return a machine's leaves with the rules that read them; () is for all."""
    node = healthy_node(name)
    readers = Readers(node)
    found = ((kind, leaf, readers.of(kind, leaf)) for kind, leaf in leaves(node))
    return tuple(
        (*finding[:2], finding[2]) for finding in found if finding[2] is not None
    )


@pytest.mark.parametrize("name", instances())
def test_nothing_fails_on_a_healthy_machine(name: str) -> None:
    """Its log has an error of a program, of which a report tells as information."""
    assert failing(healthy_node(name)) == set()


def test_a_healthy_machine_has_every_leaf() -> None:
    seen: dict[str, set[str]] = {kind: set() for kind in OF_MACHINES}
    for name in instances():
        node = healthy_node(name)
        for kind, leaf in leaves(node):
            part = node[kind][0] if isinstance(node[kind], list) else node[kind]
            if not isinstance(part[leaf], dict):
                seen[kind].add(leaf)
    for kind, part_type in OF_MACHINES.items():
        lacking = {*part_type.__annotations__} - seen[kind] - _OF_EVENTS - _OF_TEXTS
        assert not lacking, f"validator/simulation: no machine shows these {kind}"


# What nvidia-smi prints and no probe needs to, and readings of which none failed.
_OF_TEXTS = {"gpus_attached", "peer_nvlinks", "adapter_ancestors", "readings_failed"}
_OF_EVENTS = {"device"}  # of events of the network: a healthy machine logs none


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_a_leaf_that_is_gone_makes_no_rule_pass(name: str) -> None:
    node = healthy_node(name)
    before = verdicts(node)
    for kind, leaf, rules in looked_at(name):
        for of_all in (False, True):
            changed = without(node, kind, leaf, of_all=of_all)
            assert_no_better(before, verdicts(changed, rules))


@pytest.mark.parametrize("absence", few(ABSENCES, (None,).__contains__), ids=str)
@pytest.mark.parametrize("name", few(["dgx-h100", "aws-p6-b200"], "dgx-h100".__eq__))
def test_an_absence_makes_no_rule_pass(name: str, absence: object) -> None:
    node = healthy_node(name)
    before = verdicts(node)
    for number, (kind, leaf, rules) in enumerate(looked_at(name)):
        changed = having(node, kind, leaf, absence, of_all=number % 2 == 0)
        assert_no_better(before, verdicts(changed, rules))


@pytest.mark.parametrize("odd", few(ODD, (2**63, [None]).__contains__), ids=repr)
def test_an_odd_value_breaks_no_rule(odd: object) -> None:
    name = "oci-h100-8"
    node = healthy_node(name)
    for number, (kind, leaf, rules) in enumerate(looked_at(name)):
        changed = having(node, kind, leaf, odd, of_all=number % 2 == 0)
        assert "error" not in outcomes(verdicts(changed, rules))


@pytest.mark.parametrize("name", few(FAULTS, FIRST_FAULTS.__contains__))
def test_a_leaf_that_is_gone_hides_no_fault(name: str) -> None:
    """What fails or is in doubt does not come to pass; a variable may be unset."""
    node, well = FAULTS[name].snapshot(), FAULTS[name].well()
    finders = {rule for _, rule, outcome in verdicts(node) if outcome == "fail"}
    rules = tuple(sorted(finders))
    before = verdicts(node, rules)
    for kind, leaf in leaves(node):
        if node[kind] == well[kind] or kind == "variables":
            continue  # the tests above have it
        after = verdicts(without(node, kind, leaf, of_all=True), rules)
        for clause, rule, outcome in after:
            gained, lost = (
                sum(
                    after[clause, rule, item] - before[clause, rule, item]
                    for item in of
                )
                for of in (("pass",), ("fail", "unknown"))
            )
            assert not (outcome == "pass" and gained > 0 and lost < 0), (rule, leaf)
        assert "error" not in outcomes(after)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_by_its_rule_alone(name: str) -> None:
    fault = FAULTS[name]
    assert set(fault.rules) <= RULES
    assert failing(fault.snapshot()) == set(fault.rules)


def _emptied(node: Snapshot, kind: str) -> list[Snapshot]:
    """Return the machine without the reading of a kind, in all ways it may lack."""
    found: list[Snapshot] = [{key: node[key] for key in node if key != kind}]
    found.append({**node, kind: {}})
    if isinstance(node[kind], list):
        found.append({**node, kind: [{} for _ in node[kind]]})
        found += [{**node, kind: absence} for absence in ABSENCES if absence]
    return found


@pytest.mark.parametrize("kind", few(OF_MACHINES, {"gpus", "rdma_ports"}.__contains__))
def test_a_kind_that_was_not_read_makes_no_rule_pass(kind: str) -> None:
    for name in SHAPES:
        node = healthy_node(name)
        before = verdicts(node)
        for changed in _emptied(node, kind):
            assert_no_better(before, verdicts(changed))


@pytest.mark.parametrize(
    "empty",
    [
        {},
        {kind.kind: {} for kind in SINGLES},
        {kind.part.kind: {"status": "not_permitted"} for kind in SEVERAL},
        {kind.part.kind: [{}, {}] for kind in SEVERAL},
        {"cut_short": dict.fromkeys(KINDS, "the probe was stopped after 10 s")},
    ],
    ids=["nothing", "no leaf", "no list", "parts without leaves", "cut short"],
)
def test_nothing_passes_where_nothing_was_seen(empty: Snapshot) -> None:
    found = verdicts({"schema": "speccheck-snapshot/1", **empty})
    assert outcomes(found) <= {"unknown", "not_applicable"}


def test_hardware_that_nobody_knows_passes_no_more() -> None:
    """Of an unknown type less is sure than of a known one, and never more."""
    known = verdicts(healthy_node("dgx-h100"))
    unknown = verdicts(FAULTS["gpu_unknown"].snapshot())
    assert_no_better(known, unknown)
