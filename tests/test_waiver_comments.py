"""Comments that waive: which lines they mean in each language, and what they need."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speccheck.validator.cli.main import main

Judge = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Judge:
    """Write a file, judge it, give the failures."""
    monkeypatch.chdir(tmp_path)

    def judged(name: str, text: str, *options: str) -> list[dict[str, Any]]:
        Path(name).write_text(text, encoding="utf-8")
        main([name, "--output", "json", *options])
        document = json.loads(capsys.readouterr().out)
        assert document["files"][0]["status"] == "judged", document
        return [one for one in document["findings"] if one["outcome"] == "fail"]

    return judged


def waived(found: list[dict[str, Any]], rule: str = "misspelt_variable") -> list[int]:
    """The lines of what is waived of a rule."""
    return [
        one["places"][0]["line"]
        for one in found
        if one["rule"] == rule and one["waived"]
    ]


def open_lines(
    found: list[dict[str, Any]], rule: str = "misspelt_variable"
) -> list[int]:
    """The lines of what is not."""
    return [
        one["places"][0]["line"]
        for one in found
        if one["rule"] == rule and not one["waived"]
    ]


def said(found: list[dict[str, Any]]) -> list[str]:
    """What is said of waivers themselves."""
    return [
        one["message"] for one in found if "CONF-080" <= one["clause"] <= "CONF-086"
    ]


ENVIRONMENT = """speccheck: 1
environment:
  NCCL_DEBUGG: INFO{}
  NCCL_IB_HCAA: mlx5
  NCCL_NVLS_ENABLEE: 0
"""


def test_beside_a_setting_it_means_that_line(judge: Judge) -> None:
    comment = "  # speccheck: ignore[misspelt_variable] of our fork"
    found = judge("config.yaml", ENVIRONMENT.format(comment))
    assert (waived(found), open_lines(found)) == ([3], [4, 5])
    (one,) = [one for one in found if one["waived"]]
    assert one["outcome"] == "fail"
    assert one["waiver"] == {
        "kind": "comment",
        "file": "config.yaml",
        "key": "# speccheck: ignore",
        "line": 3,
        "reason": "of our fork",
        "until": None,
        "owner": None,
        "ticket": None,
    }


def test_the_end_of_a_comment_may_say_until_when_who_and_where(judge: Judge) -> None:
    comment = (
        "  # speccheck: ignore[CONF-002] of our fork; not of NCCL; until=2099-01-31; "
        "owner=infra; ticket=TRAIN-7"
    )
    found = judge("config.yaml", ENVIRONMENT.format(comment))
    waiver = next(one["waiver"] for one in found if one["waived"])
    names = ("reason", "until", "owner", "ticket")
    assert [waiver[name] for name in names] == [
        *("of our fork; not of NCCL", "2099-01-31", "infra", "TRAIN-7")
    ]


@pytest.mark.parametrize(
    ("above", "lines"),
    [
        ("# speccheck: ignore-file[misspelt_variable] x\n{}", [4, 5, 6]),
        ("{}# speccheck: ignore-file[misspelt_variable] at the end\n", [3, 4, 5]),
        ("# speccheck: ignore[misspelt_variable] the first key alone\n{}", []),
        ("# a\n# speccheck: ignore[CONF-002] x\n# b\n\n{}", []),
    ],
)
def test_a_file_or_what_follows(judge: Judge, above: str, lines: list[int]) -> None:
    found = judge("config.yaml", above.format(ENVIRONMENT.format("")))
    assert waived(found) == lines


@pytest.mark.parametrize(
    ("name", "text", "lines", "others"),
    [
        pytest.param(
            "config.yaml",
            "speccheck: 1\n"
            "# speccheck: ignore[CONF-002] all below it\n"
            "environment:\n"
            "  NCCL_DEBUGG: INFO\n"
            "  # a remark\n"
            "\n"
            "  NCCL_IB_HCAA: mlx5\n"
            "run: {steps: 10}\n",
            [4, 7],
            [],
            id="yaml: the next key with all below it",
        ),
        pytest.param(
            "config.yaml",
            "speccheck: 1\n"
            "environment:\n"
            "  # speccheck: ignore[CONF-002] one key\n"
            "\n"
            "  NCCL_DEBUGG: INFO\n"
            "  NCCL_IB_HCAA: mlx5\n",
            [5],
            [6],
            id="yaml: one key",
        ),
        pytest.param(
            "config.yaml",
            'speccheck: 1\nenvironment: {NCCL_DEBUGG: "# speccheck: ignore[CONF-002] '
            'no",\n  NCCL_IB_HCAA: 1}  # speccheck: ignore[CONF-002] flow\n',
            [3],
            [2],
            id="yaml: no comment within quotes",
        ),
        pytest.param(
            "config.yaml",
            "speccheck: 1\n"
            "environment:\n"
            "  NCCL_DEBUGG: |\n"
            "    # speccheck: ignore-file[CONF-002] in a text\n"
            "    INFO\n"
            "  # NCCL_X: 1  # speccheck: ignore[CONF-002] commented out\n"
            "  NCCL_IB_HCAA: mlx5\n",
            [],
            [3, 7],
            id="yaml: a text is none, and a line that was commented out takes its own",
        ),
        pytest.param(
            "job.env",
            "NCCL_ALGO=Ring\n"
            "# speccheck: ignore[misspelt_variable] the next assignment\n"
            "NCCL_DEBUGG=INFO\n"
            "NCCL_IB_HCAA=mlx5\n",
            [3],
            [4],
            id="env: the next assignment",
        ),
        pytest.param(
            "train.sh",
            "#!/bin/bash\n"
            "# speccheck: ignore[misspelt_variable] the command and its lines\n"
            "export NCCL_DEBUGG=INFO \\\n"
            "  NCCL_IB_HCAA=mlx5\n"
            "export NCCL_NVLS_ENABLEE=0\n"
            "export NCCL_MIN_CTAA=1 # speccheck: ignore[misspelt_variable] the line\n"
            'echo "# speccheck: ignore-file[misspelt_variable] no"\n'
            "cat <<EOF\n"
            "# speccheck: ignore-file[misspelt_variable] no\n"
            "EOF\n"
            "torchrun --nproc_per_node 8 train.py\n",
            [3, 4, 6],
            [5],
            id="shell: the next command",
        ),
        pytest.param(
            "train.sh",
            "#!/bin/bash\n"
            "export NCCL_DEBUGG=INFO \\\n"
            "  NCCL_IB_HCAA=mlx5  # speccheck: ignore[CONF-002] joined lines\n"
            "export NCCL_NVLS_ENABLEE=0\n"
            "torchrun --nproc_per_node 8 train.py\n",
            [2, 3],
            [4],
            id="shell: lines that backslashes join are one",
        ),
        pytest.param(
            "train.sh",
            "#!/bin/bash\r\n"
            "# speccheck: ignore[CONF-002] lines of Windows\r\n"
            "export NCCL_DEBUGG=INFO\r\n"
            "export NCCL_NVLS_ENABLEE=0\r\n"
            "torchrun --nproc_per_node 8 train.py\r\n",
            [3],
            [4],
            id="shell: carriage returns",
        ),
        pytest.param(
            "job.yaml",
            "apiVersion: kubeflow.org/v1\n"
            "kind: PyTorchJob\n"
            "metadata: {name: pretrain}\n"
            "spec:\n"
            "  pytorchReplicaSpecs:\n"
            "    Worker:\n"
            "      replicas: 4\n"
            "      template:\n"
            "        spec:\n"
            "          containers:\n"
            "            - name: pytorch\n"
            "              image: nvcr.io/nvidia/pytorch:24.07-py3\n"
            "              command: [bash, -c]\n"
            "              args:\n"
            "                - |\n"
            "                  # speccheck: ignore[CONF-002] of the script\n"
            "                  export NCCL_DEBUGG=INFO\n"
            "                  export NCCL_IB_HCAA=mlx5\n"
            "                  torchrun --nproc_per_node 8 train.py\n"
            "              resources: {limits: {nvidia.com/gpu: 8}}\n",
            [17],
            [18],
            id="yaml: a block that is read as a script",
        ),
    ],
)
def test_which_lines_are_meant(
    judge: Judge, name: str, text: str, lines: list[int], others: list[int]
) -> None:
    found = judge(name, text)
    assert (waived(found), open_lines(found)) == (lines, others)


TITAN = """[job]
dump_folder = "/fsx/titan/70b"

[model]
name = "llama3"
flavor = "70B"

[training]
local_batch_size = 1
seq_len = 8192
steps = 40000
{}
[checkpoint]{}
enable = false{}
folder = "checkpoint"
interval = 500
"""


@pytest.mark.parametrize(
    ("above", "of_table", "beside", "is_waived"),
    [
        ("", "", "  # speccheck: ignore[CKPT-001] a trial", True),
        ("# speccheck: ignore[CKPT-001] the table", "", "", True),
        ("", "\n# speccheck: ignore[CKPT-001] the key", "", True),
        ("", "  # speccheck: ignore[CKPT-001] the header alone", "", False),
        ('x = """\n# speccheck: ignore[CKPT-001] a text\n"""', "", "", False),
        ("x = '# speccheck: ignore-file[CKPT-001] a text'", "", "", False),
    ],
)
def test_which_lines_are_meant_in_toml(
    judge: Judge, above: str, of_table: str, beside: str, *, is_waived: bool
) -> None:
    text = TITAN.format(above, of_table, beside)
    found = judge("titan.toml", text, "--nodes", "16", "--gpus-per-node", "8")
    assert bool(waived(found, "checkpoints_off")) is is_waived
    assert bool(open_lines(found, "checkpoints_off")) is not is_waived


def test_a_conflict_is_waived_at_any_of_its_places(judge: Judge) -> None:
    text = """speccheck: 1
optimizer:
  warmup_steps: 2000
run:
  steps: 1000  # speccheck: ignore[CONF-011] resumed with 5,000 more
"""
    found = judge("config.yaml", text)
    assert waived(found, "warmup_longer_than_schedule") == [3]


def test_a_finding_without_a_place_is_waived_by_a_file_of_the_plan(
    judge: Judge,
) -> None:
    text = """#!/bin/bash
#SBATCH --nodes=2{}
torchrun --nproc_per_node 8 pretrain_gpt.py \\
  --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
  --micro-batch-size 1 --global-batch-size 64 --train-iters 2500
"""
    comment = "\n# speccheck: ignore{}[CKPT-001] a trial"
    rule = "checkpoints_off"

    def is_waived(found: list[dict[str, Any]]) -> bool:
        (one,) = [one for one in found if one["rule"] == rule]
        return bool(one["waived"])

    assert not is_waived(judge("train.sh", text.format("")))
    assert is_waived(judge("train.sh", text.format(comment.format("-file"))))
    assert not is_waived(judge("train.sh", text.format(comment.format(""))))


def test_no_inline_ignores(judge: Judge) -> None:
    comment = "  # speccheck: ingore[misspelt_variable]"
    found = judge("config.yaml", ENVIRONMENT.format(comment), "--no-inline-ignores")
    assert (waived(found), said(found)) == ([], [])
    comment = "  # speccheck: ignore[misspelt_variable] of our fork"
    found = judge("config.yaml", ENVIRONMENT.format(comment), "--no-inline-ignores")
    assert (waived(found), said(found)) == ([], [])


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        ("ignore", "it names nothing"),
        ("ignore why not", "it names nothing"),
        ("ignore[ ] why not", "it names nothing"),
        ("ignore[*] why not", "would silence everything"),
        ("ignore[all] why not", "would silence everything"),
        ("ignore[CONF] why not", "CONF is an area"),
        ("ignore[configuration] why not", "configuration is an area"),
        ("ignore[CONF-002 why not", "the bracket is not closed"),
        ("ingore[CONF-002] why not", "did you mean ignore[...]?"),
        ("ignore-files[CONF-002] why not", "did you mean ignore-file[...]?"),
        ("disable[CONF-002] why not", "did you mean ignore[...]?"),
        ("noqa CONF-002", "did you mean ignore[...]?"),
        ("ignore[misspelt_varable] why not", "did you mean misspelt_variable?"),
        ("ignore[CONF-0002] why not", "did you mean CONF-002?"),
        ("ignore[xyzzy] why not", "speccheck rules lists them"),
        ("ignore[CONF-002] why not; until=2027-02-30", "is no date"),
        ("ignore[CONF-002] why not; until=tomorrow", "is no date"),
        ("ignore[CONF-002] why not; unitl=2027-01-31", "did you mean until=?"),
    ],
)
def test_what_is_no_waiver_is_told(judge: Judge, comment: str, says: str) -> None:
    found = judge("config.yaml", ENVIRONMENT.format(f"  # speccheck: {comment}"))
    (message,) = [one for one in said(found) if "cannot be understood" in one]
    assert says in message


@pytest.mark.parametrize(
    "comment", ["see the docs of speccheck", "1", "", "this passes since we pinned it"]
)
def test_prose_is_no_waiver(judge: Judge, comment: str) -> None:
    found = judge("config.yaml", ENVIRONMENT.format(f"  # speccheck: {comment}"))
    assert (waived(found), said(found)) == ([], [])


def test_control_characters_of_a_comment_reach_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    comment = "  # speccheck: ignore[CONF-002\x9b31m\u202e] hf_" + "aB3dE5gH7j" * 4
    Path("config.yaml").write_text(ENVIRONMENT.format(comment), encoding="utf-8")
    main(["config.yaml"])
    out = capsys.readouterr().out
    assert "\x9b" not in out
    assert "\u202e" not in out
    assert "aB3dE5gH7j" not in out


def test_an_unused_comment_is_told_of_only_where_all_files_are_at_hand(
    judge: Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As pre-commit gives files: in batches, in any order."""
    comment = "# speccheck: ignore[warmup_longer_than_schedule] mended long ago\n"
    text = "speccheck: 1\noptimizer:\n  {}warmup_steps: 20\nrun:\n  steps: 1000\n"
    found = judge("a.yaml", text.format(comment + "  "))
    message = "warmup_longer_than_schedule was judged and does not fail where it holds"
    assert said(found) == [f"the comment silences nothing: {message}"]
    (tmp_path / "b.yaml").write_text(text.format(""))
    assert said(judge("a.yaml", text.format(comment + "  "))) == []
    assert len(said(judge("a.yaml", text.format(comment + "  "), "b.yaml"))) == 1
    assert len(said(judge("a.yaml", text.format(comment + "  "), "."))) == 1
    for option in ("--select=MEM", "--ignore=CONF-011", "--select=CONF-082"):
        assert said(judge("a.yaml", text.format(comment + "  "), ".", option)) == []
    options = ("--select=CONF-082", "--select=CONF-011")
    assert len(said(judge("a.yaml", text.format(comment + "  "), ".", *options))) == 1
    capsys.readouterr()


def test_what_could_not_be_judged_leaves_a_comment_alone(judge: Judge) -> None:
    text = "speccheck: 1\noptimizer:\n  warmup_steps: 20  # speccheck: ignore[{}] x\n"
    assert said(judge("a.yaml", text.format("warmup_longer_than_schedule"))) == []


def test_files_without_waivers_are_told_nothing_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(ENVIRONMENT.format(""), encoding="utf-8")
    for options in ([], ["--select", "CONF-082,CONF-002"], ["--profile", "certify"]):
        main(["config.yaml", "--output", "json", "--full", *options])
        document = json.loads(capsys.readouterr().out)
        clauses = {one["clause"] for one in document["findings"]}
        assert "CONF-002" in clauses
        assert not [one for one in clauses if "CONF-080" <= one <= "CONF-086"]


def test_a_certificate_asks_nothing_new_for_a_waiver(judge: Judge) -> None:
    """The clauses on waivers come with them, and nothing of a machine does."""
    text = ENVIRONMENT.format("  # speccheck: ignore[CONF-002] of our fork")
    options = ("--profile", "certify", "--full")
    plain = judge("config.yaml", ENVIRONMENT.format(""), *options)
    found = judge("config.yaml", text, *options)
    assert len(plain) == len(found)
