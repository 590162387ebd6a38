"""Megatron-Bridge: overrides of a recipe and dumped configurations."""

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, read_text
from speccheck.validator.sources.formats.megatron_bridge import READER

TEXT = """\
model:
  _target_: megatron.bridge.models.llama.llama_provider.LlamaModelProvider
  tensor_model_parallel_size: 8
  pipeline_model_parallel_size: 4
  virtual_pipeline_model_parallel_size: 2
  context_parallel_size: 2
  sequence_parallel: true
  seq_length: 8192
  num_layers: 80
  recompute_granularity: null
  cuda_graph_impl: none
train:
  train_iters: 5000
  global_batch_size: 512
  micro_batch_size: 1
  exit_duration_in_mins: 220
optimizer:
  optimizer: adam
  lr: 3e-4
  min_lr: 3e-5
  use_distributed_optimizer: true
scheduler:
  lr_decay_style: cosine
  lr_warmup_iters: 500
ddp:
  grad_reduce_in_fp32: false
  overlap_grad_reduce: true
checkpoint:
  save: /ckpt/run
  load: /ckpt/run/
  save_interval: 250
  ckpt_format: torch_dist
  async_save: true
dist:
  use_megatron_fsdp: false
  use_torch_fsdp2: false
  distributed_timeout_minutes: 15
logger:
  log_interval: 10
  tensorboard_dir: /logs
  wandb_project: ''
rng:
  seed: 1234
mixed_precision: bf16_with_fp8_current_scaling_mixed
"""
PARTIAL = """\
train: {train_iters: 100, micro_batch_size: 1}
scheduler: {lr_warmup_iters: 10}
logger: {log_interval: 1}
dist: {use_torch_fsdp2: true}
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "overrides.yaml")


def test_sections() -> None:
    found = read(TEXT)
    assert READER.detect(found.document) == 0.95
    assert found.values("stated") == {
        "parallelism.tensor_parallel_size": 8,
        "parallelism.pipeline_parallel_size": 4,
        "parallelism.virtual_stages": 2,
        "parallelism.context_parallel_size": 2,
        "parallelism.sequence_parallel": True,
        "batch.sequence_length": 8192,
        "model.layers": 80,
        "kernels.cuda_graphs": False,
        "run.steps": 5000,
        "batch.global_batch_size": 512,
        "batch.micro_batch_size": 1,
        "recovery.exit_before_walltime": True,
        "optimizer.name_of_optimizer": "adam",
        "optimizer.learning_rate": 3e-4,
        "optimizer.minimum_learning_rate": 3e-5,
        "optimizer.is_distributed": True,
        "optimizer.schedule": "cosine",
        "optimizer.warmup_steps": 500,
        "communication.overlap_gradient_reduce": True,
        "checkpoint.directory": "/ckpt/run",
        "checkpoint.interval_steps": 250,
        "checkpoint.format": "sharded",
        "checkpoint.asynchronous": True,
        "communication.initialization_timeout_seconds": 900.0,
        "telemetry.log_interval_steps": 10,
        "telemetry.sinks": ("tensorboard",),
        "run.seed": 1234,
    }
    assert found.values("derived") == {
        "precision.bf16": True,
        "precision.fp16": False,
        "precision.fp8": True,
        "parallelism.engine": "megatron",
        "checkpoint.enabled": True,
        "checkpoint.resume": True,
        "run.framework": "megatron-bridge",
        "parallelism.ulysses_size": 1,
        "run.uses_torch": True,
    }
    assert found.line("parallelism.tensor_parallel_size") == 3
    assert found.status("precision.gradient_reduce_dtype") == "unknown"


def test_the_rest_is_the_recipes() -> None:
    found = read(PARTIAL)
    assert READER.detect(found.document) >= 0.5
    assert found.values("default") == {}
    assert found.value("parallelism.ulysses_size") == 1
    assert found.value("parallelism.engine") == "fsdp2"


def test_adapter_and_fields_of_precision() -> None:
    text = (
        f"{PARTIAL}peft: {{dim: 16}}\nmixed_precision: {{fp16: true}}\n"
        "ddp: {grad_reduce_in_fp32: true}\n"
    )
    found = read(text)
    assert found.value("run.role") == "lora"
    assert found.value("model.adapter") == "lora"
    assert found.value("precision.fp16") is True
    assert found.value("precision.gradient_reduce_dtype") == "fp32"


@pytest.mark.parametrize(
    "text",
    [
        # litgpt
        "train: {global_batch_size: 8, micro_batch_size: 1}\nout_dir: x\ndevices: 8\n",
        "train: {train_iters: 8, micro_batch_size: 1}\nrng: {seed: 1}\n",
        "train: true\nscheduler: {lr_warmup_iters: 1}\n",
        "train: {epochs: 3}\nlogger: {log_interval: 1}\nrng: {seed: 1}\n",
    ],
)
def test_look_alikes(text: str) -> None:
    assert READER.detect(document_of(text, "x.yaml")) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "train: [1]\nmodel: x\nddp: null\npeft: 3\nmixed_precision: [a]\n",
        "train: {rampup_batch_size: {}}\nlogger: {tensorboard_dir: [1]}\n",
        "checkpoint: {save: 3, load: [4]}\ndist: {use_torch_fsdp2: 1}\n",
    ],
)
def test_hostile_shapes_do_not_raise(text: str) -> None:
    assert read(text).value("run.framework") == "megatron-bridge"


@needs_corpus
def test_published_files() -> None:
    for path in corpus_folder("configs/megatron-bridge").iterdir():
        found = read(path.read_text("utf-8"))
        assert READER.detect(found.document) >= 0.8, path.name
        assert found.value("batch.micro_batch_size") == 1
