"""OLMo-core's saved experiments."""

import json

import pytest

from reader_text import ReadText, read_text
from speccheck.validator.sources.formats.olmo_core import READER

FULL = """\
{
  "run_name": "tiny-hybrid",
  "launch": {"num_nodes": 4, "num_gpus": 8},
  "model": {
    "d_model": 2048, "vocab_size": 100352, "n_layers": 16,
    "tie_word_embeddings": false, "dtype": "float32",
    "block": {
      "name": "reordered_norm",
      "sequence_mixer": {
        "n_heads": 16, "n_kv_heads": 8, "head_dim": 128, "backend": "flash_2",
        "_CLASS_": "olmo_core.nn.attention.AttentionConfig"
      },
      "feed_forward": {"hidden_size": 8192}
    },
    "_CLASS_": "olmo_core.nn.transformer.config.TransformerConfig"
  },
  "dataset": {"sequence_length": 4096, "mix": "OLMo-mix-1124"},
  "data_loader": {"global_batch_size": 2097152, "seed": 34521, "num_workers": 4},
  "train_module": {
    "rank_microbatch_size": 32768, "max_sequence_length": 4096,
    "optim": {
      "lr": 4e-4, "betas": [0.9, 0.95], "weight_decay": 0.1,
      "_CLASS_": "olmo_core.optim.adamw.AdamWConfig"
    },
    "scheduler": {
      "units": "steps", "warmup": 2000, "alpha_f": 0.1,
      "_CLASS_": "olmo_core.optim.scheduler.CosWithWarmup"
    },
    "compile_model": true, "max_grad_norm": 1.0,
    "dp_config": {
      "name": "hsdp", "param_dtype": "bfloat16", "reduce_dtype": "float32",
      "num_replicas": 4, "shard_degree": 8
    },
    "ac_config": {"mode": "selected_modules", "modules": ["blocks.*.feed_forward"]}
  },
  "trainer": {
    "save_folder": "/ckpt/tiny", "load_strategy": "if_available",
    "metrics_collect_interval": 10,
    "max_duration": {"value": 20971520000, "unit": "tokens"},
    "callbacks": {
      "checkpointer": {
        "save_interval": 1000, "ephemeral_save_interval": 250, "save_async": true
      },
      "wandb": {"enabled": true}, "comet": {"enabled": false}
    }
  },
  "init_seed": 12536
}
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "config.json")


def changed(*path: str, value: object) -> ReadText:
    """Read the file with another value at a path; None deletes it."""
    data = json.loads(FULL)
    block = data
    for name in path[:-1]:
        block = block.setdefault(name, {})
    if value is None:
        del block[path[-1]]
    else:
        block[path[-1]] = value
    return read(json.dumps(data))


def test_states_what_stands_in_the_file() -> None:
    assert read(FULL).values("stated") == {
        "run.seed": 12536,
        "cluster.nodes": 4,
        "cluster.gpus_per_node": 8,
        "model.hidden_size": 2048,
        "model.layers": 16,
        "model.vocabulary_size": 100352,
        "model.tied_embeddings": False,
        "model.attention_heads": 16,
        "model.key_value_heads": 8,
        "model.head_dimension": 128,
        "model.feed_forward_size": 8192,
        "kernels.attention_backend": "flash",
        "kernels.compiled": True,
        "precision.parameter_dtype": "fp32",
        "precision.compute_dtype": "bf16",
        "precision.gradient_reduce_dtype": "fp32",
        "parallelism.replicate_size": 4,
        "parallelism.shard_size": 8,
        "batch.sequence_length": 4096,
        "data.seed": 34521,
        "data.workers": 4,
        "optimizer.learning_rate": 4e-4,
        "optimizer.weight_decay": 0.1,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.95,
        "optimizer.clip_norm": 1.0,
        "optimizer.warmup_steps": 2000,
        "checkpoint.directory": "/ckpt/tiny",
        "checkpoint.interval_steps": 250,
        "checkpoint.asynchronous": True,
        "telemetry.log_interval_steps": 10,
    }


def test_derives_batches_from_tokens() -> None:
    leaves = read(FULL)
    assert leaves.value("batch.micro_batch_size") == 8
    assert leaves.value("batch.global_batch_size") == 512
    assert leaves.value("run.steps") == 10_000
    assert leaves.note("batch.micro_batch_size") == "32,768 tokens / 4,096 = 8"


def test_derives_what_follows_from_classes_and_names() -> None:
    leaves = read(FULL)
    assert leaves.value("run.framework") == "olmo-core"
    assert leaves.value("parallelism.engine") == "fsdp2"
    assert leaves.value("parallelism.sharding_stage") == 3
    assert leaves.value("memory.recompute_mode") == "selective"
    assert leaves.value("optimizer.name_of_optimizer") == "adamw"
    assert leaves.value("optimizer.minimum_learning_rate") == pytest.approx(4e-5)
    assert leaves.value("telemetry.sinks") == ("wandb",)
    assert leaves.status("parallelism.tensor_parallel_size") == "default"


def test_a_microbatch_of_part_of_a_sequence_is_left_open() -> None:
    leaves = changed("train_module", "rank_microbatch_size", value=5000)
    assert leaves.status("batch.micro_batch_size") is None


@pytest.mark.parametrize(
    ("style", "leaf"),
    [
        ("ring", "parallelism.context_parallel_size"),
        ("uly", "parallelism.ulysses_size"),
    ],
)
def test_context_parallelism_has_two_styles(style: str, leaf: str) -> None:
    leaves = changed("train_module", "cp_config", value={"degree": 4, style: {}})
    assert leaves.value(leaf) == 4


def test_blocks_that_differ_tell_no_sizes() -> None:
    leaves = changed("model", "block_overrides", value={"0": {"name": "default"}})
    assert leaves.status("model.attention_heads") is None
    assert leaves.value("model.layers") == 16


def test_the_older_name_of_attention() -> None:
    attention = {"n_heads": 12, "use_flash": True}
    leaves = changed("model", "block", value={"attention": attention})
    assert leaves.value("model.attention_heads") == 12
    assert leaves.value("model.key_value_heads") == 12
    assert leaves.value("kernels.attention_backend") == "flash"


def test_checkpoints_without_their_callback() -> None:
    leaves = changed("trainer", "callbacks", value=None)
    assert leaves.value("checkpoint.interval_steps") == 250
    assert leaves.status("checkpoint.enabled") == "default"
    leaves = changed("trainer", "no_checkpoints", value=True)
    assert leaves.value("checkpoint.enabled") is False


def test_pipelines_are_not_said_to_shard_all() -> None:
    leaves = changed("train_module", "pp_config", value={"degree": 2})
    assert leaves.value("parallelism.pipeline_parallel_size") == 2
    assert leaves.status("parallelism.sharding_stage") is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("model",), {"block": [1], "d_model": "wide"}),
        (("train_module", "dp_config"), "hsdp"),
        (("train_module", "optim"), 3),
        (("trainer", "callbacks"), {"checkpointer": [1]}),
        (("trainer", "max_duration"), "1ep"),
    ],
)
def test_odd_shapes_are_read_without_a_word(
    path: tuple[str, ...], value: object
) -> None:
    assert changed(*path, value=value).value("batch.micro_batch_size") == 8


def test_recognises_the_format() -> None:
    assert READER.detect(read(FULL).document) > 0.9
    bare = changed("model", "_CLASS_", value=None)
    assert 0.8 < READER.detect(bare.document) < 0.9
    other = read('{"model": {}, "trainer": {"devices": 8}, "train_module": 1}')
    assert READER.detect(other.document) == 0.0


def test_experts_over_all_ranks_are_left_open() -> None:
    leaves = changed("train_module", "ep_config", value={"degree": -1})
    assert leaves.status("parallelism.expert_parallel_size") == "unknown"
