"""What a run of torchtitan writes down of its settings."""

import json
from typing import Any

import pytest

from reader_text import ReadText, document_of, read_text
from speccheck.validator.sources.formats.torchtitan import READER

PARALLELISM = {
    "data_parallel_replicate_degree": 2,
    "data_parallel_shard_degree": -1,
    "fsdp_reshard_after_forward": "default",
    "tensor_parallel_degree": 4,
    "pipeline_parallel_degree": 1,
    "context_parallel_degree": 1,
    "expert_parallel_degree": 1,
}
OF_SPRING = {
    "model_spec": {"name": "llama3", "flavor": "70B"},
    "dump_folder": "/lustre/titan",
    "profiling": {"enable_profiling": True},
    "metrics": {"log_freq": 10, "enable_tensorboard": True, "enable_wandb": False},
    "dataloader": {"dataset": "c4", "num_workers": 4, "pin_memory": True},
    "model_converters": {"converters": [{"recipe_name": "rowwise", "emulate": False}]},
    "optimizer": {"name": "AdamW", "lr": 0.0003, "implementation": "fused"},
    "lr_scheduler": {"warmup_steps": 200, "min_lr_factor": 0.5},
    "training": {
        "local_batch_size": 2,
        "global_batch_size": -1,
        "seq_len": 8192,
        "steps": 10000,
        "mixed_precision_param": "bfloat16",
    },
    "parallelism": PARALLELISM,
    "checkpoint": {
        "enable": True,
        "folder": "checkpoint",
        "interval": 500,
        "async_mode": "async",
        "keep_latest_k": 10,
        "load_step": -1,
    },
    "activation_checkpoint": {"mode": "full"},
    "compile": {"enable": False},
    "comm": {"init_timeout_seconds": 300, "train_timeout_seconds": 100},
    "debug": {"seed": None, "deterministic": False},
}
OF_SUMMER = {
    "optimizer": {
        "implementation": "fused",
        "param_groups": [
            {"pattern": "bias$", "optimizer_kwargs": {"lr": 0.01}},
            {
                "pattern": ".*",
                "optimizer_name": "Muon",
                "optimizer_kwargs": {
                    "lr": 0.0003,
                    "betas": [0.9, 0.95],
                    "weight_decay": 0.1,
                },
            },
        ],
    },
    "training": {
        "num_tokens_per_microbatch_per_dp_rank": 16384,
        "num_tokens_per_train_step": 4194304,
        "max_context_length": 8192,
        "steps": 1000,
        "enable_cpu_offload": True,
        "disable_cuda_graphs": False,
        "mixed_precision_param": "bfloat16",
    },
    "parallelism": {
        **PARALLELISM,
        "enable_sequence_parallel": False,
        "num_pp_microbatches": 8,
    },
    "checkpointer": None,
    "activation_checkpoint": None,
    "profiler": {"enable_profiling": False},
    "comm": {"init_timeout_seconds": 300, "train_timeout_seconds": 100},
    "model": {"dim": 4096},
    "metrics": {"log_freq": 5},
    "compile": {"backend": "inductor"},
    "dump_folder": "./outputs",
}


def read(settings: dict[str, Any]) -> ReadText:
    return read_text(READER, json.dumps(settings, indent=2), "config.json")


def changed(settings: dict[str, Any], section: str, **keys: object) -> dict[str, Any]:
    return {**settings, section: {**settings[section], **keys}}


def line_of(found: ReadText, leaf: str) -> str:
    """Return the text of the line of the first place of a leaf."""
    return found.document.text.splitlines()[found.line(leaf) - 1].strip().rstrip(",")


@pytest.mark.parametrize("settings", [OF_SPRING, OF_SUMMER])
def test_a_dump_is_torchtitan(settings: dict[str, Any]) -> None:
    text = json.dumps(settings)
    assert READER.detect(document_of(text, "config.json")) > 0.9
    assert set(READER.keys).intersection(settings)


def test_reads_the_sections_of_spring_by_their_new_names() -> None:
    found = read(OF_SPRING)
    assert found.values("stated", "derived") == {
        "batch.micro_batch_size": 2,
        "batch.sequence_length": 8192,
        "checkpoint.asynchronous": True,
        "checkpoint.directory": "/lustre/titan/checkpoint",
        "checkpoint.enabled": True,
        "checkpoint.interval_steps": 500,
        "checkpoint.keep_last": 10,
        "checkpoint.resume": True,
        "communication.initialization_timeout_seconds": 300.0,
        "communication.timeout_seconds": 100.0,
        "data.pin_memory": True,
        "data.workers": 4,
        "kernels.compiled": False,
        "kernels.fused_optimizer": True,
        "memory.recompute_mode": "full",
        "model.name_of_model": "llama3 70B",
        "optimizer.learning_rate": 3e-4,
        "optimizer.minimum_learning_rate": 1.5e-4,
        "optimizer.name_of_optimizer": "adamw",
        "optimizer.warmup_steps": 200,
        "parallelism.context_parallel_size": 1,
        "parallelism.expert_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.replicate_size": 2,
        "parallelism.sequence_parallel": True,
        "parallelism.shard_size": -1,
        "parallelism.tensor_parallel_size": 4,
        "precision.bf16": True,
        "precision.compute_dtype": "bf16",
        "precision.fp8": True,
        "precision.fp8_recipe": "rowwise",
        "run.deterministic": False,
        "run.framework": "torchtitan",
        "run.steps": 10000,
        "telemetry.log_interval_steps": 10,
        "telemetry.profiler": True,
        "telemetry.sinks": ("tensorboard",),
    }


@pytest.mark.parametrize(
    ("leaf", "line"),
    [
        ("data.workers", '"num_workers": 4'),
        ("checkpoint.interval_steps", '"interval": 500'),
        ("checkpoint.directory", '"dump_folder": "/lustre/titan"'),
        ("model.name_of_model", '"flavor": "70B"'),
        ("telemetry.profiler", '"enable_profiling": true'),
        ("precision.fp8", '"recipe_name": "rowwise"'),
    ],
)
def test_places_are_those_of_the_dump(leaf: str, line: str) -> None:
    assert line_of(read(OF_SPRING), leaf) == line


def test_counts_tokens_in_samples() -> None:
    found = read(OF_SUMMER)
    assert found.value("batch.micro_batch_size") == 2
    assert (
        found.note("batch.micro_batch_size") == "16,384 tokens / 8,192 of a sample = 2"
    )
    assert found.value("batch.global_batch_size") == 512
    assert found.value("batch.sequence_length") == 8192
    assert found.value("batch.gradient_accumulation_steps") is None


def test_tokens_that_are_no_whole_samples_stay_unknown() -> None:
    found = read(
        changed(
            OF_SUMMER,
            "training",
            num_tokens_per_microbatch_per_dp_rank=10_000,
            num_tokens_per_train_step=100_000,
        )
    )
    assert found.status("batch.micro_batch_size") == "unknown"
    assert found.status("batch.global_batch_size") == "unknown"
    assert "no whole number" in found.note("batch.micro_batch_size")


def test_without_a_total_there_is_one_round_of_micro_batches() -> None:
    alone = changed(OF_SUMMER, "training", num_tokens_per_train_step=-1)
    assert read(alone).value("batch.gradient_accumulation_steps") == 1
    piped = changed(alone, "parallelism", pipeline_parallel_degree=4)
    assert read(piped).value("batch.gradient_accumulation_steps") == 8


def test_a_section_that_is_null_is_off() -> None:
    found = read(OF_SUMMER)
    assert found.value("checkpoint.enabled") is False
    assert found.note("checkpoint.enabled") == "checkpointer is null"
    assert found.value("memory.recompute_mode") == "none"
    assert found.value("kernels.compiled") is True
    off = read({**OF_SUMMER, "compile": None})
    assert off.value("kernels.compiled") is False


def test_a_checkpointer_that_is_there_saves() -> None:
    found = read({**OF_SUMMER, "checkpointer": {"interval": 50, "folder": "ckpt"}})
    assert found.value("checkpoint.enabled") is True
    assert found.value("checkpoint.interval_steps") == 50
    assert line_of(found, "checkpoint.interval_steps") == '"interval": 50'
    assert found.value("checkpoint.directory") == "./outputs/ckpt"
    assert found.value("checkpoint.resume") is True


def test_takes_the_optimizer_of_the_last_group() -> None:
    found = read(OF_SUMMER)
    assert found.value("optimizer.name_of_optimizer") == "muon"
    assert found.value("optimizer.learning_rate") == 3e-4
    assert found.value("optimizer.beta2") == 0.95
    assert found.value("optimizer.weight_decay") == 0.1


def test_reads_the_switches_of_summer() -> None:
    found = read(OF_SUMMER)
    assert found.value("parallelism.sequence_parallel") is False
    assert found.value("kernels.cuda_graphs") is True
    assert found.value("memory.parameter_offload_device") == "cpu"


def test_no_key_of_a_dump_is_unknown() -> None:
    keyed = read(OF_SUMMER).reading.keyed
    assert keyed is not None
    assert keyed.catalogue is None


def test_no_default_of_the_toml_stands_in_for_what_a_dump_leaves_out() -> None:
    found = read({**OF_SUMMER, "comm": {}})
    assert found.status("communication.timeout_seconds") is None


def test_a_dump_of_a_toml_reads_like_the_toml() -> None:
    training = {"local_batch_size": 4, "seq_len": 2048, "steps": 10}
    found = read(
        {
            "job": {"dump_folder": "./out", "description": "a run"},
            "model": {"name": "llama3", "flavor": "8B", "converters": []},
            "training": {**training, "global_batch_size": -1, "dataset_path": None},
            "parallelism": {"pipeline_parallel_degree": 2},
        }
    )
    assert found.value("batch.gradient_accumulation_steps") == 4
    assert found.value("model.name_of_model") == "llama3 8B"
    keyed = found.reading.keyed
    assert keyed is not None
    assert keyed.catalogue is not None


@pytest.mark.parametrize(
    "broken",
    [
        {"optimizer": [], "checkpointer": [], "parallelism": "x", "compile": 3},
        {"optimizer": {"param_groups": "x"}, "model_converters": {"converters": 1}},
        {"optimizer": {"param_groups": [1, None]}, "model_spec": [1]},
        {"optimizer": {"param_groups": [{"optimizer_kwargs": 3}]}, "dataloader": "x"},
    ],
)
def test_odd_shapes_do_not_raise(broken: dict[str, Any]) -> None:
    found = read({"dump_folder": "x", "training": {"steps": 1}, **broken})
    assert found.value("run.framework") == "torchtitan"
