"""`speccheck telemetry`: its report, its JSON, its exit codes, and its refusals."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from corpus import corpus_folder
from json_schemas import SCHEMAS
from run_logs import EXAMPLES
from speccheck.validator.cli.main import main
from speccheck.validator.engine.request import Request
from speccheck.validator.run.run import run as judge_run

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run `speccheck telemetry` beside the example logs: code, output, errors."""
    shutil.copytree(EXAMPLES, tmp_path / "logs")
    monkeypatch.chdir(tmp_path / "logs")

    def command(*words: str) -> tuple[int, str, str]:
        code = main(["telemetry", *words])
        found = capsys.readouterr()
        assert "Traceback" not in found.out + found.err
        return code, found.out, found.err

    return command


def document(run: Run, *words: str) -> dict[str, Any]:
    _, out, err = run(*words, "--output", "json")
    assert err == ""
    found: dict[str, Any] = json.loads(out)
    jsonschema.Draft202012Validator(SCHEMAS["telemetry"]()).validate(found)
    return found


def block(out: str, head: str) -> list[str]:
    """Return the lines of a table, without its head."""
    text = out.partition(f"\n{head}")[2].partition("\n\n")[0]
    return text.splitlines()[1:]


def test_two_logs_are_one_run(run: Run) -> None:
    _, out, _ = run("healthy.jsonl", "healthy.prom")
    assert out.splitlines()[4:8] == [
        "  healthy.jsonl · jsonl · 30 lines · run synthetic-gh200-2nodes · edition 1.0",
        "    2026-05-04 08:00:00 to 08:17:29 UTC · 17.5 min · tells its end",
        "  healthy.prom · prometheus · 350 lines",
        "    2026-05-04 08:00:00 to 08:17:00 UTC · 17 min",
    ]
    table = block(out, "metrics of the dictionary")
    assert table[0] == (
        "  train.loss                       20    42 s  44.3 s  10 steps, 60 s  3.712"
    )
    use = next(line for line in table if "gpu.utilization" in line)
    assert use.split() == [
        *("gpu.utilization", f"{chr(0xD7)}2", "70", "30", "s", "30", "s", "30", "s"),
        *("0.98", "to", "1"),
    ]
    assert "    as DCGM_FI_DEV_GPU_UTIL" in table
    assert table[-1] == "  core metrics: 4 of 4 in these logs"
    assert block(out, "events") == [
        "  run.start 1 · run.eval_start 1 · run.eval_stop 1 · run.checkpoint_started 1",
        "  run.checkpoint_saved 1 · run.stop 1 (success)",
    ]


def test_trouble_is_told(run: Run) -> None:
    _, out, _ = run("troubled.jsonl")
    assert "24 lines, 1 of them not readable" in out
    assert "its end is not in it" in out
    table = block(out, "metrics of the dictionary")
    # Nothing for 3.5 minutes, and no event that says why.
    assert table[1:3] == [
        "  train.grad_norm                  16    42 s 3.5 min  10 steps, 60 s  1.191",
        "    1 NaN or infinite",
    ]
    result = block(out, "events")
    assert "run.oom 1" in result[0]
    assert result[-1] == (
        "  drill 2026-05-node-loss: 74 s from run.failure_injected to run.resumed"
    )


def test_json_holds_the_same(run: Run) -> None:
    found = document(run, "troubled.jsonl")
    assert found["schema"] == "speccheck-telemetry/1"
    (telemetry,) = found["telemetry"]
    (log,) = telemetry["logs"]
    assert (log["lines"], log["unread_lines"], log["is_complete"]) == (24, 1, False)
    norm = next(
        item for item in telemetry["metrics"] if item["metric"] == "train.grad_norm"
    )
    assert norm["not_finite"] == 1
    assert (norm["interval_median"], norm["interval_steps"]) == (42.014, 10)
    assert (norm["required_seconds"], norm["required_steps"]) == (60, 10)
    assert telemetry["drills"] == [
        {
            "drill": "2026-05-node-loss",
            "begins": "run.failure_injected",
            "seconds": 74.0,
        }
    ]
    stood_in = {item["metric"]: item["stood_in"] for item in telemetry["core_metrics"]}
    assert stood_in["train.gradient.variance"] == [
        "train.grad_norm",
        "train.noise_scale",
    ]


def test_evaluations_are_no_gaps(run: Run) -> None:
    found = document(run, "mlperf.log")
    loss = found["telemetry"][0]["metrics"][0]
    assert (loss["metric"], loss["points"]) == ("train.loss", 12)
    assert loss["interval_p99"] < 32  # three evaluations of 28 s between them
    others = found["telemetry"][0]["other_names"]
    assert [item["written"] for item in others] == [["eval_accuracy"]]


def test_the_findings_are_those_of_speccheck_itself(run: Run) -> None:
    for names in (("healthy.jsonl", "healthy.prom"), ("troubled.jsonl",)):
        own = document(run, *names, "--full")["findings"]
        plans = judge_run(Request(arguments=names, full=True)).plans
        other = [finding.finding for plan in plans for finding in plan.findings]
        assert [(item["clause"], item["rule"], item["outcome"]) for item in own] == [
            (item.clause, item.rule or None, item.outcome) for item in other
        ]
        assert [item["message"] for item in own] == [item.message for item in other]


def test_files_of_the_job_are_judged_with_it(run: Run, tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("speccheck: 1\ncluster:\n  nodes: 2\n  gpus_per_node: 1\n", "utf-8")
    found = document(run, "healthy.jsonl", "--job", str(job))
    assert [file["format"] for file in found["files"]] == ["run-log-jsonl", "native"]
    assert len(found["telemetry"]) == 1
    assert {finding["plan"] for finding in found["findings"]} == {0}


@pytest.mark.parametrize("use", ["preflight", "certify"])
def test_other_uses_ask_for_more(run: Run, use: str) -> None:
    code, out, _ = run("healthy.jsonl", "--use", use)
    assert code != 0
    assert f"profile {use}" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no log given: speccheck telemetry LOG ..."),
        (("x.jsonl", "--use", "prod"), "--use prod: must be one of ci, "),
        (("x.jsonl", "--output", "html"), "--output html: must be one of text, json"),
        (("x.jsonl", "--fail-on", "x"), "--fail-on x: must be one of error, "),
        (("x.jsonl", "--what"), "no option --what"),
        (
            ("job.yaml",),
            "job.yaml: native, no log of a run; a file of its job is given",
        ),
        (("healthy.jsonl", "--nodes", "0"), "--nodes 0: must be a whole number"),
    ],
)
def test_a_wrong_command_line_is_one_line(
    run: Run, words: tuple[str, ...], message: str
) -> None:
    Path("job.yaml").write_text("speccheck: 1\ncluster:\n  nodes: 2\n", "utf-8")
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"speccheck: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"", "nothing in it"),
        (b"\x00\x01", "NUL byte"),
        (b'{"step": 1, "loss": "\xff"}', "is not UTF-8"),
        (b"hello\n", "not a training configuration that speccheck knows"),
    ],
)
def test_a_log_that_cannot_be_read(
    run: Run, content: bytes | None, message: str
) -> None:
    if content is not None:
        Path("x.log").write_bytes(content)
    code, out, _ = run("x.log", "healthy.jsonl")
    assert code == 2
    assert message in " ".join(out.split())


def test_control_characters_and_secrets_reach_no_report(run: Run) -> None:
    token = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3h"
    record = {
        "time": 1777881600,
        "run": f"\x1b[31m{token}",
        "edition": "\x07",
        "node": token,
        f"a\x1b[2J{token}": 1,
        "loss": 2,
    }
    event = {"time": 1777881601, "event": f"\x1b]0;{token}", "status": token}
    Path("x.jsonl").write_text(f"{json.dumps(record)}\n{json.dumps(event)}\n", "utf-8")
    for words in (("--full",), ("--full", "--output", "json")):
        _, out, err = run("x.jsonl", *words)
        assert "loss" in out
        assert "\x1b" not in out + err
        assert token not in out + err


def test_help_names_every_option(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert "--job FILE" in out
    assert "--use USE" in out


@pytest.mark.parametrize(
    ("name", "metrics", "events"),
    [
        (
            "mllog/llama2_70b_lora_8gpu.txt",
            ["train.loss", "train.learning_rate", "train.global_batch"],
            {"run.start": 1, "run.eval_start": 5, "run.eval_stop": 5, "run.stop": 1},
        ),
        (
            "mllog/llama31_405b_512gpu.txt",
            ["train.loss", "train.step_time", "train.global_batch"],
            {"run.start": 1, "run.eval_start": 6, "run.eval_stop": 6, "run.stop": 1},
        ),
        (
            "monitor.jsonl",
            [
                *("gpu.memory.used", "gpu.memory.total", "gpu.utilization"),
                *("gpu.temperature", "gpu.power_limit"),
                *("gpu.ecc.uncorrectable", "gpu.ecc.correctable"),
            ],
            {},
        ),
    ],
)
def test_nothing_fails_in_published_logs(
    run: Run, name: str, metrics: list[str], events: dict[str, int]
) -> None:
    """Who submitted the first two would agree: what is logged is logged well."""
    found = document(run, str(corpus_folder("logs") / name))
    failed = [
        finding["clause"]
        for finding in found["findings"]
        if finding["outcome"] == "fail"
    ]
    assert failed == []
    telemetry = found["telemetry"][0]
    assert [item["metric"] for item in telemetry["metrics"]] == metrics
    known = {
        event["event"]: event["times"]
        for event in telemetry["events"]
        if event["event"]
    }
    assert known == events
    every = [item["interval_p99"] for item in telemetry["metrics"][:2]]
    assert all(item < 60 for item in every)
