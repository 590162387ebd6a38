"""The file of `accelerate launch`."""

import json

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, keys_and_texts, read_text
from speccheck.validator.sources.formats import hf_trainer
from speccheck.validator.sources.formats.accelerate import READER
from speccheck.validator.sources.joining.merge import merge

FSDP = """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
downcast_bf16: 'no'
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_offload_params: false
  fsdp_sharding_strategy: FULL_SHARD
  fsdp_state_dict_type: SHARDED_STATE_DICT
machine_rank: 0
main_process_ip: 10.20.0.11
main_process_port: 29500
mixed_precision: bf16
num_machines: 8
num_processes: 64
rdzv_backend: c10d
"""
DEEPSPEED = """\
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  gradient_accumulation_steps: '8'
  gradient_clipping: 1.0
  offload_optimizer_device: cpu
  offload_param_device: none
  zero_stage: 3
mixed_precision: bf16
num_machines: 2
num_processes: '16'
"""
PLAIN = """\
distributed_type: MULTI_GPU
num_machines: 1
num_processes: 8
"""


def read(text: str, name: str = "launch.yaml") -> ReadText:
    return read_text(READER, text, name)


def fsdp(*lines: str) -> ReadText:
    block = "".join(f"  {line}\n" for line in lines)
    head = "distributed_type: FSDP\nnum_machines: 1\nnum_processes: 8\n"
    return read(head + "fsdp_config:\n" + block)


def test_states_every_leaf_that_stands_in_the_file() -> None:
    leaves = read(FSDP)
    assert leaves.values("stated") == {
        "cluster.nodes": 8,
        "cluster.world_size": 64,
        "checkpoint.format": "sharded",
        "memory.parameter_offload_device": "none",
        "parallelism.sharding_stage": 3,
        "parallelism.wrap_policy": "layers",
    }
    assert leaves.values("derived") == {
        "parallelism.engine": "fsdp1",
        "precision.bf16": True,
        "memory.optimizer_offload_device": "none",
        "communication.overlap_parameter_gather": True,
    }
    assert leaves.values("default") == {
        "precision.fp16": False,
        "run.framework": "accelerate",
        "run.uses_torch": True,
        "recovery.launcher": "accelerate",
        "recovery.rendezvous_backend": "c10d",
        "recovery.rendezvous_endpoint": "10.20.0.11:29500",
        "parallelism.tensor_parallel_size": 1,
        "parallelism.pipeline_parallel_size": 1,
        "parallelism.context_parallel_size": 1,
        "parallelism.ulysses_size": 1,
    }
    assert leaves.line("cluster.world_size") == 15
    assert leaves.line("parallelism.sharding_stage") == 8


def test_texts_count_as_numbers_in_blocks() -> None:
    leaves = read(DEEPSPEED)
    assert leaves.values("stated") == {
        "parallelism.engine": "deepspeed",
        "parallelism.sharding_stage": 3,
        "batch.gradient_accumulation_steps": 8,
        "optimizer.clip_norm": 1.0,
        "memory.optimizer_offload_device": "cpu",
        "memory.parameter_offload_device": "none",
        "cluster.nodes": 2,
        "cluster.world_size": 16,
    }


@pytest.mark.parametrize(
    ("strategy", "stage"),
    [
        ("FULL_SHARD", 3),
        ("SHARD_GRAD_OP", 2),
        ("NO_SHARD", 0),
        ("HYBRID_SHARD", 3),
        ("1", 3),
        ("2", 2),
        ("3", 0),
        ("5", 2),
    ],
)
def test_sharding_strategies_by_name_and_number(strategy: str, stage: int) -> None:
    leaves = fsdp(f"fsdp_sharding_strategy: {strategy}")
    assert leaves.value("parallelism.sharding_stage") == stage


@pytest.mark.parametrize(("switch", "stage"), [("true", 3), ("'false'", 2)])
def test_fsdp2_reshards_by_a_switch(switch: str, stage: int) -> None:
    leaves = fsdp(
        "fsdp_version: 2",
        f"fsdp_reshard_after_forward: {switch}",
        "fsdp_backward_prefetch: BACKWARD_PRE",
        "fsdp_activation_checkpointing: true",
    )
    assert leaves.value("parallelism.engine") == "fsdp2"
    assert leaves.value("parallelism.sharding_stage") == stage
    assert leaves.value("memory.recompute_mode") == "full"
    assert leaves.value("communication.overlap_parameter_gather") is None


def test_fsdp_shards_fully_by_default() -> None:
    leaves = fsdp("fsdp_offload_params: true")
    assert leaves.value("parallelism.sharding_stage") == 3
    assert leaves.status("parallelism.sharding_stage") == "default"
    assert leaves.value("memory.optimizer_offload_device") == "cpu"


@pytest.mark.parametrize(
    ("line", "status", "policy"),
    [
        ("fsdp_auto_wrap_policy: SIZE_BASED_WRAP", "stated", "size"),
        ("fsdp_auto_wrap_policy: NO_WRAP", "stated", "none"),
        ("fsdp_min_num_params: 1000000", "default", "none"),
        ("fsdp_auto_wrap_policy: BY_LUCK", "unknown", None),
    ],
)
def test_what_fsdp_wraps(line: str, status: str, policy: str | None) -> None:
    leaves = fsdp(line)
    assert leaves.value("parallelism.wrap_policy") == policy
    assert leaves.status("parallelism.wrap_policy") == status


def test_without_a_block_the_program_says_what_fsdp_wraps() -> None:
    leaves = read("distributed_type: FSDP\nnum_machines: 1\nnum_processes: 8\n")
    assert leaves.status("parallelism.wrap_policy") is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("LlamaDecoderLayer", ("LlamaDecoderLayer",)),
        (
            "Qwen3_5DecoderLayer, Qwen3_5VisionBlock",
            ("Qwen3_5DecoderLayer", "Qwen3_5VisionBlock"),
        ),
        ("[BertLayer]", ("BertLayer",)),
        ("${LAYER}", None),
    ],
)
def test_classes_that_fsdp_wraps(text: str, names: tuple[str, ...] | None) -> None:
    leaves = fsdp(f"fsdp_transformer_layer_cls_to_wrap: {text}")
    assert leaves.value("parallelism.wrapped_layer_classes") == names


@pytest.mark.parametrize(
    ("kind", "name"),
    [("FULL", "full"), ("SHARDED", "sharded"), ("LOCAL", "local")],
)
def test_formats_of_checkpoints(kind: str, name: str) -> None:
    leaves = fsdp(f"fsdp_state_dict_type: {kind}_STATE_DICT")
    assert leaves.value("checkpoint.format") == name


def test_checkpointing_that_is_off_says_nothing() -> None:
    leaves = fsdp("fsdp_activation_checkpointing: false")
    assert leaves.value("memory.recompute_mode") is None


def test_data_parallel_without_sharding() -> None:
    leaves = read(PLAIN)
    for name, value in (
        ("parallelism.engine", "ddp"),
        ("parallelism.sharding_stage", 0),
    ):
        assert leaves.value(name) == value
        assert leaves.status(name) == "default"
    assert leaves.line("parallelism.engine") == 1


def test_precision_of_no_yields_to_the_trainer() -> None:
    launcher = read(PLAIN + "mixed_precision: 'no'\n")
    assert launcher.value("precision.bf16") is False
    text = "per_device_train_batch_size: 1\nlearning_rate: 1.0\nbf16: true\n"
    trainer = read_text(hf_trainer.READER, text, "train.yaml")
    both = merge([*launcher.reading.facts.facts, *trainer.reading.facts.facts])
    assert both["precision.bf16"].value is True
    assert both["run.framework"].value == "transformers"
    assert [name for name, leaf in both.items() if leaf.status == "conflict"] == []


def test_fp8() -> None:
    leaves = read(PLAIN + "mixed_precision: fp8\nfp8_config:\n  backend: TE\n")
    assert leaves.value("precision.fp8") is True
    assert leaves.value("precision.fp8_recipe") == "te"


def test_a_bare_no_for_the_precision_stops_the_launcher() -> None:
    leaves = read(PLAIN + "mixed_precision: no\n")
    assert keys_and_texts(leaves) == [("mixed_precision", "no", True)]
    assert keys_and_texts(read(PLAIN + "mixed_precision: 'no'\n")) == []


def test_one_process_without_distribution() -> None:
    leaves = read("distributed_type: NO\nnum_machines: 1\nmixed_precision: bf16\n")
    assert leaves.value("cluster.world_size") == 1
    assert leaves.value("parallelism.engine") is None


def test_parallelism_block() -> None:
    leaves = read(
        PLAIN
        + "parallelism_config:\n"
        + "  parallelism_config_tp_size: 2\n"
        + "  parallelism_config_cp_size: 4\n"
        + "  parallelism_config_dp_replicate_size: 2\n"
        + "  parallelism_config_dp_shard_size: 8\n"
    )
    assert leaves.value("parallelism.tensor_parallel_size") == 2
    assert leaves.value("parallelism.context_parallel_size") == 4
    assert leaves.value("parallelism.replicate_size") == 2
    assert leaves.value("parallelism.shard_size") == 8
    assert leaves.value("parallelism.ulysses_size") == 1


def test_megatron_block() -> None:
    leaves = read(
        "distributed_type: MEGATRON_LM\nnum_processes: 16\nnum_machines: 2\n"
        "megatron_lm_config:\n"
        "  megatron_lm_tp_degree: '4'\n"
        "  megatron_lm_pp_degree: '2'\n"
        "  megatron_lm_recompute_activations: 'true'\n"
        "  megatron_lm_sequence_parallelism: 'true'\n"
    )
    assert leaves.value("parallelism.engine") == "megatron"
    assert leaves.value("parallelism.tensor_parallel_size") == 4
    assert leaves.value("parallelism.pipeline_parallel_size") == 2
    assert leaves.value("memory.recompute_mode") == "selective"
    assert leaves.value("parallelism.sequence_parallel") is True


def test_a_compiler_backend() -> None:
    block = "dynamo_config:\n  dynamo_backend: "
    assert read(PLAIN + block + "INDUCTOR\n").value("kernels.compiled") is True
    assert read(PLAIN + block + "'NO'\n").value("kernels.compiled") is None


def test_the_deepspeed_file_is_a_reference() -> None:
    text = (
        "distributed_type: DEEPSPEED\nnum_processes: 8\nnum_machines: 1\n"
        "deepspeed_config:\n  deepspeed_config_file: ds/zero3.json\n"
    )
    (reference,) = read(text).reading.references
    assert reference.target == "ds/zero3.json"
    assert reference.place.key == "deepspeed_config.deepspeed_config_file"


def test_sagemaker_instances() -> None:
    text = (
        "compute_environment: AMAZON_SAGEMAKER\ndistributed_type: NO\n"
        "num_machines: 2\nec2_instance_type: ml.nonesuch.xlarge\n"
    )
    leaves = read(text)
    assert leaves.status("cluster.instance_type") == "unknown"
    assert leaves.line("cluster.instance_type") == 4
    known = read(text.replace("nonesuch.xlarge", "p5.48xlarge"))
    assert known.value("cluster.gpus_per_node") == 8


def test_a_count_of_minus_one_is_not_set() -> None:
    leaves = read(PLAIN.replace("8", "-1"))
    assert leaves.note("cluster.world_size") == "-1: not set"


@pytest.mark.parametrize(
    "lines",
    [
        "fsdp_config: [1]\ndeepspeed_config: x\nparallelism_config: 3\n",
        "mixed_precision: [a]\ndynamo_config: 1\nmain_process_ip: {a: 1}\n",
        "fp8_config: no\nmegatron_lm_config: []\nec2_instance_type: 4\n",
    ],
)
def test_odd_shapes_are_read_without_a_word(lines: str) -> None:
    assert read(PLAIN + lines).value("cluster.world_size") == 8


def test_is_recognised_in_yaml_and_json() -> None:
    assert READER.detect(document_of(FSDP, "a.yaml")) >= 0.5
    content = {"distributed_type": "FSDP", "num_machines": 1, "mixed_precision": "bf16"}
    assert READER.detect(document_of(json.dumps(content), "a.json")) >= 0.5


@pytest.mark.parametrize(
    "text",
    [
        "num_machines: 2\nnum_processes: 16\nmixed_precision: bf16\n",
        "distributed_type: ddp\nlearning_rate: 1.0\n",
        "- distributed_type\n",
    ],
)
def test_look_alikes_are_not_recognised(text: str) -> None:
    assert READER.detect(document_of(text, "a.yaml")) < 0.5


@needs_corpus
def test_every_published_file_is_recognised_and_read() -> None:
    missed: list[str] = []
    for path in sorted(corpus_folder("configs/accelerate").iterdir()):
        document = document_of(path.read_text("utf-8"), f"settings{path.suffix}")
        if READER.detect(document) < 0.5:
            missed.append(path.name)
        assert READER.read(document).facts.facts
    assert missed == []
