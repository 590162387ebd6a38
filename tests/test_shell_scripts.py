"""Whole launch scripts: what the reader makes of them, and that bash agrees."""

import shutil
import subprocess
from pathlib import Path

import pytest

from corpus import corpus_folder, needs_corpus
from shell_launch_scripts import LAUNCHES, Launch
from speccheck.validator.sources.shell.interpreter import parse_script
from speccheck.validator.sources.shell.script import ShellCommand, options

BASH = shutil.which("bash")
PROGRAMS = ("torchrun", "python", "srun", "deepspeed", "accelerate")
launches = pytest.mark.parametrize("launch", LAUNCHES.values(), ids=list(LAUNCHES))


def commands_of(launch: Launch) -> list[ShellCommand]:
    script = parse_script(launch.text, launch.known)
    assert script.problems == ()
    return [
        command
        for command in script.commands
        if command.words[0].text == launch.program
    ]


@launches
def test_a_launch_script_gives_its_options(launch: Launch) -> None:
    (command,) = commands_of(launch)
    found = {
        flag: " ".join(word.text for word in values)
        if all(word.resolved for word in values)
        else None
        for flag, values, _ in options(command.words)
    }
    assert {flag: found.get(flag, "absent") for flag in launch.expected} == (
        launch.expected
    )


@launches
@pytest.mark.skipif(BASH is None, reason="no bash to compare with")
def test_bash_gives_the_same_words(launch: Launch, tmp_path: Path) -> None:
    """The programs are replaced by functions that write their arguments down."""
    recorded = tmp_path / "recorded"
    record = "printf '%s\\0' \"${FUNCNAME[0]}\" \"$@\" >&9; printf '\\1\\0' >&9"
    functions = "\n".join(f"{name}() {{ {record}; }}" for name in PROGRAMS)
    preamble = f"exec 9>{recorded}\n{functions}\ncat() {{ :; }}\ntee() {{ :; }}\n"
    subprocess.run(
        [str(BASH), "-c", preamble + launch.text],
        cwd=tmp_path,
        env={"PATH": str(tmp_path), **launch.known},
        check=False,
        capture_output=True,
        timeout=20,
    )
    calls = recorded.read_text(encoding="utf-8").split("\0\1\0")[:-1]
    done = [call.split("\0") for call in calls if call.startswith(launch.program)]
    commands = commands_of(launch)
    assert [len(words) for words in done] == [len(item.words) for item in commands]
    for words, command in zip(done, commands, strict=True):
        for given, word in zip(words, command.words, strict=True):
            assert given == word.text or not word.resolved


INNER_SHELL = r"""#!/bin/bash
#SBATCH --nodes=4
MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
TP=8
export LAUNCHER="torchrun --nnodes 4 --rdzv_endpoint $MASTER_ADDR:29500"
export CMD=" \
    pretrain_gpt.py \
    --tensor-model-parallel-size $TP \
    --num-layers 32 \
    "
PRIVATE=1
srun --jobid $SLURM_JOBID bash -c '$LAUNCHER --node_rank $SLURM_PROCID $CMD' \
  2>&1 | tee log
srun bash -lc "torchrun --nnodes 4 train.py --tensor-model-parallel-size $TP \
  --rank \$SLURM_PROCID --private \$PRIVATE"
"""


def test_a_script_in_quotes_is_read_where_it_stands() -> None:
    script = parse_script(INNER_SHELL)
    exported, quoted = (
        command for command in script.commands if command.words[0].text == "torchrun"
    )
    assert exported.outer is not None
    assert exported.outer.words[0].text == "srun"
    found = {flag: values for flag, values, _ in options(exported.words)}
    size = found["--tensor-model-parallel-size"][0]
    assert (size.text, size.line, size.column, size.length) == ("8", 4, 4, 1)
    layers = found["--num-layers"][0]
    assert (layers.text, layers.line, layers.column) == ("32", 9, 18)
    assert found["--rdzv_endpoint"][0].text == "${MASTER_ADDR}:29500"
    assert not found["--rdzv_endpoint"][0].resolved
    found = {flag: values for flag, values, _ in options(quoted.words)}
    assert found["--tensor-model-parallel-size"][0].line == 4
    assert found["--nnodes"][0].line == 14
    assert found["--rank"][0].text == "${SLURM_PROCID}"
    # An inner shell does not see what is not exported.
    assert found["--private"][0].text == "${PRIVATE}"


SUBMITTED = r"""#!/bin/bash
TP=2
ARGS=(
  --tensor-model-parallel-size $TP
  --bf16
)
TRAIN="
cd /code;
export NCCL_DEBUG=WARN;
python pretrain_gpt.py ${ARGS[@]}"
NODES=8
sbatch <<EOF
#!/bin/bash
#SBATCH --nodes=$NODES
#SBATCH --gpus-per-node=8
srun --mpi=pmix bash -x -c "${TRAIN}" 2>&1 | tee /logs/\${SLURM_JOB_ID}.log
EOF
sbatch --wrap="srun python eval.py --tp $TP"
"""


def test_a_script_given_to_sbatch_is_read() -> None:
    script = parse_script(SUBMITTED)
    assert [(item.name, item.value) for item in script.directives] == [
        ("--nodes", "8"),
        ("--gpus-per-node", "8"),
    ]
    assert [item.line for item in script.directives] == [14, 15]
    ends = {command.words[-1].text: command for command in script.commands}
    training = ends["--bf16"]
    texts = [word.text for word in training.words]
    assert texts == [
        "python",
        "pretrain_gpt.py",
        "--tensor-model-parallel-size",
        "2",
        "--bf16",
    ]
    assert [word.line for word in training.words] == [10, 10, 4, 2, 5]
    assert all(word.resolved for word in training.words)
    assert [word.text for word in ends["2"].words] == [
        "srun",
        "python",
        "eval.py",
        "--tp",
        "2",
    ]
    assert script.exports["NCCL_DEBUG"].value.line == 9


@needs_corpus
def test_scripts_of_the_corpus_are_read_whole() -> None:
    suffixes = {".sh", ".sbatch", ".slurm", ".env"}
    paths = [
        path
        for path in sorted(corpus_folder("cases").rglob("*"))
        if path.suffix in suffixes
    ]
    assert paths
    for path in paths:
        text = path.read_text(encoding="utf-8")
        script = parse_script(text)
        assert script.problems == ()
        lines = text.split("\n")
        for word in (word for command in script.commands for word in command.words):
            first = word.raw.partition("\n")[0]
            assert lines[word.line - 1][word.column - 1 :].startswith(first)
