"""Megatron-LM's YAML of all arguments."""

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, keys_and_texts, read_text
from speccheck.validator.sources.formats.megatron_yaml import READER

TEXT = """\
language_model:
  num_layers: 24
  hidden_size: 1024
  num_attention_heads: 16
  num_query_groups: 4
  ffn_hidden_size: null
  activation_func: swiglu
  num_moe_experts: null
  moe_router_topk: 2
  recompute_granularity: selective
  fp8: null
model_parallel:
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 1
  virtual_pipeline_model_parallel_size: 3
  context_parallel_size: 1
  sequence_parallel: True
  bf16: True
  fp16: False
  cpu_offloading: False
  cpu_offloading_num_layers: 0
micro_batch_size: 2
global_batch_size: 128
seq_length: 4096
max_position_embeddings: 4096
group_query_attention: False
swiglu: False
untie_embeddings_and_output_weights: True
lr: 2.5e-4
min_lr: 1e-5
lr_warmup_iters: 0
lr_warmup_samples: 12800
train_samples: 1280000
weight_decay: 0
save: /ckpt/run
save_interval: 500
load: ${RESUME_FROM}
distributed_timeout_minutes: 30
use_distributed_optimizer: True
num_workers: 0
tensorboard_dir: null
wandb_project: ''
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "gpt_config.yaml")


def test_attributes_are_read_as_flags() -> None:
    found = read(TEXT)
    assert READER.detect(found.document) == 0.95
    assert found.values("stated") == {
        "model.layers": 24,
        "model.hidden_size": 1024,
        "model.attention_heads": 16,
        "model.key_value_heads": 4,
        "model.gated_feed_forward": True,
        "model.maximum_positions": 4096,
        "model.tied_embeddings": False,
        "memory.recompute_mode": "selective",
        "parallelism.tensor_parallel_size": 2,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.sequence_parallel": True,
        "precision.bf16": True,
        "batch.micro_batch_size": 2,
        "batch.global_batch_size": 128,
        "batch.sequence_length": 4096,
        "optimizer.learning_rate": 2.5e-4,
        "optimizer.minimum_learning_rate": 1e-5,
        "optimizer.weight_decay": 0.0,
        "optimizer.is_distributed": True,
        "checkpoint.directory": "/ckpt/run",
        "checkpoint.interval_steps": 500,
        "communication.initialization_timeout_seconds": 1800.0,
        "data.workers": 0,
    }
    assert found.values("derived") == {
        "model.feed_forward_size": 2688,
        "optimizer.warmup_steps": 100,
        "run.steps": 10_000,
        "checkpoint.enabled": True,
        "communication.timeout_seconds": 1800.0,
        "run.framework": "megatron-lm",
    }
    assert found.line("parallelism.tensor_parallel_size") == 13


def test_null_and_false_leave_a_flag_out() -> None:
    found = read(TEXT)
    assert found.value("precision.fp16") is False
    assert found.status("precision.fp16") == "default"
    assert found.value("precision.fp8") is False
    assert found.value("model.experts") is None
    assert found.value("model.experts_per_token") is None
    assert found.value("telemetry.sinks") is None


def test_variables_of_the_environment_are_not_known() -> None:
    found = read(TEXT)
    assert found.status("checkpoint.resume") == "unknown"
    assert found.note("checkpoint.resume") == "placeholder ${RESUME_FROM}"


def test_experts_and_offload() -> None:
    text = TEXT.replace("num_moe_experts: null", "num_moe_experts: 8")
    found = read(text.replace("cpu_offloading: False", "cpu_offloading: True"))
    assert found.value("model.experts") == 8
    assert found.value("model.experts_per_token") == 2
    assert found.value("memory.activation_offload") is True


def test_texts_are_not_converted() -> None:
    assert keys_and_texts(read(TEXT)) == [("min_lr", "1e-5", True)]


@pytest.mark.parametrize(
    "text",
    [
        "language_model: {num_layers: 2}\n",
        "language_model: {num_layers: 2}\nmodel_parallel: [2]\n",
        "language_model: {path: x}\nmodel_parallel: {tensor_model_parallel_size: 2}\n",
        "language_model: gpt\n",
    ],
)
def test_look_alikes(text: str) -> None:
    assert READER.detect(document_of(text, "x.yaml")) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "language_model: null\nmodel_parallel: x\nlr: [1]\n",
        "language_model: {num_layers: [2], num_query_groups: {}}\nlr: {a: 1}\n1: 2\n",
        "language_model: {activation_func: [x], hidden_size: no}\nsave: 3\nload: 4\n",
    ],
)
def test_hostile_shapes_do_not_raise(text: str) -> None:
    assert read(text).value("run.framework") == "megatron-lm"


@needs_corpus
def test_published_file() -> None:
    (path,) = corpus_folder("configs/megatron-yaml").iterdir()
    found = read(path.read_text("utf-8"))
    assert READER.detect(found.document) == 0.95
    assert found.value("batch.mode") == "rampup"
    assert found.value("model.key_value_heads") == 16
