"""LLM Foundry's YAML."""

import json

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, read_text
from speccheck.validator.sources.composition import compose
from speccheck.validator.sources.formats.llm_foundry import READER, composer_time
from speccheck.validator.sources.joining.merge import merge

FULL = """\
max_seq_len: 4096
run_name: mpt-70b-4k
model:
  name: mpt_causal_lm
  d_model: 8192
  n_heads: 64
  n_layers: 80
  expansion_ratio: 4
  max_seq_len: 4096
  vocab_size: 50432
  attn_config: {attn_impl: flash}
tokenizer: {name: EleutherAI/gpt-neox-20b}
train_loader:
  name: text
  dataset: {local: /data, shuffle_seed: 29, packing_ratio: 3}
  drop_last: true
  num_workers: 8
  pin_memory: true
  prefetch_factor: 2
  persistent_workers: true
scheduler: {name: cosine_with_warmup, t_warmup: 2000ba, alpha_f: 0.1}
optimizer: {name: decoupled_adamw, lr: 8e-5, betas: [0.9, 0.95], weight_decay: 0.0}
algorithms:
  gradient_clipping: {clipping_type: norm, clipping_threshold: 1.0}
max_duration: 200000ba
eval_interval: 0
global_train_batch_size: 4096
seed: 29
device_train_microbatch_size: 1
precision: amp_bf16
dist_timeout: 900
max_split_size_mb: 512
expandable_segments: true
fsdp_config:
  sharding_strategy: SHARD_GRAD_OP
  mixed_precision: PURE
  state_dict_type: sharded
  activation_checkpointing: true
  activation_cpu_offload: true
  cpu_offload: true
  data_parallel_shard_degree: 8
  data_parallel_replicate_degree: 2
tp_config: {tensor_parallel_degree: 4}
save_folder: /ckpt/mpt-70b
save_interval: 1800sec
save_num_checkpoints_to_keep: 4
save_weights_only: false
autoresume: true
console_log_interval: 10ba
loggers: {wandb: {}, mlflow: {}}
callbacks: {speed_monitor: {window_size: 10}}
profiler: {schedule: {wait: 1}}
compile_config: {mode: default}
"""
CORE = """\
max_duration: 100ba
max_seq_len: 1024
global_train_batch_size: 64
train_loader: {name: text}
eval_interval: 0
"""


def read(text: str) -> ReadText:
    document = compose(document_of(text, "train.yaml"), READER).document
    reading = READER.read(document)
    return ReadText(document, reading, merge(reading.facts.facts))


def test_a_file_whose_length_the_command_line_states_is_known() -> None:
    lines = [line for line in FULL.splitlines() if not line.startswith("max_duration")]
    assert READER.detect(document_of("\n".join(lines), "a.yaml")) >= 0.7


def test_states_every_leaf_that_stands_in_the_file() -> None:
    assert read(FULL).values("stated") == {
        "batch.sequence_length": 4096,
        "batch.micro_batch_size": 1,
        "batch.global_batch_size": 4096,
        "model.hidden_size": 8192,
        "model.attention_heads": 64,
        "model.layers": 80,
        "model.maximum_positions": 4096,
        "model.vocabulary_size": 50432,
        "kernels.attention_backend": "flash",
        "data.seed": 29,
        "data.drop_last": True,
        "data.workers": 8,
        "data.pin_memory": True,
        "data.prefetch_factor": 2,
        "data.persistent_workers": True,
        "optimizer.schedule": "cosine_with_warmup",
        "optimizer.name_of_optimizer": "decoupled_adamw",
        "optimizer.learning_rate": 8e-5,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.95,
        "optimizer.weight_decay": 0.0,
        "optimizer.clip_norm": 1.0,
        "run.seed": 29,
        "communication.timeout_seconds": 900.0,
        "checkpoint.format": "sharded",
        "checkpoint.directory": "/ckpt/mpt-70b",
        "checkpoint.keep_last": 4,
        "checkpoint.save_optimizer": True,
        "checkpoint.resume": True,
        "memory.recompute_mode": "full",
        "memory.activation_offload": True,
        "memory.parameter_offload_device": "cpu",
        "parallelism.shard_size": 8,
        "parallelism.replicate_size": 2,
        "parallelism.tensor_parallel_size": 4,
    }


def test_derives_what_follows_from_the_file() -> None:
    assert read(FULL).values("derived") == {
        "run.framework": "llm-foundry",
        "run.steps": 200_000,
        "batch.packing": True,
        "checkpoint.enabled": True,
        "checkpoint.interval_seconds": 1800.0,
        "checkpoint.interval_unit": "seconds",
        "optimizer.warmup_steps": 2000,
        "optimizer.minimum_learning_rate": pytest.approx(8e-6),
        "parallelism.engine": "fsdp1",
        "parallelism.sharding_stage": 2,
        "memory.optimizer_offload_device": "cpu",
        "memory.allocator_configuration": (
            "max_split_size_mb:512,expandable_segments:True"
        ),
        "precision.compute_dtype": "bf16",
        "precision.bf16": True,
        "precision.fp16": False,
        "precision.fp8": False,
        "precision.gradient_reduce_dtype": "bf16",
        "model.name_of_model": "mpt",
        "model.family": "transformer",
        "model.feed_forward_size": 32768,
        "telemetry.log_interval_steps": 10,
        "telemetry.sinks": ("wandb", "mlflow"),
        "telemetry.throughput": True,
        "telemetry.profiler": True,
        "kernels.compiled": True,
    }


def test_places_are_those_of_the_keys() -> None:
    leaves = read(FULL)
    assert leaves.line("checkpoint.interval_seconds") == 45
    assert leaves.line("parallelism.sharding_stage") == 35
    assert leaves.line("optimizer.learning_rate") == 22


def test_defaults() -> None:
    leaves = read(CORE)
    assert leaves.values("default") == {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.engine": "ddp",
        "parallelism.sharding_stage": 0,
        "batch.mode": "fixed",
        "batch.uneven_micro_batches": True,
        "checkpoint.enabled": False,
        "checkpoint.format": "full",
        "checkpoint.save_optimizer": True,
        "checkpoint.keep_last": 0,
        "communication.timeout_seconds": 600.0,
        "memory.recompute_mode": "none",
        "memory.activation_offload": False,
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
        "kernels.compiled": False,
        "model.adapter": "none",
        "telemetry.log_interval_steps": 1,
        "telemetry.sinks": (),
        "data.resumable": True,
        "run.role": "pretrain",
        "run.uses_torch": True,
    }


@pytest.mark.parametrize(
    ("line", "leaf", "value"),
    [
        ("save_interval: 500ba", "checkpoint.interval_steps", 500),
        ("save_interval: 0.1dur", "checkpoint.interval_steps", 10),
        ("save_interval: 640sp", "checkpoint.interval_steps", 10),
        ("save_interval: 1310720tok", "checkpoint.interval_steps", 20),
        ("save_interval: 1ep", "checkpoint.interval_unit", "epoch"),
        ("save_interval: 1", "checkpoint.interval_unit", "epoch"),
        ("save_interval: 600sec", "checkpoint.interval_seconds", 600.0),
        ("save_interval: often", "checkpoint.interval_steps", None),
        ("seed: 1", "checkpoint.interval_steps", 1000),
    ],
)
def test_save_intervals(line: str, leaf: str, value: object) -> None:
    leaves = read(CORE + f"save_folder: ./out\n{line}\n")
    assert leaves.value("checkpoint.enabled") is True
    assert leaves.value(leaf) == value


@pytest.mark.parametrize(
    ("text", "leaf", "value"),
    [
        ("100ba", "run.steps", 100),
        ("1ep", "run.epochs", 1.0),
        ("6553600tok", "run.steps", 100),
        ("6400sp", "run.steps", 100),
        ("7200sec", "run.hours", 2.0),
        ("soon", "run.steps", None),
    ],
)
def test_lengths_of_runs(text: str, leaf: str, value: object) -> None:
    assert read(CORE.replace("100ba", text)).value(leaf) == value


@pytest.mark.parametrize("value", [True, 1.5, None, [], "10 bananas", "-5ba"])
def test_what_is_no_time(value: object) -> None:
    assert "is no time" in getattr(composer_time(value), "reason", "")


@pytest.mark.parametrize(
    ("lines", "enabled", "kept"),
    [
        ("save_folder:\n", False, 0),
        ("save_folder: s3://b/x\nsave_num_checkpoints_to_keep: 1\n", True, 0),
        ("save_folder: ./x\nsave_num_checkpoints_to_keep: 1\n", True, 1),
        ("save_folder: ./x\nsave_num_checkpoints_to_keep: -1\n", True, 0),
    ],
)
def test_what_is_kept(lines: str, enabled: object, kept: int) -> None:
    """Of an object store nothing is removed."""
    leaves = read(CORE + lines)
    assert leaves.value("checkpoint.enabled") is enabled
    assert leaves.value("checkpoint.keep_last") == kept


def test_weights_alone_are_saved_by_a_callback() -> None:
    leaves = read(CORE + "callbacks: {hf_checkpointer: {save_folder: ./hf}}\n")
    assert leaves.value("checkpoint.enabled") is True
    assert leaves.value("checkpoint.save_optimizer") is False


@pytest.mark.parametrize(
    ("lines", "dtype", "status"),
    [
        ("mixed_precision: DEFAULT", None, "unknown"),
        ("mixed_precision: FULL", "fp32", "derived"),
        ("mixed_precision: {reduce_dtype: fp32}", "fp32", "derived"),
    ],
)
def test_reduction(lines: str, dtype: object, status: str) -> None:
    leaves = read(FULL.replace("mixed_precision: PURE", lines))
    assert leaves.value("precision.gradient_reduce_dtype") == dtype
    assert leaves.status("precision.gradient_reduce_dtype") == status


def test_fp8_and_the_second_version_of_fsdp() -> None:
    text = FULL.replace("amp_bf16", "amp_fp8")
    text = text.replace("sharding_strategy: SHARD_GRAD_OP", "reshard_after_forward: 8")
    leaves = read(text)
    assert leaves.value("precision.fp8") is True
    assert leaves.value("precision.bf16") is True
    assert leaves.value("parallelism.engine") == "fsdp2"
    assert leaves.value("parallelism.sharding_stage") is None


@pytest.mark.parametrize(
    ("model", "role", "adapter"),
    [
        ("{name: hf_causal_lm, pretrained: true}", "continued", "none"),
        ("{name: hf_causal_lm, pretrained: false}", "pretrain", "none"),
        ("{name: hf_causal_lm, peft_config: {peft_type: LORA}}", "lora", "lora"),
    ],
)
def test_roles(model: str, role: str, adapter: str) -> None:
    leaves = read(CORE + f"model: {model}\n")
    assert leaves.value("run.role") == role
    assert leaves.value("model.adapter") == adapter


def test_every_key_of_the_examples_is_known() -> None:
    for text in (FULL, CORE):
        keyed = read(text).reading.keyed
        assert keyed is not None
        assert keyed.catalogue is not None
        for key in keyed.keys:
            assert keyed.catalogue.is_known(key.path), key.path


@pytest.mark.parametrize(
    "content",
    [
        {"train_loader": [1], "max_duration": {}, "model": "x", "fsdp_config": []},
        {
            "max_duration": True,
            "train_loader": {"name": 3, "dataset": "x"},
            "model": {"ffn_config": {"ffn_type": []}, "attn_config": 1, "name": []},
            "scheduler": {"t_warmup": [], "alpha_f": "x"},
            "optimizer": None,
            "precision": 16,
            "fsdp_config": {"sharding_strategy": 1, "mixed_precision": []},
            "save_folder": [],
            "save_interval": {},
            "callbacks": [],
            "loggers": "wandb",
            "console_log_interval": [],
            "global_train_batch_size": "many",
        },
        {"parameters": [], "train_loader": None},
        {"parameters": {"train_loader": 1, "max_duration": []}, "compute": 3},
        {"models": 3, "device_eval_batch_size": []},
    ],
)
def test_odd_shapes_are_read_without_a_word(content: object) -> None:
    leaves = read_text(READER, json.dumps(content), "train.json")
    assert leaves.value("batch.global_batch_size") is None


OLMO = """\
max_duration: 1ep
global_train_batch_size: 2048
device_train_microbatch_size: 2
save_interval_unsharded: 1000
fsdp: {precision: mixed}
scheduler: {}
tokenizer: {}
precision: amp_bf16
"""


@pytest.mark.parametrize(
    "text",
    [
        OLMO,
        "train_loader: {batch_size: 3}\nepochs: 3\n",
        "max_duration: 3\ntrain_loader: {}\n",
        "parameters: [{name: a}]\nparameters_of: {}\n",
        "models: [a, b]\nslices: []\n",
    ],
)
def test_look_alikes_are_not_recognised(text: str) -> None:
    assert READER.detect(document_of(text, "a.yaml")) < 0.5


def test_is_recognised() -> None:
    for text in (FULL, CORE + "scheduler: {}\n"):
        assert READER.detect(document_of(text, "a.yaml")) >= 0.5


@needs_corpus
def test_every_published_file_is_recognised_and_its_keys_known() -> None:
    for path in sorted(corpus_folder("configs/llm-foundry").iterdir()):
        found = read(path.read_text("utf-8"))
        assert READER.detect(found.document) >= 0.9, path.name
        keyed = found.reading.keyed
        assert keyed is not None
        assert keyed.catalogue is not None
        known = [keyed.catalogue.is_known(key.path) for key in keyed.keys]
        assert all(known), path.name
