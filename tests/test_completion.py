"""Completion in bash, fish and zsh, by these shells themselves."""

import shutil
import subprocess
from pathlib import Path

import pytest

from speccheck.validator.cli.completion import SCRIPTS, commands
from speccheck.validator.cli.help import commands_help
from speccheck.validator.cli.main import main

_BASH = """
source {script}
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_speccheck
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# What the shell would ask of its own functions, where nobody presses a key.
_ZSH = """
compdef() {{ }}
_arguments() {{ print -rl -- "$@"; }}
compadd() {{ print -rl -- "${{@:2}}"; }}
source {script}
words=({words}); CURRENT=$#words
_speccheck
"""
LINES = [
    (["--out"], ["--output"]),
    (["--output", "conc"], ["concise"]),
    (["pref"], ["preflight"]),
    (["bench", ""], ["all-reduce", "judge", "expect"]),
    (["bench", "expect", "all-"], ["all-reduce", "all-gather"]),
    (["explain", "secret"], ["secret_in_file"]),
    (["plan", "--what"], ["--what-if"]),
    (["job.yaml", "--select", "COMM-00"], ["COMM-001", "COMM-002"]),
    (["job.yaml", "--role", "s"], ["sft"]),
    (["completion", "f"], ["fish"]),
    (["list", ""], ["gpus", "rules"]),
    (["help", "f"], ["facts", "fixes"]),
    (["check", "--out"], ["--output"]),
    (["train"], ["train.yaml"]),
    (["--node", "tr"], ["train.yaml"]),
]
NEVER = [
    (["bench", "expect", "--size", ""], "--size"),  # any text may stand there
    (["--nodes", ""], "train.yaml"),
    (["plan", ""], "preflight"),
]


@pytest.fixture
def script(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Path:
    shell: str = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    assert main(["completion", shell]) == 0
    path = tmp_path / f"completion.{shell}"
    path.write_text(capsys.readouterr().out, "utf-8")
    (tmp_path / "train.yaml").touch()
    return path


def _printed(argv: list[str], folder: Path) -> list[str]:
    done = subprocess.run(argv, capture_output=True, text=True, cwd=folder, check=False)
    assert not done.stderr
    return done.stdout.splitlines()


def _in_bash(script: Path, words: list[str]) -> list[str]:
    quoted = " ".join(f"'{word}'" for word in ("speccheck", *words))
    text = _BASH.format(script=script, words=quoted)
    return _printed(["bash", "--norc", "-c", text], script.parent)


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(("words", "expected"), LINES, ids=" ".join)
def test_bash(script: Path, words: list[str], expected: list[str]) -> None:
    assert set(_in_bash(script, words)) >= set(expected)


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(("words", "unwanted"), NEVER)
def test_bash_proposes_nothing_wrong(
    script: Path, words: list[str], unwanted: str
) -> None:
    assert unwanted not in _in_bash(script, words)


@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_bash_takes_an_equal_sign_for_a_word(script: Path) -> None:
    assert _in_bash(script, ["--output", "=", "conc"]) == ["concise"]


@pytest.mark.parametrize("script", ["fish"], indirect=True)
@pytest.mark.parametrize(("words", "expected"), LINES, ids=" ".join)
def test_fish(script: Path, words: list[str], expected: list[str]) -> None:
    line = " ".join(("speccheck", *words))
    text = f"source {script}; complete -C '{line}'"
    found = {
        item.partition("\t")[0]
        for item in _printed(["fish", "--no-config", "-c", text], script.parent)
    }
    assert found >= set(expected)


@pytest.mark.parametrize("script", ["zsh"], indirect=True)
@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("--out", "*--output=["),
        ("pref", "preflight"),
        ("bench ", "all-reduce"),
        ("bench expect all-", "*:name:(all-reduce all-gather"),
        ("explain secret", "secret_in_file"),
        ("plan --what", "*--what-if=["),
        ("job.yaml --role s", "--role=["),
        ("completion f", "*:name:(bash zsh fish powershell)"),
        ("train", "*:file:_files"),
    ],
)
def test_zsh(script: Path, line: str, asked: str) -> None:
    quoted = " ".join(f"'{word}'" for word in ("speccheck", *line.split(" ")))
    text = _ZSH.format(script=script, words=quoted)
    assert asked in "\n".join(_printed(["zsh", "-f", "-c", text], script.parent))


@pytest.mark.parametrize("shell", SCRIPTS)
def test_every_option_of_every_command_is_there(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for command in commands():
        for option in command.options:
            name = option.flag if shell != "fish" else f"-l {option.flag[2:]}"
            assert name in text, (command.words, option.flag)


def test_every_command_of_the_help_is_there() -> None:
    lines = commands_help().splitlines()[1:]
    result = {line.split()[0] for line in lines if line[:3] == "  " + line[2:3].strip()}
    assert result == {command.words[0] for command in commands() if command.words}


def test_powershell_knows_commands_values_and_groups(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["completion", "powershell"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  $table['check --color'] = 'auto always never'" in lines
    assert "  $table['check --settings'] = ''" in lines
    (bench,) = [line for line in lines if line.startswith("  $table['bench'] = ")]
    assert "all-reduce" in bench
    (first,) = [line for line in lines if line.startswith("  $table[''] = ")]
    assert "preflight" in first


@pytest.mark.parametrize("words", [[], ["tcsh"], ["bash", "zsh"]])
def test_an_unknown_shell_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", *words]) == 2
    error = capsys.readouterr().err
    assert error.endswith("must be one of bash, zsh, fish, powershell\n")
    assert error.count("\n") == 1
