"""The help: a screen, then topics; names that options take; what words are about."""

import json
from pathlib import Path

import pytest

from speccheck.validator.cli.command_options import KINDS
from speccheck.validator.cli.command_table import COMMANDS, help_of, named
from speccheck.validator.cli.help import TOPICS, first_page
from speccheck.validator.cli.main import main
from speccheck.validator.cli.option_table import OPTIONS

CONFIG = '{"train_batch_size": 8, "zero_optimization": {"stage": 2}}'


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    return captured.err


def test_the_first_page_is_a_screen_with_five_examples() -> None:
    lines = first_page().splitlines()
    assert len(lines) <= 40
    at = lines.index("Examples:")
    examples = lines[at + 1 : lines.index("", at)]
    assert len(examples) == 5
    assert all(line.startswith("  speccheck ") for line in examples)


def test_the_first_page_names_every_command_and_topic() -> None:
    text = first_page().replace(",", " ")
    words = {command.words[0] for command in COMMANDS if command.words}
    assert {*words, *TOPICS} <= set(text.split())


@pytest.mark.parametrize("words", [["help"], ["--help"], ["-h"]])
def test_help_without_a_topic_is_the_first_page(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, *words) == first_page()


def test_no_help_is_wider_than_80_columns() -> None:
    pages = {"": first_page()}
    pages |= {f"help {name}": topic.text() for name, topic in TOPICS.items()}
    pages |= {command.name: help_of(command) for command in COMMANDS}
    wide = [
        f"{name}: {line}"
        for name, text in pages.items()
        for line in text.splitlines()
        if len(line) > 80
    ]
    assert not wide, "\n".join(wide)


def test_topics_name_every_option_of_the_command_line() -> None:
    text = "".join(topic.text() for topic in TOPICS.values())
    assert not [option.flag for option in OPTIONS if option.flag not in text]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["help", "facts"], "--gpus-per-node N"),
        (["help", "exit", "codes"], "141"),
        (["help", "output"], "sarif"),
        (["help", "what-if"], "micro_batch"),
        (["help", "settings"], "facts.nodes"),
        (["help", "preflight"], "usage: speccheck preflight"),
        (["help", "spec", "show"], "usage: speccheck spec show"),
        (["help", "plan"], "usage: speccheck plan"),
    ],
)
def test_help_of_a_topic_or_a_command(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in printed(capsys, *words)


def test_an_unknown_topic_names_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "did you mean settings?" in refused(capsys, "help", "setings")
    assert "topics are commands, facts" in refused(capsys, "help", "xyzzy")


def test_help_of_a_file_is_that_of_check(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "check", "--help")
    assert printed(capsys, "train.yaml", "--help") == text
    assert text.startswith("usage: speccheck [check] FILE|FOLDER|- ... [options]\n")


def test_check_judges_as_no_command_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ds.json"
    path.write_text(CONFIG, "utf-8")
    code = main([str(path)])
    out = capsys.readouterr().out
    assert main(["check", str(path)]) == code
    assert capsys.readouterr().out == out


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("pland", "plan"),
        ("lint", "check"),
        ("validate", "check"),
        ("prefligth", "preflight"),
        ("Explian", "explain"),
    ],
)
def test_a_misspelt_command_is_named(
    word: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, word, "a.yaml") == (
        f"speccheck: no command and no file {word}: did you mean speccheck {command}?\n"
    )


def test_a_file_named_like_a_misspelt_command_is_judged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pland").write_text(CONFIG, "utf-8")
    main(["pland"])
    assert "deepspeed" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["baseline", "plan"])
def test_a_command_offers_no_option_that_it_ignores(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = {option.flag for option in named(command).options}
    assert flags.isdisjoint({"--fix", "--diff", "--unsafe-fixes", "--watch", "--plot"})
    path = tmp_path / "ds.json"
    path.write_text(CONFIG, "utf-8")
    assert refused(capsys, command, str(path), "--fix") == (
        f"speccheck: {command} has no option --fix: it is one of speccheck FILE\n"
    )


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["gpus", "h200"], "h200"),
        (["instances", "p5.48xlarge"], "p5.48xlarge"),
        (["fabrics", "elastic"], "efa"),
        (["profiles", "size"], "size/M"),
        (["formats", "axolotl"], "axolotl"),
        (["models", "torchtitan", "70b"], "torchtitan:llama3/70B"),
        (["rules", "ring_forced"], "ring_forced_at_scale"),
    ],
)
def test_list_searches(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(capsys, "list", *words)
    assert line in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("kind", KINDS)
def test_list_as_json(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(printed(capsys, "list", kind, "--output", "json"))
    assert document["schema"] == "speccheck-list/1"
    assert document["kind"] == kind
    names = [row["name"] for row in document["rows"]]
    assert len(names) == document["total"] > 5


def test_list_without_a_row_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "gpus", "nosuchgpu"]) == 3
    assert capsys.readouterr().out.startswith("0 of ")
    assert "did you mean profiles?" in refused(capsys, "list", "profils")


def test_rules_are_those_of_list_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "rules", "nccl") == printed(capsys, "list", "rules", "nccl")


@pytest.mark.parametrize(
    ("topic", "rule"),
    [
        ("watchdog", "watchdog_shorter_than_gathered_save"),
        ("NCCL_IB_HCA", "adapter_list_misses_ports"),
        ("NCCL_IB_HCA", "NCCL_IB_HCA: a variable of NCCL"),
        ("NCCL_ALGO=Ring", "ring_forced_at_scale"),
        ("Watchdog caught collective operation timeout", "watchdog_in_effect_off"),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory", "out_of_memory_in_run"),
        ("train_batch_size", "global_batch_differs_from_product"),
    ],
)
def test_explain_finds_by_words(
    topic: str, rule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rule in printed(capsys, "explain", *topic.split())


def test_explain_says_in_words_how_sure_a_rule_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = printed(capsys, "explain", "watchdog_longer_than_recovery")
    assert "exact" not in text.partition("How sure")[2].partition("Cost")[0]


def test_an_option_before_the_files_is_no_misspelt_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "no command" not in refused(capsys, "--spec", "9.9", "a.yaml")


def test_an_unknown_gpu_is_told_where_the_names_stand(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert refused(capsys, "a.yaml", "--gpu", "Voodoo2") == (
        "speccheck: unknown GPU 'Voodoo2' (speccheck list gpus names them)\n"
    )
