"""Runs, told in the forms for other programs."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from speccheck.validator.cli.main import main
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.engine.request import Judging, Request, Selection
from speccheck.validator.evidence.finding import Waiver
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.form import FORMS
from speccheck.validator.report.style import Style
from speccheck.validator.report.summary import summarize
from speccheck.validator.report.verdict import exit_of
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.run.run import RunResult, run
from speccheck.validator.sources.context import Context

FORMS_FOR_PROGRAMS = ("sarif", "junit", "github", "gitlab", "azure", "rdjson")
FAULTY_NODE = (
    Path(__file__).resolve().parents[1] / "fixtures/examples/faulty-node/node.json"
)
# Two errors and two warnings, each of another kind: a conflict of two keys, one key
# with a line, a key that nobody reads, and something that is not set.
BATCH = "global_batch_differs_from_product"
UNREAD_KEY = "key_silently_ignored"
NOT_SET = "gradient_reduction_not_overlapped"
DEEPSPEED = """{
  "train_batch_size": 500,
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 8,
  "größe": 1
}
"""
HOLDS = "TORCH_NCCL_ASYNC_ERROR_HANDLING=3\n"  # job.env: one must is judged, and holds
HELD_RULE = "error_handling_off"
RULES = (BATCH, UNREAD_KEY, NOT_SET)
JOB = ("--nodes", "8", "--gpus-per-node", "8", "--select", ",".join(RULES))


def repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty repository, where the test now is."""
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "TF_BUILD"):
        monkeypatch.delenv(name, raising=False)
    return folder


def printed(
    capsys: pytest.CaptureFixture[str], form: str, *words: str
) -> tuple[int, str]:
    """Exit code and standard output of a run told in one form."""
    code = main([*words, "--output", form])
    return code, capsys.readouterr().out


def document(
    capsys: pytest.CaptureFixture[str], form: str, *words: str
) -> tuple[int, Any]:
    """Return the same for a form that is JSON, read."""
    code, out = printed(capsys, form, *words)
    return code, json.loads(out)


def judged(*arguments: str, rules: Sequence[str] = RULES, use: str = "ci") -> RunResult:
    """Return a run over files, not yet told."""
    request = Request(
        arguments=arguments,
        judging=Judging(
            context=Context(nodes=8, gpus_per_node=8),
            selection=Selection(select=tuple(rules)),
        ),
        use=use,
    )
    return run(request)


def with_findings(
    found: RunResult, changed: Callable[[LocatedFinding], LocatedFinding]
) -> RunResult:
    """Return the run with every finding changed."""

    def plan(item: JudgedPlan) -> JudgedPlan:
        return item._replace(findings=tuple(map(changed, item.findings)))

    return found._replace(plans=tuple(map(plan, found.plans)))


def waived(found: RunResult, rule: str, waiver: Waiver) -> RunResult:
    """Return the run with the failures of a rule silenced."""

    def changed(item: LocatedFinding) -> LocatedFinding:
        if item.finding.rule != rule or item.finding.outcome != "fail":
            return item
        return item._replace(finding=item.finding._replace(waiver=waiver))

    return with_findings(found, changed)


COMMENT = Waiver(
    "comment",
    Place("ds.json", "größe", span=Span(5, 3, 7)),
    reason="read by our fork",
    until="2031-01-31",
    owner="infra",
    ticket="OPS-7",
)


def told_in(form: str, found: RunResult, **changes: Any) -> str:  # noqa: ANN401 - fields
    """Return a run as a form tells it; changes: fields of what is told."""
    summary = summarize(found.plans)
    fail_on = changes.get("fail_on", "error")
    result = ReportContext(found, summary, exit_of(found, summary, fail_on), **changes)
    return "".join(FORMS[form].report(result, Style()))
