"""verl's YAML."""

from pathlib import Path

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, read_text
from speccheck.validator.sources.files import ReadFile, read_file
from speccheck.validator.sources.formats.verl import READER
from speccheck.validator.sources.joining.merge import merge
from speccheck.validator.sources.registry import Readers

FULL = """\
data:
  train_batch_size: 512
  max_prompt_length: 1024
  max_response_length: 3072
  dataloader_num_workers: 4
  seed: 7
actor_rollout_ref:
  nccl_timeout: 1200
  model:
    path: Qwen/Qwen3-8B
    enable_gradient_checkpointing: true
    enable_activation_offload: false
    use_fused_kernels: true
    lora_rank: 0
  actor:
    strategy: fsdp2
    ppo_mini_batch_size: 64
    ppo_micro_batch_size_per_gpu: 2
    ulysses_sequence_parallel_size: 2
    grad_clip: 0.5
    optim:
      lr: 1e-6
      betas: [0.9, 0.95]
      weight_decay: 0.1
      lr_warmup_steps: 10
      lr_scheduler_type: cosine
    fsdp_config:
      reshard_after_forward: false
      offload_policy: true
      model_dtype: fp32
    checkpoint:
      save_contents: [model, extra]
  rollout:
    name: vllm
    n: 8
algorithm:
  adv_estimator: grpo
trainer:
  nnodes: 4
  n_gpus_per_node: 8
  total_epochs: 15
  total_training_steps: 400
  save_freq: 20
  test_freq: 5
  max_actor_ckpt_to_keep: 3
  default_local_dir: /ckpt/run
  resume_mode: auto
  logger: [console, wandb, tensorboard]
"""
MEGATRON = """\
defaults: [ppo_megatron_trainer, _self_]
actor_rollout_ref:
  actor:
    ppo_mini_batch_size: 128
    megatron:
      tensor_model_parallel_size: 4
      pipeline_model_parallel_size: 2
      sequence_parallel: true
      override_transformer_config:
        recompute_granularity: full
        recompute_method: uniform
        recompute_num_layers: 1
    optim:
      clip_grad: 0.8
trainer:
  nnodes: 2
"""
SFT = """\
data:
  train_batch_size: 256
  micro_batch_size_per_gpu: 4
  max_length: 2048
model:
  partial_pretrain: Qwen/Qwen2.5-0.5B
  strategy: fsdp2
  lora_rank: 32
  enable_gradient_checkpointing: true
optim:
  lr: 1e-5
  betas: [0.9, 0.95]
  warmup_steps_ratio: 0.1
ulysses_sequence_parallel_size: 2
trainer:
  total_epochs: 4
  save_freq: -1
  logger: console
  nnodes: 1
  n_gpus_per_node: 8
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "trainer.yaml")


def test_states_every_leaf_that_stands_in_the_file() -> None:
    assert read(FULL).values("stated") == {
        "data.workers": 4,
        "data.seed": 7,
        "communication.timeout_seconds": 1200.0,
        "model.name_of_model": "Qwen/Qwen3-8B",
        "memory.recompute_mode": "full",
        "memory.activation_offload": False,
        "kernels.fused_cross_entropy": True,
        "batch.micro_batch_size": 2,
        "parallelism.ulysses_size": 2,
        "optimizer.clip_norm": 0.5,
        "optimizer.learning_rate": 1e-6,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.95,
        "optimizer.weight_decay": 0.1,
        "optimizer.warmup_steps": 10,
        "optimizer.schedule": "cosine",
        "precision.parameter_dtype": "fp32",
        "run.generations_per_prompt": 8,
        "cluster.nodes": 4,
        "cluster.gpus_per_node": 8,
        "run.epochs": 15.0,
        "run.steps": 400,
        "checkpoint.interval_steps": 20,
        "checkpoint.evaluation_interval_steps": 5,
        "checkpoint.keep_last": 3,
        "checkpoint.directory": "/ckpt/run",
        "checkpoint.resume": True,
        "telemetry.sinks": ("wandb", "tensorboard"),
    }


def test_derives_what_follows_from_the_file() -> None:
    leaves = read(FULL)
    assert leaves.values("derived") == {
        "run.framework": "verl",
        "run.role": "rl",
        "parallelism.engine": "fsdp2",
        "parallelism.sharding_stage": 2,
        "memory.parameter_offload_device": "cpu",
        "memory.optimizer_offload_device": "cpu",
        "batch.global_batch_size": 512,
        "batch.sequence_length": 4096,
        "model.adapter": "none",
        "checkpoint.enabled": True,
        "checkpoint.interval_unit": "steps",
        "checkpoint.save_optimizer": False,
        "checkpoint.save_random_state": True,
    }
    assert leaves.note("batch.global_batch_size") == "64 prompts x 8 answers"
    assert leaves.line("batch.global_batch_size") == 17
    assert leaves.line("checkpoint.enabled") == 43


def test_a_file_that_stands_by_itself_has_no_defaults_of_verls_trainer() -> None:
    leaves = read(
        "actor_rollout_ref: {actor: {strategy: fsdp}}\n"
        "data: {}\n"
        "algorithm: {}\n"
        "trainer: {}\n"
    )
    assert leaves.status("cluster.nodes") is None
    assert leaves.status("checkpoint.enabled") is None
    assert leaves.values("default")["precision.compute_dtype"] == "bf16"


def test_the_megatron_back_end() -> None:
    leaves = read(MEGATRON)
    assert leaves.value("parallelism.engine") == "megatron"
    assert leaves.values("stated") == {
        "parallelism.tensor_parallel_size": 4,
        "parallelism.pipeline_parallel_size": 2,
        "parallelism.sequence_parallel": True,
        "memory.recompute_mode": "full",
        "memory.recompute_method": "uniform",
        "memory.recompute_layers": 1,
        "optimizer.clip_norm": 0.8,
        "cluster.nodes": 2,
    }
    assert leaves.value("parallelism.ulysses_size") == 1
    assert leaves.status("memory.parameter_offload_device") is None


def test_verls_own_defaults_hold_under_its_configuration() -> None:
    leaves = read(MEGATRON)
    defaults = leaves.values("default")
    assert defaults["cluster.gpus_per_node"] == 8
    assert defaults["checkpoint.enabled"] is False
    assert defaults["checkpoint.keep_last"] == 0
    assert defaults["parallelism.context_parallel_size"] == 1
    assert defaults["optimizer.is_distributed"] is True
    assert defaults["communication.timeout_seconds"] == 600.0
    assert leaves.note("checkpoint.enabled") == (
        "trainer.save_freq is not set: -1 in every tabulated version of verl"
    )
    # It was 4 in 0.2 and 1 later.
    without_degree = read("defaults: [ppo_megatron_trainer]\nactor_rollout_ref: {}\n")
    assert without_degree.status("parallelism.tensor_parallel_size") is None


@pytest.mark.parametrize(
    ("frequency", "enabled", "unit"),
    [("-1", False, "never"), ("0", False, "never"), ("50", True, "steps")],
)
def test_save_frequency(frequency: str, enabled: bool, unit: str) -> None:  # noqa: FBT001
    leaves = read(f"actor_rollout_ref: {{}}\ntrainer: {{save_freq: {frequency}}}\n")
    assert leaves.value("checkpoint.enabled") is enabled
    assert leaves.value("checkpoint.interval_unit") == unit


def test_null_keeps_every_checkpoint() -> None:
    leaves = read("actor_rollout_ref: {}\ntrainer: {max_actor_ckpt_to_keep: null}\n")
    assert leaves.value("checkpoint.keep_last") == 0
    assert leaves.status("checkpoint.keep_last") == "stated"


def test_a_fixed_path_is_not_the_newest_checkpoint() -> None:
    leaves = read("actor_rollout_ref: {}\ntrainer: {resume_mode: resume_path}\n")
    assert leaves.status("checkpoint.resume") == "unknown"
    leaves = read("actor_rollout_ref: {}\ntrainer: {resume_mode: disable}\n")
    assert leaves.value("checkpoint.resume") is False


def test_dynamic_batches_have_no_micro_batch_size() -> None:
    leaves = read(
        "actor_rollout_ref:\n"
        "  actor: {use_dynamic_bsz: true, ppo_micro_batch_size_per_gpu: 4}\n"
    )
    assert leaves.status("batch.micro_batch_size") == "unknown"
    assert "tokens" in leaves.note("batch.micro_batch_size")


def test_moving_states_between_phases_is_no_offload() -> None:
    leaves = read(
        "actor_rollout_ref:\n"
        "  actor:\n"
        "    strategy: fsdp\n"
        "    fsdp_config: {param_offload: true, optimizer_offload: true}\n"
    )
    assert leaves.value("memory.parameter_offload_device") == "none"
    assert leaves.status("memory.parameter_offload_device") == "default"


def test_shard_groups_smaller_than_the_job() -> None:
    text = (
        "actor_rollout_ref:\n"
        "  actor: {{strategy: fsdp, fsdp_config: {{fsdp_size: {0}}}}}\n"
        "trainer: {{nnodes: 2, n_gpus_per_node: 8}}\n"
    )
    assert read(text.format(8)).value("parallelism.shard_size") == 8
    assert read(text.format(16)).status("parallelism.shard_size") is None
    assert read(text.format(-1)).status("parallelism.shard_size") is None


def test_nodes_that_only_generate_are_not_counted() -> None:
    leaves = read(
        "actor_rollout_ref: {}\n"
        "rollout: {nnodes: 1, n_gpus_per_node: 8}\n"
        "trainer: {nnodes: 3, n_gpus_per_node: 8}\n"
    )
    assert leaves.status("cluster.nodes") == "unknown"
    assert "rollout has nodes" in leaves.note("cluster.nodes")


def test_the_trainer_of_sft() -> None:
    leaves = read(SFT)
    assert READER.detect(leaves.document) == 0.9
    assert leaves.values("stated") == {
        "batch.global_batch_size": 256,
        "batch.micro_batch_size": 4,
        "batch.sequence_length": 2048,
        "model.name_of_model": "Qwen/Qwen2.5-0.5B",
        "memory.recompute_mode": "full",
        "optimizer.learning_rate": 1e-5,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.95,
        "optimizer.warmup_ratio": 0.1,
        "parallelism.ulysses_size": 2,
        "run.epochs": 4.0,
        "telemetry.sinks": (),
    }
    assert leaves.values("derived") == {
        "run.framework": "verl",
        "run.role": "lora",
        "model.adapter": "lora",
        "parallelism.engine": "fsdp2",
        "checkpoint.enabled": False,
        "checkpoint.interval_unit": "never",
    }
    # torchrun decides on nodes, whatever the file says
    assert leaves.status("cluster.nodes") is None


@pytest.mark.parametrize(
    "text",
    [
        "actor_rollout_ref: text\ntrainer: {}\n",
        "data: {}\nmodel: {}\ntrainer: {}\noptim: {}\n",
        "trainer: {nnodes: 2, n_gpus_per_node: 8}\ndata: {train_batch_size: 8}\n",
        "policy: {}\ncluster: {}\ngrpo: {}\n",
    ],
)
def test_look_alikes_are_not_taken(text: str) -> None:
    assert READER.detect(document_of(text, "x.yaml")) < 0.5


@pytest.mark.parametrize("odd", ["null", "text", "7", "[1, 2]", "true", "{a: [1]}"])
def test_odd_shapes_do_not_raise(odd: str) -> None:
    for path in ("trainer", "data", "critic", "defaults", "rollout"):
        read(f"actor_rollout_ref: {{actor: {odd}}}\n{path}: {odd}\n")
    for key in ("actor", "model", "rollout"):
        read(f"actor_rollout_ref:\n  {key}: {odd}\n")
    for key in ("optim", "fsdp_config", "checkpoint", "megatron", "strategy"):
        read(f"actor_rollout_ref:\n  actor:\n    {key}: {odd}\n")
    for key in ("logger", "save_freq", "nnodes", "resume_mode"):
        read(f"actor_rollout_ref: {{}}\ntrainer:\n  {key}: {odd}\n")


def read_from_disk(path: Path) -> ReadFile:
    _, files = read_file(str(path), readers=Readers())
    (file,) = files
    return file


def test_interpolation_and_inheritance(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        "trainer:\n"
        "  nnodes: 4\n"
        "  n_gpus_per_node: 8\n"
        "  project_name: math\n"
        "  default_local_dir: /ckpt/${trainer.project_name}\n"
        "actor_rollout_ref:\n"
        "  actor: {strategy: fsdp, ppo_mini_batch_size: 64}\n"
        "  rollout: {n: 1}\n"
    )
    child = tmp_path / "child.yaml"
    child.write_text(
        "defaults: [base, _self_]\n"
        "actor_rollout_ref:\n"
        "  rollout: {n: 4}\n"
        "  actor: {ppo_micro_batch_size_per_gpu: '${actor_rollout_ref.rollout.n}'}\n"
    )
    file = read_from_disk(child)
    leaves = merge(file.readings[0].facts.facts)
    assert leaves["batch.global_batch_size"].value == 256
    assert leaves["batch.micro_batch_size"].value == 4
    assert len(leaves["batch.micro_batch_size"].places) == 2
    assert leaves["checkpoint.directory"].value == "/ckpt/math"
    assert leaves["cluster.nodes"].places[0].file == str(tmp_path / "base.yaml")


def test_verls_own_files_are_not_missed(tmp_path: Path) -> None:
    path = tmp_path / "child.yaml"
    path.write_text("defaults: [ppo_trainer]\nactor_rollout_ref: {}\n")
    file = read_from_disk(path)
    assert file.status.message == ""
    leaves = merge(file.readings[0].facts.facts)
    assert leaves["cluster.nodes"].value == 1
    path.write_text("defaults: [our_base]\nactor_rollout_ref: {}\n")
    file = read_from_disk(path)
    assert "our_base.yaml was not found" in file.status.message


@needs_corpus
def test_published_files_are_detected() -> None:
    for path in sorted(corpus_folder("configs/verl").iterdir()):
        document = document_of(path.read_text("utf-8"), path.name)
        assert READER.detect(document) >= 0.7, path.name
