"""GPT-NeoX: files of one run, dashes and underscores, DeepSpeed's keys at the top."""

import json
from pathlib import Path

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, keys_and_texts, read_text
from speccheck.validator.cli.main import main
from speccheck.validator.engine.request import Request
from speccheck.validator.run.run import run
from speccheck.validator.sources.formats.gpt_neox import READER

WHOLE = """\
{
  "pipe-parallel-size": 4,
  "model-parallel-size": 2,
  "num-layers": 32,
  "hidden-size": 4096,
  "num-attention-heads": 32,
  "num-kv-heads": 8,
  "seq-length": 2048,
  "max-position-embeddings": 2048,
  "pos-emb": "rotary",
  "no-weight-tying": true,
  "activation": "swiglu",
  "intermediate-size": 32768,
  "mlp-multiple-of": 256,
  "attention-config": [[["flash"], 32]],
  "optimizer": {
    "type": "Adam",
    "params": {"lr": 0.00012, "betas": [0.9, 0.95], "weight_decay": 0.5}
  },
  "min_lr": 0.000012,
  "zero-optimization": {"stage": 1, "reduce_bucket_size": 1000, "overlap_comm": true},
  "train_batch_size": 1024,
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": 8,
  "checkpoint-activations": true,
  "gradient_clipping": 1.0,
  "weight-decay": 0.1,
  "precision": "bfloat16",
  "bf16": {"enabled": true},
  "fp32_allreduce": true,
  "train-iters": 143000,
  "lr-decay-style": "cosine",
  "warmup": 0.01,
  "checkpoint-factor": 1000,
  "keep-last-n-checkpoints": 3,
  "log-interval": 10,
  "data-path": "/data/pile_text_document",
  "save": "/ckpt/7B",
  "load": "/ckpt/7B/",
  "tensorboard-dir": "/logs",
  "use_wandb": true,
  "num_nodes": 16,
  "num_gpus": 8,
}
"""
# In the manner of configs/local_setup.yml: nothing but paths.
PATHS = """\
{
  "data-path": "data/enwik8/enwik8_text_document",
  "vocab-file": "data/gpt2-vocab.json",
  "merge-file": "data/gpt2-merges.txt",
  "save": "checkpoints",
  "load": "checkpoints",
  "checkpoint_validation_with_forward_pass": False,
  "tensorboard-dir": "tensorboard",
  "log-dir": "logs",
}
"""
MODEL = """\
pipe_parallel_size: 1
model_parallel_size: 1
num_layers: 12
hidden_size: 768
num_attention_heads: 12
seq_length: 2048
max_position_embeddings: 2048
pos_emb: rotary
"""
TRAINING = MODEL + "train_iters: 1000\ntrain_micro_batch_size_per_gpu: 4\n"


def read(text: str, name: str = "7B.yml") -> ReadText:
    return read_text(READER, text, name)


def test_a_whole_file_with_dashes() -> None:
    found = read(WHOLE)
    assert found.values("stated") == {
        "data.paths": ("/data/pile_text_document",),
        "cluster.nodes": 16,
        "cluster.gpus_per_node": 8,
        "parallelism.pipeline_parallel_size": 4,
        "parallelism.tensor_parallel_size": 2,
        "parallelism.sharding_stage": 1,
        "batch.global_batch_size": 1024,
        "batch.micro_batch_size": 4,
        "batch.gradient_accumulation_steps": 8,
        "batch.sequence_length": 2048,
        "precision.compute_dtype": "bf16",
        "precision.bf16": True,
        "optimizer.learning_rate": 0.00012,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.95,
        "optimizer.minimum_learning_rate": 0.000012,
        "optimizer.weight_decay": 0.1,
        "optimizer.clip_norm": 1.0,
        "optimizer.schedule": "cosine",
        "optimizer.warmup_ratio": 0.01,
        "communication.overlap_gradient_reduce": True,
        "checkpoint.directory": "/ckpt/7B",
        "checkpoint.interval_steps": 1000,
        "checkpoint.keep_last": 3,
        "telemetry.log_interval_steps": 10,
        "telemetry.sinks": ("tensorboard", "wandb"),
        "model.layers": 32,
        "model.hidden_size": 4096,
        "model.attention_heads": 32,
        "model.key_value_heads": 8,
        "model.maximum_positions": 2048,
        "model.tied_embeddings": False,
        "run.steps": 143_000,
    }
    assert found.values("derived") == {
        "parallelism.engine": "deepspeed",
        "parallelism.pipeline_engine": "deepspeed",
        "precision.fp16": False,
        "precision.gradient_reduce_dtype": "fp32",
        "memory.recompute_mode": "full",
        "communication.gradient_bucket_bytes": 2000,
        "checkpoint.enabled": True,
        "checkpoint.resume": True,
        "kernels.attention_backend": "flash",
        "model.family": "transformer",
        "model.gated_feed_forward": True,
        "model.feed_forward_size": 11_008,  # 32,768 x 2/3 / 2 in steps of 256
        "run.framework": "gpt-neox",
    }


def test_places_have_the_spelling_of_the_file() -> None:
    found = read(WHOLE)
    (place,) = found.leaves["parallelism.tensor_parallel_size"].places
    assert place.key == "model-parallel-size"
    assert found.line("parallelism.tensor_parallel_size") == 3
    (stage,) = found.leaves["parallelism.sharding_stage"].places
    assert stage.key == "zero-optimization.stage"
    assert found.line("parallelism.sharding_stage") == 21


def test_keys_are_known_by_their_underscores() -> None:
    keyed = read(WHOLE).reading.keyed
    assert keyed is not None
    assert keyed.catalogue is not None
    unknown = [key.path for key in keyed.keys if not keyed.catalogue.is_known(key.path)]
    assert unknown == []
    (key,) = [item for item in keyed.keys if item.path == ("keep_last_n_checkpoints",)]
    assert key.place.key == "keep-last-n-checkpoints"


def test_defaults_of_a_whole_file() -> None:
    defaults = read(WHOLE).values("default")
    assert defaults["parallelism.context_parallel_size"] == 1
    assert defaults["parallelism.sequence_parallel"] is False
    assert defaults["data.workers"] == 2
    assert defaults["checkpoint.save_optimizer"] is True
    assert defaults["checkpoint.asynchronous"] is False
    assert defaults["optimizer.decay_steps"] == 143_000
    assert defaults["telemetry.throughput"] is True


def test_a_file_of_paths_speaks_for_itself_alone() -> None:
    found = read(PATHS, "local_setup.yml")
    assert READER.detect(found.document) >= 0.5
    assert found.values("stated") == {
        "checkpoint.directory": "checkpoints",
        "data.paths": ("data/enwik8/enwik8_text_document",),
        "telemetry.sinks": ("tensorboard",),
    }
    assert found.value("checkpoint.enabled") is True
    assert found.value("checkpoint.resume") is True
    for leaf in ("precision.bf16", "parallelism.sharding_stage", "model.family"):
        assert found.status(leaf) is None


def test_a_file_of_the_model_leaves_training_and_paths_open() -> None:
    found = read(MODEL)
    for leaf in ("precision.fp16", "checkpoint.enabled", "memory.recompute_mode"):
        assert found.status(leaf) is None
    assert found.value("model.feed_forward_size") == 3072
    assert found.status("model.feed_forward_size") == "default"
    assert found.value("model.key_value_heads") == 12


def test_a_file_of_the_training_leaves_the_paths_open() -> None:
    found = read(TRAINING)
    assert found.value("batch.gradient_accumulation_steps") == 1
    assert found.value("precision.fp16") is False
    assert found.value("kernels.attention_backend") == "eager"
    assert found.status("checkpoint.enabled") == "unknown"


@pytest.mark.parametrize("stages", [0, 1])
def test_no_pipeline(stages: int) -> None:
    found = read(
        MODEL.replace("pipe_parallel_size: 1", f"pipe_parallel_size: {stages}")
    )
    assert found.value("parallelism.pipeline_parallel_size") == 1
    assert found.status("parallelism.pipeline_engine") is None


@pytest.mark.parametrize(
    ("lines", "dtype", "switches"),
    [
        ("precision: bfloat16", "bf16", {"bf16"}),
        ("precision: fp16", "fp16", {"fp16"}),
        ("precision: fp32", "fp32", set()),
        ("fp16: {enabled: true}", None, {"fp16"}),
        ("bf16: {enabled: true}", None, {"bf16"}),
        ("fp16: {enabled: true, type: bfloat16}", None, {"bf16"}),
        ("precision: bfloat16\nfp16: {enabled: true}", None, {"bf16", "fp16"}),
    ],
)
def test_precision(lines: str, dtype: str | None, switches: set[str]) -> None:
    found = read(f"{TRAINING}{lines}\n")
    assert found.value("precision.compute_dtype") == dtype
    on = {name for name in ("bf16", "fp16") if found.value(f"precision.{name}")}
    assert on == switches


def test_precision_against_its_block_is_a_conflict() -> None:
    found = read(f"{TRAINING}precision: bfloat16\nfp16: {{enabled: true}}\n")
    assert found.status("precision.compute_dtype") == "conflict"


@pytest.mark.parametrize(
    ("kind", "family", "heads"),
    [("mamba", "ssm", None), ("rwkv", "rnn", 12), ("flash", "transformer", 12)],
)
def test_kinds_of_layers(kind: str, family: str, heads: int | None) -> None:
    found = read(f"{TRAINING}attention_config: [[[{kind}], 12]]\n")
    assert found.value("model.family") == family
    assert found.value("model.attention_heads") == heads
    assert (found.value("model.feed_forward_size") is None) == (family != "transformer")


def test_a_mixture_of_kinds_is_a_hybrid() -> None:
    found = read(f"{TRAINING}attention_config: [[[mamba, flash], 6]]\n")
    assert found.value("model.family") == "hybrid"
    assert found.status("kernels.attention_backend") is None


def test_values_that_mean_something_else() -> None:
    text = (
        f"{TRAINING}num_nodes: -1\nmake_vocab_size_divisible_by: 1\n"
        "checkpoint_factor: 2\ncheckpoint_scale: log\nmoe_num_experts: 1\n"
    )
    found = read(text)
    assert found.note("cluster.nodes") == "-1: all nodes of the host file"
    assert found.note("model.vocabulary_multiple") == "1: the vocabulary is not padded"
    assert found.note("checkpoint.interval_steps").startswith("checkpoint_scale: log")
    assert found.value("model.experts") is None


def test_experts_and_preferences() -> None:
    found = read(f"{TRAINING}moe_num_experts: 8\nmoe_top_k: 2\ntrain_impl: dpo\n")
    assert found.value("model.experts") == 8
    assert found.value("model.experts_per_token") == 2
    assert found.value("run.role") == "rl"


def test_numbers_that_yaml_reads_as_texts() -> None:
    text = "{}min_lr: 1e-5\noptimizer: {{type: Adam, params: {{lr: 6e-4}}}}\n"
    assert keys_and_texts(read(text.format(TRAINING))) == [
        ("min_lr", "1e-5", True),
        ("optimizer.params.lr", "6e-4", True),
    ]


def test_numbers_of_json_that_yaml_reads_as_texts() -> None:
    content = {"pipe-parallel-size": 1, "pos-emb": "rotary", "num-layers": 2}
    text = json.dumps(content)[:-1] + ', "min-lr": 1e-5, "warmup": 1.0e-2}'
    assert keys_and_texts(read(text, "tune.json")) == [("min-lr", "1e-5", True)]


def test_of_equal_keys_the_last_counts() -> None:
    found = read(f"{MODEL}num_layers: 24\n")
    assert found.value("model.layers") == 24
    keyed = found.reading.keyed
    assert keyed is not None
    assert [item.key for item in keyed.twice] == ["num_layers"]
    assert not keyed.refuses_duplicates


@pytest.mark.parametrize(
    "text",
    [
        '{"train_batch_size": 8, "zero_optimization": {"stage": 2}}',
        "language_model: {a: 2}\ndata_path: x\nsave: y\nload: z\nvocab_file: v\n",
        "model: {model_parallel_size: 2}\ndata_path: x\nsave: y\nload: z\n",
        "data_path: data/train.jsonl\nsave: out\n",
        "num_layers: 12\nhidden_size: 768\n",
    ],
)
def test_look_alikes(text: str) -> None:
    assert READER.detect(document_of(text, "x.yml")) < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "pipe_parallel_size: [1]\nmodel_parallel_size: null\noptimizer: adam\n",
        "pos_emb: {}\nattention_config: flash\nfp16: true\nzero_optimization: []\n",
        "attention_config: [[flash, 2], 3, [[1], 2]]\nactivation: 3\n",
        "mlp_multiple_of: 0\nintermediate_size: x\nactivation: swiglu\n",
        "attention_config: null\nactivation: swiglu\nintermediate_size: 0\n1: 2\n",
        "checkpoint_scale: [log]\ncheckpoint_factor: 3\nmoe_num_experts: x\n",
        "moe_top_k: [2]\nmoe_num_experts: 4\nbf16: {type: 1}\nprecision: [fp16]\n",
        "train_impl: [dpo]\nsave: 3\nload: 4\n",
    ],
)
def test_hostile_shapes_do_not_raise(text: str) -> None:
    found = read(text)
    assert found.value("run.framework") == "gpt-neox"


def test_two_files_make_one_plan(tmp_path: Path) -> None:
    (tmp_path / "local_setup.yml").write_text(PATHS)
    (tmp_path / "125M.yml").write_text(TRAINING + "checkpoint-factor: 500\n")
    report = tmp_path / "report.json"
    files = [str(tmp_path / name) for name in ("125M.yml", "local_setup.yml")]
    assert main([*files, "--output", f"json={report}"]) == 0
    document = json.loads(report.read_text("utf-8"))
    assert {row["format"] for row in document["files"]} == {"gpt-neox"}
    (plan,) = document["plans"]
    assert plan["formats"] == ["gpt-neox"]
    assert len(plan["files"]) == 2


@needs_corpus
def test_published_files_are_read() -> None:
    for path in sorted(corpus_folder("configs/gpt-neox").iterdir()):
        found = read(path.read_text("utf-8"), path.name)
        assert READER.detect(found.document) >= 0.8, path.name
        assert found.value("run.framework") == "gpt-neox"
        assert found.status("model.layers") == "stated", path.name


@needs_corpus
def test_at_least_98_percent_of_published_keys_are_known() -> None:
    known, total = 0, 0
    for path in corpus_folder("configs/gpt-neox").iterdir():
        keyed = read(path.read_text("utf-8"), path.name).reading.keyed
        assert keyed is not None
        assert keyed.catalogue is not None
        total += len(keyed.keys)
        known += sum(keyed.catalogue.is_known(key.path) for key in keyed.keys)
    assert known >= 0.98 * total > 1_000


def test_precisions_without_blocks_are_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "trainer_base.yaml"
    path.write_text(
        "train_iters: 500\ndata_path: null\nvocab_file: null\nmerge_file: null\n"
        "log_interval: 10\nsave_interval: 100\neval_interval: 100\n"
        "fp16: false\nbf16: true\noptimizer: adam\n"
    )
    assert [*run(Request(arguments=(str(path),))).plans] == []
