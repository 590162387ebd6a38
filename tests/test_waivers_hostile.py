"""Hostile waivers: limits that hold, in time that grows with the size alone."""

import json
import time
from pathlib import Path

import pytest

from slow_cases import few_rows
from speccheck.validator.cli.main import main
from speccheck.validator.run.waivers.comment_scan import MOST_COMMENTS

CONFIG = "speccheck: 1\noptimizer:\n  warmup_steps: 2000\nrun:\n  steps: 1000\n"
WAIVER = "# speccheck: ignore[CONF-011] x\n"
SCRIPT = "#!/bin/bash\ntorchrun --nproc_per_node 8 train.py\n"
TITAN = """[job]
dump_folder = "a"
[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 1
seq_len = 8192
steps = 40000
"""
DEEPSPEED = '{"train_batch_size": 64, "zero_optimization": {"stage": 3}\n'
_SLOW_SECONDS = 30


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    few_rows(
        2,
        [
            ("many.yaml", CONFIG + WAIVER * 200_000),
            ("misspelt.yaml", CONFIG + "# speccheck: ingore[CONF-011 x\n" * 200_000),
            (
                "text.yaml",
                CONFIG + 'a: "' + "# speccheck: ignore[x] " * 200_000 + '"\n',
            ),
            (
                "signs.yaml",
                CONFIG + "a: b" + "#" * 1_000_000 + " # speccheck: ignore\n",
            ),
            ("brackets.yaml", CONFIG + "# speccheck: ignore" + "[" * 1_000_000 + "\n"),
            ("names.yaml", CONFIG + "# speccheck: ignore[" + "a," * 500_000 + "] x\n"),
            ("fields.yaml", CONFIG + WAIVER[:-1] + ";a=b" * 300_000 + "\n"),
            ("many.toml", TITAN + WAIVER * 200_000),
            ("quotes.toml", TITAN + 'a = "' + "\\\"'#" * 300_000 + '"\n' + WAIVER),
            ("many.sh", SCRIPT + WAIVER * 100_000),
            ("joined.sh", SCRIPT + WAIVER * 900 + "a \\\n" * 100_000 + "b\n"),
            ("quotes.sh", SCRIPT + WAIVER + "a='" + WAIVER * 100_000 + "'\n"),
            ("many.json", DEEPSPEED + "// " + WAIVER[2:] * 1 + WAIVER * 100_000 + "}"),
            ("stars.json", DEEPSPEED + "/*" + "* speccheck: ignore" * 200_000 + "*/}"),
        ],
    ),
    ids=lambda item: item if len(item) < 20 else "",
)
def test_many_comments_take_no_time(
    capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    Path(name).write_text(text)
    begin = time.monotonic()
    assert main([name, "--output", "json"]) in {0, 1, 3}
    assert time.monotonic() - begin < _SLOW_SECONDS
    document = json.loads(capsys.readouterr().out)
    assert document["files"][0]["status"] == "judged"
    result = [
        finding for finding in document["findings"] if finding["clause"] == "CONF-086"
    ]
    assert len(result) <= MOST_COMMENTS + 2


def test_comments_beyond_the_limit_have_no_effect_and_one_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rest = "# speccheck: ignore-file[CONF-011] resumed\n"
    Path("a.yaml").write_text(
        "# speccheck: ignore[MEM-001] x\n" * 1_000 + rest + CONFIG
    )
    main(["a.yaml", "--output", "json"])
    document = json.loads(capsys.readouterr().out)
    assert document["summary"]["waived"] == 0
    result = [
        finding for finding in document["findings"] if finding["clause"] == "CONF-086"
    ]
    assert [item["places"][0]["line"] for item in result] == [1_001]
    assert "those below have no effect" in result[0]["message"]


ENTRY = (
    "- {{clause: CONF-011, files: '{}', reason: the row is new, owner: ops, "
    "permanent: true}}\n"
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("#" * 1_000_001 + "\n", "characters; a waivers file may have 1,000,000"),
        (ENTRY.format("a.yaml") * 5_001, "at most 5,000 entries"),
        ("- " + "[" * 5_000, "nest deeper than"),
        (
            "- &a [x, x, x, x, x, x, x, x, x]\n"
            + "".join(
                f"- &{new} [{', '.join([f'*{old}'] * 9)}]\n"
                for old, new in zip("abcdef", "bcdefg", strict=True)
            ),
            "aliases",
        ),
    ],
    ids=["large", "entries", "deep", "aliases"],
)
def test_a_waivers_file_has_limits(
    capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    Path("a.yaml").write_text(CONFIG)
    Path("w.yaml").write_text(f"schema: speccheck-waivers/1\nwaivers:\n{text}")
    assert main(["a.yaml", "--waivers", "w.yaml"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("speccheck: w.yaml")
    assert err.count("\n") == 1
    assert says in err


def test_patterns_of_catastrophic_shapes_take_no_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = "a" * 200 + ".yaml"
    Path(name).write_text(CONFIG)
    entries = ENTRY.format("*a" * 100 + "b") * 1_000 + ENTRY.format("**/" * 100 + "b")
    Path("w.yaml").write_text(f"schema: speccheck-waivers/1\nwaivers:\n{entries}")
    begin = time.monotonic()
    assert main([name, "--waivers", "w.yaml", "--output", "json"]) == 0
    assert time.monotonic() - begin < _SLOW_SECONDS
    assert json.loads(capsys.readouterr().out)["summary"]["waived"] == 0


def test_escapes_of_a_waivers_file_reach_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("a.yaml").write_text(CONFIG)
    entry = '- {clause: CONF-011, files: a.yaml, "\\x1b]0;x\\a": 1}\n'
    Path("w.yaml").write_text(f"schema: speccheck-waivers/1\nwaivers:\n{entry}")
    assert main(["a.yaml", "--waivers", "w.yaml"]) == 2
    assert "\x1b" not in capsys.readouterr().err
    entry = (
        '- {clause: CONF-011, files: a.yaml, reason: "\\x1b[31mred and long\\u202e", '
        "owner: hf_" + "aB3dE5gH7j" * 4 + ", permanent: true}\n"
    )
    Path("w.yaml").write_text(f"schema: speccheck-waivers/1\nwaivers:\n{entry}")
    assert main(["a.yaml", "--waivers", "w.yaml", "--full"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "aB3dE5gH7j" not in out
