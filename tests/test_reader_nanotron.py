"""nanotron's YAML."""

import json

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, keys_and_texts, read_text
from speccheck.validator.sources.formats.nanotron import READER

FULL = """\
general: {project: coder, run: c-1, seed: 7}
checkpoints:
  checkpoint_interval: 500
  checkpoints_path: /lustre/coder
  resume_checkpoint_path: /lustre/coder/
data_stages:
- name: stable
  start_training_step: 1
  data: {num_loading_workers: 4, seed: 11, dataset: {dataset_folder: /data/a}}
- name: annealing
  start_training_step: 9000
  data: {num_loading_workers: 2, seed: 12, dataset: {dataset_folder: /data/b}}
logging: {iteration_step_info_interval: 10}
model:
  ddp_bucket_cap_mb: 50
  dtype: bfloat16
  init_method: {std: 0.02}
  make_vocab_size_divisible_by: 8
  model_config:
    _attn_implementation: sdpa
    _fused_rms_norm: true
    hidden_size: 2048
    intermediate_size: 5632
    is_qwen2_config: true
    max_position_embeddings: 4096
    num_attention_heads: 16
    num_hidden_layers: 24
    num_key_value_heads: null
    moe_config: {num_experts: 8, top_k: 2, moe_intermediate_size: 1408}
    tie_word_embeddings: false
    vocab_size: 50257
optimizer:
  accumulate_grad_in_fp32: true
  clip_grad: null
  learning_rate_scheduler:
    learning_rate: 3.0e-4
    lr_decay_steps: 9000
    lr_decay_starting_step: 1000
    lr_decay_style: cosine
    lr_warmup_steps: 500
    min_decay_lr: 1.0e-5
  optimizer_factory:
    adam_beta1: 0.9
    adam_beta2: 0.95
    name: adamW
    torch_adam_is_fused: true
  weight_decay: 0.1
  zero_stage: 1
parallelism:
  dp: 16
  pp: 2
  tp: 4
  tp_mode: REDUCE_SCATTER
  tp_linear_async_communication: true
  recompute_layer: true
profiler: {profiler_export_path: /tmp/profile}
tokens:
  batch_accumulation_per_replica: 8
  micro_batch_size: 2
  sequence_length: 4096
  train_steps: 25000
"""
CORE = """\
parallelism: {dp: 4, tp: 2, pp: 1}
tokens: {micro_batch_size: 1, train_steps: 100}
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "config.yaml")


def test_states_every_leaf_that_stands_in_the_file() -> None:
    assert read(FULL).values("stated") == {
        "run.seed": 7,
        "checkpoint.interval_steps": 500,
        "checkpoint.directory": "/lustre/coder",
        "telemetry.log_interval_steps": 10,
        "communication.gradient_bucket_bytes": 50 * 2**20,
        "precision.parameter_dtype": "bf16",
        "kernels.attention_backend": "sdpa",
        "kernels.fused_normalization": True,
        "model.hidden_size": 2048,
        "model.feed_forward_size": 5632,
        "model.maximum_positions": 4096,
        "model.attention_heads": 16,
        "model.layers": 24,
        "model.experts": 8,
        "model.experts_per_token": 2,
        "model.expert_feed_forward_size": 1408,
        "model.tied_embeddings": False,
        "model.vocabulary_size": 50257,
        "optimizer.learning_rate": 3e-4,
        "optimizer.schedule": "cosine",
        "optimizer.warmup_steps": 500,
        "optimizer.minimum_learning_rate": 1e-5,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.95,
        "optimizer.name_of_optimizer": "adamw",
        "kernels.fused_optimizer": True,
        "optimizer.weight_decay": 0.1,
        "parallelism.sharding_stage": 1,
        "parallelism.data_parallel_size": 16,
        "parallelism.pipeline_parallel_size": 2,
        "parallelism.tensor_parallel_size": 4,
        "parallelism.sequence_parallel": True,
        "communication.overlap_tensor_parallel": True,
        "batch.gradient_accumulation_steps": 8,
        "batch.micro_batch_size": 2,
        "batch.sequence_length": 4096,
        "run.steps": 25000,
        "data.workers": 4,
        "data.seed": 11,
    }


def test_derives_what_follows_from_the_file() -> None:
    assert read(FULL).values("derived") == {
        "run.framework": "nanotron",
        "parallelism.replicate_size": 1,
        "parallelism.shard_size": 16,
        "memory.recompute_mode": "full",
        "precision.compute_dtype": "bf16",
        "precision.bf16": True,
        "precision.fp16": False,
        "precision.gradient_accumulate_dtype": "fp32",
        "precision.gradient_reduce_dtype": "fp32",
        "precision.optimizer_state_dtype": "fp32",
        "optimizer.decay_steps": 10000,
        "optimizer.clip_norm": 0.0,
        "model.name_of_model": "qwen2",
        "model.family": "transformer",
        "model.gated_feed_forward": True,
        "model.key_value_heads": 16,
        "model.vocabulary_multiple": 32,
        "checkpoint.enabled": True,
        "checkpoint.interval_unit": "steps",
        "checkpoint.resume": True,
        "telemetry.profiler": True,
    }


def test_places_are_those_of_the_keys() -> None:
    leaves = read(FULL)
    assert leaves.line("checkpoint.interval_steps") == 3
    assert leaves.line("data.workers") == 9
    assert leaves.line("parallelism.shard_size") == 50
    assert leaves.line("optimizer.decay_steps") == 37


def test_the_degrees_tell_the_world_size_until_a_launcher_does() -> None:
    leaves = read(FULL)
    assert leaves.value("cluster.world_size") == 128
    assert leaves.status("cluster.world_size") == "default"
    assert leaves.note("cluster.world_size").startswith("dp 16 x tp 4 x pp 2 x cp 1")


def test_with_expert_parallelism_releases_differ_in_the_world_size() -> None:
    leaves = read(CORE.replace("pp: 1", "pp: 1, expert_parallel_size: 2"))
    assert leaves.value("cluster.world_size") is None
    assert leaves.value("parallelism.replicate_size") is None


def test_defaults() -> None:
    leaves = read(CORE)
    assert leaves.values("default") == {
        "cluster.world_size": 8,
        "parallelism.context_parallel_size": 1,
        "parallelism.expert_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.virtual_stages": 1,
        "parallelism.pipeline_layout": "by the cost of the blocks",
        "parallelism.sequence_parallel": False,
        "communication.overlap_tensor_parallel": False,
        "communication.gradient_bucket_bytes": 25 * 2**20,
        "memory.recompute_mode": "none",
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
        "precision.parameter_dtype": "bf16",
        "precision.compute_dtype": "bf16",
        "precision.bf16": True,
        "checkpoint.format": "sharded",
        "checkpoint.asynchronous": False,
        "checkpoint.save_optimizer": True,
        "checkpoint.keep_last": 0,
        "telemetry.log_interval_steps": 1,
        "telemetry.throughput": True,
        "data.resumable": True,
        "batch.mode": "fixed",
        "run.uses_torch": True,
    }
    assert leaves.value("checkpoint.enabled") is None


def test_sums_in_16_bits_where_fp32_is_off() -> None:
    text = FULL.replace("accumulate_grad_in_fp32: true", "accumulate_grad_in_fp32: off")
    leaves = read(text)
    assert leaves.value("precision.gradient_reduce_dtype") == "bf16"
    assert leaves.value("precision.gradient_accumulate_dtype") == "bf16"


@pytest.mark.parametrize(
    ("path", "status", "value"),
    [("null", "default", False), ("/other/7000", "unknown", None)],
)
def test_resuming(path: str, status: str, value: object) -> None:
    line = "resume_checkpoint_path: "
    leaves = read(FULL.replace(line + "/lustre/coder/", line + path))
    assert leaves.status("checkpoint.resume") == status
    assert leaves.value("checkpoint.resume") is value


@pytest.mark.parametrize(
    ("old", "new", "role", "status"),
    [
        ("", "", "pretrain", "default"),
        ("{std: 0.02}", "{path: /ckpt/base}", "continued", "derived"),
        ("project: coder", "project: debug", "debug", "derived"),
        ("dataset_folder: /data/a", "sft_dataloader: true", "sft", "derived"),
    ],
)
def test_roles(old: str, new: str, role: str, status: str) -> None:
    leaves = read(FULL.replace(old, new) if old else FULL)
    assert leaves.value("run.role") == role
    assert leaves.status("run.role") == status


def test_settings_of_older_releases() -> None:
    text = CORE + (
        "optimizer: {adam_beta1: 0.8, torch_adam_is_fused: false, zero_stage: 0}\n"
        "data: {num_loading_workers: 3, seed: 5}\n"
        "model: {model_config: {is_llamoe_config: true, moe_num_experts: 4, "
        "num_experts_per_tok: 1}}\n"
    )
    leaves = read(text)
    assert leaves.value("optimizer.beta1") == 0.8
    assert leaves.value("kernels.fused_optimizer") is False
    assert leaves.value("data.workers") == 3
    assert leaves.value("model.experts") == 4
    assert leaves.value("parallelism.replicate_size") == 4
    assert leaves.value("parallelism.shard_size") == 1
    assert leaves.value("kernels.attention_backend") == "flash"


def test_texts_where_dacite_wants_numbers() -> None:
    text = (
        FULL.replace("learning_rate: 3.0e-4", "learning_rate: 3e-4")
        .replace("train_steps: 25000", "train_steps: '25000'")
        .replace("_fused_rms_norm: true", "_fused_rms_norm: 'true'")
    )
    found = read(text)
    assert keys_and_texts(found) == [
        ("model.model_config._fused_rms_norm", "true", True),
        ("optimizer.learning_rate_scheduler.learning_rate", "3e-4", True),
        ("tokens.train_steps", "25000", True),
    ]
    assert found.value("optimizer.learning_rate") is None
    assert found.note("optimizer.learning_rate") == "the text '3e-4': refused"


def test_every_key_of_the_example_is_known() -> None:
    keyed = read(FULL).reading.keyed
    assert keyed is not None
    assert keyed.catalogue is not None
    unknown = [key.path for key in keyed.keys if not keyed.catalogue.is_known(key.path)]
    assert unknown == []


@pytest.mark.parametrize(
    "content",
    [
        {"parallelism": [1], "tokens": 3, "model": "x"},
        {
            "parallelism": {"dp": "8", "tp": None, "pp": True},
            "tokens": {"micro_batch_size": [], "train_steps": {}},
            "model": {"model_config": [], "init_method": "std", "dtype": 7},
            "optimizer": None,
            "checkpoints": "folder",
            "data_stages": {"data": 1},
            "profiler": 3,
        },
        {
            "parallelism": {"dp": 0, "tp": -1, "pp": 1},
            "tokens": {},
            "data_stages": [None, "x"],
            "model": {
                "make_vocab_size_divisible_by": 0,
                "model_config": {"vocab_size": 0, "num_key_value_heads": None},
            },
            "optimizer": {"learning_rate_scheduler": {"lr_decay_steps": "x"}},
            "checkpoints": {
                "checkpoint_interval": [],
                "resume_checkpoint_path": {"a": 1},
            },
        },
    ],
)
def test_odd_shapes_are_read_without_a_word(content: object) -> None:
    leaves = read_text(READER, json.dumps(content), "config.json")
    assert leaves.value("cluster.world_size") is None


@pytest.mark.parametrize(
    "text",
    [
        "tokens: {train_steps: 5}\n",
        "tokens: [a, b]\nparallelism: {dp: 1, tp: 1, pp: 1}\n",
        "tokens: {secret: abc}\nparallelism: {tp: 1}\n",
        "parallelism: {dp: 1}\ntokens: {total: 5}\n",
    ],
)
def test_look_alikes_are_not_recognised(text: str) -> None:
    assert READER.detect(document_of(text, "a.yaml")) < 0.5


def test_is_recognised() -> None:
    for text in (FULL, CORE):
        assert READER.detect(document_of(text, "a.yaml")) >= 0.7


@needs_corpus
def test_every_published_file_is_recognised_and_its_keys_known() -> None:
    for path in sorted(corpus_folder("configs/nanotron").iterdir()):
        found = read_text(READER, path.read_text("utf-8"), "config.yaml")
        assert READER.detect(found.document) >= 0.7, path.name
        keyed = found.reading.keyed
        assert keyed is not None
        assert keyed.catalogue is not None
        known = [keyed.catalogue.is_known(key.path) for key in keyed.keys]
        assert all(known), path.name
