"""The engine: what is not seen is never a pass, and one broken rule stops nothing."""

from collections.abc import Iterator, Mapping, Sequence

import pytest

from speccheck.validator.editions.compose import ComposedEdition, compose
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.engine.judge import Judge
from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.plan import (
    Batch,
    Cluster,
    Communication,
    TrainingPlan,
)
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.rule import (
    Confidence,
    Numbers,
    Rule,
    Verdict,
    Verdicts,
    by_clause,
    fail,
    passed,
    rule,
)


class WatchdogLimit(Numbers):
    watchdog_max: float


def evidence_of(**leaves: object) -> Evidence:
    values = {
        name.replace("__", "."): Value(
            name.replace("__", "."), value, "stated", (Place("f", name),)
        )
        for name, value in leaves.items()
    }
    return evidence_on(TrainingPlan(values))


def evidence_on(plan: TrainingPlan) -> Evidence:
    sections = {type(part): part for part in plan.sections()}
    return Evidence({**sections, TrainingPlan: plan})


def only(clause: str, *, use: str = "ci", size: str | None = None) -> ComposedEdition:
    composed = compose(load_edition("1.0"), use=use, size=size)
    return composed.selecting(lambda judged: judged.clause.id == clause)


def findings(
    judged: ComposedEdition, rules: Sequence[Rule], **leaves: object
) -> list[Finding]:
    by_id: dict[str, list[Rule]] = {}
    for item in rules:
        by_id.setdefault(item.clause, []).append(item)
    return Judge(judged, by_id)(evidence_of(**leaves))


def batch_rule(confidence: Confidence = "exact") -> Rule:
    def judge_batch(batch: Batch) -> Verdicts:
        if batch.micro_batch_size.need() > 1:
            yield fail("too large", at=batch.micro_batch_size)
        else:
            yield passed(at=batch.micro_batch_size)

    return rule(clause="BATCH-001", confidence=confidence)(judge_batch)


def test_a_missing_leaf_is_unknown_and_named() -> None:
    (finding,) = findings(only("BATCH-001"), [batch_rule()])
    assert finding.outcome == "unknown"
    assert finding.missing == ("batch.micro_batch_size",)


def test_a_failed_must_is_an_error_with_place_and_the_remedy_of_its_clause() -> None:
    (finding,) = findings(only("BATCH-001"), [batch_rule()], batch__micro_batch_size=2)
    assert (finding.outcome, finding.level) == ("fail", "error")
    assert finding.places == (Place("f", "batch__micro_batch_size"),)
    assert finding.remedy == load_edition().clauses["BATCH-001"].remedy


@pytest.mark.parametrize(
    ("confidence", "level"),
    [
        ("exact", "error"),
        ("lower_bound", "error"),
        ("calibrated", "warning"),
        ("advisory", "warning"),
    ],
)
def test_only_sure_rules_give_errors(confidence: Confidence, level: str) -> None:
    (finding,) = findings(
        only("BATCH-001"), [batch_rule(confidence)], batch__micro_batch_size=2
    )
    assert finding.level == level


def test_a_rule_that_yields_nothing_does_not_apply() -> None:
    @rule(clause="BATCH-001")
    def silent(_batch: Batch) -> Verdicts:
        yield from ()

    (finding,) = findings(only("BATCH-001"), [silent])
    assert finding.outcome == "not_applicable"


def test_a_broken_rule_is_an_error_and_the_others_go_on() -> None:
    @rule(clause="BATCH-001")
    def broken(_batch: Batch) -> Verdicts:
        yield passed("seen before it broke")
        message = "boom"
        raise ZeroDivisionError(message)

    found = findings(
        only("BATCH-001"), [broken, batch_rule()], batch__micro_batch_size=1
    )
    assert [finding.outcome for finding in found] == ["pass", "error", "pass"]
    assert "ZeroDivisionError: boom" in found[1].message
    assert by_clause(found)[0].outcome == "error"


def test_a_clause_without_a_rule_is_unknown() -> None:
    (finding,) = findings(only("BATCH-001"), [])
    assert finding.outcome == "unknown"
    assert not finding.rule


def watchdog() -> Rule:
    def judge_watchdog(
        communication: Communication, limit: WatchdogLimit, cluster: Cluster
    ) -> Verdicts:
        assert cluster.nodes.need() > 1
        seconds = communication.timeout_seconds.need()
        verdict = fail if seconds > limit.watchdog_max else passed
        yield verdict("judged", measured=seconds, required=limit.watchdog_max)

    return rule(clause="FT-002")(judge_watchdog)


def test_conditions_of_the_clause_gate_its_rules() -> None:
    view = only("FT-002")
    (one_node,) = findings(
        view, [watchdog()], cluster__nodes=1, communication__timeout_seconds=600.0
    )
    assert one_node.outcome == "not_applicable"
    assert "more than one node" in one_node.message
    (no_nodes,) = findings(view, [watchdog()], communication__timeout_seconds=600.0)
    assert (no_nodes.outcome, no_nodes.missing) == ("unknown", ("cluster.nodes",))


def test_numbers_come_from_the_clause() -> None:
    (finding,) = findings(
        only("FT-002"),
        [watchdog()],
        cluster__nodes=4,
        communication__timeout_seconds=600.0,
    )
    assert (finding.measured, finding.required) == (600.0, 60)
    assert (finding.clause_level, finding.level) == ("should", "warning")


def test_profiles_raise_the_level() -> None:
    (finding,) = findings(
        only("FT-002", use="preflight", size="M"),
        [watchdog()],
        cluster__nodes=16,
        communication__timeout_seconds=600.0,
    )
    assert (finding.clause_level, finding.level) == ("must", "error")


def test_a_clause_of_live_machines_can_fail_by_files_but_never_pass() -> None:
    def of(verdict: Verdict) -> Rule:
        def judge_rdma(_cluster: Cluster) -> Iterator[Verdict]:
            yield verdict

        return rule(clause="COMM-005")(judge_rdma)

    leaves = {"cluster__nodes": 4, "cluster__fabric": "infiniband"}
    assert findings(only("COMM-005"), [of(passed())], **leaves) == []
    (finding,) = findings(only("COMM-005"), [of(fail("switched off"))], **leaves)
    assert finding.outcome == "fail"


def test_a_clause_is_as_good_as_its_worst_finding() -> None:
    found = findings(
        only("BATCH-001"), [batch_rule(), batch_rule()], batch__micro_batch_size=1
    )
    assert by_clause(found)[0].outcome == "pass"
    unknown = found[0]._replace(outcome="unknown")
    assert by_clause([*found, unknown])[0].outcome == "unknown"
    failed = found[0]._replace(outcome="fail")
    assert by_clause([*found, unknown, failed])[0].outcome == "fail"


def test_a_conflict_is_unknown_to_every_rule_but_the_one_on_conflicts() -> None:
    leaf = Value(
        "batch.micro_batch_size", None, "conflict", (), "stated twice", ("1", "2")
    )
    evidence = evidence_on(TrainingPlan({leaf.name: leaf}))
    judge = Judge(only("BATCH-001"), {"BATCH-001": [batch_rule()]})
    (finding,) = judge(evidence)
    assert finding.outcome == "unknown"
    assert "stated twice" in finding.message


def test_advice_against_a_must_leaves_it_in_doubt() -> None:
    (finding,) = findings(
        only("BATCH-001"), [batch_rule("advisory")], batch__micro_batch_size=2
    )
    assert (finding.outcome, finding.level) == ("fail", "warning")
    assert by_clause([finding])[0].outcome == "unknown"


@pytest.mark.parametrize(
    ("variables", "leaves", "outcome"),
    [
        ((), {}, "not_applicable"),
        (("NCCL_DEBUG",), {}, "not_applicable"),
        (("NCCL_IB_TIMEOUT",), {}, "pass"),
        (("NCCL_NET_PLUGIN",), {}, "pass"),
        ((), {"batch__micro_batch_size": 1}, "pass"),
    ],
)
def test_a_rule_is_silent_on_plans_that_do_not_speak_of_its_subject(
    variables: tuple[str, ...], leaves: Mapping[str, object], outcome: str
) -> None:
    @rule(
        clause="BATCH-001",
        about=("NCCL_IB_*", "NCCL_NET_PLUGIN", "batch.micro_batch_size"),
    )
    def always_content(cluster: Cluster) -> Verdicts:
        yield passed(str(cluster))

    environment = Environment(
        tuple(Variable(name, "1", Place("f", name)) for name in variables), ("f",)
    )
    evidence = evidence_of(cluster__nodes=2, **leaves)
    judge = Judge(only("BATCH-001"), {"BATCH-001": [always_content]})
    found = judge(evidence.with_more({Environment: environment}))
    assert [finding.outcome for finding in found] == [outcome]


@pytest.mark.parametrize(
    ("name", "value", "outcome"),
    [
        ("parallelism.tensor_parallel_size", 1, "not_applicable"),
        ("parallelism.tensor_parallel_size", 2, "pass"),
        ("memory.optimizer_offload_device", "none", "not_applicable"),
        ("communication.compression", "none", "pass"),
        ("data.workers", 0, "pass"),
    ],
)
def test_a_default_that_cuts_nothing_is_not_spoken_of(
    name: str, value: object, outcome: str
) -> None:
    @rule(clause="BATCH-001", about=(name,))
    def always_content(cluster: Cluster) -> Verdicts:
        yield passed(str(cluster))

    for status, expected in (("default", outcome), ("stated", "pass")):
        leaf = Value(name, value, "default" if status == "default" else "stated")
        evidence = evidence_on(TrainingPlan({name: leaf}))
        found = Judge(only("BATCH-001"), {"BATCH-001": [always_content]})(evidence)
        assert [finding.outcome for finding in found] == [expected], status


def test_a_rule_is_undecided_without_what_it_needs_first() -> None:
    @rule(clause="BATCH-001", needs=("batch.micro_batch_size", "cluster.nodes"))
    def always_content(cluster: Cluster) -> Verdicts:
        yield passed(str(cluster))

    known = {"batch__micro_batch_size": 1, "cluster__nodes": 2}
    (found,) = findings(only("BATCH-001"), [always_content], **known)
    assert found.outcome == "pass"
    (lacking,) = findings(
        only("BATCH-001"), [always_content], batch__micro_batch_size=1
    )
    assert (lacking.outcome, lacking.missing) == ("unknown", ("cluster.nodes",))
