"""Comments that waive: which lines they mean in each language."""

from pathlib import Path

import pytest

from waived import ENVIRONMENT, Found, Judge, judge_in, open_lines, said, waived


@pytest.fixture
def judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Judge:
    """Write a file, judge it, give the failures."""
    return judge_in(tmp_path, monkeypatch, capsys)


def test_beside_a_setting_it_means_that_line(judge: Judge) -> None:
    comment = "  # speccheck: ignore[misspelt_variable] of our fork"
    found = judge("config.yaml", ENVIRONMENT.format(comment))
    assert (waived(found), open_lines(found)) == ([3], [4, 5])
    (item,) = [finding for finding in found if finding["waived"]]
    assert item["outcome"] == "fail"
    assert item["waiver"] == {
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
    waiver = next(finding["waiver"] for finding in found if finding["waived"])
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
            "#!/bin/bash\n"
            "srun bash <<'EOF'\n"
            "# speccheck: ignore[CONF-002] of the script inside\n"
            "export NCCL_DEBUGG=INFO\n"
            "export NCCL_IB_HCAA=mlx5\n"
            "torchrun --nproc_per_node 8 train.py\n"
            "EOF\n",
            [4],
            [5],
            id="shell: a here-document that a shell reads",
        ),
        pytest.param(
            "train.sh",
            "#!/bin/bash\n"
            "srun bash -c '\n"
            "  export NCCL_DEBUGG=INFO  # speccheck: ignore[CONF-002] inside\n"
            "  export NCCL_IB_HCAA=mlx5\n"
            "  torchrun --nproc_per_node 8 train.py\n"
            "'\n",
            [3],
            [4],
            id="shell: the script of another shell",
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

    def is_waived(found: Found) -> bool:
        (item,) = [finding for finding in found if finding["rule"] == rule]
        return bool(item["waived"])

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
