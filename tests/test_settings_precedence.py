"""Every key: default, then extended file, then file, then command line."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from settings_files import put, report, run
from speccheck.validator.cli.settings.keys import KEYS


class Case(NamedTuple):
    """Three values of a key, as TOML and as words of the command line."""

    base: str
    file: str
    words: list[str]
    told: list[Any]  # default, of the base, of the file, of the command line


def _text(name: str, values: tuple[str, str, str], default: str | None = None) -> Case:
    base, file, own = values
    words = [f"--{name}", own]
    return Case(f'"{base}"', f'"{file}"', words, [default, *values])


def _list(
    name: str, values: tuple[str, str, str], default: list[str] | None = None
) -> Case:
    base, file, own = values
    result = [default, [base], [file], [own]]
    return Case(f'["{base}"]', f'["{file}"]', [f"--{name}", own], result)


def _number(name: str, values: tuple[float, float, float]) -> Case:
    base, file, own = values
    return Case(str(base), str(file), [f"--{name}", str(own)], [None, *values])


def _switch(name: str) -> Case:
    return Case("true", "false", [f"--{name}"], [False, True, False, True])


CASES = {
    "spec": _text("spec", ("1.0", "1.0", "1.0"), "1.1"),
    "warn": _text("warn", ("1.0", "1.0", "1.0")),
    "profile": _list("profile", ("preflight", "size/L", "certify"), ["ci"]),
    "select": _list("select", ("COMM", "MEM", "BATCH")),
    "ignore": _list("ignore", ("COMM", "MEM", "BATCH"), []),
    "extend-select": Case(
        '["COMM"]',
        '["MEM"]',
        ["--extend-select", "BATCH"],
        [[], ["COMM"], ["COMM", "MEM"], ["COMM", "MEM", "BATCH"]],
    ),
    "extend-ignore": Case(
        '["COMM"]',
        '["MEM"]',
        ["--extend-ignore", "BATCH"],
        [[], ["COMM"], ["COMM", "MEM"], ["COMM", "MEM", "BATCH"]],
    ),
    "fail-on": _text("fail-on", ("warning", "info", "never"), "error"),
    "require": _list("require", ("COMM-001", "MEM-001", "FT-003"), []),
    "min-coverage": _number("min-coverage", (50, 60, 70)),
    "color": _text("color", ("always", "never", "auto"), "auto"),
    "full": _switch("full"),
    "plugins": _switch("plugins"),
    "by-folder": _switch("by-folder"),
    "each": _switch("each"),
    "skip-unknown": _switch("skip-unknown"),
    "force-exclude": _switch("force-exclude"),
    "exclude": _list("exclude", ("a/", "b/", "c/"), []),
    "facts.gpu": _text("gpu", ("H100", "A100", "H200")),
    "facts.gpus-per-node": _number("gpus-per-node", (8, 4, 2)),
    "facts.nodes": _number("nodes", (8, 4, 2)),
    "facts.instance": _text("instance", ("p5.48xlarge", "p4d.24xlarge", "p5.48xlarge")),
    "facts.fabric": _text("fabric", ("infiniband", "roce", "efa")),
    "facts.nvlink-domain": _number("nvlink-domain", (8, 4, 2)),
    "facts.hours": _number("hours", (1.5, 2.5, 3.5)),
    "facts.step-seconds": _number("step-seconds", (1.5, 2.5, 3.5)),
    "facts.mtbf-hours": _number("mtbf-hours", (1.5, 2.5, 3.5)),
    "facts.framework-version": _text(
        "framework-version", ("torch 2.4", "torch 2.5", "torch 2.6")
    ),
    "facts.nccl-version": _text("nccl-version", ("2.20.5", "2.21.5", "2.27.3")),
    "facts.role": _text("role", ("sft", "rl", "lora")),
}
# What no option says: as TOML in both files, and what is in force.
OF_FILES_ALONE: dict[str, tuple[str, str, list[Any]]] = {
    "mandatory": ('["COMM-001"]', '["MEM-001"]', [[], ["MEM-001", "COMM-001"]]),
    "inline-ignores": ("false", "true", [True, True]),
}
# Shown entry by entry, or not at all: other tests hold them.
ELSEWHERE = {
    *("extend", "output", "waivers", "baseline", "tailoring", "levels"),
    "facts-for",
    *("per-file-ignores", "extend-per-file-ignores"),
}


def test_every_key_has_its_case() -> None:
    named = {key.name for key in KEYS}
    assert named == {*CASES, *OF_FILES_ALONE, *ELSEWHERE}


def _toml(key: str, value: str) -> str:
    table, dot, name = key.rpartition(".")
    return f"[{table}]\n{name} = {value}\n" if dot else f"{key} = {value}\n"


def _shown(
    capsys: pytest.CaptureFixture[str], key: str, *words: str
) -> tuple[object, str]:
    found = report(capsys, "--show-settings", *words)["run"]["settings"]
    (row,) = [row for row in found if row["key"] == key]
    return row["value"], row["origin"]


@pytest.mark.parametrize("key", CASES)
def test_default_then_extended_then_file_then_command_line(
    repository: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    case = CASES[key]
    settings = repository / "speccheck.toml"
    adds = key.startswith("extend-")
    assert _shown(capsys, key) == (case.told[0], "default")
    put(repository / "base.toml", _toml(key, case.base))
    put(settings, 'extend = "base.toml"\n')
    line = 2 if "." in key else 1
    assert _shown(capsys, key) == (case.told[1], f"base.toml:{line}")
    put(settings, 'extend = "base.toml"\n' + _toml(key, case.file))
    origin = f"speccheck.toml:{line + 1}"
    both = f"base.toml:{line}, {origin}"
    assert _shown(capsys, key) == (case.told[2], both if adds else origin)
    assert _shown(capsys, key, *case.words) == (
        case.told[3],
        f"{both}, command line" if adds else "command line",
    )


@pytest.mark.parametrize("key", OF_FILES_ALONE)
def test_what_no_option_says(
    repository: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    base, file, (default, result) = OF_FILES_ALONE[key]
    assert _shown(capsys, key) == (default, "default")
    put(repository / "base.toml", _toml(key, base))
    put(repository / "speccheck.toml", 'extend = "base.toml"\n' + _toml(key, file))
    value, origin = _shown(capsys, key)
    assert value == result
    assert origin.startswith("speccheck.toml:2")


@pytest.mark.parametrize(
    "name",
    ["full", "plugins", "by-folder", "each", "skip-unknown", "force-exclude"],
)
def test_a_switch_of_settings_can_be_undone(
    repository: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    put(repository / "speccheck.toml", f"{name} = true\n")
    assert _shown(capsys, name) == (True, "speccheck.toml:1")
    assert _shown(capsys, name, f"--no-{name}") == (False, "command line")


def test_comments_are_turned_off_by_their_option(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", "inline-ignores = true\n")
    result = _shown(capsys, "inline-ignores", "--no-inline-ignores")
    assert result == (False, "command line")


def test_tables_entry_by_entry(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = (
        '[levels]\nCOMM = "error"\nMEM = "warning"\n[per-file-ignores]\n"a" = "MEM"\n'
    )
    own = (
        'extend = "base.toml"\n[levels]\nMEM = "error"\n[per-file-ignores]\n'
        '"b/**" = ["COMM"]\n[extend-per-file-ignores]\n"c" = ["MEM"]\n'
    )
    put(repository / "base.toml", base)
    put(repository / "speccheck.toml", own)
    _, out, _ = run(capsys, "--show-settings")
    shown = [line.split() for line in out.splitlines()]
    assert ['levels."COMM"', '"error"', "base.toml:2"] in shown
    assert ['levels."MEM"', '"error"', "speccheck.toml:3"] in shown
    assert ['per-file-ignores."b/**"', '["COMM"]', "speccheck.toml:5"] in shown
    assert ['extend-per-file-ignores."c"', '["MEM"]', "speccheck.toml:7"] in shown
    assert 'per-file-ignores."a"' not in out


def test_each_file_with_its_own_values(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", 'fail-on = "never"\n[facts]\nnodes = 2\n')
    put(repository / "a" / "speccheck.toml", "[facts]\nnodes = 3\n")
    found = report(capsys, "--show-settings", "a/x.yaml", "b/x.yaml", "--hours", "4")
    assert found["schema"] == "speccheck-settings/1"
    assert found["run"]["files"] == ["speccheck.toml"]
    result = {
        file["path"]: {
            row["key"]: (row["value"], row["origin"]) for row in file["settings"]
        }
        for file in found["files"]
    }
    assert result["a/x.yaml"]["facts.nodes"] == (3, "a/speccheck.toml:2")
    assert result["b/x.yaml"]["facts.nodes"] == (2, "speccheck.toml:3")
    assert result["b/x.yaml"]["facts.hours"] == (4, "command line")
    assert "fail-on" not in result["a/x.yaml"]


def test_select_of_the_command_line_names_all_that_is_judged(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", 'select = ["MEM"]\nextend-select = ["COMM"]\n')
    assert _shown(capsys, "extend-select", "--select", "BATCH") == ([], "default")
    assert _shown(capsys, "select", "--select", "BATCH") == (["BATCH"], "command line")


def test_isolated_shows_that_nothing_was_read(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", "broken = = =")
    code, out, err = run(capsys, "--show-settings", "--isolated", "--nodes", "2")
    assert (code, err) == (0, "")
    assert out.startswith("the run: no settings file is read (--isolated)\n")
    assert [line.split() for line in out.splitlines() if "facts.nodes" in line] == [
        ["facts.nodes", "2", "command", "line"]
    ]


def test_showing_settings_writes_no_report_that_they_name(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repository / "speccheck.toml", 'output = ["text", "html=report.html"]\n')
    code, out, _ = run(capsys, "--show-settings")
    assert code == 0
    assert '["text", "html=report.html"]' in out
    assert not (repository / "report.html").exists()
    code, _, error = run(capsys, "--show-settings", "--output", "sarif=a")
    assert code == 2
    assert "--output sarif: must be one of text, json" in error
