"""torchtune's YAML."""

from pathlib import Path

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, read_text
from speccheck.validator.evidence.stated_keys import KeyedFile
from speccheck.validator.sources.composition import compose
from speccheck.validator.sources.formats.torchtune import READER
from speccheck.validator.sources.joining.merge import merge

FULL = """\
output_dir: /lustre/tune/llama3_3_70B
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  path: /lustre/tokenizer.model
  max_seq_len: 4096
dataset:
  _component_: torchtune.datasets.alpaca_dataset
  packed: true
seed: 21
shuffle: true
model:
  _component_: torchtune.models.llama3_3.llama3_3_70b
tensor_parallel_dim: 2
data_parallel_shard_dim: 16
data_parallel_replicate_dim: 4
checkpointer:
  _component_: torchtune.training.FullModelHFCheckpointer
  checkpoint_dir: /lustre/Llama-3.3-70B-Instruct/
  output_dir: ${output_dir}
  keep_last_n_checkpoints: 3
  model_type: LLAMA3
resume_from_checkpoint: true
enable_async_checkpointing: true
batch_size: 2
epochs: 3
max_steps_per_epoch: 500
optimizer:
  _component_: torch.optim.AdamW
  lr: 2e-5
  betas: [0.9, 0.98]
  weight_decay: 0.01
  fused: true
lr_scheduler:
  _component_: torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup
  num_warmup_steps: 10
loss:
  _component_: torchtune.modules.loss.LinearCrossEntropyLoss
clip_grad_norm: 1.0
gradient_accumulation_steps: 4
compile: true
fsdp_cpu_offload: true
fsdp_reshard_after_forward: false
device: cuda
dtype: bf16
enable_fp8_training: true
fp8_recipe_name: tensorwise
enable_activation_checkpointing: true
enable_activation_offloading: false
metric_logger:
  _component_: torchtune.training.metric_logging.WandBLogger
  project: llama33
log_every_n_steps: 5
profiler:
  _component_: torchtune.training.setup_torch_profiler
  enabled: false
"""
CORE = """\
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
checkpointer:
  _component_: torchtune.training.FullModelHFCheckpointer
  output_dir: /lustre/out
optimizer:
  _component_: torch.optim.AdamW
  lr: 2e-5
batch_size: 2
gradient_accumulation_steps: 8
epochs: 1
"""
EVALUATION = """\
model:
  _component_: torchtune.models.llama3_1.llama3_1_8b
checkpointer:
  _component_: torchtune.training.FullModelHFCheckpointer
  output_dir: ./
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
device: cuda
dtype: bf16
tasks: ["truthfulqa_mc2"]
batch_size: 8
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "recipe.yaml")


def keyed(text: str) -> KeyedFile:
    found = read(text).reading.keyed
    assert found is not None
    return found


def test_states_what_a_recipe_says() -> None:
    assert read(FULL).values("stated") == {
        "batch.gradient_accumulation_steps": 4,
        "batch.micro_batch_size": 2,
        "batch.packing": True,
        "batch.sequence_length": 4096,
        "checkpoint.asynchronous": True,
        "checkpoint.directory": "/lustre/tune/llama3_3_70B",
        "checkpoint.keep_last": 3,
        "checkpoint.resume": True,
        "kernels.compiled": True,
        "kernels.fused_optimizer": True,
        "memory.activation_offload": False,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.98,
        "optimizer.clip_norm": 1.0,
        "optimizer.learning_rate": 2e-5,
        "optimizer.name_of_optimizer": "adamw",
        "optimizer.schedule": "cosine",
        "optimizer.warmup_steps": 10,
        "optimizer.weight_decay": 0.01,
        "parallelism.replicate_size": 4,
        "parallelism.shard_size": 16,
        "parallelism.tensor_parallel_size": 2,
        "precision.compute_dtype": "bf16",
        "precision.fp8": True,
        "precision.fp8_recipe": "tensorwise",
        "run.epochs": 3.0,
        "run.seed": 21,
        "telemetry.log_interval_steps": 5,
        "telemetry.profiler": False,
    }


def test_derives_what_follows() -> None:
    found = read(FULL)
    assert found.values("derived") == {
        "checkpoint.format": "sharded",
        "kernels.fused_cross_entropy": True,
        "memory.optimizer_offload_device": "cpu",
        "memory.parameter_offload_device": "cpu",
        "memory.recompute_mode": "full",
        "model.adapter": "none",
        "model.name_of_model": "llama3_3_70b",
        "parallelism.sharding_stage": 2,
        "run.framework": "torchtune",
        "run.steps": 1500,
        "telemetry.sinks": ("wandb",),
    }
    assert found.note("run.steps") == "at most 500 steps x 3 epochs = 1,500"
    assert found.line("memory.recompute_mode") == 47
    assert found.line("model.name_of_model") == 12


def test_what_a_recipe_does_without_being_told() -> None:
    found = read(CORE + "dtype: bf16\n")
    assert found.value("checkpoint.interval_unit") == "epoch"
    assert found.value("checkpoint.format") == "full"
    assert found.value("checkpoint.asynchronous") is False
    assert found.value("memory.recompute_mode") == "none"
    assert found.value("kernels.compiled") is False
    assert found.value("optimizer.clip_norm") == 0.0
    assert found.value("parallelism.shard_size") == -1
    assert found.value("parallelism.sharding_stage") == 3
    assert found.value("precision.optimizer_state_dtype") == "bf16"
    assert found.value("precision.gradient_reduce_dtype") == "bf16"
    assert found.value("run.role") == "sft"
    assert found.status("run.steps") is None
    assert not found.values("conflict")


def test_the_directory_of_checkpoints_is_worked_out() -> None:
    document = compose(document_of(FULL, "recipe.yaml"), READER).document
    leaf = merge(READER.read(document).facts.facts)["checkpoint.directory"]
    assert leaf.value == "/lustre/tune/llama3_3_70B"
    assert leaf.status == "stated"
    assert [place.key for place in leaf.places] == [
        "checkpointer.output_dir",
        "output_dir",
    ]


@pytest.mark.parametrize(
    ("settings", "leaf", "value"),
    [
        ("clip_grad_norm: inf", "optimizer.clip_norm", 0.0),
        ("compile: {model: false, loss: true}", "kernels.compiled", False),
        ("compile: {loss: true}", "kernels.compiled", True),
        ("fsdp: {cpu_offload: true}", "memory.parameter_offload_device", "cpu"),
        ("fsdp_reshard_after_forward: true", "parallelism.sharding_stage", 3),
        ("data_parallel_shard_dim: 1", "parallelism.sharding_stage", 0),
        ("save_every_n_steps: 250", "checkpoint.interval_steps", 250),
        ("save_every_n_steps: 250", "checkpoint.interval_unit", "steps"),
        ("enable_activation_checkpointing: false", "memory.recompute_mode", "none"),
        ("ac_mode: selective", "memory.recompute_mode", "selective"),
        (
            "ac_mode: selective\nenable_activation_checkpointing: true",
            "memory.recompute_mode",
            "full",
        ),
        ("dtype: fp32", "precision.parameter_dtype", "fp32"),
        ("dtype: int8", "precision.compute_dtype", None),
        ("cudnn_deterministic_mode: true", "run.deterministic", True),
        ("dataloader: {num_workers: 4}", "data.workers", 4),
        ("dataset: {_component_: torchtune.x}", "batch.packing", False),
        ("dataset: [{_component_: torchtune.x}]", "batch.packing", None),
        ("max_steps_per_epoch: null", "run.steps", None),
    ],
)
def test_single_settings(settings: str, leaf: str, value: object) -> None:
    assert read(CORE + settings + "\n").value(leaf) == value


@pytest.mark.parametrize(
    ("model", "adapter", "bits"),
    [
        ("llama3_1.lora_llama3_1_8b", "lora", None),
        ("llama3_1.qlora_llama3_1_405b", "qlora", 4),
        ("qwen3.lora_qwen3_0_6b_instruct", "lora", None),
        ("qwen3.qwen3_4b_base", "none", None),
        ("my_models.lora_of_mine", "lora", None),
    ],
)
def test_reads_builders(model: str, adapter: str, bits: int | None) -> None:
    found = read(CORE + f"model: {{_component_: torchtune.models.{model}}}\n")
    assert found.value("model.adapter") == adapter
    assert found.value("model.quantized_bits") == bits
    assert found.value("run.role") == ("sft" if adapter == "none" else "lora")


def test_reads_the_arguments_of_a_builder() -> None:
    builder = "_component_: torchtune.models.llama3.lora_llama3"
    dimensions = "embed_dim: 64, num_layers: 2, use_dora: true, quantize_base: true"
    found = read(CORE + f"model: {{{builder}, {dimensions}}}\n")
    assert found.value("model.hidden_size") == 64
    assert found.value("model.layers") == 2
    assert found.value("model.adapter") == "dora"
    assert found.value("model.quantized_bits") == 4


@pytest.mark.parametrize(
    ("settings", "role"),
    [
        ("loss: {_component_: torchtune.rlhf.loss.DPOLoss}", "rl"),
        ("grpo_samples: 16", "rl"),
        ("orchestration: {num_steps: 4}", "rl"),
        (
            "dataset: {_component_: torchtune.datasets.text_completion_dataset}",
            "continued",
        ),
        ("dataset: {_component_: torchtune.datasets.alpaca_dataset}", "sft"),
    ],
)
def test_the_role_follows_from_what_the_recipe_reads(settings: str, role: str) -> None:
    assert read(CORE + settings + "\n").value("run.role") == role


def test_batches_of_reinforcement_learning_are_prompts() -> None:
    found = read(CORE + "grpo_samples: 16\n")
    assert found.status("batch.micro_batch_size") is None
    assert found.value("run.generations_per_prompt") == 16


def test_reads_the_training_section_of_a_distributed_recipe() -> None:
    text = """\
tokenizer: {_component_: torchtune.models.qwen2_5.qwen2_5_tokenizer}
orchestration: {num_training_workers: 2}
training:
  batch_size: 16
  enable_activation_checkpointing: true
  optimizer: {_component_: torch.optim.AdamW, lr: 1e-5, fused: true}
"""
    found = read(text)
    assert found.value("optimizer.learning_rate") == 1e-5
    assert found.line("optimizer.learning_rate") == 6
    assert found.value("memory.recompute_mode") == "full"
    assert found.line("memory.recompute_mode") == 5
    assert found.status("batch.micro_batch_size") is None


def test_what_does_not_train_tells_its_model_alone() -> None:
    found = read(EVALUATION)
    assert {name.partition(".")[0] for name in found.leaves} == {"model", "run"}
    assert found.value("model.name_of_model") == "llama3_1_8b"
    assert found.status("run.role") is None


def test_detects_components() -> None:
    assert READER.detect(document_of(FULL, "a.yaml")) == 0.95
    assert READER.detect(document_of(EVALUATION, "a.yaml")) == 0.95
    own = "tokenizer: {_component_: mine.tokenizer}\n"
    assert READER.detect(document_of(own, "a.yaml")) == 0.6


@pytest.mark.parametrize(
    "text",
    [
        "tokenizer: {_target_: torchtune.x}\n",
        "checkpointer: {type: x}\ntokenizer: y\n",
        "tokenizer: {_component_: 3}\n",
        "- _component_: torchtune.x\n",
    ],
)
def test_takes_no_other_file(text: str) -> None:
    assert READER.detect(document_of(text, "a.yaml")) == 0.0


@pytest.mark.parametrize(
    "settings",
    [
        "model: [1]\ndataset: x\nprofiler: 3",
        "loss: null\nmetric_logger: [x]\nfsdp: y\ndtype: [bf16]",
        "max_steps_per_epoch: x\ncompile: [1]\nlr_scheduler: z",
        "enable_activation_checkpointing: maybe\ndata_parallel_shard_dim: []",
        "model: {_component_: [x]}\nenable_async_checkpointing: []",
    ],
)
def test_odd_shapes_do_not_raise(settings: str) -> None:
    assert read(CORE + settings + "\n").value("run.framework") == "torchtune"


def test_a_slip_at_the_top_is_told_from_a_key_of_ones_own() -> None:
    table = keyed(CORE).catalogue
    assert table is not None
    slip = table.suggest(("enable_activation_checkpoiting",))
    assert slip is not None
    assert slip.path == "enable_activation_checkpointing"
    assert slip.kind == "spelling"
    assert not table.is_known(("model_folder",))
    assert table.is_open(("model_folder",))
    assert table.is_known(("metric_logger", "project"))
    assert table.is_known(("optimizer", "betas"))


@needs_corpus
def test_knows_the_keys_of_published_files() -> None:
    unknown: set[str] = set()
    for path in sorted(corpus_folder("configs/torchtune").glob("*recipes*")):
        text = Path(path).read_text(encoding="utf-8")
        assert READER.detect(document_of(text, str(path))) == 0.95, path.name
        found = keyed(text)
        assert found.catalogue is not None
        keys = (item.path for item in found.keys)
        unknown |= {str(key) for key in keys if not found.catalogue.is_known(key)}
    assert unknown == set()
