"""The page of calibration: what rules say of published files, named by public names."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from calibration_page import PAGE, frequent, gone_errors, open_errors, page, sentences
from configurations import PUBLISHED
from corpus import needs_corpus
from published_findings import (
    ErrorFinding,
    Findings,
    Judged,
    PublishedFile,
    RuleTally,
    Verdict,
    published_findings,
    read_judged,
)
from speccheck.validator.engine.rule_index import rule_entries

ROOT = Path(__file__).resolve().parents[1]
RULES = {entry.name for entry in rule_entries()}
JUDGED = read_judged()
NOBODY = Judged({}, {})

# Two keys that accelerate refuses; nothing wrong; a log line every 500 steps.
FILES = {
    "refused.yaml": """compute_environment: LOCAL_MACHINE
distributed_type: 'NO'
machine_rank: 0
num_machines: 1
num_processes: 1
mixed_precision: 'no'
use_cpu: false
num_machine: 1
mixed_precison: 'no'
""",
    "sound.yaml": """compute_environment: LOCAL_MACHINE
distributed_type: 'NO'
machine_rank: 0
num_machines: 1
num_processes: 1
mixed_precision: 'no'
use_cpu: false
""",
    "rare.yaml": """speccheck: 1
run: {step_seconds: 1}
telemetry: {log_interval_steps: 500}
""",
}


def sha1(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


REFUSED = PublishedFile(
    "someone/project", "configs/refused.yaml", sha1(FILES["refused.yaml"])
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return published files under local names, with one outside the manifest."""
    made = tmp_path_factory.mktemp("published")
    (made / "kind").mkdir()
    rows = ["label\tfile\trepository\tpath\tsha1"]
    for name, text in FILES.items():
        (made / "kind" / f"unnamed-{name}").write_text(text, encoding="utf-8")
        public = f"someone/project\tconfigs/{name}\t{sha1(text)}"
        rows.append(f"kind\tunnamed-{name}\t{public}")
    (made / "kind" / "unnamed.yaml").write_text(FILES["refused.yaml"])
    (made / "MANIFEST.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def findings(folder: Path) -> Findings:
    return published_findings(folder)


def tally(found: Findings, rule: str) -> RuleTally:
    (item,) = (item for item in found.tallies if item.rule == rule)
    return item


def test_a_plan_counts_once_by_the_worst_that_a_rule_says(findings: Findings) -> None:
    assert findings.plans == 3
    refused = tally(findings, "key_refused")
    assert (refused.failed, refused.levels) == (1, ("error",))
    rare = tally(findings, "logs_too_rarely")
    assert rare == ("logs_too_rarely", 0, 1, 2, ("warning",))
    assert tally(findings, "duplicate_key").passed >= 2


def test_every_rule_is_on_the_page(findings: Findings) -> None:
    assert {item.rule for item in findings.tallies} == RULES
    text = page(findings, NOBODY).partition("## All rules")[2]
    for name in RULES:
        assert text.count(f"| [{name}](rules/{name}.md) |") == 1


def test_errors_have_public_names(findings: Findings, folder: Path) -> None:
    assert findings.errors == (
        ErrorFinding(REFUSED, "key_refused", "mixed_precison"),
        ErrorFinding(REFUSED, "key_refused", "num_machine"),
    )
    text = page(findings, NOBODY)
    assert "| someone/project `configs/refused.yaml` | " in text
    assert "unnamed-" not in text
    assert str(folder) not in text


def test_an_error_is_open_until_somebody_has_judged_that_content(
    findings: Findings,
) -> None:
    wrong, also = findings.errors[1], findings.errors[0]
    other = wrong._replace(file=REFUSED._replace(sha1="0" * 40))
    judged = Judged(
        {also: Verdict(is_true=True, reason="read"), other: Verdict(False, "old")},  # noqa: FBT003
        {},
    )
    assert open_errors(findings, judged) == (wrong,)
    assert gone_errors(findings, judged) == (other,)
    assert "2 errors: 1 true, 0 false, 1 not judged yet." in sentences(findings, judged)
    text = page(findings, judged)
    assert "| `mixed_precison` | true | read |" in text
    assert "| `num_machine` | **open** |  |" in text
    assert "| `num_machine` | **false**, no longer found | old |" in text


def test_a_warning_on_many_plans_needs_a_reason(findings: Findings) -> None:
    assert [item.rule for item in frequent(findings)] == ["logs_too_rarely"]
    row = "| [logs_too_rarely](rules/logs_too_rarely.md) "
    start = f"{row}| 1 | 1 | 100.0% | 33.3% | flagged | "
    assert f"{start}**open** |" in page(findings, NOBODY)
    reasoned = Judged({}, {"logs_too_rarely": "it is so"})
    assert f"{start}it is so |" in page(findings, reasoned)


def test_three_percent_is_no_noise_yet(findings: Findings) -> None:
    tallies = (
        RuleTally("at", passed=97, failed=3, levels=("warning",)),
        RuleTally("above", passed=96, failed=4, levels=("warning",)),
        RuleTally("advice", passed=0, failed=4, levels=("info",)),
    )
    found = frequent(findings._replace(tallies=tallies))
    assert [finding.rule for finding in found] == ["above"]


def test_the_script_asks_for_a_manifest(tmp_path: Path) -> None:
    script = (sys.executable, ROOT / "bench" / "calibration.py", tmp_path)
    ended = subprocess.run(script, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "no published configurations with a MANIFEST.tsv" in ended.stderr


def test_verdicts_are_whole() -> None:
    assert JUDGED.errors
    for finding, verdict in JUDGED.errors.items():
        assert finding.rule in RULES, finding
        assert finding.file.repository.count("/") == 1, finding
        assert len(finding.file.sha1) == 40, finding
        assert isinstance(verdict.is_true, bool), finding
        assert verdict.reason, finding
        assert "\n" not in verdict.reason, finding
    assert set(JUDGED.frequent) <= RULES
    assert all(JUDGED.frequent.values())


def test_the_page_holds_every_verdict() -> None:
    text = PAGE.read_text("utf-8")
    for finding, verdict in JUDGED.errors.items():
        assert f"`{finding.file.path}`" in text, "run make calibration"
        assert verdict.reason in text, "run make calibration"


@needs_corpus
def test_the_page_is_what_the_rules_say_now() -> None:
    found = published_findings(PUBLISHED)
    text = PAGE.read_text("utf-8")
    if f"`{found.digest}`" not in text:
        pytest.skip("the published files at hand are others than those of the page")
    assert text == page(found, JUDGED), "run make calibration"
