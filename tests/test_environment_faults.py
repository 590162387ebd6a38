"""Faults of environments that public sources report; sets that providers publish."""

from collections.abc import Mapping, Sequence
from contextlib import chdir as working_in
from pathlib import Path
from typing import Any

import pytest
import yaml

from speccheck.validator.catalogue.nccl import nccl_variables
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.engine.request import Judging, Request, Selection
from speccheck.validator.engine.rule_index import rule_entries
from speccheck.validator.evidence.nccl_variables import Platform
from speccheck.validator.run.run import run
from speccheck.validator.sources.context import Context

FAULTS = Path(__file__).parents[1] / "fixtures" / "environment_faults.yaml"
ROWS = yaml.load(FAULTS.read_bytes(), yaml.CSafeLoader)["faults"]
AREAS = {"nccl_environment", "communication", "topology"}
MACHINES = [
    (platform, instance)
    for platform in nccl_variables().platforms
    for instance in platform.instances
]


def _judged(
    files: Mapping[str, str], context: Mapping[str, Any], rules: Sequence[str]
) -> list[LocatedFinding]:
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    request = Request(
        arguments=tuple(files),
        judging=Judging(
            context=Context(**context), selection=Selection(select=(*rules,))
        ),
    )
    return [
        located
        for plan in run(request).plans
        for located in plan.findings
        if located.finding.outcome == "fail" and located.finding.rule in rules
    ]


def _lines(variables: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in variables.items())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["fault"])
def test_a_reported_fault_is_told_where_it_stands(
    row: Mapping[str, Any], tmp_path: Path
) -> None:
    files = {row.get("file", "job.env"): _lines(row["set"])}
    if "plan" in row:
        files["plan.yaml"] = yaml.safe_dump({"speccheck": 1, **row["plan"]})
    with working_in(tmp_path):
        found = _judged(files, row.get("context", {}), [row["rule"]])
    assert found, f"{row['rule']} says nothing"
    keys = {at.key for located in found for at in located.locations}
    assert keys & set(row["set"])


@pytest.mark.parametrize(
    ("platform", "instance"),
    MACHINES,
    ids=[f"{platform.id} on {instance}" for platform, instance in MACHINES],
)
def test_what_a_provider_publishes_for_its_machine_is_left_alone(
    platform: Platform, instance: str, tmp_path: Path
) -> None:
    values = {
        name: "/opt/provider/file" if value == "*" else value
        for name, value in platform.variables.items()
    }
    rules = [entry.name for entry in rule_entries() if entry.area in AREAS]
    with working_in(tmp_path):
        found = _judged(
            {"job.env": _lines(values)}, {"instance": instance, "nodes": 16}, rules
        )
    assert [
        finding.finding.message for finding in found if finding.finding.level != "info"
    ] == []
