"""NeMo Automodel's YAML recipes."""

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, keys_and_texts, read_text
from speccheck.validator.sources.formats.nemo_automodel import READER

FULL = """\
recipe: TrainFinetuneRecipeForNextTokenPrediction
step_scheduler:
  global_batch_size: 256
  local_batch_size: 2
  ckpt_every_steps: 200
  max_steps: 4000
  num_epochs: 2
  log_remote_every_steps: 5
dist_env:
  backend: nccl
  timeout_minutes: 10
rng:
  _target_: nemo_automodel.components.training.rng.StatefulRNG
  seed: 1111
model:
  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained
  pretrained_model_name_or_path: org/base-8b
  torch_dtype: bf16
  attn_implementation: flash_attention_2
  trust_remote_code: false
compile:
  enabled: true
fp8:
  enabled: true
  recipe_name: rowwise
distributed:
  strategy: fsdp2
  dp_size: none
  dp_replicate_size: 2
  tp_size: 4
  cp_size: 2
  ep_size: 1
  sequence_parallel: true
  activation_checkpointing: true
  mp_policy:
    param_dtype: bfloat16
    reduce_dtype: torch.float32
loss_fn:
  _target_: nemo_automodel.components.loss.linear_ce.FusedLinearCrossEntropy
dataset:
  _target_: nemo_automodel.components.datasets.llm.chat_dataset.ChatDataset
  seq_length: 2048
packed_sequence:
  packed_sequence_size: 8192
dataloader:
  _target_: torchdata.stateful_dataloader.StatefulDataLoader
  num_workers: 4
  pin_memory: true
checkpoint:
  enabled: true
  checkpoint_dir: /ckpt/base-8b
  model_save_format: safetensors
  is_async: true
  max_recent_checkpoints: 3
  restore_from: LATEST
optimizer:
  _target_: torch.optim.AdamW
  betas: [0.9, 0.95]
  lr: 1e-5
  weight_decay: 0.1
  fused: true
clip_grad_norm:
  max_norm: 1.0
lr_scheduler:
  lr_decay_style: cosine
  lr_warmup_steps: 100
  min_lr: 1.0e-6
wandb:
  project: tuning
"""
CORE = """\
recipe: TrainFinetuneRecipeForNextTokenPrediction
step_scheduler:
  global_batch_size: 64
  local_batch_size: 4
dist_env: {backend: nccl}
model: {pretrained_model_name_or_path: org/base}
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "recipe.yaml")


def test_states_every_leaf_that_stands_in_the_file() -> None:
    assert read(FULL).values("stated") == {
        "batch.global_batch_size": 256,
        "batch.micro_batch_size": 2,
        "batch.sequence_length": 8192,
        "checkpoint.interval_steps": 200,
        "checkpoint.enabled": True,
        "checkpoint.directory": "/ckpt/base-8b",
        "checkpoint.asynchronous": True,
        "checkpoint.keep_last": 3,
        "run.steps": 4000,
        "run.epochs": 2.0,
        "run.seed": 1111,
        "telemetry.log_interval_steps": 5,
        "communication.timeout_seconds": 600.0,
        "model.name_of_model": "org/base-8b",
        "security.trusts_remote_code": False,
        "kernels.attention_backend": "flash",
        "kernels.compiled": True,
        "kernels.fused_optimizer": True,
        "parallelism.engine": "fsdp2",
        "parallelism.tensor_parallel_size": 4,
        "parallelism.context_parallel_size": 2,
        "parallelism.expert_parallel_size": 1,
        "parallelism.replicate_size": 2,
        "parallelism.sequence_parallel": True,
        "memory.recompute_mode": "full",
        "precision.fp8": True,
        "precision.fp8_recipe": "rowwise",
        "precision.compute_dtype": "bf16",
        "precision.gradient_reduce_dtype": "fp32",
        "precision.parameter_dtype": "bf16",
        "data.workers": 4,
        "data.pin_memory": True,
        "optimizer.learning_rate": 1e-5,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.95,
        "optimizer.weight_decay": 0.1,
        "optimizer.clip_norm": 1.0,
        "optimizer.schedule": "cosine",
        "optimizer.warmup_steps": 100,
        "optimizer.minimum_learning_rate": 1e-6,
    }


def test_derives_what_follows_from_the_file() -> None:
    leaves = read(FULL)
    assert leaves.values("derived") == {
        "run.framework": "nemo-automodel",
        "parallelism.sharding_stage": 3,
        "precision.bf16": True,
        "precision.fp16": False,
        "batch.packing": True,
        "checkpoint.resume": True,
        "data.resumable": True,
        "kernels.fused_cross_entropy": True,
        "optimizer.name_of_optimizer": "adamw",
        "telemetry.sinks": ("wandb",),
    }
    assert leaves.line("communication.timeout_seconds") == 11
    assert leaves.line("parallelism.tensor_parallel_size") == 30
    assert leaves.line("batch.packing") == 44


def test_the_loader_converts_texts() -> None:
    assert keys_and_texts(read(FULL)) == []


def test_defaults() -> None:
    leaves = read(CORE)
    assert leaves.values("default") == {
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.expert_parallel_size": 1,
        "parallelism.replicate_size": 1,
        "parallelism.engine": "fsdp2",
        "parallelism.sharding_stage": 3,
        "precision.compute_dtype": "bf16",
        "precision.bf16": True,
        "precision.fp16": False,
        "precision.fp8": False,
        "precision.gradient_reduce_dtype": "fp32",
        "memory.recompute_mode": "none",
        "memory.parameter_offload_device": "none",
        "memory.optimizer_offload_device": "none",
        "kernels.compiled": False,
        "batch.mode": "fixed",
        "batch.packing": False,
        "checkpoint.asynchronous": False,
        "checkpoint.format": "sharded",
        "checkpoint.interval_unit": "steps",
        "checkpoint.keep_last": 0,
        "checkpoint.resume": True,
        "checkpoint.save_optimizer": True,
        "telemetry.log_interval_steps": 1,
        "telemetry.sinks": ("file",),
        "model.adapter": "none",
        "run.uses_torch": True,
    }


@pytest.mark.parametrize(
    ("lines", "engine", "stage"),
    [
        ("distributed: {strategy: ddp}", "ddp", 0),
        ("distributed: {strategy: megatron_fsdp}", "megatron-fsdp", 3),
        (
            "distributed: {strategy: mfsdp, zero_dp_strategy: 1}",
            "megatron-fsdp",
            1,
        ),
        ("distributed: {_target_: pkg.fsdp2.FSDP2Manager}", "fsdp2", 3),
        ("distributed: {_target_: pkg.ddp.DDPManager}", "ddp", 0),
        ("distributed: {_target_: own.Manager}", None, None),
        ("distributed: {strategy: other}", None, None),
        ("fsdp: {dp_size: 8}", "fsdp2", 3),
    ],
)
def test_engines(lines: str, engine: str | None, stage: int | None) -> None:
    leaves = read(CORE + lines + "\n")
    assert leaves.value("parallelism.engine") == engine
    assert leaves.value("parallelism.sharding_stage") == stage


@pytest.mark.parametrize(
    ("size", "value"), [("none", None), ("null", None), ("8", 8), ("'8'", 8)]
)
def test_the_data_parallel_size_may_fill_the_world(
    size: str, value: int | None
) -> None:
    leaves = read(CORE + f"distributed: {{dp_size: {size}}}\n")
    assert leaves.value("parallelism.data_parallel_size") == value
    expected = "stated" if value else None
    assert leaves.status("parallelism.data_parallel_size") == expected


@pytest.mark.parametrize(
    ("lines", "micro"),
    [
        ("distributed: {pp_size: 1}", 4),
        ("distributed: {pp_size: 4, pipeline: {pp_microbatch_size: 2}}", 2),
        ("distributed: {pp_size: 4, pipeline: {}}", 1),
        ("distributed: {pp_size: 2}\nautopipeline: {pp_microbatch_size: 3}", 3),
        ("distributed: {pp_size: two}", None),
    ],
)
def test_a_pipeline_cuts_the_batch_of_a_rank(lines: str, micro: int | None) -> None:
    leaves = read(CORE + lines + "\n")
    assert leaves.value("batch.micro_batch_size") == micro


@pytest.mark.parametrize(
    ("word", "mode"),
    [
        ("true", "full"),
        ("full", "full"),
        ("false", "none"),
        ("selective", "selective"),
        ("some", None),
    ],
)
def test_recomputation(word: str, mode: str | None) -> None:
    leaves = read(CORE + f"distributed: {{activation_checkpointing: {word}}}\n")
    assert leaves.value("memory.recompute_mode") == mode


def test_offload_takes_parameters_and_optimizer() -> None:
    policy = "{_target_: torch.distributed.fsdp.CPUOffloadPolicy}"
    leaves = read(CORE + f"distributed: {{offload_policy: {policy}}}\n")
    assert leaves.value("memory.parameter_offload_device") == "cpu"
    assert leaves.value("memory.optimizer_offload_device") == "cpu"


@pytest.mark.parametrize(
    ("lines", "role", "adapter"),
    [
        ("peft: {dim: 8}", "lora", "lora"),
        ("peft: {dim: 8}\nquantization: {load_in_4bit: true}", "lora", "qlora"),
        ("peft: null", None, "none"),
        ("teacher_model: {}\n", None, "none"),
        ("benchmark: {warmup_steps: 5}\npeft: {dim: 8}", "debug", "lora"),
        ("dataset: {_target_: pkg.datasets.llm.mock.build}", "debug", "none"),
    ],
)
def test_roles(lines: str, role: str | None, adapter: str) -> None:
    leaves = read(CORE + lines + "\n")
    assert leaves.value("run.role") == role
    assert leaves.value("model.adapter") == adapter


def test_new_weights_are_pre_training() -> None:
    gpt2 = "{_target_: pkg.models.gpt2.build_gpt2_model, n_embd: 768, n_layer: 12}"
    leaves = read(CORE.replace("{pretrained_model_name_or_path: org/base}", gpt2))
    assert leaves.value("run.role") == "pretrain"
    assert leaves.value("model.hidden_size") == 768
    assert leaves.value("model.layers") == 12


def test_a_recipe_for_images_is_fine_tuning() -> None:
    text = CORE.replace(
        "TrainFinetuneRecipeForNextTokenPrediction", "FinetuneRecipeForVLM"
    )
    assert read(text).value("run.role") == "sft"


@pytest.mark.parametrize(
    ("lines", "is_packed", "length"),
    [
        ("packed_sequence: {packed_sequence_size: 0}", False, None),
        (
            "packed_sequence: {packed_sequence_size: 0}\ndataset: {seq_len: 512}",
            False,
            512,
        ),
        ("packed_sequence: {pack_size: 4096}", True, 4096),
        ("dataset: {seq_length: 2048}", False, 2048),
    ],
)
def test_packing(
    lines: str,
    is_packed: bool,  # noqa: FBT001
    length: int | None,
) -> None:
    leaves = read(CORE + lines + "\n")
    assert leaves.value("batch.packing") is is_packed
    assert leaves.value("batch.sequence_length") == length


def test_a_named_checkpoint_may_not_be_the_newest() -> None:
    leaves = read(CORE + "checkpoint: {restore_from: /ckpt/step_5}\n")
    assert leaves.status("checkpoint.resume") == "unknown"


def test_attention_of_the_backend() -> None:
    model = "{backend: {attn: te}}"
    leaves = read(CORE.replace("{pretrained_model_name_or_path: org/base}", model))
    assert leaves.value("kernels.attention_backend") == "fused"


def test_sinks_that_are_switched_off() -> None:
    lines = "wandb: {enable: false, project: x}\nmlflow: {run_name: y}\n"
    assert read(CORE + lines).value("telemetry.sinks") == ("mlflow",)


def test_variables_with_a_default_are_filled_in() -> None:
    leaves = read(
        CORE
        + "wandb:\n  project: ${oc.env:PROJECT,tuning}\n  name: ${NAME,first}\n"
        + "  dir: ${FOLDER}\n"
    )
    keyed = leaves.reading.keyed
    assert keyed is not None
    values = {key.path[-1]: key.value for key in keyed.keys if key.path[0] == "wandb"}
    assert values["project"] == "tuning"
    assert values["name"] == "first"
    assert values["dir"] == "${FOLDER}"


@pytest.mark.parametrize(
    "lines",
    [
        "distributed: [1]\noptimizer: x\ncheckpoint: 3\npacked_sequence: y\n",
        "distributed: {strategy: [a], tp_size: {a: 1}, mp_policy: 3}\n",
        "optimizer: {betas: 0.9, _target_: [a]}\nrng: [1]\nwandb: 4\n",
        "peft: [1]\nquantization: {load_in_4bit: [x]}\ndataset: [1]\nfp8: on\n",
        "dataloader: x\nloss_fn: null\nlr_scheduler: 1\nseed: [1]\n",
    ],
)
def test_odd_shapes_are_read_without_a_word(lines: str) -> None:
    assert read(CORE + lines).value("batch.global_batch_size") == 64


@pytest.mark.parametrize(
    "text",
    [
        "step_scheduler: {interval: 5}\nmodel: {}\nrecipe: x\nrng: {}\n",
        "step_scheduler: {max_steps: 5}\nmodel: {}\n",
        "step_scheduler: {max_steps: 5}\nrecipe: x\nrng: {}\n",
        "step_scheduler: [max_steps]\nmodel: {}\nrecipe: x\nrng: {}\n",
        "- step_scheduler\n",
    ],
)
def test_look_alikes_are_not_recognised(text: str) -> None:
    assert READER.detect(document_of(text, "a.yaml")) < 0.5
    assert READER.detect(document_of(CORE, "a.yaml")) >= 0.5


@needs_corpus
def test_every_published_file_is_recognised_and_read() -> None:
    missed: list[str] = []
    for path in sorted(corpus_folder("configs/nemo-automodel").iterdir()):
        document = document_of(path.read_text("utf-8"), "settings.yaml")
        if READER.detect(document) < 0.5:
            missed.append(path.name)
        assert READER.read(document).facts.facts
    assert missed == []
