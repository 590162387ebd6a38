"""Setups that are known to have run well: no error, and bounds on the right sides."""

from contextlib import chdir as working_in
from pathlib import Path
from typing import Any

import pytest
import yaml

from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.forecast.memory import memory_forecast
from speccheck.validator.run.run import read_plans, run
from speccheck.validator.sources.context import Context

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "published"
SETUPS = ("bloom-176b", "mlperf-405b", "olmo-7b", "torchtitan-405b")
FITS, SHARDED = "MEM-001", "MEM-002"


def setup(name: str) -> dict[str, Any]:
    text = (FOLDER / f"{name}.yaml").read_text("utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def request_of(name: str, folder: Path) -> Request:
    """Return the files of a setup, written to a folder."""
    stated = setup(name)
    for file, text in stated["files"].items():
        (folder / file).write_text(text, "utf-8")
    context = Context(**stated["context"])
    return Request(tuple(stated["files"]), judging=Judging(context=context), full=True)


def plan_of(request: Request) -> TrainingPlan:
    """Return the one plan that the files make."""
    (group,) = (group for _, groups in read_plans(request) for group in groups)
    return assemble(group.files, request.judging.context).plan


def test_every_published_setup_is_named() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.yaml")) == list(SETUPS)


@pytest.mark.parametrize("name", SETUPS)
def test_a_published_setup_has_no_error_and_is_seen_to_be_sharded(
    name: str, tmp_path: Path
) -> None:
    with working_in(tmp_path):
        (plan,) = run(request_of(name, tmp_path)).plans
    found = [finding.finding for finding in plan.findings]
    failed = [
        finding
        for finding in found
        if finding.outcome == "fail" and finding.level == "error"
    ]
    assert not failed
    outcomes = {finding.clause: finding.outcome for finding in found}
    assert outcomes[SHARDED] == "pass"
    assert outcomes[FITS] in {"pass", "unknown"}


@pytest.mark.parametrize("name", SETUPS)
def test_the_bounds_of_a_published_setup_enclose_what_it_held(
    name: str, tmp_path: Path
) -> None:
    with working_in(tmp_path):
        plan = plan_of(request_of(name, tmp_path))
    forecast = memory_forecast(plan)
    total, states = forecast.named("total").need(), forecast.named("states").need()
    assert forecast.limit is not None
    capacity = forecast.limit.need().value
    assert 0 < states.lower < total.lower < capacity
    published = setup(name).get("published_gb")
    if published is not None:
        assert total.lower < published * 1e9 < total.upper
