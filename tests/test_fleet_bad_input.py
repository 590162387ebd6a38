"""`speccheck fleet` on evidence that is broken, hostile, or two-faced.

Whatever a file holds: it is named, it is counted, and it is never a pass.
"""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fleet_trials import Ended, Snapshot, kept, lines, nodes, renamed, result, running
from slow_cases import few

_NAME = "node0002"
Capture = pytest.CaptureFixture[str]


def half() -> bytes:
    return json.dumps(nodes(2)[_NAME]).encode()[:3000]


BROKEN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "blank": (b" \n", "is empty"),
    "half": (half(), "it was half written"),
    "a list": (b"[]", "is no object"),
    "a text": (b'"go"', "is no object"),
    "not UTF-8": ('{"schema": "é"}'.encode("latin-1"), "is no text of UTF-8"),
    "zeros": (b"\0" * 4096, "is no"),
    "deep": (b'{"a":' + b"[" * 100_000, "nests too deep"),
    "digits": (b'{"a": ' + b"9" * 5000 + b"}", "holds a number that is too long"),
    "no number": (b'{"schema": "speccheck-snapshot/1", "a": NaN}', "holds NaN"),
    "newer": (b'{"schema": "speccheck-snapshot/2"}', "of a newer speccheck"),
    "newer line": (b'{"schema": "speccheck-node-result/2"}', "of a newer speccheck"),
    "much newer": (
        b'{"schema": "speccheck-snapshot/' + b"9" * 5000 + b'"}',
        "of a newer speccheck",
    ),
    "another": (b'{"schema": "speccheck-report/1"}', "is not a snapshot"),
    "a number": (b'{"schema": 1}', "is not a snapshot"),
    "plain": (b'{"a": 1}', "is not a snapshot"),
    "HTML": (b"<html>502 Bad Gateway</html>", "is no JSON"),
}


def unread(ended: Ended) -> list[tuple[str, str]]:
    """Return the files that could not be read, and why."""
    return [(item["file"], item["problem"]) for item in ended.data["nodes"]["unread"]]


@pytest.mark.parametrize("kind", few(BROKEN, {"empty", "half"}.__contains__))
def test_a_broken_file_is_named_and_no_pass(
    kind: str, tmp_path: Path, capsys: Capture
) -> None:
    content, problem = BROKEN[kind]
    folder = kept(tmp_path / "fleet", nodes(4))
    path = folder / f"{_NAME}.json"
    path.write_bytes(content)
    ended = running(capsys, folder, "--output", "json")
    assert ended.code == 3
    assert ended.data["nodes"]["reported"] == 3
    ((file, said),) = unread(ended)
    assert file == str(path)
    assert problem in said
    assert len(said) < 200
    assert [item["node"] for item in ended.data["unfit"]] == [_NAME]
    result = running(capsys, folder)
    assert result.code == 3
    assert "report_unread  on 1 node" in result.out
    assert _NAME in result.out
    # The same as a line among lines: the others are read.
    if b"\n" not in content.strip() and content.strip():
        file_of_lines = lines(tmp_path / "fleet.jsonl", nodes(4))
        some = file_of_lines.read_bytes().splitlines()
        some[1] = content
        file_of_lines.write_bytes(b"\n".join(some) + b"\n")
        ended = running(capsys, file_of_lines, "--output", "json")
        assert ended.code == 3
        assert [where for where, _ in unread(ended)] == [f"{file_of_lines}:2"]
        assert ended.data["nodes"]["reported"] == 3


def test_each_of_many_broken_files_is_named(tmp_path: Path, capsys: Capture) -> None:
    folder = kept(tmp_path / "fleet", nodes(1))
    for kind, (content, _) in BROKEN.items():
        (folder / f"{kind}.json").write_bytes(content)
    ended = running(capsys, folder, "--output", "json")
    assert ended.code == 3
    assert ended.data["nodes"]["reported"] == 1
    problems = dict(unread(ended))
    wrong = [
        f"{kind}: {problems.get(str(folder / f'{kind}.json'))}"
        for kind, (_, problem) in BROKEN.items()
        if problem not in problems.get(str(folder / f"{kind}.json"), "")
    ]
    assert not wrong, "\n".join(wrong)


def test_snapshots_without_anything_in_them_are_inconclusive(
    tmp_path: Path, capsys: Capture
) -> None:
    node = {"schema": "speccheck-snapshot/1"}
    folder = kept(tmp_path / "fleet", {f"n{i}": node for i in range(3)})
    ended = running(capsys, folder, "--expect", 3, "--output", "json")
    assert ended.code == 3
    assert ended.data["nodes"]["fit"] == 0
    assert {item["state"] for item in ended.data["unfit"]} == {"inconclusive"}


@pytest.mark.parametrize("name", ["fifo.json", "fifo.jsonl", "fifo.json.gz"])
def test_a_pipe_in_the_folder_does_not_stop_the_run(name: str, tmp_path: Path) -> None:
    folder = kept(tmp_path / "fleet", nodes(2))
    os.mkfifo(folder / name)
    (folder / "zero.json").symlink_to("/dev/zero")
    (folder / "zero.jsonl").symlink_to("/dev/zero")
    (folder / "gone.json").symlink_to("nowhere")
    command = [sys.executable, "-m", "speccheck", "fleet", str(folder), "--output=json"]
    ended = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (3, b"")
    said = {
        Path(item["file"]).name: item["problem"]
        for item in json.loads(ended.stdout)["nodes"]["unread"]
    }
    assert said.keys() == {name, "zero.json", "zero.jsonl", "gone.json"}
    assert "No such file" in said.pop("gone.json")
    assert set(said.values()) == {"cannot be read: is no regular file"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_may_not_be_read_is_named(tmp_path: Path, capsys: Capture) -> None:
    folder = kept(tmp_path / "fleet", nodes(3))
    (folder / f"{_NAME}.json").chmod(0)
    closed = folder / "rack2"
    closed.mkdir(mode=0)
    ended = running(capsys, folder, "--output", "json")
    closed.chmod(0o700)
    assert ended.code == 3
    assert [Path(file).name for file, _ in unread(ended)] == [f"{_NAME}.json", "rack2"]


def test_a_folder_that_refuses_is_named(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = kept(tmp_path / "fleet", nodes(3))
    (folder / "rack2").mkdir()
    real = os.scandir

    def refusing(path: Any) -> Any:  # noqa: ANN401 - as the real one
        if str(path).endswith("rack2"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refusing)
    ended = running(capsys, folder, "--output", "json")
    assert unread(ended) == [
        (str(folder / "rack2"), "cannot be read: Permission denied")
    ]
    assert ended.code == 1  # nobody knows whose reports it holds


def test_two_snapshots_of_one_node(tmp_path: Path, capsys: Capture) -> None:
    fleet = nodes(3)
    folder = kept(tmp_path / "fleet", fleet)
    (folder / "copy.json").write_text(json.dumps(fleet[_NAME]), "utf-8")
    ended = running(capsys, folder, "--output", "json")
    assert ended.code == 0  # both are read, and the worse of them would count
    assert ended.data["nodes"]["reported"] == ended.data["nodes"]["synthetic"] == 3
    (twice,) = ended.data["nodes"]["repeated"]
    assert twice["name"] == _NAME
    assert [Path(file).name for file in twice["files"]] == [
        "copy.json",
        f"{_NAME}.json",
    ]
    result = running(capsys, folder).out
    assert "warning FT-042 node_reported_twice  on 1 node" in result
    assert "24 GPUs" in result
    fleet[_NAME]["gpus"][0]["remap_has_failed"] = True
    (folder / "copy.json").write_text(json.dumps(fleet[_NAME]), "utf-8")
    ended = running(capsys, folder, "--output", "json")
    assert ended.code == 1
    assert [item["node"] for item in ended.data["unfit"]] == [_NAME]


def test_the_same_machine_under_two_names(tmp_path: Path, capsys: Capture) -> None:
    fleet = nodes(3)
    fleet["other"] = json.loads(json.dumps(fleet[_NAME]))
    fleet["other"]["launch"]["node"] = "other"
    ended = running(capsys, kept(tmp_path / "fleet", fleet), "--output", "json")
    assert ended.code != 0
    (twice,) = ended.data["nodes"]["repeated"]
    assert twice["name"] == f"{_NAME} and other"
    assert twice["problem"] == "both show the same 8 GPUs"


def test_the_worse_of_snapshot_and_result_line_counts(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = kept(tmp_path / "fleet", nodes(4))
    finding = {
        "clause": "TOPO-004",
        "rule": "gpu_link_below_slot",
        "level": "error",
        "subject": "GPU 1",
        "message": "it \x1b[31mis\nslow",
        "action": "isolate",
    }
    said = {
        "node0001": result("node0001"),
        "node0002": result("node0002", "no-go", findings=[finding]),
        "node0003": result("node0003", "inconclusive"),
        "node0004": result("node0004", "usage"),
    }
    for name, line in said.items():
        (folder / f"{name}.result.json").write_text(json.dumps(line), "utf-8")
    ended = running(capsys, folder, "--output", "json")
    assert ended.code == 1
    assert {item["node"]: item["state"] for item in ended.data["unfit"]} == {
        "node0002": "no-go",
        "node0003": "inconclusive",
        "node0004": "usage",
    }
    answer = running(capsys, folder).out
    assert "its own pre-flight said no-go: gpu_link_below_slot" in answer
    assert "drain node0002\n" in answer


@pytest.mark.parametrize("findings", [[], None, 3, [3], [{"level": "dire"}]])
def test_a_node_that_says_no_go_is_not_fit_whatever_its_reason(
    findings: object, tmp_path: Path, capsys: Capture
) -> None:
    """A line is cut to a size: the finding that says why may not be on it."""
    fleet = {f"n{number}": result(f"n{number}") for number in range(1, 5)}
    fleet["n3"] = result("n3", "no-go", findings=findings)
    ended = running(capsys, lines(tmp_path / "r.jsonl", fleet), "--output", "json")
    assert ended.code == 1
    assert [(o["node"], o["state"]) for o in ended.data["unfit"]] == [("n3", "no-go")]


def test_no_verdict_that_nobody_knows_is_go(tmp_path: Path, capsys: Capture) -> None:
    fleet = {"n1": result("n1"), "n2": result("n2", "fine"), "n3": result("n3", "")}
    ended = running(capsys, lines(tmp_path / "r.jsonl", fleet), "--output", "json")
    assert ended.code == 4
    assert [item["node"] for item in ended.data["unfit"]] == ["n2", "n3"]


def test_a_killed_rank_is_missing_by_name(tmp_path: Path, capsys: Capture) -> None:
    fleet = nodes(64)
    del fleet["node0017"]
    ended = running(capsys, kept(tmp_path / "fleet", fleet))
    assert ended.code == 3
    assert "63 of 64 nodes reported" in ended.out
    assert "node0017" in ended.out


def test_clocks_apart_and_mixed_versions_are_told(
    tmp_path: Path, capsys: Capture
) -> None:
    fleet = nodes(4)
    fleet["node0002"]["taken"] = "2026-01-10T00:00:00Z"
    fleet["node0003"]["tool"] = {"name": "speccheck", "version": "0.0.1"}
    fleet["node0004"]["taken"] = "yesterday"
    ended = running(capsys, kept(tmp_path / "fleet", fleet), "--full")
    assert "warning FT-007 report_out_of_date  on 1 node" in ended.out
    assert "info FT-044 reports_scattered  on 1 node" in ended.out
    for name in ("node0002", "node0003"):
        assert name in ended.out


def test_nodes_of_two_jobs_are_told_and_no_go(tmp_path: Path, capsys: Capture) -> None:
    fleet = nodes(4)
    for name in ("node0003", "node0004"):
        fleet[name]["launch"]["job"] = "another"
    ended = running(capsys, kept(tmp_path / "fleet", fleet))
    assert ended.code == 3
    assert "2 runs" in ended.out


@pytest.mark.parametrize(
    "name",
    ["a;reboot", "$(id)", "`id`", "n[1-64]", "ALL", "-h", "a b", "n" * 300, "../../x"],
)
@pytest.mark.parametrize("form", ["slurm", "plain", "kubernetes"])
def test_no_list_holds_what_is_no_name_of_a_host(
    name: str, form: str, tmp_path: Path, capsys: Capture
) -> None:
    name = name if form != "kubernetes" or name != "ALL" else "a|b"
    fleet = {item: result(item, "no-go") for item in (name, "good9")}
    path = lines(tmp_path / "r.jsonl", fleet)
    target = tmp_path / "drain"
    ended = running(capsys, path, "--drain-list", f"{form}={target}")
    assert ended.code == 1
    (line,) = target.read_text().splitlines()
    assert "good9" in line
    assert f"{name[:200]}" in ended.error
    assert ended.error.count("\n") == 1
    assert "not on the drain list" in ended.error


@pytest.mark.slow
def test_no_escape_of_a_name_or_message_reaches_an_output(
    tmp_path: Path, capsys: Capture
) -> None:
    hostile = "\x1b[2J\x1b]0;x\x07\nn9\r\u202e\ud800"
    finding = {
        "clause": hostile,
        "rule": hostile,
        "level": "error",
        "subject": hostile,
        "message": hostile,
        "action": "isolate",
    }
    facts = {"driver": hostile, hostile: hostile}
    fleet = {
        name: result(name, "no-go", findings=[finding], facts=facts, job=hostile)
        for name in (hostile, "n2")
    }
    path = lines(tmp_path / "r.jsonl", fleet)
    fleet = {f"m{number}": node for number, node in enumerate(nodes(3).values())}
    fleet["m1"] = renamed(fleet["m1"], f"m1{hostile}")
    fleet["m1"]["driver"]["version"] = hostile
    fleet["m1"]["variables"].append({"name": hostile, "value": hostile, "layer": "x"})
    folder = kept(tmp_path / "fleet", fleet)
    for words in ((), ("--full",), ("--output", "json")):
        running(capsys, folder, path, *words)
    for form in ("slurm", "kubernetes", "plain"):
        target = tmp_path / form
        running(capsys, folder, path, "--drain-list", f"{form}={target}")
        text = target.read_text("utf-8")
        assert "n2" in text
        assert not [item for item in text if not (item.isprintable() or item == "\n")]


def test_names_that_differ_in_case_are_two_nodes(
    tmp_path: Path, capsys: Capture
) -> None:
    fleet: dict[str, Snapshot] = {item: result(item) for item in ("N1", "n1")}
    path = lines(tmp_path / "r.jsonl", fleet)
    ended = running(capsys, path, "--expect", "n1", "--output", "json")
    assert ended.code != 0
    assert ended.data["nodes"]["unexpected"] == ["N1"]


def test_packed_lines_and_such_that_break_off(tmp_path: Path, capsys: Capture) -> None:
    text = lines(tmp_path / "fleet.jsonl", nodes(8)).read_bytes()
    path = tmp_path / "fleet.jsonl.gz"
    path.write_bytes(gzip.compress(text))
    assert running(capsys, path).code == 0
    path.write_bytes(gzip.compress(text)[:-4000])
    ended = running(capsys, path, "--output", "json")
    assert ended.code == 3
    assert [where for where, _ in unread(ended)] != []
    path.write_bytes(b"no gzip at all")
    ended = running(capsys, path, "--output", "json")
    assert ended.code == 3
    assert ended.data["nodes"]["reported"] == 0


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_a_line_beyond_all_limits_is_named_and_the_rest_read(
    suffix: str, tmp_path: Path, capsys: Capture
) -> None:
    some = [json.dumps(node).encode() for node in nodes(3).values()]
    some.insert(1, b'"' + b"x" * 45_000_000)
    text = b"\n".join(some) + b"\n"
    path = tmp_path / f"fleet.{suffix}"
    path.write_bytes(gzip.compress(text, 1) if suffix.endswith("gz") else text)
    ended = running(capsys, path, "--cores", 1, "--output", "json")
    assert ended.code == 1
    assert unread(ended) == [(f"{path}:2", "a line of more than 20,000,000 bytes")]
    assert ended.data["nodes"]["reported"] == 3
