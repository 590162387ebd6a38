"""OpenRLHF's arguments in scripts."""

from pathlib import Path

import pytest

from script_text import format_of, read_script
from speccheck.validator.engine.request import Request
from speccheck.validator.run.run import run
from speccheck.validator.sources.formats.openrlhf_command_line import READER

TUNING = """\
read -r -d '' training_commands <<EOF
openrlhf.cli.train_sft \\
   --max_len 2048 \\
   --train_batch_size 256 \\
   --micro_train_batch_size 2 \\
   --pretrain org/model \\
   --zero_stage 2 \\
   --bf16 \\
   --ring_attn_size 4 \\
   --learning_rate 5e-6
EOF
deepspeed --module $training_commands
"""
RAY = """\
ray job submit --address="http://127.0.0.1:8265" \\
   --runtime-env-json='{"working_dir": "/openrlhf"}' \\
   -- python3 -m openrlhf.cli.train_ppo_ray \\
   --actor_num_nodes 1 \\
   --actor_num_gpus_per_node 4 \\
   --micro_train_batch_size 8 \\
   --train_batch_size 128 \\
   --zero_stage 3 EXTRA
"""
ACTOR = "the GPUs of the actor alone share the batch of --train_batch_size"


def test_tuning_by_a_here_document() -> None:
    leaves = read_script(READER, TUNING)
    assert leaves.values("stated") == {
        "batch.global_batch_size": 256,
        "batch.micro_batch_size": 2,
        "batch.sequence_length": 2048,
        "model.name_of_model": "org/model",
        "optimizer.learning_rate": 5e-6,
        "parallelism.context_parallel_size": 4,
        "parallelism.sharding_stage": 2,
        "precision.bf16": True,
    }
    assert leaves.value("run.framework") == "openrlhf"
    assert leaves.line("batch.micro_batch_size") == 5


def test_roles_under_ray_share_no_global_batch() -> None:
    leaves = read_script(READER, RAY.replace(" EXTRA", ""))
    assert leaves.value("batch.micro_batch_size") == 8
    assert leaves.status("batch.global_batch_size") == "unknown"
    assert leaves.note("batch.global_batch_size") == ACTOR
    assert leaves.value("run.role") == "rl"


def test_roles_on_the_same_gpus_share_it() -> None:
    leaves = read_script(READER, RAY.replace("EXTRA", "--colocate_all_models"))
    assert leaves.value("batch.global_batch_size") == 128


def test_a_variable_may_hold_what_is_not_given() -> None:
    leaves = read_script(READER, RAY.replace("EXTRA", "$MORE"))
    assert leaves.note("batch.sequence_length") == "may be given in ${MORE}"


def test_grouped_names_of_later_releases() -> None:
    text = (
        "deepspeed --module openrlhf.cli.train_dpo --train.batch_size 64 "
        "--train.micro_batch_size 1 --data.max_len 8192 --ds.zero_stage 3\n"
    )
    leaves = read_script(READER, text)
    assert leaves.values("stated") == {
        "batch.global_batch_size": 64,
        "batch.micro_batch_size": 1,
        "batch.sequence_length": 8192,
        "parallelism.sharding_stage": 3,
    }


@pytest.mark.parametrize(
    "text",
    [
        "pip install openrlhf\n",
        "echo python -m openrlhf.cli.train_sft --max_len 2\n",
        "python -m openrlhf.cli.batch_inference --max_len 2\n",
    ],
)
def test_what_does_not_train(text: str) -> None:
    assert format_of(text) != "openrlhf-arguments"


def failures(folder: Path, text: str) -> set[tuple[str, str]]:
    (folder / "train.sh").write_text(text)
    (plan,) = run(Request(arguments=(str(folder / "train.sh"),))).plans
    return {
        (item.finding.rule, item.finding.message.partition(":")[0])
        for item in plan.findings
        if item.finding.outcome == "fail"
        and item.finding.rule in {"key_refused", "settings_refused"}
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--micro_train_batch_size 2 --max-len 2048", set()),
        ("--micro_train_batch 2", set()),  # argparse takes what begins a flag alone
        ("--own_flag_of_a_fork 2", set()),
        (
            "--micro_train_batch_szie 2",
            {
                (
                    "key_refused",
                    (
                        "micro_train_batch_szie is no key of openrlhf; did you mean "
                        "micro_train_batch_size?"
                    ),
                )
            },
        ),
        (
            "--ds.ring_attn_size 2",
            {("settings_refused", "--ds.ring_attn_size 2 needs ds.packing_samples")},
        ),
        ("--ds.ring_attn_size 2 --ds.packing_samples", set()),
        ("--ds.ring_attn_size 2 $MORE", set()),
    ],
)
def test_flags_that_argparse_refuses(
    tmp_path: Path, arguments: str, expected: set[tuple[str, str]]
) -> None:
    script = f"deepspeed --module openrlhf.cli.train_sft {arguments}\n"
    assert failures(tmp_path, script) == expected


def test_a_program_of_another_repository_has_arguments_of_its_own(
    tmp_path: Path,
) -> None:
    script = "python -m openrlhf.cli.train_video --micro_train_batch_szie 2\n"
    assert failures(tmp_path, script) == set()


def test_roles_on_the_same_gpus_are_all_that_there_are() -> None:
    together = read_script(READER, RAY.replace("EXTRA", "--colocate_all_models"))
    assert together.value("cluster.world_size") == 4
    apart = read_script(READER, RAY.replace(" EXTRA", ""))
    assert apart.value("cluster.world_size") is None
