"""How sure a value is: what holds only under a condition is no error, and says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from speccheck.validator.cli.main import main

LAUNCH = """\
torchrun --nproc_per_node 8 --nnodes $NNODES pretrain_gpt.py --num-layers 32 \\
  --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 \\
  --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 \\
  --tensor-model-parallel-size $TP
"""
NEMO = """\
trainer:
  num_nodes: ${oc.env:DGXNNODES,1}
  devices: ${oc.env:DGXNGPU,8}
  max_steps: 1000
model:
  micro_batch_size: 1
  global_batch_size: 64
  tensor_model_parallel_size: 16
  encoder_seq_length: 8192
  num_layers: 64
  hidden_size: 4096
  num_attention_heads: 32
"""
RULE = "world_not_divisible_by_model_parallel"


def failures(folder: Path, rule: str = RULE, **files: str) -> tuple[int, list[Any]]:
    """Judge files; the exit code, and (level, message) of what fails by a rule."""
    paths = []
    for name, text in files.items():
        path = folder / name.replace("_dot_", ".")
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))
    report = folder / "report.out"
    code = main([*paths, "--output", f"json={report}"])
    rows = json.loads(report.read_text("utf-8"))["findings"]
    return code, [
        (row["level"], row["message"].partition(": one replica")[0])
        for row in rows
        if row["rule"] == rule and row["outcome"] == "fail"
    ]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("NNODES=1\nTP=16\n", (1, [("error", "one replica")])),
        (
            "NNODES=${NNODES:-1}\nTP=16\n",
            (0, [("warning", "if NNODES is not set")]),
        ),
        (
            ": ${NNODES:=1}\nTP=${TP:-16}\n",
            (0, [("warning", "if TP and NNODES are not set")]),
        ),
        ("NNODES=${1:-1}\nTP=16\n", (0, [("warning", "if argument 1 is not given")])),
        (
            "NODES=${NODES:-1}\nNNODES=$((NODES * 1))\nTP=16\n",
            (0, [("warning", "if NODES is not set")]),
        ),
        (
            "TP=16\nNNODES=2\nif [ ${SMALL:-1} = 1 ]; then NNODES=1; fi\n",
            (0, [("warning", "if SMALL is not set")]),
        ),
        (
            "TP=16\nif [[ $BATCH -eq 0 ]]; then\nNNODES=1\nfi\n",
            (0, [("warning", "if line 4 runs")]),
        ),
        # either branch gives the same
        ("TP=16\nif [[ $B -eq 0 ]]; then NNODES=1; else NNODES=1; fi\n", (1, None)),
        # the two branches differ: nothing is known
        ("TP=16\nif [[ $B -eq 0 ]]; then NNODES=1; else NNODES=2; fi\n", (0, [])),
        # a value that its comment has the reader put in
        (
            "TP=16\n# Change for multinode config\nADDR=localhost\nNNODES=1\n",
            (0, [("warning", "if NNODES is left at 1")]),
        ),
        (
            "TP=16\nNNODES=1  # adjust to your cluster\n",
            (0, [("warning", "if NNODES is left at 1")]),
        ),
        # the comment is of another block, or asks for nothing
        (
            "TP=16\n# Change for multinode config\nADDR=localhost\n\nNNODES=1\n",
            (1, None),
        ),
        ("TP=16\n# the number of nodes of your cluster\nNNODES=1\n", (1, None)),
        # set above, so that the fallback never counts
        ("NNODES=1\nNNODES=${NNODES:-4}\nTP=16\n", (1, None)),
    ],
)
def test_a_value_of_a_script_under_a_condition_is_no_error(
    head: str, expected: tuple[int, Any], tmp_path: Path
) -> None:
    code, rows = failures(tmp_path, run_dot_sh=f"#!/bin/bash\n{head}{LAUNCH}")
    if expected[1] is None:
        assert (code, [level for level, _ in rows]) == (expected[0], ["error"])
    else:
        rows = [(level, text.split(" takes ")[0]) for level, text in rows]
        assert (code, rows) == expected


@pytest.mark.parametrize("flag", ["--fake-process-group", "--fake-world-size 64"])
def test_a_simulated_job_is_not_as_large_as_its_launcher_starts(
    flag: str, tmp_path: Path
) -> None:
    launch = f"{LAUNCH.rstrip()} {flag}\n"
    rows = failures(tmp_path, run_dot_sh=f"#!/bin/bash\nNNODES=1\nTP=16\n{launch}")
    assert rows == (0, [])


def test_a_fallback_of_omegaconf_is_no_error(tmp_path: Path) -> None:
    code, rows = failures(tmp_path, job_dot_yaml=NEMO)
    expected = "if DGXNNODES and DGXNGPU are not set"
    assert (code, rows) == (0, [("warning", expected)])


def test_what_a_script_exports_wins_over_the_fallback(tmp_path: Path) -> None:
    exports = "export DGXNNODES=3\nexport DGXNGPU=8\nexport NCCL_DEBUG=WARN\n"
    code, rows = failures(tmp_path, job_dot_yaml=NEMO, run_dot_sh=exports)
    assert (code, [level for level, _ in rows]) == (1, ["error"])
    fits = exports.replace("=3", "=4")
    assert failures(tmp_path, job_dot_yaml=NEMO, run_dot_sh=fits) == (0, [])


def test_a_statement_wins_over_a_fallback_in_another_file(tmp_path: Path) -> None:
    script = "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\nsrun x\n"
    code, rows = failures(tmp_path, job_dot_yaml=NEMO, run_dot_sbatch=script)
    assert (code, rows) == (0, [])


def test_a_key_under_a_condition_is_refused_as_a_warning(tmp_path: Path) -> None:
    head = "#!/bin/bash\nNNODES=1\nTP=1\nEP=${EP:-2}\n"
    launch = LAUNCH.rstrip() + " --expert-model-parallel-size $EP\n"
    rule = "settings_refused"
    code, rows = failures(tmp_path, rule, run_dot_sh=head + launch)
    assert code == 0
    assert [level for level, _ in rows] == ["warning"]
    assert rows[0][1].startswith("if EP is not set: --expert-model-parallel-size 2")


def test_a_relation_over_a_value_that_nobody_can_read_does_not_pass(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.sh"
    launch = LAUNCH.rstrip() + " --expert-model-parallel-size $EP --num-experts $E\n"
    path.write_text(f"#!/bin/bash\nNNODES=1\nTP=1\n{launch}", encoding="utf-8")
    report = tmp_path / "report.json"
    main([str(path), "--output", f"json={report}"])
    rows = json.loads(report.read_text("utf-8"))["findings"]
    of_rule = [row for row in rows if row["rule"] == "settings_refused"]
    assert [row["outcome"] for row in of_rule] == ["unknown"]
    assert "--expert-model-parallel-size" in of_rule[0]["message"]


def test_a_command_in_a_branch_is_judged_with_the_branch(tmp_path: Path) -> None:
    """What stands together is an error; what a branch adds to the rest may not be."""
    values = "NNODES=1\nTP=16\n"
    launch = LAUNCH.replace("$NNODES", "1").replace("$TP", "16")
    branch = f"if [[ $LOCAL -eq 1 ]]; then\n{launch}\nfi\n"
    code, rows = failures(tmp_path, run_dot_sh=f"#!/bin/bash\n{branch}")
    assert (code, [level for level, _ in rows]) == (1, ["error"])
    mixed = f"if [[ $LOCAL -eq 1 ]]; then\n{LAUNCH}\nelse\n./submit.sh\nfi\n"
    code, rows = failures(tmp_path, run_dot_sh=f"#!/bin/bash\n{values}{mixed}")
    assert (code, rows) == (0, [("warning", "if line 5 runs")])


@pytest.mark.parametrize("part", ["--overlap", "-w $host", "--nodelist=$host"])
def test_a_step_of_some_hosts_is_not_the_job(part: str, tmp_path: Path) -> None:
    job = f"""\
#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
srun {part} --nodes=1 --ntasks=1 python3 -m verl.trainer.main_ppo \\
  trainer.nnodes=$SLURM_NNODES trainer.n_gpus_per_node=8
"""
    rule = "conflicting_statements"
    assert failures(tmp_path, rule, run_dot_sbatch=job) == (0, [])
