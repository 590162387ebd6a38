"""Settings on command lines: verl, NeMo 1, NeMo-RL, torchtune."""

from pathlib import Path
from typing import Any

import pytest

from script_text import ReadScript, format_of, read_script
from speccheck.validator.engine.assemble import PlanEvidence, assemble
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.formats._overrides import parsed
from speccheck.validator.sources.formats.hydra_overrides import READER
from speccheck.validator.sources.joining.grouping import with_followed
from speccheck.validator.sources.registry import Readers

VERL = """\
#!/bin/bash
set -x
export CUDA_DEVICE_MAX_CONNECTIONS=1
NNODES=${NNODES:-4}
batch=$((8 * 128))
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    data.train_files="$HOME/data/train.parquet" \\
    data.train_batch_size=$batch \\
    data.max_prompt_length=1024 data.max_response_length=3072 \\
    actor_rollout_ref.model.path=$MODEL \\
    actor_rollout_ref.actor.optim.lr=1e-6 \\
    actor_rollout_ref.actor.ppo_mini_batch_size=256 \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 \\
    +actor_rollout_ref.model.override_config.attention_dropout=0. \\
    actor_rollout_ref.rollout.n=5 \\
    'trainer.logger=["console","wandb"]' \\
    trainer.nnodes=$NNODES trainer.n_gpus_per_node=8 \\
    trainer.save_freq=20 $@
"""
MEGATRON = """\
python3 -m verl.trainer.main_ppo --config-path=config \\
    --config-name='ppo_megatron_trainer.yaml' \\
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 \\
    trainer.nnodes=2
"""
NEMO = """\
#!/bin/bash
#SBATCH --nodes=8
#SBATCH --gpus-per-node=8
srun python3 -u /opt/NeMo/examples/megatron_gpt_pretraining.py \\
  trainer.num_nodes=8 trainer.devices=8 trainer.precision=bf16 \\
  model.tensor_model_parallel_size=2 ++model.sequence_parallel=True \\
  model.global_batch_size=64 model.micro_batch_size=1
"""


def read(text: str, name: str = "run.sh") -> ReadScript:
    return read_script(READER, text, name)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8),
        ("-1", -1),
        ("1_000", 1000),
        ("1e-6", 1e-6),
        ("0.", 0.0),
        ("True", True),
        ("false", False),
        ("null", None),
        ("'8'", "8"),
        ('"a b"', "a b"),
        ("fsdp2", "fsdp2"),
        ("", ""),
        ("[1,2]", [1, 2]),
        ("[]", []),
        ("['a,b',c]", ["a,b", "c"]),
        ("[[1,2],[3]]", [[1, 2], [3]]),
        ("{a:1,b:[x,y]}", {"a": 1, "b": ["x", "y"]}),
        ("1,2", "1,2"),
        ("[1", "[1"),
        ("/path/to:x", "/path/to:x"),
    ],
)
def test_values_are_read_as_hydra_reads_them(text: str, value: object) -> None:
    assert parsed(text) == value
    assert type(parsed(text)) is type(value)


def test_hostile_values_end() -> None:
    assert isinstance(parsed("[" * 5000 + "]" * 5000), list)
    assert isinstance(parsed("9" * 100_000), int)


def test_a_command_of_verl() -> None:
    leaves = read(VERL)
    assert leaves.values("fallback") == {"cluster.nodes": 4}
    assert leaves.values("stated") == {
        "optimizer.learning_rate": 1e-6,
        "batch.micro_batch_size": 4,
        "run.generations_per_prompt": 5,
        "cluster.gpus_per_node": 8,
        "checkpoint.interval_steps": 20,
        "telemetry.sinks": ("wandb",),
    }
    assert leaves.value("batch.global_batch_size") == 1280
    assert leaves.value("batch.sequence_length") == 4096
    assert leaves.value("run.framework") == "verl"
    assert leaves.value("run.role") == "rl"
    assert leaves.line("cluster.nodes") == 18
    assert leaves.line("batch.sequence_length") == 10
    assert leaves.line("run.framework") == 6


def test_what_the_shell_fills_in_is_not_known() -> None:
    leaves = read(VERL)
    assert leaves.status("model.name_of_model") == "unknown"
    assert "MODEL" in leaves.note("model.name_of_model")
    assert leaves.line("model.name_of_model") == 11


def test_the_program_of_verl_loads_its_own_defaults() -> None:
    leaves = read(VERL)
    assert leaves.value("parallelism.engine") == "fsdp1"
    assert leaves.status("parallelism.engine") == "default"
    assert leaves.value("communication.timeout_seconds") == 600.0
    leaves = read(MEGATRON)
    assert leaves.value("parallelism.engine") == "megatron"
    assert leaves.value("parallelism.context_parallel_size") == 1
    assert leaves.value("cluster.gpus_per_node") == 8
    assert leaves.targets == []


def test_defaults_are_unknown_where_more_settings_may_hide() -> None:
    leaves = read(VERL.replace("$@", "$EXTRA_ARGS"))
    assert leaves.values("default") == {}
    assert leaves.value("cluster.nodes") == 4
    leaves = read(VERL.replace("verl.trainer.main_ppo", "recipe.dapo.main_dapo"))
    assert leaves.values("default") == {}
    assert leaves.value("run.framework") == "verl"


def test_a_removed_key_states_nothing() -> None:
    leaves = read(VERL.replace("trainer.save_freq=20", "~trainer.save_freq"))
    assert leaves.status("checkpoint.interval_steps") is None


def test_the_last_of_equal_settings_counts() -> None:
    leaves = read(VERL.replace(" $@", " trainer.nnodes=16"))
    assert leaves.value("cluster.nodes") == 16
    assert leaves.line("cluster.nodes") == 19


def test_nemo_and_slurm_in_one_script() -> None:
    leaves = read(NEMO)
    assert leaves.value("run.framework") == "nemo1"
    assert leaves.value("cluster.nodes") == 8
    assert leaves.value("parallelism.tensor_parallel_size") == 2
    assert leaves.value("parallelism.sequence_parallel") is True
    assert leaves.line("batch.global_batch_size") == 7
    # The program's own configuration is not to be seen.
    assert leaves.values("default") == {}


def test_torchtune_takes_keys_without_a_dot() -> None:
    leaves = read(
        "tune run --nproc_per_node 8 full_finetune_distributed \\\n"
        "  --config llama3_1/8B_full batch_size=4 optimizer.lr=2e-5\n"
    )
    assert leaves.value("run.framework") == "torchtune"
    assert leaves.value("batch.micro_batch_size") == 4
    assert leaves.value("optimizer.learning_rate") == 2e-5


def test_nemo_rl() -> None:
    leaves = read(
        "uv run examples/run_grpo.py --config examples/configs/grpo_8B.yaml \\\n"
        "  cluster.num_nodes=2 policy.train_global_batch_size=512\n"
    )
    assert leaves.value("run.framework") == "nemo-rl"
    assert leaves.value("batch.global_batch_size") == 512
    assert leaves.targets == ["examples/configs/grpo_8B.yaml"]


def test_several_commands_share_what_is_alike() -> None:
    leaves = read(VERL + VERL.replace("rollout.n=5", "rollout.n=8"))
    assert leaves.value("cluster.nodes") == 4
    assert leaves.status("run.generations_per_prompt") == "unknown"
    assert "differs" in leaves.note("run.generations_per_prompt")


@pytest.mark.parametrize(
    ("text", "format_id"),
    [
        (VERL, "hydra-overrides"),
        (NEMO, "hydra-overrides"),
        (f"echo {VERL.splitlines()[5]}\n a.b=1 c.d=2", None),
        ("python train.py model.hidden=2 trainer.epochs=3\n", "python-launch"),
        ("python -m verl.trainer.main_eval data.path=x data.n=3\n", None),
        ("accelerate launch scripts/run_sft.py --config sft.yaml\n", "torchrun"),
        ("curl http://host/x?a.b=1\n", None),
        ("A=1\nB.c=2\n", None),
    ],
)
def test_detection(text: str, format_id: str | None) -> None:
    assert format_of(text) == format_id


def keys(read: ReadScript) -> dict[str, Any]:
    keyed = read.reading.keyed
    assert keyed is not None
    return {key.place.key: key.value for key in keyed.keys}


def test_keys_for_the_rules_on_spelling() -> None:
    found = keys(read(VERL.replace("$@", "+trainer.our_own=1 $@")))
    assert found["trainer.nnodes"] == 4
    # what the shell fills in is a placeholder, what `+` adds is nobody's slip
    assert found["actor_rollout_ref.model.path"] == "$(MODEL)"
    assert "trainer.our_own" not in found


def plan(*paths: Path) -> PlanEvidence:
    files = [file for path in paths for file in read_file(str(path))[1]]
    return assemble(with_followed(files, Readers()), Context())


CHILD = """\
defaults: [ppo_trainer, _self_]
data: {max_prompt_length: 512, max_response_length: 512}
actor_rollout_ref:
  actor: {ppo_mini_batch_size: 64, ppo_micro_batch_size_per_gpu: 4}
trainer: {nnodes: 2, save_freq: 50, project_name: math,
  default_local_dir: '/ckpt/${trainer.project_name}'}
"""
NAMING = """\
python3 -m verl.trainer.main_ppo --config-path=config --config-name=our_grpo \\
  actor_rollout_ref.rollout.n=8 trainer.nnodes=4 trainer.project_name=code
"""


@pytest.mark.parametrize("given", [("run.sh",), ("run.sh", "config/our_grpo.yaml")])
def test_settings_lie_over_the_file_that_the_command_names(
    tmp_path: Path, given: tuple[str, ...]
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/our_grpo.yaml").write_text(CHILD)
    (tmp_path / "run.sh").write_text(NAMING)
    found = plan(*(tmp_path / name for name in given)).plan
    assert found.value("cluster.nodes").value == 4
    assert found.value("cluster.nodes").status == "stated"
    # 64 of the file, 8 of the command line
    assert found.value("batch.global_batch_size").value == 512
    assert found.value("checkpoint.interval_steps").value == 50
    assert found.value("checkpoint.directory").value == "/ckpt/code"
    assert found.value("communication.timeout_seconds").value == 600.0
    files = {
        Path(place.file).name for place in found.value("batch.global_batch_size").places
    }
    assert files == {"run.sh", "our_grpo.yaml"}


def test_a_file_that_is_not_there_leaves_the_settings(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(NAMING)
    found = plan(tmp_path / "run.sh").plan
    assert found.value("cluster.nodes").value == 4
    assert not found.value("communication.timeout_seconds").is_known
    assert not found.value("batch.global_batch_size").is_known


def test_a_command_may_name_a_file_and_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "our_grpo.yaml").write_text(CHILD)
    script = "python3 -m verl.trainer.main_ppo --config-path=. --config-name=our_grpo\n"
    (tmp_path / "run.sh").write_text(script)
    found = plan(tmp_path / "run.sh").plan
    assert found.value("cluster.nodes").value == 2
    assert found.value("run.framework").value == "verl"


def test_the_file_tells_the_format_where_the_program_does_not(tmp_path: Path) -> None:
    (tmp_path / "grpo.yaml").write_text(CHILD)
    (tmp_path / "run.sh").write_text(
        "python run_grpo.py --config grpo.yaml trainer.nnodes=8\n"
    )
    found = plan(tmp_path / "run.sh").plan
    assert found.value("run.framework").value == "verl"
    assert found.value("cluster.nodes").value == 8


def test_a_folder_of_the_cluster_may_be_beside_the_script_here(tmp_path: Path) -> None:
    (tmp_path / "our_grpo.yaml").write_text(CHILD)
    (tmp_path / "run.sh").write_text(NAMING.replace("=config ", "=/lustre/config "))
    found = plan(tmp_path / "run.sh", tmp_path / "our_grpo.yaml").plan
    assert found.value("cluster.nodes").value == 4
    assert found.value("batch.global_batch_size").value == 512


BRIDGE = """\
#SBATCH --nodes=64
#SBATCH --gpus-per-node=8
IMAGE=""
if [ -z "$IMAGE" ]; then
    exit 1
fi
for CONFIG in "1,8,16"; do
    IFS=',' read -r TP PP EP <<< "$CONFIG"
    OVERRIDES=" \\
        train.global_batch_size=64 \\
        train.micro_batch_size=1 \\
        model.tensor_model_parallel_size=$TP \\
        model.pipeline_model_parallel_size=$PP \\
        model.expert_model_parallel_size=$EP
    "
    CMD="uv run --no-sync python scripts/training/run_recipe.py --recipe a_config"
    CMD="$CMD $(echo "$OVERRIDES" | tr '\\n' ' ')"
    srun --mpi=pmix --container-image=$IMAGE bash -c "$CMD"
done
"""


def test_overrides_of_a_recipe_of_megatron_bridge() -> None:
    leaves = read_script(READER, BRIDGE)
    assert leaves.values("stated") == {
        "batch.global_batch_size": 64,
        "batch.micro_batch_size": 1,
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 8,
        "parallelism.expert_parallel_size": 16,
    }


def test_roles_below_worker_are_of_easyr1() -> None:
    text = (
        "python3 -m verl.trainer.main config=examples/config.yaml "
        "worker.actor.micro_batch_size_per_device_for_update=4 "
        "trainer.n_gpus_per_node=8 trainer.nnodes=2\n"
    )
    leaves = read_script(READER, text)
    assert leaves.values("stated") == {
        "batch.micro_batch_size": 4,
        "cluster.gpus_per_node": 8,
        "cluster.nodes": 2,
    }


def test_the_program_of_verl_is_no_tuning_without_keys_of_its_actor() -> None:
    text = (
        "ray job submit -- python3 -m verl.trainer.main_ppo "
        "trainer.nnodes=2 trainer.n_gpus_per_node=8\n"
    )
    leaves = read_script(READER, text)
    assert leaves.value("run.role") == "rl"
    assert leaves.value("cluster.nodes") == 2
    assert leaves.value("cluster.gpus_per_node") == 8
