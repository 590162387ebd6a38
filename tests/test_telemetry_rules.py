"""Logs of a run judged together: windows, several logs, drills, and certification."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import chdir as working_in
from pathlib import Path

import pytest

from corpus import corpus_folder
from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.evidence.declaration import Declaration, EvidenceDigest
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.models.telemetry import (
    adherence,
    allowed_in,
    counted,
    grown,
    left_of,
    medians_by_window,
    percentile,
)
from speccheck.validator.rule import by_clause
from speccheck.validator.run.run import run
from speccheck.validator.sources.context import Context

START = 1763800000
DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
Row = Mapping[str, object]
OF_LOGS = frozenset(
    {
        *("BATCH-005", "CKPT-009", "DATA-003", "ENER-001", "ENER-002", "FT-009"),
        *("FT-010", "FT-045", "MEM-008", "META-001", "META-002", "OBS-001"),
        *("OBS-002", "OBS-003", "OBS-004", "OBS-005", "OBS-006", "OBS-007"),
        *("OBS-008", "OBS-009"),
    }
)


def lines(rows: Iterable[Row]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def training(rows: int = 60, every: int = 10) -> list[Row]:
    """Return a log line every so many steps, each fifty seconds after the last."""
    result = {"run": "r1", "edition": "1.0", "node": "n1", "rank": 0}
    return [
        {
            **result,
            "time": START + number * 50,
            "step": number * every,
            "train.loss": 2.5 - number / 1000,
            "train.grad_norm": 1.1,
            "train.noise_scale": 31000.0,
            "train.learning_rate": 0.0003,
            "train.step_time": 50 / every,
            "train.global_batch": 1024,
            "train.data_wait": 0.004,
            "gpu.memory.ooms": 0,
            "gpu.memory.alloc_retries": 0,
            "train.mfu": 0.43,
            "train.tokens_total": number * every * 4_194_304,
        }
        for number in range(1, rows + 1)
    ]


def hardware(samples: int = 101, every: int = 30, **changed: float) -> list[Row]:
    """Return what an exporter and a probe of latency tell of two nodes of two GPUs."""
    rows: list[Row] = []
    result = {"run": "r1", "edition": "1.0"}
    for number in range(samples):
        time = START + number * every
        for node in ("n1", "n2"):
            at = {**result, "time": time, "node": node}
            for gpu in (0, 1):
                reading = {
                    "gpu.utilization": 0.99,
                    "gpu.memory.pressure": 0.82,
                    "gpu.sm_activity": 0.81,
                    "gpu.power": 690.0,
                    "gpu.energy": 1e6 + number * every * 690.0,
                    "gpu.ecc.uncorrectable": 0,
                    "gpu.xid": 0,
                    "gpu.nvlink.replay_errors": 0,
                    "gpu.throttle.power": 0.0,
                    **changed,
                }
                rows.append({**at, "gpu": gpu, **reading})
        rows.append(
            {**result, "time": time, "node": "n1", "gpu": 0, "node.clock_offset": 4e-5}
        )
        if number % 100 == 0:
            latency = {"peer": "n2", "rank": 0, "net.internode.latency": 2.1e-5}
            rows.append({**result, "time": time, "node": "n1", **latency})
    return rows


def drills(*seconds: float) -> list[Row]:
    rows: list[Row] = []
    for number, length in enumerate(seconds):
        begin = START + 86_400 + number * 3600
        rows += (
            {"time": begin + share * length, "event": event, "drill": f"drill-{number}"}
            for event, share in (
                ("run.failure_detected", 0.0),
                ("run.node_replaced", 0.4),
                ("run.restore", 0.7),
                ("run.resumed", 1.0),
            )
        )
    return rows


def judged(
    folder: Path,
    files: Mapping[str, Iterable[Row] | str],
    use: str = "ci",
    context: Context = Context(nodes=2, gpu="H100"),  # noqa: B008 - frozen
) -> list[Finding]:
    for name, rows in files.items():
        text = rows if isinstance(rows, str) else lines(rows)
        (folder / name).write_text(text, encoding="utf-8")
    declaration = Declaration(
        edition="1.0",
        edition_named="1.0",
        edition_stage="candidate",
        edition_sha256=DIGEST,
        profiles_named=("instance/azure-nd96isr-h100-v5",),
        tool_version="0.9.0",
        evidence=tuple(EvidenceDigest(name, DIGEST) for name in files),
        judged_seconds=START + 10 * 86_400,
    )
    request = Request(
        arguments=tuple(files),
        use=use,
        judging=Judging(context=context),
        full=True,
        declaration=declaration if use == "certify" else None,
    )
    with working_in(folder):
        plans = run(request).plans
    assert len(plans) == 1
    return [finding.finding for finding in plans[0].findings]


def outcomes(findings: Iterable[Finding]) -> dict[str, str]:
    """Return the outcomes by clause, of those that logs settle."""
    result = by_clause(findings)
    return {item.clause: item.outcome for item in result if item.clause in OF_LOGS}


def messages(findings: Iterable[Finding], clause: str) -> list[str]:
    result = (
        finding for finding in findings if finding.clause == clause and finding.rule
    )
    return [item.message for item in result if item.outcome in {"fail", "unknown"}]


def whole() -> dict[str, Iterable[Row] | str]:
    return {
        "training.jsonl": training(),
        "hardware.jsonl": hardware(),
        "drills.jsonl": drills(61.0, 64.5, 70.0, 58.0, 82.0),
    }


def test_a_certificate_holds_where_all_logs_are_given(tmp_path: Path) -> None:
    found = outcomes(judged(tmp_path, whole(), "certify"))
    assert found.pop("ENER-002") == "fail"  # a should: nobody reports the figure
    assert found.pop("FT-010") == "unknown"  # step times of one rank alone
    assert found == dict.fromkeys(OF_LOGS - {"ENER-002", "FT-010"}, "pass")


@pytest.mark.parametrize(
    ("excluded", "denied"),
    [
        ("training.jsonl", {"MEM-008", "OBS-001", "OBS-003"}),
        ("hardware.jsonl", {"OBS-001", "OBS-002", "OBS-006"}),
        ("drills.jsonl", {"FT-009"}),
    ],
)
def test_a_log_that_is_missing_denies_what_it_alone_shows(
    excluded: str, denied: set[str], tmp_path: Path
) -> None:
    files = whole()
    del files[excluded]
    found = judged(tmp_path, files, "certify")
    musts = {item.clause for item in by_clause(found) if item.clause_level == "must"}
    open_ = {item for item, outcome in outcomes(found).items() if outcome != "pass"}
    assert open_ & musts == denied


def test_a_training_log_alone_is_no_error_in_a_lint(tmp_path: Path) -> None:
    found = judged(tmp_path, {"training.jsonl": training()}, context=Context())
    assert [finding.message for finding in found if finding.outcome == "fail"] == []
    result = outcomes(found)
    assert result["OBS-003"] == result["MEM-008"] == result["FT-045"] == "pass"
    assert result["OBS-001"] == "unknown"


def test_what_is_said_of_a_log_counts_for_its_own_series(tmp_path: Path) -> None:
    """Logs are numbered anew when several are judged together."""
    local = [{**row, "time": "2025-11-22 08:26:40"} for row in training(1)]
    files: dict[str, Iterable[Row] | str] = {"a.jsonl": hardware(), "b.jsonl": local}
    found = judged(tmp_path, files, "certify")
    series = len(training(1)[0]) - 6  # without time, step and labels
    (message,) = messages(found, "OBS-009")
    assert f"time in UTC ({series})" in message


def paused(every: int = 100) -> list[Row]:
    """Return a log with half an hour between its tenth line and the next."""
    rows = training(40, every)
    late = [{**row, "time": START + 1800 + at * 50} for at, row in enumerate(rows, 1)]
    return [*rows[:10], *late[10:]]


def test_an_evaluation_excuses_a_gap_and_another_does_not(tmp_path: Path) -> None:
    rows = paused()
    (message,) = messages(judged(tmp_path, {"log.jsonl": rows}), "OBS-003")
    assert "train.loss: longest gap of 10 intervals, at most 3" in message
    gap = START + 10 * 50
    for begin, end, outcome in (
        (gap + 20, gap + 1820, "pass"),
        (gap + 3000, gap + 4800, "fail"),
    ):
        events: list[Row] = [
            {"time": begin, "event": "run.eval_start"},
            {"time": end, "event": "run.eval_stop"},
        ]
        found = judged(tmp_path, {"log.jsonl": [*rows, *events]})
        assert outcomes(found)["OBS-003"] == outcome


def test_an_evaluation_that_never_ends_excuses_nothing(tmp_path: Path) -> None:
    opened: Row = {"time": START + 510, "event": "run.eval_start"}
    rows = [opened, *paused()]
    assert outcomes(judged(tmp_path, {"log.jsonl": rows}))["OBS-003"] == "fail"


def test_a_step_that_takes_long_is_no_sparse_log(tmp_path: Path) -> None:
    """Ten steps a line are dense, however long one of them takes."""
    found = judged(tmp_path, {"log.jsonl": paused(10)})
    assert outcomes(found)["OBS-003"] == "pass"


def test_a_slow_scrape_is_told_once_for_all_series(tmp_path: Path) -> None:
    found = judged(tmp_path, {"log.jsonl": hardware(51, 60)})
    (message,) = messages(found, "OBS-002")
    assert message.startswith("36 of 36 series of the hardware do not keep")


def test_a_drill_over_two_logs_needs_clocks_that_compare(tmp_path: Path) -> None:
    begin, *_, end = drills(60.0)
    local = {**end, "time": "2025-11-23 08:27:40"}
    found = judged(tmp_path, {"a.jsonl": [begin], "b.jsonl": [local]})
    assert outcomes(found)["FT-009"] == "unknown"
    (first, second) = messages(found, "FT-009")
    assert "stand in 2 logs, of which not all are in UTC" in first
    assert "0 drills have an end; 5 are needed" in second
    found = judged(tmp_path, {"a.jsonl": [begin], "b.jsonl": [end]})
    (message,) = messages(found, "FT-009")
    assert "1 drills have an end" in message


def test_one_slow_drill_of_twenty_one_is_within_p95(tmp_path: Path) -> None:
    found = judged(tmp_path, {"log.jsonl": drills(*[60.0] * 20, 300.0)})
    assert outcomes(found)["FT-009"] == "pass"
    found = judged(tmp_path, {"log.jsonl": drills(*[60.0] * 19, 300.0, 301.0)})
    (message,) = messages(found, "FT-009")
    assert "recovery takes 5 min, p95 of 21 drills" in message


@pytest.mark.parametrize(
    "name", ["llama2_70b_lora_8gpu.txt", "llama31_405b_512gpu.txt"]
)
@pytest.mark.parametrize("use", ["ci", "preflight"])
def test_published_runs_of_mlperf_have_no_fault(
    name: str, use: str, tmp_path: Path
) -> None:
    text = (corpus_folder("logs/mllog") / name).read_text(encoding="utf-8")
    found = judged(tmp_path, {name: text}, use, Context())
    assert [
        finding.message for finding in found if finding.outcome in {"fail", "error"}
    ] == []
    result = outcomes(found)
    assert result["OBS-003"] == result["FT-045"] == "pass"
    # One log tells the peak of memory without its unit: that is no required series.
    is_sure = name.startswith("llama2")
    assert result["OBS-004"] == ("pass" if is_sure else "unknown")


def test_a_run_without_logs_imports_nothing_of_this(tmp_path: Path) -> None:
    plan = tmp_path / "speccheck.yaml"
    plan.write_text("speccheck: 1\nbatch:\n  mode: fixed\n", encoding="utf-8")
    code = (
        "import sys\n"
        "from speccheck.validator.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "words = ('metric_dictionary', 'declaration', 'measurement', 'run_evidence')\n"
        "print([m for m in sys.modules if any(w in m for w in words)])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(plan)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_arithmetic_of_counters_and_windows() -> None:
    assert counted([3.0, 5.0, 1.0, 2.0]) == 7
    assert grown([3.0, 5.0, 1.0]) == 3
    assert grown([]) == 0
    assert allowed_in(100, 1) == 1
    assert allowed_in(5000, 1) == 5
    assert percentile([5.0, 1.0, 3.0], "p95") == 5
    assert percentile([float(n) for n in range(1, 101)], "p95") == 95
    assert medians_by_window([(1, 2.0), (5, 4.0), (12, 9.0)], 10) == {0: 3.0, 1: 9.0}
    assert left_of(0, 100, [(10, 30), (20, 40), (90, 200), (-5, 1)]) == 59
    assert left_of(0, 10, []) == 10
    dense = adherence([0.1] * 900 + [10.0])
    assert dense is not None
    assert dense.coverage == pytest.approx(0.91)
    assert adherence([]) is None
