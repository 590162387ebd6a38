"""Measurements in the form of a snapshot: what is judged by them, and what is not."""

import json
from pathlib import Path

from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.measurement.collective import CollectiveRuns
from speccheck.validator.run.run import run
from speccheck.validator.simulation.healthy import healthy_node
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.joining.one_node import joined


def measured(folder: Path, name: str, **kinds: object) -> str:
    """Return the path of a file of measurements."""
    path = folder / name
    path.write_text(json.dumps({"schema": "speccheck-snapshot/1", **kinds}), "utf-8")
    return str(path)


def a_run(**leaves: object) -> dict[str, object]:
    return {"collective": "all_reduce", "ranks": 8, "gpu": "NVIDIA H100 SXM5", **leaves}


def test_a_file_of_measurements_is_no_snapshot_of_a_machine(tmp_path: Path) -> None:
    path = measured(tmp_path, "run.json", collective_runs=[a_run()])
    status, (file,) = read_file(path)
    assert (status.format, file.role) == ("measurement", "measurement")
    both = measured(tmp_path, "node.json", collective_runs=[a_run()], host={})
    status, (file,) = read_file(both)
    assert (status.format, file.role) == ("snapshot", "node")


def test_repeated_runs_are_one_plan_and_each_stays_its_own(tmp_path: Path) -> None:
    paths = [
        measured(tmp_path, f"{number}.json", collective_runs=[a_run(round=number)])
        for number in range(3)
    ]
    (plan,) = run(Request(arguments=(*paths,))).plans
    assert len(plan.files) == len(paths)
    nodes = [read_file(path)[1][0].readings[0].node for path in paths]
    whole = joined([node for node in nodes if node])
    rounds = [item.round.value for item in whole.several(CollectiveRuns).each()]
    assert rounds == [0, 1, 2]


def test_of_measurements_only_what_they_can_tell_is_judged(tmp_path: Path) -> None:
    path = measured(tmp_path, "run.json", matrix_products=[{"gpu_index": 0}])
    (plan,) = run(Request(arguments=(path,))).plans
    clauses = {finding.finding.clause for finding in plan.findings}
    assert clauses <= {"KERN-004", "KERN-030", "KERN-031", "KERN-032"}


def test_a_certificate_asks_for_measurements_that_nobody_gives(tmp_path: Path) -> None:
    path = tmp_path / "node.json"
    path.write_text(json.dumps(healthy_node("dgx-h100")), "utf-8")
    request = Request(arguments=(str(path),), use="certify")
    (plan,) = run(request).plans
    found = {finding.finding.clause: finding.finding for finding in plan.findings}
    for clause, kind in {
        "COMM-010": "collective_runs",
        "HW-005": "copy_tests",
        "FAB-004": "rdma_transfers",
    }.items():
        assert (found[clause].outcome, found[clause].missing) == ("unknown", (kind,))
    (plan,) = run(request._replace(use="preflight")).plans
    assert "COMM-010" not in {finding.finding.clause for finding in plan.findings}
