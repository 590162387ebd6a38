"""Workflow commands of GitHub and logging commands of Azure, as runners read them.

The parser here follows the escapes that actions/toolkit writes and actions/runner
reads; that of Azure those of azure-pipelines-agent.
"""

import json
import re
from pathlib import Path

import pytest

from machine_reports import (
    BATCH,
    COMMENT,
    DEEPSPEED,
    FAULTY_NODE,
    JOB,
    NOT_SET,
    UNREAD_KEY,
    judged,
    printed,
    repository,
    told_in,
    waived,
    with_findings,
)
from speccheck.validator.cli.main import main
from speccheck.validator.engine.locate import LocatedFinding, Location
from speccheck.validator.report.write import disarmed

Command = tuple[str, dict[str, str], str]  # name, properties, message
_GITHUB_DATA = (("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))
_GITHUB_PROPERTY = (*_GITHUB_DATA[:2], ("%3A", ":"), ("%2C", ","), ("%25", "%"))
_AZURE = (("%3B", ";"), ("%0D", "\r"), ("%0A", "\n"), ("%5D", "]"), ("%AZP25", "%"))
HOSTILE = (
    "x\n::set-env name=PATH::/evil\r\n::add-mask::a ##[set-output name=a]b "
    "##vso[task.setvariable variable=a]b 100%25 %0A::error::c, d: e; f] g"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repository(tmp_path, monkeypatch)
    (tmp_path / "ds.json").write_text(DEEPSPEED, "utf-8")
    return tmp_path


def _unescaped(text: str, escapes: tuple[tuple[str, str], ...]) -> str:
    for escaped, character in escapes:
        text = text.replace(escaped, character)
    return text


def github_command(line: str) -> Command | None:
    """Return what the runner takes a line for: a command, or None."""
    found = re.match(r"\s*::(?P<info>.*?)::(?P<data>.*)", line)
    if found is None:
        return _old_command(line, "##[")
    name, _, rest = found["info"].partition(" ")
    properties = {
        key: _unescaped(value, _GITHUB_PROPERTY)
        for key, equal, value in (item.partition("=") for item in rest.split(","))
        if equal
    }
    return name, properties, _unescaped(found["data"], _GITHUB_DATA)


def azure_command(line: str) -> Command | None:
    return _old_command(line, "##vso[")


def _old_command(line: str, prefix: str) -> Command | None:
    """Return a command anywhere in the line."""
    _, found, text = line.partition(prefix)
    info, end, data = text.partition("]")
    if not found or not end:
        return None
    name, _, rest = info.partition(" ")
    properties = {
        key: _unescaped(value, _AZURE)
        for key, equal, value in (item.partition("=") for item in rest.split(";"))
        if equal
    }
    return name, properties, _unescaped(data, _AZURE)


def github_commands(text: str) -> list[Command]:
    return [line for line in map(github_command, text.splitlines()) if line is not None]


def azure_commands(text: str) -> list[Command]:
    return [line for line in map(azure_command, text.splitlines()) if line is not None]


@pytest.mark.usefixtures("folder")
def test_annotations_stand_at_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = printed(capsys, "github", "ds.json", *JOB)
    assert code == 1
    commands = github_commands(out)
    assert len(commands) == len(out.splitlines())
    assert [(name, properties) for name, properties, _ in commands] == [
        (
            "error",
            {
                "file": "ds.json",
                "line": "2",
                "endLine": "2",
                "col": "23",
                "endColumn": "26",
                "title": f"BATCH-001 {BATCH}",
            },
        ),
        ("warning", {"file": "ds.json", "title": f"COMM-006 {NOT_SET}"}),
        (
            "warning",
            {
                "file": "ds.json",
                "line": "5",
                "endLine": "5",
                "col": "3",
                "endColumn": "10",
                "title": f"CONF-002 {UNREAD_KEY}",
            },
        ),
        ("notice", {"title": "speccheck"}),
    ]
    assert commands[2][2] == (
        "größe is no key that deepspeed reads\n"
        "cost: the setting has no effect, and nothing says so\n"
        "fix: Remove the key."
    )
    assert commands[3][2] == (
        "1 error, 2 warnings, 0 info; 1 of 1 required checks could run"
    )


@pytest.mark.usefixtures("folder")
def test_issues_of_azure_stand_at_their_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out = printed(capsys, "azure", "ds.json", *JOB)
    commands = azure_commands(out)
    assert [(name, properties) for name, properties, _ in commands] == [
        (
            "task.logissue",
            {
                "type": "error",
                "sourcepath": "ds.json",
                "linenumber": "2",
                "columnnumber": "23",
                "code": BATCH,
            },
        ),
        (
            "task.logissue",
            {"type": "warning", "sourcepath": "ds.json", "code": NOT_SET},
        ),
        (
            "task.logissue",
            {
                "type": "warning",
                "sourcepath": "ds.json",
                "linenumber": "5",
                "columnnumber": "3",
                "code": UNREAD_KEY,
            },
        ),
    ]
    assert commands[2][2] == (
        "CONF-002 größe is no key that deepspeed reads Fix: Remove the key."
    )
    assert out.splitlines()[-1] == (
        "speccheck: 1 error, 2 warnings, 0 info; 1 of 1 required checks could run "
        "(exit 1)"
    )


def test_odd_paths_come_through(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "a b%25,c:ü;d]=e.json"
    (folder / "ds.json").rename(folder / name)
    commands = github_commands(printed(capsys, "github", name, *JOB)[1])
    assert {item["file"] for _, item, _ in commands[:-1]} == {name}
    commands = azure_commands(printed(capsys, "azure", name, *JOB)[1])
    assert {item["sourcepath"] for _, item, _ in commands} == {name}


def _hostile(item: LocatedFinding) -> LocatedFinding:
    finding = item.finding._replace(message=HOSTILE, remedy=HOSTILE, note=HOSTILE)
    places = tuple(place._replace(key=HOSTILE) for place in item.locations)
    return item._replace(finding=finding, locations=places)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", ["github", "azure"])
def test_a_hostile_value_cannot_give_a_command(form: str) -> None:
    found = with_findings(judged("ds.json"), _hostile)
    out = told_in(form, found)
    if form == "github":
        names = [name for name, _, _ in github_commands(out)]
        assert names == ["error", "warning", "warning", "notice"]
        assert github_commands(out)[0][2].splitlines()[0] == HOSTILE.replace(
            "\n", r"\x0a"
        ).replace("\r", r"\x0d")
    else:
        commands = azure_commands(out)
        assert [name for name, _, _ in commands] == ["task.logissue"] * 3
        assert {tuple(item) for _, item, _ in commands} <= {
            ("type", "sourcepath", "linenumber", "columnnumber", "code"),
            ("type", "sourcepath", "code"),
        }
    assert len(out.splitlines()) == 4


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", ["text", "concise"])
def test_nor_where_a_runner_reads_a_report_for_people(
    form: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    key = "::add-mask::a ##[set-output name=a]b ##vso[task.setvariable variable=a]b"
    text = DEEPSPEED.replace("größe", f"{'word ' * 30}{key}")
    (folder / "ds.json").write_text(text, "utf-8")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    main(["ds.json", *JOB, "--output", form])
    shown = capfd.readouterr().out
    names = [name for name, _, _ in github_commands(shown)]
    annotations = ["error", "warning", "warning", "notice"]
    assert names == (annotations if form == "text" else [])
    monkeypatch.delenv("GITHUB_ACTIONS")
    monkeypatch.setenv("TF_BUILD", "True")
    main(["ds.json", *JOB, "--output", form])
    assert azure_commands(capfd.readouterr().out) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", ": :error::x"),
        ("a\n  ::error::x", "a\n  : :error::x"),
        ("Bad::\n\n    a::b", "Bad::\n\n    a::b"),
        ("a ##[error]x", "a # #[error]x"),
        (
            "a ##vso[task.complete]x ##teamcity[b]",
            "a # #vso[task.complete]x # #teamcity[b]",
        ),
        ("## Heading [x]", "## Heading [x]"),
    ],
)
def test_what_could_begin_a_command_is_broken_up(text: str, shown: str) -> None:
    assert disarmed(text) == shown


@pytest.mark.usefixtures("folder")
def test_ten_of_a_kind_are_shown_and_all_are_counted() -> None:
    found = judged("ds.json", rules=(BATCH, UNREAD_KEY))
    (plan,) = found.plans
    findings = [
        finding._replace(locations=(Location("ds.json", f"key{line}", line, 3, 2),))
        for finding in plan.findings
        for line in range(40, 0, -1)
    ]
    found = found._replace(plans=(plan._replace(findings=tuple(findings)),))
    commands = github_commands(told_in("github", found))
    shown = [(name, item.get("line")) for name, item, _ in commands[:-1]]
    assert shown == [
        *(("error", str(line)) for line in range(1, 11)),
        *(("warning", str(line)) for line in range(1, 11)),
    ]
    assert commands[-1][2] == (
        "40 errors, 40 warnings, 0 info; 1 of 1 required checks could run; annotations "
        "show the first 10 errors and 10 warnings, the log and the summary all"
    )


@pytest.mark.usefixtures("folder")
def test_what_is_waived_is_counted_and_not_shown() -> None:
    found = waived(judged("ds.json"), BATCH, COMMENT)
    commands = github_commands(told_in("github", found))
    assert [name for name, _, _ in commands] == ["warning", "warning", "notice"]
    assert "2 warnings, 0 info, 1 waived" in commands[-1][2]
    assert "2 warnings, 0 info, 1 waived" in told_in("azure", found).splitlines()[-1]


def test_files_that_cannot_be_judged_are_errors(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.json").write_text('{"train_batch_size": ')
    commands = github_commands(printed(capsys, "github", "broken.json")[1])
    assert [(name, item.get("file")) for name, item, _ in commands] == [
        ("error", "broken.json"),
        ("notice", None),
    ]
    (command,) = azure_commands(printed(capsys, "azure", "broken.json")[1])
    assert command[1] == {
        "type": "error",
        "sourcepath": "broken.json",
        "code": "unreadable",
    }


@pytest.mark.usefixtures("folder")
def test_a_run_that_cannot_begin_is_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("ds.json", "--gpu", "Voodoo2")
    for form, parsed in (("github", github_commands), ("azure", azure_commands)):
        code, out = printed(capsys, form, *words)
        (command,) = parsed(out)
        assert code == 2
        assert command[2].startswith("unknown GPU 'Voodoo2'")


@pytest.mark.usefixtures("folder")
def test_a_part_of_a_machine_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = github_commands(printed(capsys, "github", str(FAULTY_NODE))[1])
    assert first[1] == {
        "file": str(FAULTY_NODE),
        "title": "HW-002 memory_fault_pending",
    }
    assert first[2].startswith("GPU 3: a memory row waits to be remapped\n")


@pytest.mark.usefixtures("folder")
def test_on_github_annotations_follow_the_text_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, plain = printed(capsys, "text", "ds.json", *JOB)
    _, concise = printed(capsys, "concise", "ds.json", *JOB)
    _, annotations = printed(capsys, "github", "ds.json", *JOB)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert printed(capsys, "text", "ds.json", *JOB)[1] == plain + annotations
    assert printed(capsys, "concise", "ds.json", *JOB)[1] == concise
    _, out = printed(capsys, "json", "ds.json", *JOB)
    assert json.loads(out)["exit_code"] == 1
    assert printed(capsys, "github", "ds.json", *JOB)[1] == annotations
    main(["ds.json", *JOB, "--output", "text=report.txt"])
    assert capsys.readouterr().out == ""
    assert Path("report.txt").read_text("utf-8") == plain
    main(["ds.json", "--gpu", "Voodoo2"])
    shown = capsys.readouterr()
    assert shown.out == ""
    (command,) = github_commands(shown.err)
    assert command[:2] == ("error", {"title": "speccheck"})
