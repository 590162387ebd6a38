"""LitGPT's YAML."""

import json

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, read_text
from speccheck.validator.sources.formats.litgpt import READER

PRETRAIN = """\
model_name: tiny-llama-1.1b
model_config:
  n_layer: 22
  n_embd: 2048
  n_head: 32
  n_query_groups: 4
  intermediate_size: 5632
  mlp_class_name: LLaMAMLP
out_dir: out/pretrain/tiny
precision: bf16-mixed
resume: auto
data:
  class_path: litgpt.data.TinyLlama
  init_args:
    num_workers: 8
    seed: 3
train:
  save_interval: 2000
  log_interval: 5
  global_batch_size: 512
  micro_batch_size: 4
  lr_warmup_steps: 2000
  max_tokens: 1_048_576_000
  max_seq_length: 2048
  tie_embeddings: false
  max_norm: 1.0
  min_lr: 4e-05
optimizer:
  class_path: torch.optim.AdamW
  init_args:
    lr: 4e-4
    weight_decay: 0.1
    betas: [0.9, 0.95]
devices: 8
num_nodes: 4
logger_name: wandb
seed: 42
"""
LORA = """\
checkpoint_dir: checkpoints/google/gemma-2b
out_dir: out/lora
precision: bf16-true
quantize: bnb.nf4
devices: 1
lora_r: 16
train:
  global_batch_size: 8
  micro_batch_size: 2
  epochs: 2
  max_steps: 0
"""
FULL = """\
checkpoint_dir: checkpoints/meta-llama/Llama-3-8B
out_dir: out/full
devices: 4
optimizer: AdamW
train:
  save_interval:
  epochs: 1
  min_lr: 6e-05
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "config.yaml")


def test_states_every_leaf_that_stands_in_the_file() -> None:
    assert read(PRETRAIN).values("stated") == {
        "model.name_of_model": "tiny-llama-1.1b",
        "model.layers": 22,
        "model.hidden_size": 2048,
        "model.attention_heads": 32,
        "model.key_value_heads": 4,
        "model.feed_forward_size": 5632,
        "model.gated_feed_forward": True,
        "model.tied_embeddings": False,
        "checkpoint.directory": "out/pretrain/tiny",
        "checkpoint.interval_steps": 2000,
        "checkpoint.resume": True,
        "data.workers": 8,
        "data.seed": 3,
        "telemetry.log_interval_steps": 5,
        "batch.global_batch_size": 512,
        "batch.micro_batch_size": 4,
        "batch.sequence_length": 2048,
        "optimizer.warmup_steps": 2000,
        "optimizer.clip_norm": 1.0,
        "optimizer.minimum_learning_rate": 4e-5,
        "optimizer.name_of_optimizer": "adamw",
        "optimizer.learning_rate": 4e-4,
        "optimizer.weight_decay": 0.1,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.95,
        "cluster.nodes": 4,
        "run.seed": 42,
    }


def test_derives_what_follows_from_the_file() -> None:
    leaves = read(PRETRAIN)
    assert leaves.values("derived") == {
        "run.framework": "litgpt",
        "cluster.world_size": 32,
        "run.role": "pretrain",
        "run.steps": 1000,
        "checkpoint.enabled": True,
        "telemetry.sinks": ("wandb",),
        "precision.compute_dtype": "bf16",
        "precision.parameter_dtype": "fp32",
        "precision.bf16": True,
        "precision.fp16": False,
        "precision.gradient_reduce_dtype": "bf16",
    }
    assert leaves.note("run.steps") == (
        "1,048,576,000 tokens / (512 samples x 2,048) = 1,000"
    )


def test_places_are_those_of_the_keys() -> None:
    leaves = read(PRETRAIN)
    assert leaves.line("batch.global_batch_size") == 20
    assert leaves.line("optimizer.beta2") == 33
    assert leaves.line("precision.compute_dtype") == 10


def test_pretraining_shards_inside_the_nodes() -> None:
    leaves = read(PRETRAIN)
    assert leaves.value("parallelism.engine") == "fsdp1"
    assert leaves.value("parallelism.sharding_stage") == 3
    assert leaves.value("parallelism.shard_size") == 8
    assert leaves.value("parallelism.replicate_size") == 4
    assert leaves.value("memory.recompute_mode") == "none"
    assert leaves.value("kernels.compiled") is True


def test_a_node_may_have_more_gpus_than_the_job_takes() -> None:
    leaves = read(PRETRAIN)
    assert leaves.value("cluster.gpus_per_node") == 8
    assert leaves.status("cluster.gpus_per_node") == "default"
    assert leaves.line("cluster.gpus_per_node") == 34


def test_lora_on_a_quantized_base() -> None:
    leaves = read(LORA)
    assert leaves.value("run.role") == "lora"
    assert leaves.value("model.adapter") == "lora"
    assert leaves.value("model.quantized_bits") == 4
    assert leaves.value("model.name_of_model") == "gemma-2b"
    assert leaves.value("checkpoint.save_optimizer") is False
    assert leaves.value("parallelism.sharding_stage") == 0
    assert leaves.value("run.epochs") == 2.0
    assert leaves.note("run.steps") == "0: no limit"
    assert leaves.value("cluster.nodes") == 1


def test_full_fine_tuning_recomputes_on_several_gpus() -> None:
    leaves = read(FULL)
    assert leaves.value("run.role") == "sft"
    assert leaves.value("memory.recompute_mode") == "full"
    assert leaves.value("parallelism.shard_size") is None
    assert leaves.value("optimizer.name_of_optimizer") == "adamw"
    assert leaves.value("batch.micro_batch_size") == 1
    # its schedule decays to 0, whatever min_lr says
    assert leaves.value("optimizer.minimum_learning_rate") is None
    assert leaves.value("checkpoint.enabled") is False
    assert leaves.value("checkpoint.interval_unit") == "never"
    assert leaves.value("precision.compute_dtype") is None


def test_an_adapter_may_be_one_of_several_commands() -> None:
    leaves = read(FULL + "quantize:\n")
    assert leaves.value("run.role") is None
    assert leaves.value("parallelism.sharding_stage") is None


@pytest.mark.parametrize(
    ("line", "value", "status"),
    [
        ("resume: false", False, "stated"),
        ("resume: true", True, "stated"),
        ("resume: out/step-00001000", None, "unknown"),
        ("", False, "default"),
    ],
)
def test_resuming(line: str, value: object, status: str) -> None:
    leaves = read(PRETRAIN.replace("resume: auto", line))
    assert leaves.value("checkpoint.resume") is value
    assert leaves.status("checkpoint.resume") == status


@pytest.mark.parametrize("devices", ["auto", "-1", "'-1'"])
def test_all_gpus_of_a_node(devices: str) -> None:
    leaves = read(PRETRAIN.replace("devices: 8", f"devices: {devices}"))
    assert leaves.value("cluster.gpus_per_node") is None
    assert leaves.note("cluster.gpus_per_node").endswith("all GPUs of a node")
    assert leaves.value("parallelism.engine") is None


@pytest.mark.parametrize(
    ("word", "compute", "weights"),
    [
        ("bf16-true", "bf16", "bf16"),
        ("16-mixed", "fp16", "fp32"),
        ("32-true", "fp32", "fp32"),
        ("64-true", None, None),
    ],
)
def test_precisions(word: str, compute: object, weights: object) -> None:
    leaves = read(PRETRAIN.replace("bf16-mixed", word))
    assert leaves.value("precision.compute_dtype") == compute
    assert leaves.value("precision.parameter_dtype") == weights


def test_continued_pretraining() -> None:
    leaves = read(PRETRAIN + "initial_checkpoint_dir: checkpoints/base\n")
    assert leaves.value("run.role") == "continued"


def test_optimizer_settings_of_the_first_releases() -> None:
    head, _, tail = PRETRAIN.partition("optimizer:\n")
    old = "  learning_rate: 5e-4\n  weight_decay: 0.2\n  beta1: 0.8\n  beta2: 0.9\n"
    leaves = read(head + old + tail[tail.index("devices:") :])
    assert leaves.value("optimizer.learning_rate") == 5e-4
    assert leaves.value("optimizer.weight_decay") == 0.2
    assert leaves.value("optimizer.beta1") == 0.8
    assert leaves.value("optimizer.beta2") == 0.9
    keyed = leaves.reading.keyed
    assert keyed is not None
    assert not keyed.unknown


def test_every_key_of_the_examples_is_known() -> None:
    for text in (PRETRAIN, LORA, FULL):
        keyed = read(text).reading.keyed
        assert keyed is not None
        assert keyed.catalogue is not None
        for key in keyed.keys:
            assert keyed.catalogue.is_known(key.path), key.path


@pytest.mark.parametrize(
    "content",
    [
        {"train": [1], "devices": 8, "out_dir": "x"},
        {
            "train": {"global_batch_size": "x", "save_interval": [], "max_tokens": 0},
            "devices": {},
            "num_nodes": True,
            "optimizer": [],
            "precision": 16,
            "data": "TinyLlama",
            "logger_name": None,
            "model_config": 7,
            "resume": [],
        },
        {
            "train": None,
            "optimizer": {"class_path": 3, "init_args": {"betas": ["a"]}},
            "model_name": ["x"],
            "checkpoint_dir": {},
        },
    ],
)
def test_odd_shapes_are_read_without_a_word(content: object) -> None:
    leaves = read_text(READER, json.dumps(content), "config.json")
    assert leaves.value("batch.global_batch_size") is None


@pytest.mark.parametrize(
    "text",
    [
        "train: {epochs: 3}\nout_dir: x\ndevices: 2\n",
        "train: {global_batch_size: 8, micro_batch_size: 1}\nmodel: {}\nddp: {}\n",
        "devices: 8\nprecision: bf16\nmax_steps: 100\n",
        "train: yes\nout_dir: x\nlogger_name: csv\n",
    ],
)
def test_look_alikes_are_not_recognised(text: str) -> None:
    assert READER.detect(document_of(text, "a.yaml")) < 0.5


def test_is_recognised() -> None:
    for text in (PRETRAIN, LORA, FULL):
        assert READER.detect(document_of(text, "a.yaml")) >= 0.6


@needs_corpus
def test_every_published_file_is_recognised_and_its_keys_known() -> None:
    for path in sorted(corpus_folder("configs/litgpt").iterdir()):
        found = read_text(READER, path.read_text("utf-8"), "config.yaml")
        assert READER.detect(found.document) >= 0.9, path.name
        keyed = found.reading.keyed
        assert keyed is not None
        assert keyed.catalogue is not None
        known = [keyed.catalogue.is_known(key.path) for key in keyed.keys]
        assert all(known), path.name
