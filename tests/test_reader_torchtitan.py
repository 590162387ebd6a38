"""torchtitan's TOML."""

import json

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, read_text
from speccheck.validator.sources.formats.torchtitan import READER

FULL = """\
[job]
dump_folder = "/lustre/titan/"

[metrics]
log_freq = 5
enable_tensorboard = true
enable_wandb = true

[model]
name = "llama3"
flavor = "70B"
converters = ["quantize.linear.float8"]

[optimizer]
name = "AdamW"
lr = 3e-4
beta2 = 0.95
implementation = "foreach"

[lr_scheduler]
warmup_steps = 600
decay_type = "cosine"
min_lr_factor = 0.1

[training]
local_batch_size = 2
global_batch_size = 1024
seq_len = 8192
max_norm = 1.0
steps = 40000
mixed_precision_param = "bfloat16"
enable_cpu_offload = true

[training.dataloader]
num_workers = 4

[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = 64
fsdp_reshard_after_forward = "never"
tensor_parallel_degree = 8
enable_async_tensor_parallel = true
context_parallel_degree = 1

[checkpoint]
enable = true
folder = "ckpt"
interval = 250
async_mode = "async_with_pinned_mem"
keep_latest_k = 5

[activation_checkpoint]
mode = "full"

[compile]
enable = true

[comm]
init_timeout_seconds = 600
train_timeout_seconds = 60

[quantize.linear.float8]
recipe_name = "rowwise"

[debug]
seed = 42
deterministic = true
"""
CORE = """\
[job]
description = "a run"
[model]
flavor = "custom"
[training]
local_batch_size = 4
[parallelism]
"""
PIPELINE = """\
[model]
flavor = "8B"
[training]
local_batch_size = 16
[parallelism]
pipeline_parallel_degree = 4
pipeline_parallel_schedule = "1F1B"
"""
OF_2024 = """\
[job]
dump_folder = "./outputs"
[training]
batch_size = 8
seq_len = 2048
compile = true
data_parallel_degree = -1
tensor_parallel_degree = 2
warmup_steps = 200
[experimental]
pipeline_parallel_degree = 1
[checkpoint]
enable_checkpoint = true
interval = 100
[optimizer]
fused = true
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "train.toml")


def test_states_every_leaf_that_stands_in_the_file() -> None:
    assert read(FULL).values("stated") == {
        "telemetry.log_interval_steps": 5,
        "optimizer.name_of_optimizer": "adamw",
        "optimizer.learning_rate": 3e-4,
        "optimizer.beta2": 0.95,
        "kernels.fused_optimizer": True,
        "optimizer.warmup_steps": 600,
        "optimizer.schedule": "cosine",
        "batch.micro_batch_size": 2,
        "batch.global_batch_size": 1024,
        "batch.sequence_length": 8192,
        "optimizer.clip_norm": 1.0,
        "run.steps": 40000,
        "precision.compute_dtype": "bf16",
        "precision.fp8_recipe": "rowwise",
        "data.workers": 4,
        "parallelism.replicate_size": 2,
        "parallelism.shard_size": 64,
        "parallelism.tensor_parallel_size": 8,
        "parallelism.context_parallel_size": 1,
        "communication.overlap_tensor_parallel": True,
        "checkpoint.enabled": True,
        "checkpoint.interval_steps": 250,
        "checkpoint.asynchronous": True,
        "checkpoint.keep_last": 5,
        "memory.recompute_mode": "full",
        "kernels.compiled": True,
        "communication.initialization_timeout_seconds": 600.0,
        "communication.timeout_seconds": 60.0,
        "run.seed": 42,
        "run.deterministic": True,
    }


def test_derives_what_follows_from_the_file() -> None:
    assert read(FULL).values("derived") == {
        "run.framework": "torchtitan",
        "precision.bf16": True,
        "precision.fp8": True,
        "parallelism.sharding_stage": 2,
        "parallelism.sequence_parallel": True,
        "memory.parameter_offload_device": "cpu",
        "memory.optimizer_offload_device": "cpu",
        "optimizer.minimum_learning_rate": pytest.approx(3e-5),
        "checkpoint.directory": "/lustre/titan/ckpt",
        "checkpoint.resume": True,
        "telemetry.sinks": ("tensorboard", "wandb"),
        "model.name_of_model": "llama3 70B",
    }


def test_places_are_those_of_the_keys() -> None:
    leaves = read(FULL)
    assert leaves.line("optimizer.learning_rate") == 16
    assert leaves.line("communication.timeout_seconds") == 60
    assert leaves.line("precision.fp8") == 12
    assert leaves.line("data.workers") == 35


def test_defaults() -> None:
    leaves = read(CORE)
    assert leaves.values("default") == {
        "parallelism.replicate_size": 1,
        "parallelism.shard_size": -1,
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.expert_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.sharding_stage": 3,
        "parallelism.engine": "fsdp2",
        "batch.gradient_accumulation_steps": 1,
        "batch.sequence_length": 2048,
        "batch.mode": "fixed",
        "precision.parameter_dtype": "fp32",
        "precision.compute_dtype": "bf16",
        "precision.bf16": True,
        "precision.gradient_reduce_dtype": "fp32",
        "memory.recompute_mode": "selective",
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
        "kernels.compiled": False,
        "kernels.fused_optimizer": True,
        "optimizer.clip_norm": 1.0,
        "communication.initialization_timeout_seconds": 300.0,
        "communication.timeout_seconds": 100.0,
        "checkpoint.enabled": False,
        "checkpoint.asynchronous": False,
        "checkpoint.interval_steps": 500,
        "checkpoint.interval_unit": "steps",
        "checkpoint.keep_last": 10,
        "checkpoint.format": "sharded",
        "checkpoint.save_optimizer": True,
        "data.workers": 0,
        "data.resumable": True,
        "telemetry.log_interval_steps": 10,
        "telemetry.profiler": False,
        "telemetry.sinks": (),
        "telemetry.throughput": True,
        "run.steps": 10000,
        "run.role": "pretrain",
        "run.uses_torch": True,
    }
    assert leaves.note("communication.timeout_seconds") == (
        "comm.train_timeout_seconds is not set: 100 in torchtitan 0.1.0 and later"
    )


def test_experts_are_not_spread_by_default() -> None:
    assert read(CORE).value("parallelism.expert_parallel_size") == 1


def test_minus_one_stays_as_written() -> None:
    leaves = read(
        CORE + "data_parallel_shard_degree = -1\n[lr_scheduler]\nwarmup_steps = 2\n"
    )
    assert leaves.value("parallelism.shard_size") == -1
    assert leaves.status("parallelism.shard_size") == "stated"
    text = CORE.replace("local_batch_size = 4", "global_batch_size = -1\nseq_len = 8")
    assert read(text).value("batch.global_batch_size") is None


def test_a_pipeline_cuts_the_batch_of_a_rank() -> None:
    leaves = read(PIPELINE + "pipeline_parallel_microbatch_size = 2\n")
    assert leaves.value("batch.micro_batch_size") == 2
    assert leaves.value("batch.gradient_accumulation_steps") == 8
    assert leaves.value("parallelism.virtual_stages") == 1
    assert leaves.value("parallelism.pipeline_engine") == "torch"
    assert leaves.value("parallelism.sharding_stage") == 2
    unset = read(PIPELINE)
    assert unset.value("batch.micro_batch_size") == 1
    assert unset.status("batch.micro_batch_size") == "default"
    assert unset.value("batch.gradient_accumulation_steps") == 16


@pytest.mark.parametrize(
    ("lines", "engine", "stage"),
    [
        ("data_parallel_shard_degree = 1", "unset", 0),
        (
            "data_parallel_shard_degree = 1\ndata_parallel_replicate_degree = 8",
            "ddp",
            0,
        ),
        ('fsdp_reshard_after_forward = "always"', "fsdp2", 3),
        ("pipeline_parallel_degree = 2", "fsdp2", 2),
        ("data_parallel_shard_degree = 1\ncontext_parallel_degree = 2", "fsdp2", 3),
    ],
)
def test_sharding(lines: str, engine: str, stage: int) -> None:
    leaves = read(CORE + lines + "\n")
    assert (leaves.value("parallelism.engine") or "unset") == engine
    assert leaves.value("parallelism.sharding_stage") == stage


def test_spellings_of_2024() -> None:
    leaves = read(OF_2024)
    assert leaves.values("stated") == {
        "batch.micro_batch_size": 8,
        "batch.sequence_length": 2048,
        "kernels.compiled": True,
        "parallelism.shard_size": -1,
        "parallelism.tensor_parallel_size": 2,
        "optimizer.warmup_steps": 200,
        "parallelism.pipeline_parallel_size": 1,
        "checkpoint.enabled": True,
        "checkpoint.interval_steps": 100,
        "kernels.fused_optimizer": True,
    }
    # It kept all of them then, and 10 from v0.1 on.
    assert leaves.value("checkpoint.keep_last") is None
    assert leaves.value("checkpoint.resume") is True


def test_a_model_is_named_by_its_name_and_flavor() -> None:
    leaves = read(CORE.replace('flavor = "custom"', 'name = "qwen3"\nflavor = "32B"'))
    assert leaves.value("model.name_of_model") == "qwen3 32B"


def test_roles() -> None:
    assert read(CORE.replace("custom", "debugmodel")).value("run.role") == "debug"
    initial = '[checkpoint]\ninitial_load_path = "/ckpt/base"\n'
    assert read(CORE + initial).value("run.role") == "continued"


def test_mx_converters() -> None:
    text = CORE.replace(
        'flavor = "custom"', 'flavor = "x"\nconverters = ["quantize.linear.mx"]'
    )
    assert read(text).value("precision.fp8") is True
    assert read(text).value("precision.fp8_recipe") == "mxfp8"


def test_a_fixed_step_to_load_is_not_the_newest() -> None:
    lines = "[checkpoint]\nenable = true\nload_step = 500\n"
    assert read(CORE + lines).value("checkpoint.resume") is None


def test_a_dump_of_the_resolved_settings_in_json() -> None:
    content = {
        "job": {"dump_folder": "./outputs"},
        "model": {"name": "llama3", "flavor": "8B"},
        "training": {"local_batch_size": 1, "seq_len": 8192},
        "parallelism": {"tensor_parallel_degree": 1},
    }
    leaves = read_text(READER, json.dumps(content), "dump.json")
    assert READER.detect(leaves.document) >= 0.5
    assert leaves.value("batch.sequence_length") == 8192


@pytest.mark.parametrize(
    "content",
    [
        {"training": [1], "parallelism": 3, "model": "x"},
        {
            "training": {"local_batch_size": True, "dataloader": 4},
            "model": {"converters": "float8", "flavor": 7},
            "checkpoint": {"async_mode": 1, "folder": []},
        },
        {"parallelism": {"tensor_parallel_degree": "8"}, "metrics": [], "job": 1},
    ],
)
def test_odd_shapes_are_read_without_a_word(content: object) -> None:
    leaves = read_text(READER, json.dumps(content), "dump.json")
    assert leaves.value("batch.micro_batch_size") is None


@pytest.mark.parametrize(
    "text",
    [
        "[training]\nseq_len = 1\n[model]\nsize = 3\n",
        '[job]\ndescription = "x"\n[model]\nflavor = "y"\n',
        '[tool.x]\nname = "project"\n[training]\nepochs = 3\n',
    ],
)
def test_look_alikes_are_not_recognised(text: str) -> None:
    assert READER.detect(document_of(text, "a.toml")) < 0.5


def test_is_recognised() -> None:
    for text in (FULL, CORE, PIPELINE, OF_2024):
        assert READER.detect(document_of(text, "a.toml")) >= 0.5


@needs_corpus
def test_every_published_file_is_recognised_and_read() -> None:
    missed: list[str] = []
    for path in sorted(corpus_folder("configs/torchtitan").iterdir()):
        document = document_of(path.read_text("utf-8"), "settings.toml")
        if READER.detect(document) < 0.5:
            missed.append(path.name)
        assert READER.read(document).facts.facts
    assert missed == []
