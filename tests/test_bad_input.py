"""Hostile and broken input: one line that says what to do, and never a traceback."""

import json
import sys
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main

GOOD = """{
  "train_batch_size": 64,
  "fp16": {"enabled": false},
  "steps_per_print": 10
}
"""


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.out + captured.err
    return code, captured.out, captured.err


def _nested(opening: str, closing: str, depth: int) -> str:
    return opening * depth + closing * depth


def _alias_bomb(levels: int) -> bytes:
    """Return ten times the level before, and so on."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        items = ", ".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} [{items}]")
    return "\n".join(lines).encode()


BROKEN: dict[str, tuple[str, bytes, str]] = {
    "binary": ("a.yaml", b"\x00\x01\x02\xff" * 20, "not a text file"),
    "empty": ("a.yaml", b"", "nothing in it"),
    "blank": ("a.json", b" \n\n ", "nothing in it"),
    "latin-1": ("a.yaml", b"name: caf\xe9\n", "UTF-8"),
    "truncated json": ("a.json", GOOD[:40].encode(), "a.json:"),
    "truncated yaml": ("a.yaml", b'a: "never closed\nb: 1\n', "a.yaml:"),
    "truncated toml": ("a.toml", b"[training\nsteps = 1\n", "a.toml:"),
    "deep json": ("a.json", _nested("[", "]", 10_000).encode(), "deep"),
    "deep yaml": ("a.yaml", _nested("[", "]", 10_000).encode(), "deep"),
    "template": ("a.yaml", b"nodes: {{ .Values.nodes }}\n", "template"),
    "alias bomb": ("a.yaml", _alias_bomb(12), "alias"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_file_is_one_line_and_the_other_file_is_still_judged(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, content, says = BROKEN[kind]
    (tmp_path / name).write_bytes(content)
    (tmp_path / "good.json").write_text(GOOD)
    code, out, _ = _run(
        capsys, str(tmp_path / name), str(tmp_path / "good.json"), "--output", "json"
    )
    assert code == 2
    report = json.loads(out)
    status = {Path(row["path"]).name: row for row in report["files"]}
    assert status[name]["status"] in {"unreadable", "template"}
    assert says in status[name]["message"]
    assert "\n" not in status[name]["message"]
    assert status["good.json"]["status"] == "judged"
    assert len(report["plans"]) == 1
    assert report["exit_code"] == 2


def test_a_huge_file_is_refused_without_being_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(100 * 2**20)
    code, out, _ = _run(capsys, str(huge), "--output", "json")
    assert code == 2
    assert json.loads(out)["files"][0]["status"] == "unreadable"


def test_a_missing_file_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = _run(capsys, str(tmp_path / "none.yaml"))
    assert code == 2
    assert "none.yaml" in out


def test_a_folder_with_nothing_to_judge_is_inconclusive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    code, out, _ = _run(capsys, str(tmp_path))
    assert code == 3
    assert "nothing was judged: no file is a training configuration" in out


def test_a_template_alone_leaves_nothing_to_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = tmp_path / "ds.json"
    template.write_text(GOOD.replace("64", "BATCH_SIZE"))
    code, out, _ = _run(capsys, str(template), "--output", "json")
    assert code == 3
    (status,) = json.loads(out)["files"]
    assert (status["status"], status["format"]) == ("template", "deepspeed")
    assert "BATCH_SIZE is not filled in; render it first" in status["message"]


def test_a_file_of_another_kind_is_named_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pets.yaml").write_text("cats: 2\ndogs: [a, b]\n")
    code, out, _ = _run(capsys, str(tmp_path / "pets.yaml"))
    assert code == 3
    assert "pets.yaml: not a training configuration" in " ".join(out.split())


def test_what_another_tool_prints_is_no_mistake_in_yaml(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bw.log").write_text("*****\n* Waiting for client... *\n*****\n")
    code, out, _ = _run(capsys, str(tmp_path / "bw.log"))
    assert code == 3
    assert "bw.log: not a training configuration" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--nodse", "4", "x.yaml"], "did you mean --nodes?"),
        (["--nodes"], "--nodes needs a value"),
        (["--nodes", "four", "x.yaml"], "whole number"),
        (["--nodes", "0", "x.yaml"], "above zero"),
        (["--gpu", "H1000-80GB", "x.yaml"], "H100"),
        (["--output", "yaml", "x.yaml"], "must be one of text, concise, html"),
        (["--select", "COMM-901", "x.yaml"], "no such clause"),
        (["--role", "pre-train", "x.yaml"], "pretrain"),
        (["--spec", "9.9", "x.yaml"], "1.0"),
        (["--format", "deepspede", "x.yaml"], "deepspeed"),
        ([], "usage"),
    ],
)
def test_a_wrong_command_line_says_how_to_mend_it(
    words: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(GOOD)
    code, out, err = _run(capsys, *words)
    assert code == 2
    assert says in out + err


def test_usage_errors_leave_a_full_json_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = _run(capsys, "--output", "json", "--gpu", "Voodoo2", str(tmp_path))
    assert code == 2
    report = json.loads(out)
    assert report["schema"] == "speccheck-report/1"
    assert report["exit_code"] == 2
    assert report["findings"] == []
    assert report["errors"]


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_words: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(
        sys.modules["speccheck.validator.cli.main"], "_dispatch", interrupted
    )
    assert main(["x.yaml"]) == 130
