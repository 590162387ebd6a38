"""The Markdown report: for a comment, within its limit, with no markup of a file."""

import re
from pathlib import Path

import pytest

from hostile_files import HARMFUL, Writer, write_hostile, write_hostile_environment
from speccheck.validator.cli.main import main
from speccheck.validator.report.forms.markdown import (
    COMMENT_BYTES,
    code,
    escaped,
    markdown_text,
)
from told_runs import text_of, told, with_findings

EXAMPLES = Path(__file__).resolve().parents[1] / "fixtures" / "examples"
BROKEN_BATCH = """{
  "train_batch_size": 500,
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 8
}
"""


def outside_of_code(text: str) -> str:
    """Return what a platform would look for mentions, links and markup in."""
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


def test_headline_totals_and_a_table_by_level(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(EXAMPLES)
    words = ["several-files", "--gpu", "H100-80GB", "--role", "sft"]
    assert main([*words, "--output", "markdown"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "### speccheck: 2 errors, 2 warnings"
    assert lines[2] == "**13 of 14 required checks could run** (exit code 1)"
    assert "| required | 11 | 2 | 1 | 19 |" in lines
    at = lines.index("<summary>2 errors</summary>")
    assert lines[at - 1] == "<details open>"
    assert lines[at + 2] == "| finding | where | what to change |"
    assert lines[at + 4] == (
        "| **BATCH-001** `global_batch_differs_from_product`<br>global batch 512 is "
        "not micro-batch 2 x accumulation 8 x 64 data-parallel ranks = 1,024 | "
        "`several-files/ds_zero2.json:2`<br>`several-files/sft.yaml:10`<br>"
        "`several-files/sft.yaml:11`<br>and 4 more | Set the global batch to 1,024, "
        "or leave one of the three out. |"
    )
    assert lines[lines.index("<summary>2 warnings</summary>") - 1] == "<details>"
    assert "1 required check could not run. It needs:" in lines
    assert lines[-1].startswith("speccheck ")


def test_machines_are_named_by_their_parts() -> None:
    text = text_of("markdown", told(str(EXAMPLES / "faulty-node")))
    assert "a memory row waits to be remapped | GPU 3<br>" in text
    assert (
        "| `RESET_GPU`: Reset the GPU when it is idle: nvidia-smi --gpu-reset -i 3. |"
        in (text)
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("global batch 512 = 2 x 256", "global batch 512 = 2 x 256"),
        ("50% of 8, (at most)", "50% of 8, (at most)"),
        ("set train_batch_size: 64.", "set `train_batch_size`: 64."),
        ("ask @admin or #12", "ask `@admin` or `#12`"),
        ("see https://x.example/a", "see `https://x.example/a`"),
        ("see www.x.example", "see `www.x.example`"),
        ("GH-12 and 1a2b3c4d", "`GH-12` and `1a2b3c4d`"),
        ("<b>no</b> :smile: **no**", "`<b>no</b>` `:smile`: `**no**`"),
        ("a|b", r"`a\|b`"),
        ("it`s ``two``", "``it`s`` ``` ``two`` ```"),
        ("!12 %next $5 ~bug &4", "`!12` `%next` `$5` `~bug` `&4`"),
        ("two\nlines\x1b[31m", r"`two\x0alines\x1b[31m`"),
    ],
)
def test_words_that_could_be_markup_are_code(text: str, written: str) -> None:
    assert escaped(text) == written


def test_code_holds_whatever_it_is_given() -> None:
    assert code("") == ""
    assert code("`") == "`` ` ``"
    assert code("a`b``c") == "```a`b``c```"


@pytest.mark.parametrize("write", [write_hostile, write_hostile_environment])
def test_nothing_of_a_hostile_file_becomes_markup(
    write: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = write(tmp_path).name
    text = text_of("markdown", told(name, "--nodes", "64", "--full"))
    assert "alert(" in text
    bare = outside_of_code(text)
    harmful = [item for item in HARMFUL if item != "onmouseover='"]  # text, not a tag
    for harm in (*harmful, "@admin", "@bob", "#1", "#3", "GH-2", "](", "evil.example"):
        assert harm not in bare, harm
    tags = set(re.findall(r"</?([a-z]+)", bare))
    assert tags <= {"details", "summary", "br"}
    for line in text.splitlines():
        if line.startswith("| **"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 4, line


def test_what_weighs_least_is_cut_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.json").write_text(BROKEN_BATCH)
    item = told("ds.json", "--select", "BATCH-001")
    (failed,) = (
        at.finding for at in item.run.plans[0].findings if at.finding.outcome == "fail"
    )
    warning = failed._replace(level="warning", clause_level="should", clause="X-1")
    many = with_findings(
        item,
        [
            *(warning._replace(message=f"warning {at}") for at in range(2_000)),
            *(failed._replace(message=f"error {at}") for at in range(900)),
        ],
    )
    text = markdown_text(many, COMMENT_BYTES)
    assert len(text.encode()) <= COMMENT_BYTES
    shown = len(re.findall(r"<br>error \d+ \|", text))
    assert f"\n{900 - shown} more errors not shown here.\n" in text
    assert "\n2,000 more warnings not shown here.\n" in text
    assert text.count("<details") == text.count("</details>")
    whole = markdown_text(many, 10**6)
    assert len(re.findall(r"<br>error \d+ \|", whole)) == 900
    assert len(re.findall(r"<br>warning \d+ \|", whole)) == 2_000
    assert "not shown" not in whole
    assert len(markdown_text(many, 100).encode()) < 2_000


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.json").write_text('{"train_batch_size": ')
    text = text_of("markdown", told("broken.json"))
    assert "### speccheck: 1 file could not be judged" in text
    assert "- `broken.json:1:22`: " in text or "- `broken.json" in text


def test_nothing_that_fails_has_no_table_of_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds.json").write_text(BROKEN_BATCH)
    text = text_of("markdown", told("ds.json", "--select", "CONF-001"))
    assert "### speccheck: no problems: 1 of 1 required checks passed" in text
    assert "what to change" not in text
