"""OLMo's YAML."""

from pathlib import Path

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, read_text
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.formats.olmo import READER
from speccheck.validator.sources.joining.merge import merge

FULL = """\
run_name: small
seed: 7
wandb:
  project: pretraining
model:
  d_model: 2048
  n_heads: 16
  n_layers: 24
  mlp_ratio: 8
  weight_tying: true
  rope: true
  flash_attention: true
  include_bias: false
  block_type: sequential
  activation_type: swiglu
  max_sequence_length: 2048
  vocab_size: 50280
  embedding_size: 50304
compile:
  fullgraph: false
optimizer:
  name: adamw
  learning_rate: 4e-4
  weight_decay: 0.1
  betas: [0.9, 0.95]
scheduler:
  name: cosine_with_warmup
  t_warmup: 2000
  alpha_f: 0.1
save_folder: /ckpt/small
save_interval: 1000
save_interval_ephemeral: 250
save_num_checkpoints_to_keep: -1
save_interval_unsharded: 5000
max_duration: 1e12T
global_train_batch_size: 1024
device_train_microbatch_size: 8
precision: amp_bf16
distributed_strategy: fsdp
fsdp:
  precision: mixed
  sharding_strategy: HYBRID_SHARD
  hybrid_sharding_num_model_replicas: 4
activation_checkpointing: whole_layer
max_grad_norm: 1.0
time_limit: 169200
data:
  num_workers: 16
  drop_last: true
  pin_memory: true
  prefetch_factor: 2
  persistent_workers: true
"""
CORE = """\
model:
  d_model: 1024
  block_type: sequential
  max_sequence_length: 1024
device_train_microbatch_size: 4
save_interval_unsharded: null
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "train.yaml")


def test_states_every_leaf_that_stands_in_the_file() -> None:
    assert read(FULL).values("stated") == {
        "run.seed": 7,
        "model.hidden_size": 2048,
        "model.attention_heads": 16,
        "model.layers": 24,
        "model.tied_embeddings": True,
        "model.maximum_positions": 2048,
        "model.vocabulary_size": 50304,
        "kernels.attention_backend": "flash",
        "batch.sequence_length": 2048,
        "batch.global_batch_size": 1024,
        "batch.micro_batch_size": 8,
        "optimizer.name_of_optimizer": "adamw",
        "optimizer.learning_rate": 4e-4,
        "optimizer.weight_decay": 0.1,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.95,
        "optimizer.clip_norm": 1.0,
        "optimizer.schedule": "cosine_with_warmup",
        "optimizer.warmup_steps": 2000,
        "checkpoint.directory": "/ckpt/small",
        "checkpoint.interval_steps": 250,
        "checkpoint.keep_last": 0,
        "precision.compute_dtype": "bf16",
        "parallelism.sharding_stage": 3,
        "parallelism.replicate_size": 4,
        "memory.recompute_mode": "full",
        "data.workers": 16,
        "data.drop_last": True,
        "data.pin_memory": True,
        "data.prefetch_factor": 2,
        "data.persistent_workers": True,
    }


def test_derives_what_follows_from_the_file() -> None:
    leaves = read(FULL)
    assert leaves.values("derived") == {
        "run.framework": "olmo",
        "run.steps": 476_838,
        "parallelism.engine": "fsdp1",
        "precision.bf16": True,
        "precision.fp16": False,
        "precision.gradient_reduce_dtype": "fp32",
        "model.gated_feed_forward": True,
        "model.feed_forward_size": 8192,
        "model.key_value_heads": 16,
        "optimizer.minimum_learning_rate": pytest.approx(4e-5),
        "checkpoint.enabled": True,
        "checkpoint.format": "sharded",
        "recovery.exit_before_walltime": True,
        "telemetry.sinks": ("wandb",),
        "kernels.compiled": True,
    }
    assert leaves.line("parallelism.replicate_size") == 43
    assert leaves.note("run.steps") == (
        "1,000,000,000,000 tokens / (1,024 x 2,048) = 476,838"
    )


def test_defaults() -> None:
    leaves = read(CORE)
    assert leaves.values("default") == {
        "parallelism.engine": "fsdp1",
        "parallelism.sharding_stage": 3,
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.expert_parallel_size": 1,
        "memory.recompute_mode": "none",
        "memory.activation_offload": False,
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
        "kernels.attention_backend": "sdpa",
        "kernels.compiled": False,
        "optimizer.clip_norm": 0.0,
        "checkpoint.enabled": True,
        "checkpoint.interval_steps": 1000,
        "checkpoint.interval_unit": "steps",
        "checkpoint.format": "sharded",
        "checkpoint.asynchronous": False,
        "checkpoint.save_optimizer": True,
        "checkpoint.resume": False,
        "data.workers": 0,
        "data.pin_memory": False,
        "data.persistent_workers": False,
        "data.drop_last": False,
        "data.resumable": True,
        "telemetry.log_interval_steps": 1,
        "telemetry.sinks": (),
        "telemetry.throughput": True,
        "model.tied_embeddings": True,
        "model.family": "transformer",
        "model.adapter": "none",
        "batch.mode": "fixed",
        "batch.uneven_micro_batches": True,
        "run.role": "pretrain",
        "run.uses_torch": True,
    }


@pytest.mark.parametrize(
    ("lines", "steps", "epochs"),
    [
        ("max_duration: 739328", 739_328, None),
        ("max_duration: '10000'", 10_000, None),
        ("max_duration: 2ep", None, 2.0),
        ("max_duration: 2097152T\nglobal_train_batch_size: 512", 4, None),
        ("max_duration: 2097153T\nglobal_train_batch_size: 512", 5, None),
        ("max_duration: 2e12T", None, None),
        ("max_duration: 100ba", None, None),
        ("max_duration: 1000\nstop_at: 400", 400, None),
        ("max_duration: 1ep\nstop_at: 400", 400, 1.0),
    ],
)
def test_length(lines: str, steps: int | None, epochs: float | None) -> None:
    leaves = read(CORE + lines + "\n")
    assert leaves.value("run.steps") == steps
    assert leaves.value("run.epochs") == epochs


def test_without_workers_nothing_reaches_the_loader() -> None:
    alone = "data: {num_workers: 0, prefetch_factor: 2, persistent_workers: true}"
    leaves = merge(READER.read(document_of(alone, "a.yaml")).facts.facts)
    assert leaves["data.workers"].value == 0
    assert "data.prefetch_factor" not in leaves
    assert not leaves["data.persistent_workers"].value


def test_a_length_in_batches_is_llm_foundrys() -> None:
    note = read(CORE + "max_duration: 100ba\n").note("run.steps")
    assert note == "'100ba' is neither steps, tokens (2e12T) nor epochs (1ep)"


@pytest.mark.parametrize(
    ("lines", "engine", "stage", "replicas"),
    [
        ("distributed_strategy: ddp", "ddp", 0, None),
        ("distributed_strategy: single", None, 0, None),
        ("fsdp: {sharding_strategy: SHARD_GRAD_OP}", "fsdp1", 2, None),
        ("fsdp: {sharding_strategy: _HYBRID_SHARD_ZERO2}", "fsdp1", 2, None),
        ("fsdp: {sharding_strategy: sideways}", "fsdp1", None, None),
        # The replicas of a strategy that is not hybrid are not read.
        ("fsdp: {hybrid_sharding_num_model_replicas: 3}", "fsdp1", 3, None),
    ],
)
def test_sharding(
    lines: str, engine: str | None, stage: int | None, replicas: int | None
) -> None:
    leaves = read(CORE + lines + "\n")
    assert leaves.value("parallelism.engine") == engine
    assert leaves.value("parallelism.sharding_stage") == stage
    assert leaves.value("parallelism.replicate_size") == replicas


@pytest.mark.parametrize(
    ("lines", "dtype", "reduction"),
    [
        ("precision: amp_bf16\nfsdp: {precision: mixed}", "bf16", "fp32"),
        ("precision: amp_bf16\nfsdp: {precision: pure}", "bf16", "bf16"),
        ("precision: amp_fp16", "fp16", "fp16"),
        ("precision: amp_bf16\nfsdp: {precision: null}", "bf16", None),
        ("precision: amp_bf16\ndistributed_strategy: ddp", "bf16", "fp32"),
        ("precision: bf16", None, None),
    ],
)
def test_precision(lines: str, dtype: str | None, reduction: str | None) -> None:
    leaves = read(CORE + lines + "\n")
    assert leaves.value("precision.compute_dtype") == dtype
    assert leaves.value("precision.gradient_reduce_dtype") == reduction


@pytest.mark.parametrize(
    ("word", "mode"),
    [
        ("whole_layer", "full"),
        ("true", "full"),
        ("false", "none"),
        ("null", "none"),
        ("one_in_four", "selective"),
        ("fine_grained", "selective"),
    ],
)
def test_recomputation(word: str, mode: str) -> None:
    leaves = read(CORE + f"activation_checkpointing: {word}\n")
    assert leaves.value("memory.recompute_mode") == mode


@pytest.mark.parametrize(
    ("lines", "is_on", "steps", "kind", "keep"),
    [
        ("save_interval: 500", True, 500, "sharded", 0),
        (
            "save_interval: 500\nsave_num_checkpoints_to_keep: 3",
            True,
            500,
            "sharded",
            3,
        ),
        (
            "save_num_checkpoints_to_keep: 0\nsave_interval_unsharded: 900",
            True,
            900,
            "full",
            0,
        ),
        ("save_num_checkpoints_to_keep: 0", False, None, None, None),
    ],
)
def test_checkpoints(
    lines: str,
    is_on: bool,  # noqa: FBT001
    steps: int | None,
    kind: str | None,
    keep: int | None,
) -> None:
    core = CORE.replace(
        "save_interval_unsharded: null\n", "distributed_strategy: fsdp\n"
    )
    leaves = read(core + lines + "\n")
    assert leaves.value("checkpoint.enabled") is is_on
    assert leaves.value("checkpoint.interval_steps") == steps
    assert leaves.value("checkpoint.format") == kind
    assert leaves.value("checkpoint.keep_last") == keep


@pytest.mark.parametrize(
    ("lines", "resume", "role"),
    [
        ("load_path: null", False, "pretrain"),
        ("try_load_latest_save: true", True, "pretrain"),
        ("load_path: '${path.last_checkpoint:/ckpt}'", True, None),
        ("load_path: /ckpt/step10", None, None),
        ("load_path: /ckpt/step10\nrestore_dataloader: false", None, "continued"),
    ],
)
def test_where_it_starts(lines: str, resume: object, role: str | None) -> None:
    leaves = read(CORE + lines + "\n")
    assert leaves.value("checkpoint.resume") is resume
    assert leaves.value("run.role") == role


def test_other_data_begin_anew_on_purpose() -> None:
    leaves = read(CORE + "restore_dataloader: false\n")
    assert leaves.value("data.resumable") is False
    leaves = read(CORE + "load_path: /ckpt/step10\nrestore_dataloader: false\n")
    assert leaves.status("data.resumable") == "unknown"


def test_feed_forward_sizes() -> None:
    plain = CORE.replace("  block_type", "  activation_type: gelu\n  block_type")
    plain = plain.replace("  block_type", "  mlp_hidden_size: 4096\n  block_type")
    assert read(plain).value("model.feed_forward_size") == 4096
    assert read(plain).value("model.gated_feed_forward") is False


def test_warm_up_in_tokens_says_nothing_of_steps() -> None:
    leaves = read(CORE + "scheduler: {units: tokens, t_warmup: 4000000}\n")
    assert leaves.status("optimizer.warmup_steps") is None


def test_references_are_worked_out_end_to_end(tmp_path: Path) -> None:
    path = tmp_path / "olmo.yaml"
    path.write_text(FULL.replace("/ckpt/small", "/ckpt/${run_name}"), "utf-8")
    status, (found,) = read_file(str(path))
    leaves = merge(found.readings[0].facts.facts)
    assert status.format == "olmo"
    assert leaves["checkpoint.directory"].value == "/ckpt/small"
    assert leaves["checkpoint.directory"].status == "stated"


@pytest.mark.parametrize(
    "lines",
    [
        "fsdp: [1]\nscheduler: cosine\noptimizer: 3\nwandb: [x]\ncompile: yes\n",
        "fsdp: {sharding_strategy: [a]}\nprecision: {a: 1}\nmax_duration: [1]\n",
        "data: text\nsave_interval: many\ntime_limit: soon\nload_path: {a: 1}\n",
        "activation_checkpointing: [1]\ndistributed_strategy: {a: 1}\n",
    ],
)
def test_odd_shapes_are_read_without_a_word(lines: str) -> None:
    assert read(CORE + lines).value("batch.micro_batch_size") == 4


@pytest.mark.parametrize(
    "text",
    [
        # llm-foundry
        (
            "model: {name: mpt_causal_lm, d_model: 768, n_heads: 12, n_layers: 12}\n"
            "max_duration: 10ba\ntrain_loader: {}\nfsdp_config: {}\n"
            "device_train_microbatch_size: 4\nglobal_train_batch_size: 256\n"
        ),
        "model: {rope: true, block_type: x}\nmax_duration: 1ep\n",
        "device_train_microbatch_size: 4\nfsdp: {}\nmodel: [rope]\n",
        "- model\n",
    ],
)
def test_look_alikes_are_not_recognised(text: str) -> None:
    assert READER.detect(document_of(text, "a.yaml")) < 0.5
    assert READER.detect(document_of(CORE, "a.yaml")) >= 0.5


@needs_corpus
def test_every_published_file_is_recognised_and_read() -> None:
    missed: list[str] = []
    for path in sorted(corpus_folder("configs/olmo").iterdir()):
        document = document_of(path.read_text("utf-8"), "settings.yaml")
        if READER.detect(document) < 0.5:
            missed.append(path.name)
        assert READER.read(document).facts.facts
    assert missed == []


@needs_corpus
def test_files_of_llm_foundry_are_left_alone() -> None:
    taken = [
        path.name
        for path in sorted(corpus_folder("configs/llm-foundry").iterdir())
        for document in [document_of(path.read_text("utf-8"), "settings.yaml")]
        if READER.detect(document) > 0
    ]
    assert taken == []
