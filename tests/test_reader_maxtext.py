"""MaxText's YAML."""

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, read_text
from speccheck.validator.sources.formats.maxtext import READER

RECIPE = """\
base_config: base.yml
run_name: llama-70b
base_output_directory: gs://runs/llama/
model_name: custom-70b
hardware: gpu
steps: 20000
per_device_batch_size: 2
gradient_accumulation_steps: 4
max_target_length: 8192
packing: true
learning_rate: 3.0e-4
learning_rate_final_fraction: 0.1
adam_b2: 0.95
dtype: bfloat16
weight_dtype: float32
quantization: te_fp8_currentscaling
attention: cudnn_flash_te
remat_policy: minimal_offloaded
optimizer_memory_host_offload: true
dcn_data_parallelism: 4
dcn_fsdp_parallelism: 8
ici_fsdp_parallelism: 8
dataset_type: grain
grain_worker_count: 8
enable_checkpointing: true
checkpoint_period: 500
async_checkpointing: false
max_num_checkpoints_to_keep: None
enable_emergency_checkpoint: true
local_checkpoint_directory: /local
local_checkpoint_period: 50
eval_interval: 1000
init_weights_seed: 7
data_shuffle_seed: 3
profiler: xplane
gcs_metrics: true
"""
MODEL = """\
base_emb_dim: 2048
base_num_query_heads: 16
base_num_kv_heads: 4
base_mlp_dim: 768
base_moe_mlp_dim: 768
base_num_decoder_layers: 48
head_dim: 128
mlp_activations: ["silu", "linear"]
vocab_size: 152064
logits_via_embedding: false
num_experts: 128
num_experts_per_tok: 8
decoder_block: "qwen3_moe"
"""
CORE = """\
base_config: base.yml
per_device_batch_size: 1
"""
DELAYED_PIPELINE = """\
dcn_pipeline_parallelism: 2
pipeline_delay_activation_forwarding: true
gradient_accumulation_steps: 3
per_device_batch_size: 2
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "run.yml")


def test_states_what_a_recipe_says() -> None:
    assert read(RECIPE).values("stated") == {
        "batch.gradient_accumulation_steps": 4,
        "batch.micro_batch_size": 2,
        "batch.packing": True,
        "batch.sequence_length": 8192,
        "checkpoint.asynchronous": False,
        "checkpoint.enabled": True,
        "checkpoint.evaluation_interval_steps": 1000,
        "checkpoint.interval_steps": 500,
        "checkpoint.keep_last": 0,
        "checkpoint.local_directory": "/local",
        "checkpoint.local_interval_steps": 50,
        "data.seed": 3,
        "data.workers": 8,
        "kernels.attention_backend": "fused",
        "memory.optimizer_offload_device": "cpu",
        "memory.recompute_mode": "selective",
        "model.name_of_model": "custom-70b",
        "optimizer.beta2": 0.95,
        "optimizer.learning_rate": 3e-4,
        "parallelism.replicate_size": 4,
        "precision.compute_dtype": "bf16",
        "precision.fp8_recipe": "te_fp8_currentscaling",
        "precision.parameter_dtype": "fp32",
        "run.seed": 7,
        "run.steps": 20000,
        "telemetry.profiler": True,
    }


def test_derives_what_follows() -> None:
    found = read(RECIPE)
    derived = found.values("derived")
    assert derived.pop("optimizer.minimum_learning_rate") == pytest.approx(3e-5)
    assert derived == {
        "checkpoint.directory": "gs://runs/llama/llama-70b/checkpoints",
        "checkpoint.resume": True,
        "data.resumable": True,
        "memory.activation_offload": True,
        "optimizer.decay_steps": 20000,
        "parallelism.shard_size": 64,
        "precision.fp8": True,
        "run.framework": "maxtext",
        "telemetry.sinks": ("google-cloud-storage",),
    }
    assert found.note("parallelism.shard_size") == (
        "dcn_fsdp_parallelism 8 x ici_fsdp_parallelism 8 = 64"
    )
    assert found.line("parallelism.shard_size") == 21


def test_a_mesh_without_fill_tells_the_devices_weakly() -> None:
    found = read(RECIPE)
    assert found.value("cluster.world_size") == 256
    assert found.status("cluster.world_size") == "default"


def test_defaults_are_those_of_every_base_file() -> None:
    found = read(CORE)
    assert found.value("checkpoint.interval_steps") == 10000
    assert found.value("checkpoint.asynchronous") is True
    assert found.value("batch.sequence_length") == 2048
    assert found.value("memory.recompute_mode") == "full"
    assert found.value("optimizer.beta2") == 0.95
    assert found.value("precision.parameter_dtype") == "fp32"
    assert found.value("precision.gradient_reduce_dtype") == "fp32"
    assert found.value("run.uses_torch") is False
    assert found.value("run.role") == "pretrain"
    assert found.value("telemetry.sinks") == ("tensorboard",)
    assert found.status("data.workers") is None
    assert found.status("run.steps") is None


def test_a_file_of_a_model_states_the_model_alone() -> None:
    found = read(MODEL)
    assert found.values("stated") == {
        "model.attention_heads": 16,
        "model.expert_feed_forward_size": 768,
        "model.experts": 128,
        "model.experts_per_token": 8,
        "model.feed_forward_size": 768,
        "model.gated_feed_forward": True,
        "model.head_dimension": 128,
        "model.hidden_size": 2048,
        "model.key_value_heads": 4,
        "model.layers": 48,
        "model.tied_embeddings": False,
        "model.vocabulary_size": 152064,
    }
    assert found.status("checkpoint.enabled") is None
    assert found.status("parallelism.tensor_parallel_size") is None
    assert found.status("run.role") is None


@pytest.mark.parametrize(
    ("axes", "leaf", "value"),
    [
        ("ici_tensor_parallelism: 4", "tensor_parallel_size", 4),
        (
            "ici_tensor_parallelism: 4\nici_tensor_sequence_parallelism: 2",
            "tensor_parallel_size",
            8,
        ),
        ("dcn_pipeline_parallelism: 2", "pipeline_parallel_size", 2),
        (
            "ici_context_parallelism: 2\ndcn_context_parallelism: 2",
            "context_parallel_size",
            4,
        ),
        ("ici_sequence_parallelism: 2", "ulysses_size", 2),
        ("ici_expert_parallelism: 8", "expert_parallel_size", 8),
        ("dcn_data_parallelism: 2\nici_data_parallelism: 3", "replicate_size", 6),
        ("ici_fsdp_parallelism: 4\nici_expert_parallelism: 2", "shard_size", 8),
        ("dcn_data_parallelism: 1", "shard_size", -1),
        ("ici_fsdp_parallelism: 1", "sharding_stage", 0),
        ("ici_fsdp_parallelism: 4", "sharding_stage", 3),
    ],
)
def test_degrees_are_products_over_both_networks(
    axes: str, leaf: str, value: int
) -> None:
    assert read(CORE + axes + "\n").value(f"parallelism.{leaf}") == value


@pytest.mark.parametrize(
    ("axes", "leaf", "reason"),
    [
        ("", "replicate_size", "dcn_data_parallelism: -1 fills the slices"),
        ("", "shard_size", "ici_fsdp_parallelism: -1 fills the slice"),
        (
            "ici_tensor_parallelism: -1",
            "tensor_parallel_size",
            "ici_tensor_parallelism: -1 fills the slice",
        ),
        (
            "ici_tensor_parallelism: many",
            "tensor_parallel_size",
            "ici_tensor_parallelism is not a whole number",
        ),
        (
            "custom_mesh_and_rule: pure-fsdp",
            "shard_size",
            "the file gives a mesh of its own",
        ),
        (
            "context_sharding: expert",
            "context_parallel_size",
            "context_sharding uses another axis",
        ),
    ],
)
def test_says_why_a_degree_is_unknown(axes: str, leaf: str, reason: str) -> None:
    found = read(CORE + axes + "\n")
    assert found.status(f"parallelism.{leaf}") == "unknown"
    assert found.note(f"parallelism.{leaf}") == reason


@pytest.mark.parametrize(
    ("settings", "micro", "steps"),
    [
        ("ici_tensor_parallelism: 4", 4, 1),
        ("per_device_batch_size: 0.5\nici_tensor_parallelism: 4", 2, 1),
        ("dcn_pipeline_parallelism: 4", 1, 4),
        ("dcn_pipeline_parallelism: 2\nnum_pipeline_microbatches: 1", 2, 1),
        (
            DELAYED_PIPELINE,
            1,
            12,
        ),
    ],
)
def test_batches_are_per_device(settings: str, micro: int, steps: int) -> None:
    text = "base_config: base.yml\n" + settings + "\n"
    if "per_device" not in text:
        text += "per_device_batch_size: 1\n"
    found = read(text)
    assert found.value("batch.micro_batch_size") == micro
    assert found.value("batch.gradient_accumulation_steps") == steps


def test_a_part_of_a_sample_on_one_device_is_no_micro_batch() -> None:
    found = read("base_config: base.yml\nper_device_batch_size: 0.25\n")
    assert found.status("batch.micro_batch_size") == "unknown"
    assert found.note("batch.micro_batch_size").endswith("= 0.25")


@pytest.mark.parametrize(
    ("settings", "role"),
    [
        ("use_sft: true", "sft"),
        ("use_dpo: true", "rl"),
        ("use_grpo: true", "rl"),
        ("lora: {enable_lora: true}\nuse_sft: true", "lora"),
        ("load_parameters_path: gs://weights", "continued"),
        ("dataset_type: synthetic", "debug"),
        ("student_overrides: {model_name: a}", None),
    ],
)
def test_the_role_follows_from_switches(settings: str, role: str | None) -> None:
    assert read(CORE + settings + "\n").value("run.role") == role


@pytest.mark.parametrize(
    ("settings", "leaf", "value"),
    [
        ("attention: autoselected", "kernels.attention_backend", None),
        ('quantization: ""', "precision.fp8", False),
        ("quantization: int8", "precision.fp8", False),
        ("weight_dtype: bfloat16", "precision.gradient_reduce_dtype", None),
        ("grad_dtype: bfloat16", "precision.gradient_reduce_dtype", "bf16"),
        ("steps: -1\nlearning_rate_schedule_steps: 90", "run.steps", 90),
        ("remat_policy: custom\nmlpwi: offload", "memory.activation_offload", True),
        ("remat_policy: custom", "memory.activation_offload", False),
        ("enable_rampup_batch_size: true", "batch.mode", "rampup"),
        ("enable_continuous_checkpointing: true", "checkpoint.interval_steps", None),
        ("enable_tensorboard: false", "telemetry.sinks", None),
        ("hardware: tpu", "cluster.accelerator_family", "tpu"),
        ("dataset_type: hf", "data.resumable", False),
        ("global_parameter_scale: 2\nbase_emb_dim: 64", "model.hidden_size", None),
        (
            "model_name: llama3-8b\nglobal_parameter_scale: 2",
            "model.name_of_model",
            None,
        ),
        ("num_pipeline_repeats: 4", "parallelism.virtual_stages", None),
        (
            "dcn_pipeline_parallelism: 2\nnum_pipeline_repeats: 4",
            "parallelism.virtual_stages",
            4,
        ),
        (
            "dcn_pipeline_parallelism: 2",
            "parallelism.layers_per_virtual_stage",
            1,
        ),
    ],
)
def test_single_settings(settings: str, leaf: str, value: object) -> None:
    assert read(CORE + settings + "\n").value(leaf) == value


@pytest.mark.parametrize("text", [RECIPE, MODEL, CORE])
def test_detects_recipes_and_models(text: str) -> None:
    document = document_of(text, "x.yml")
    assert READER.detect(document) > 0.6
    data = document.data
    assert isinstance(data, dict)
    assert set(READER.keys).intersection(data)


@pytest.mark.parametrize(
    "text",
    [
        "base_config: base.yml\nname: x\n",
        "max_target_length: 128\nmodel: x\n",
        "base_model: x\nmicro_batch_size: 1\nsequence_len: 2\ndatasets: []\n",
        "[1, 2]\n",
    ],
)
def test_takes_no_other_file(text: str) -> None:
    assert READER.detect(document_of(text, "x.yml")) == 0.0


@pytest.mark.parametrize(
    "settings",
    [
        "lora: [1]\nmlp_activations: x\nmesh_axes: 3",
        "steps: {a: 1}\nquantization: [fp8]\nmodel_name: [x]",
        "dcn_data_parallelism: null\nici_fsdp_parallelism: [8]\nremat_policy: []",
        "gradient_accumulation_steps: x\nnum_pipeline_microbatches: y",
        "per_device_batch_size: none\nrun_name: 3\nbase_output_directory: 4",
    ],
)
def test_odd_shapes_do_not_raise(settings: str) -> None:
    keys = {line.partition(":")[0] for line in settings.splitlines()}
    core = [item for item in CORE.splitlines() if item.partition(":")[0] not in keys]
    found = read("\n".join([*core, settings, ""]))
    assert found.value("run.framework") == "maxtext"
    assert READER.parents is not None
    READER.parents(found.document)


@needs_corpus
def test_knows_the_keys_of_published_files() -> None:
    unknown: set[str] = set()
    for path in sorted(corpus_folder("configs/maxtext").iterdir()):
        document = document_of(path.read_text(encoding="utf-8"), str(path))
        assert READER.detect(document) > 0.6, path.name
        keyed = READER.read(document).keyed
        assert keyed is not None
        assert keyed.catalogue is not None
        keys = (item.path for item in keyed.keys)
        unknown |= {str(key) for key in keys if not keyed.catalogue.is_known(key)}
    assert unknown == set()
