"""The result line of a node: what it holds, what it leaves out, what it refuses."""

import hashlib
import json
import multiprocessing
import os
import random
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from json_schemas import schema_text
from machine_files import build, healthy
from node_results import COUNTS, RESULT
from nvml_stand_in import StandIn
from slow_cases import few_rows
from speccheck.validator.cli.main import main
from speccheck.validator.node.result import (
    MOST_BYTES,
    JudgedBy,
    KeptSnapshot,
    NodeResult,
    ResultFinding,
    ResultLineError,
    read_result,
    result_line,
)


def fields(line: str) -> dict[str, Any]:
    """Return the object of a line, which is in the limits and of the published form."""
    assert line.isascii()
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert len(line) <= MOST_BYTES
    found: dict[str, Any] = json.loads(line)
    jsonschema.validate(found, json.loads(schema_text("node-result")))
    return found


def many(gpus: int, rules: int, text: str) -> tuple[ResultFinding, ...]:
    """Return a failure of each rule on each GPU, the errors last."""
    return tuple(
        ResultFinding(
            f"HW-{rule:03}",
            f"rule_of_number_{rule}",
            "error" if rule == rules - 1 else "warning",
            f"GPU {gpu}",
            text,
            "RESET_GPU",
        )
        for rule in range(rules)
        for gpu in range(gpus)
    )


def test_a_result_is_read_back_as_it_was_written() -> None:
    line = result_line(RESULT)
    result = fields(line)
    assert (result["verdict"], result["exit_code"], result["findings_left_out"]) == (
        *("no-go", 1),
        0,
    )
    assert read_result(line) == RESULT


def test_numbers_that_are_not_the_editions_are_counted() -> None:
    tailored = RESULT._replace(edition=JudgedBy("1.0", "0" * 64, tailored=2))
    line = result_line(tailored)
    assert fields(line)["edition"]["tailored"] == 2
    assert read_result(line) == tailored
    assert "tailored" not in fields(result_line(RESULT))["edition"]


def test_a_node_of_which_little_is_known_has_a_line() -> None:
    bare = NodeResult("box", "usage", taken="2026-11-22T07:00:00Z", reason="no option")
    result = fields(result_line(bare))
    assert not {"job", "rank", "ranks", "nodes", "node_list"} & result.keys()
    assert (result["snapshot"], result["edition"], result["exit_code"]) == (
        None,
        None,
        2,
    )
    counts = dict.fromkeys(("error", *COUNTS), 0)
    assert read_result(result_line(bare)) == bare._replace(counts=counts)


@pytest.mark.parametrize("text", ["a row is to be remapped", "x" * 9999, "é" * 500])
def test_five_hundred_failures_of_64_gpus_fit_and_the_rest_is_counted(
    text: str,
) -> None:
    findings = many(64, 8, text)
    facts = {f"driver.leaf_{number}": "570.86.15-server" for number in range(90)}
    result = fields(result_line(RESULT._replace(findings=findings, facts=facts)))
    assert len(result["findings"]) + result["findings_left_out"] == 512
    levels = [finding["level"] for finding in result["findings"]]
    assert levels == sorted(levels)  # errors first
    assert levels[0] == "error"
    assert len(result["findings"]) >= 3
    assert len(result["facts"]) + result.get("facts_left_out", 0) == 90
    assert [*result["facts"]] == [*facts][: len(result["facts"])]


def test_of_many_failures_each_rule_is_told_before_one_is_told_twice() -> None:
    findings = tuple(item._replace(level="error") for item in many(64, 8, "it failed"))
    result = fields(result_line(RESULT._replace(findings=findings, facts={})))
    assert {finding["clause"] for finding in result["findings"][:8]} == {
        f"HW-{rule:03}" for rule in range(8)
    }


def test_nothing_hostile_is_in_a_line() -> None:
    escape, half = "\x1b]0;owned\x07\n", "\ud800"
    finding = ResultFinding(escape, escape, "error", escape, escape + half, "ISOLATE")
    hostile = RESULT._replace(
        job=escape,
        reason=escape * 99,
        node_list=escape,
        findings=(finding,),
        missing=(escape,),
        facts={escape: escape, "long": "é" * 900, "other": "é" * 899 + "e"},
        snapshot=KeptSnapshot("/" + escape * 99 + "/n17.json", "ab" * 32),
    )
    line = result_line(hostile)
    result = fields(line)
    assert "\\u001b" not in line
    assert "\\ud800" not in line
    assert result["snapshot"]["path"] == "n17.json"
    assert result["facts"]["long"] != result["facts"]["other"]  # by their digests
    read = read_result(line)
    assert read.findings[0].message.isprintable()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "no JSON: Expecting value"),
        (result_line(RESULT)[:900], "no JSON: it breaks off"),
        ("[" * 4000, "no JSON: "),
        ("[]", "no result of a node: must be a JSON object"),
        ("{}", "no result of a node: schema is None, not speccheck-node-result/1"),
        ('{"schema":"speccheck-snapshot/1"}', "schema is speccheck-snapshot/1"),
        ('{"schema":"speccheck-node-result/2"}', "version 2; this speccheck reads 1"),
        ('{"a":NaN}', "no JSON: NaN is no number of JSON"),
        ('{"schema":"' + "x" * 5000 + '"}', "5,013 bytes, more than the 4,096"),
        ('{"schema":"' + "é" * 3000 + '"}', "6,013 bytes, more than the 4,096"),
    ],
)
def test_what_is_no_line_is_refused_in_a_line(line: str, problem: str) -> None:
    with pytest.raises(ResultLineError) as caught:
        read_result(line)
    assert problem in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("verdict", "fine", "verdict must be one of go, no-go, usage, inconclusive"),
        ("exit_code", 0, "exit_code must be 1 for the verdict no-go"),
        ("node", "n1; reboot", "node must be the name of a host, not n1; reboot"),
        ("node", "\x1b[2J", "node must be the name of a host, not ?[2J"),
        ("node", 7, "node must be a text"),
        ("engine", "pbs", "engine must be one of slurm"),
        ("engine", ["slurm"], "engine must be one of slurm"),
        ("rank", -1, "rank must be a whole number from 0"),
        ("rank", True, "rank must be a whole number from 0"),
        ("ranks", 10**30, "ranks must be a whole number from 0"),
        ("seconds", "fast", "seconds must be a number from 0"),
        ("counts", [], "counts must be an object"),
        ("counts", {"pass": 0.5}, "pass must be a whole number from 0"),
        ("findings", {}, "findings must be a list"),
        ("findings", [1], "findings must be objects"),
        ("findings", [{"clause": "X", "level": "fatal"}], "level must be one of error"),
        ("facts", {"a": []}, "facts: a must be a text, a number or true or false"),
        ("snapshot", {"path": "x"}, "sha256 must be a text"),
    ],
)
def test_a_field_that_is_wrong_is_named(
    field: str, value: object, problem: str
) -> None:
    data = json.loads(result_line(RESULT))
    with pytest.raises(ResultLineError) as caught:
        read_result(json.dumps({**data, field: value}))
    assert problem in str(caught.value)


def test_a_field_of_a_later_release_is_passed_over() -> None:
    data = json.loads(result_line(RESULT))
    assert read_result(json.dumps({**data, "colour": "red"})) == RESULT


_JUNK: tuple[object, ...] = (
    None,
    True,
    -1,
    1.5,
    "x",
    "\x1b",
    "é" * 300,
    [],
    {},
    [[]],
    {"a": 1},
    10**40,
)


def test_whatever_a_line_holds_it_is_a_result_or_refused() -> None:
    chance = random.Random(1)  # noqa: S311 - the same each time
    line = result_line(RESULT)
    data = json.loads(line)
    read, refusals = 0, []
    for _ in range(3000):
        if chance.random() < 0.5:
            changed = {name: chance.choice(_JUNK) for name in chance.sample([*data], 2)}
            text = json.dumps({**data, **changed})
        else:
            at = chance.randrange(len(line))
            text = line[:at] + chr(chance.choice([0, 10, 34, 91, 233])) + line[at + 1 :]
        try:
            result = read_result(text)
        except ResultLineError as error:
            refusals.append(str(error))
        else:
            read += 1
            assert len(result_line(result)) <= MOST_BYTES
    assert read > 100
    assert all(item.isprintable() for item in refusals)


def _write_often(pipe: int, node: str, times: int) -> None:
    facts = {f"driver.leaf_{number}": node * 6 for number in range(90)}
    findings = many(8, 8, "a row is to be remapped")
    result = RESULT._replace(node=node, facts=facts, findings=findings)
    line = result_line(result).encode()
    for _ in range(times):
        os.write(pipe, line)


def test_lines_of_processes_that_share_a_pipe_do_not_mix() -> None:
    """Each is nearly as long as it may be."""
    reading, writing = os.pipe()
    fork = multiprocessing.get_context("fork")
    names = [f"node{number:04}" for number in range(4)]
    writers = [
        fork.Process(target=_write_often, args=(writing, name, 200)) for name in names
    ]
    for item in writers:
        item.start()
    os.close(writing)
    with os.fdopen(reading) as lines:
        found = [read_result(line) for line in lines]
    for item in writers:
        item.join()
    assert {finding.node: 0 for finding in found} == dict.fromkeys(names, 0)
    assert len(found) == 800


@pytest.mark.usefixtures("stand_in")
def test_preflight_writes_the_line_of_what_it_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = f"{tmp_path}/results/"
    words = ["--out", folder, "--result", folder, "--output", "json", "--full"]
    code = main(["preflight", *words])
    report = json.loads(capsys.readouterr().out)
    (path,) = Path(folder).glob("*.result.json")
    answer = fields(path.read_text())
    result = read_result(path.read_text())
    assert (result.exit_code, answer["exit_code"]) == (code, code)
    assert result.counts == {
        name: sum(row[name] for row in report["summary"]["clauses"].values())
        for name in result.counts
    }
    failed = [finding for finding in report["findings"] if finding["outcome"] == "fail"]
    assert {(finding.rule, finding.message) for finding in result.findings} <= {
        (item["rule"], item["message"]) for item in failed
    }
    assert len(result.findings) + result.findings_left_out == len(failed)
    assert result.facts["gpus"] == "8"
    assert "driver.version" in result.facts
    assert result.snapshot is not None
    kept = Path(result.snapshot.path)
    assert kept == Path(folder, f"{result.node}.json")

    assert hashlib.sha256(kept.read_bytes()).hexdigest() == result.snapshot.sha256
    assert not [*Path(folder).glob(".*")]


def test_a_dash_writes_the_line_and_no_report(
    stand_in: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in.answers("gpu.2.remap_pending=1")
    other = tmp_path / "report.json"
    words = ["--select", "memory_fault_pending", "--output", f"json={other}"]
    assert main(["preflight", *words, "--result", "-"]) == 1
    result = fields(capsys.readouterr().out)
    (finding,) = result["findings"]
    assert finding["rule"] == "memory_fault_pending"
    assert (finding["subject"], finding["level"]) == ("GPU 2", "error")
    assert finding["action"] == "RESET_GPU"
    assert json.loads(other.read_text())["exit_code"] == 1


@pytest.fixture
def sysroot(tmp_path: Path) -> str:
    """Return the files of a machine with two GPUs that nobody can ask."""
    return str(build(tmp_path / "root", *healthy()))


@pytest.mark.parametrize(
    ("words", "code", "verdict", "reason"),
    few_rows(
        2,
        [
            (["--nope"], 2, "usage", "no option --nope"),
            (["--budget", "0"], 2, "usage", "--budget 0: must be seconds above zero"),
            (["nothing.yaml"], 2, "usage", "1 file could not be judged"),
            (["--select", "nobody_knows_it"], 2, "usage", "nobody_knows_it"),
            (["--select", "memory_fault_pending"], 3, "inconclusive", "could not be"),
        ],
    ),
)
def test_a_node_that_judged_nothing_has_a_line_all_the_same(
    words: list[str],
    code: int,
    verdict: str,
    reason: str,
    sysroot: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SPECCHECK_HOST", "n3")
    monkeypatch.chdir(tmp_path)
    all_words = [*words, "--sysroot", sysroot, "--result", f"{tmp_path}/r/"]
    assert main(["preflight", *all_words]) == code
    result = fields((tmp_path / "r/n3.result.json").read_text())
    assert (result["verdict"], result["exit_code"], result["node"]) == (
        verdict,
        code,
        "n3",
    )
    assert reason in result["reason"]
    capsys.readouterr()
    # On standard output as well, and alone.
    assert main(["preflight", *words, "--sysroot", sysroot, "--result=-"]) == code
    assert fields(capsys.readouterr().out)["verdict"] == verdict


def test_a_bug_is_counted(
    sysroot: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("speccheck.probes.collect.snapshot", broken)
    assert main(["preflight", "--sysroot", sysroot, "--result", "-"]) == 4
    result = fields(capsys.readouterr().out)
    assert (result["verdict"], result["edition"]) == ("bug", None)
    assert result["reason"].startswith("a bug of speccheck: ZeroDivisionError")


def test_inconclusive_says_what_is_missing(
    sysroot: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--sysroot", sysroot, "--select", "memory_fault_pending"]
    assert main(["preflight", *words, "--result", "-"]) == 3
    assert fields(capsys.readouterr().out)["missing"] == ["gpus"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--result", "/nowhere/r.json"], "--result /nowhere/r.json: no such folder"),
        (["--result", "/proc/nothing/"], "--result /proc/nothing/: No such file"),
        (["--nagios", "--result", "-"], "--nagios and --result - both take standard"),
        (["--diff", "--nagios"], "--diff and --nagios both take standard output"),
        (
            ["--result", "r.json", "--output", "json=r.json"],
            "the same file as --result",
        ),
    ],
)
def test_where_a_line_cannot_go_is_told_before_anything_is_probed(
    words: list[str],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code = main(["preflight", *words])
    assert code == (3 if "--nagios" in words else 2)
    result = capsys.readouterr()
    assert result.err.count("\n") == 1
    assert problem in result.err
    assert [*tmp_path.iterdir()] in ([], [tmp_path / "r.json"])
