"""DeepSpeed's JSON: leaves, defaults, old spellings, texts for numbers."""

import json

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, keys_and_texts, read_text
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.formats import hf_trainer
from speccheck.validator.sources.formats.deepspeed import READER
from speccheck.validator.sources.joining.merge import merge

ZERO_3 = """\
{
  "train_batch_size": 512,
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 4,
  "gradient_clipping": 0.5,
  "steps_per_print": 20,
  "wall_clock_breakdown": false,
  "bf16": {"enabled": true},
  "communication_data_type": "fp32",
  "data_types": {"grad_accum_dtype": "fp32"},
  "zero_optimization": {
    "stage": 3,
    "overlap_comm": false,
    "reduce_bucket_size": 5e8,
    "stage3_prefetch_bucket_size": 50000000,
    "offload_optimizer": {
      "device": "nvme", "nvme_path": "/mnt/nvme0", "pin_memory": true
    },
    "offload_param": {"device": "cpu", "pin_memory": false}
  },
  "optimizer": {
    "type": "AdamW",
    "params": {"lr": 1.5e-4, "betas": [0.9, 0.95], "weight_decay": 0.1}
  },
  "scheduler": {
    "type": "WarmupDecayLR",
    "params": {"warmup_num_steps": 2000, "total_num_steps": 15000}
  },
  "csv_monitor": {"enabled": true},
  "tensorboard": {"enabled": false},
  "dataloader_drop_last": true
}
"""


def read(content: object) -> ReadText:
    text = content if isinstance(content, str) else json.dumps(content)
    return read_text(READER, text, "settings.json")


def test_states_every_leaf_that_stands_in_the_file() -> None:
    assert read(ZERO_3).values("stated") == {
        "batch.global_batch_size": 512,
        "batch.micro_batch_size": 2,
        "batch.gradient_accumulation_steps": 4,
        "optimizer.clip_norm": 0.5,
        "telemetry.time_breakdown": False,
        "precision.bf16": True,
        "precision.gradient_reduce_dtype": "fp32",
        "precision.gradient_accumulate_dtype": "fp32",
        "parallelism.sharding_stage": 3,
        "communication.overlap_gradient_reduce": False,
        "memory.optimizer_offload_device": "nvme",
        "memory.optimizer_offload_path": "/mnt/nvme0",
        "memory.parameter_offload_device": "cpu",
        "memory.offload_pin_memory": False,
        "optimizer.learning_rate": 1.5e-4,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.95,
        "optimizer.weight_decay": 0.1,
        "optimizer.warmup_steps": 2000,
        "optimizer.decay_steps": 15000,
    }


def test_derives_what_follows_from_the_file() -> None:
    assert read(ZERO_3).values("derived") == {
        "parallelism.engine": "deepspeed",
        "telemetry.throughput": True,
        "communication.gradient_bucket_bytes": 1_000_000_000,
        "communication.parameter_bucket_bytes": 100_000_000,
    }


def test_what_a_trainer_says_of_the_same_is_no_conflict() -> None:
    leaves = read(ZERO_3)
    weak = {
        "telemetry.log_interval_steps": 20,
        "telemetry.sinks": ("csv_monitor",),
        "optimizer.name_of_optimizer": "adamw",
        "optimizer.schedule": "warmupdecaylr",
        "kernels.fused_optimizer": True,
        "data.drop_last": True,
    }
    assert weak.items() <= leaves.values("default").items()
    assert leaves.line("telemetry.log_interval_steps") == 6
    text = (
        "per_device_train_batch_size: 2\ngradient_accumulation_steps: 4\n"
        "bf16: true\noptim: adamw_torch\nlogging_steps: 1\nreport_to: wandb\n"
        "lr_scheduler_type: cosine\nmax_grad_norm: 0.5\noutput_dir: x\n"
        "deepspeed: settings.json\n"
    )
    trainer = read_text(hf_trainer.READER, text, "train.yaml")
    both = merge([*leaves.reading.facts.facts, *trainer.reading.facts.facts])
    assert [name for name, leaf in both.items() if leaf.status == "conflict"] == []
    assert both["telemetry.log_interval_steps"].value == 1
    assert both["optimizer.name_of_optimizer"].value == "adamw_torch"
    assert both["run.framework"].value == "transformers"


def test_places_are_those_of_the_keys() -> None:
    leaves = read(ZERO_3)
    assert leaves.line("batch.gradient_accumulation_steps") == 4
    assert leaves.line("parallelism.sharding_stage") == 12
    assert leaves.line("memory.optimizer_offload_device") == 17
    assert leaves.line("optimizer.beta2") == 23
    assert leaves.line("communication.gradient_bucket_bytes") == 14


def test_the_unpinned_buffer_speaks_for_all() -> None:
    assert read(ZERO_3).line("memory.offload_pin_memory") == 19


def test_defaults_are_those_that_every_version_shares() -> None:
    leaves = read({"train_batch_size": 8, "steps_per_print": 10})
    assert leaves.values("default") == {
        "telemetry.log_interval_steps": 10,
        "batch.mode": "fixed",
        "run.framework": "deepspeed",
        "run.uses_torch": True,
        "parallelism.sharding_stage": 0,
        "precision.bf16": False,
        "precision.fp16": False,
        "telemetry.time_breakdown": False,
        "memory.optimizer_offload_device": "none",
        "memory.parameter_offload_device": "none",
        "communication.overlap_gradient_reduce": False,
    }
    assert leaves.note("precision.bf16") == (
        "bf16.enabled is not set: false in every tabulated version of deepspeed"
    )


def test_clipping_that_is_not_set_depends_on_the_version() -> None:
    leaves = read({"train_batch_size": 8, "steps_per_print": 10})
    assert leaves.status("optimizer.clip_norm") == "unknown"
    assert "gradient_clipping is not set" in leaves.note("optimizer.clip_norm")


def test_fp16_takes_the_norm_of_the_optimizer() -> None:
    leaves = read(
        {
            "train_batch_size": 8,
            "fp16": {"enabled": True},
            "optimizer": {"type": "Lamb", "params": {"max_grad_norm": 2.0}},
        }
    )
    assert leaves.value("optimizer.clip_norm") == 2.0


@pytest.mark.parametrize(("stage", "is_on"), [(3, True), (2, False), (1, False)])
def test_overlap_that_is_not_set_depends_on_the_stage(
    stage: int, *, is_on: bool
) -> None:
    leaves = read({"zero_optimization": {"stage": stage, "overlap_comm": None}})
    assert leaves.value("communication.overlap_gradient_reduce") is is_on
    assert leaves.status("communication.overlap_gradient_reduce") == "default"


def test_loss_scaling_has_defaults_only_with_fp16() -> None:
    leaves = read({"fp16": {"enabled": True, "loss_scale_window": 500}})
    assert leaves.value("precision.loss_scale") == 0.0
    assert leaves.value("precision.loss_scale_window") == 500
    assert leaves.value("precision.initial_scale_power") == 16
    assert leaves.value("precision.minimum_loss_scale") == 1.0
    assert leaves.value("precision.hysteresis") == 2
    assert read({"bf16": {"enabled": True}}).value("precision.loss_scale") is None


def test_auto_is_unknown_with_its_place() -> None:
    leaves = read('{\n "train_batch_size": "auto",\n "bf16": {"enabled": "auto"}\n}')
    for name, line in (("batch.global_batch_size", 2), ("precision.bf16", 3)):
        assert leaves.status(name) == "unknown"
        assert leaves.note(name).startswith("auto")
        assert leaves.line(name) == line


def test_buckets_of_an_unknown_dtype_have_no_bytes() -> None:
    leaves = read(
        {
            "bf16": {"enabled": "auto"},
            "zero_optimization": {"stage": 2, "reduce_bucket_size": 200000000},
        }
    )
    assert leaves.note("communication.gradient_bucket_bytes") == (
        "200,000,000 elements of a dtype that is not known"
    )


def test_buckets_without_half_precision_take_four_bytes_an_element() -> None:
    zero = {"stage": 1, "reduce_bucket_size": 1000, "allgather_bucket_size": 500}
    leaves = read({"zero_optimization": zero})
    assert leaves.value("communication.gradient_bucket_bytes") == 4000
    assert leaves.value("communication.parameter_bucket_bytes") == 2000


@pytest.mark.parametrize(("switch", "stage"), [(True, 1), (False, 0)])
def test_a_bare_switch_for_zero(switch: bool, stage: int) -> None:  # noqa: FBT001
    leaves = read({"zero_optimization": switch, "train_batch_size": 8})
    assert leaves.value("parallelism.sharding_stage") == stage
    assert leaves.status("parallelism.sharding_stage") == "derived"


def test_old_offload_switches() -> None:
    zero = {
        "stage": 3,
        "cpu_offload": True,
        "cpu_offload_params": True,
        "cpu_offload_use_pin_memory": True,
    }
    leaves = read({"zero_optimization": zero})
    assert leaves.value("memory.optimizer_offload_device") == "cpu"
    assert leaves.value("memory.parameter_offload_device") == "cpu"
    assert leaves.value("memory.offload_pin_memory") is True


def test_elastic_batches() -> None:
    leaves = read({"elasticity": {"enabled": True}, "steps_per_print": 5})
    assert leaves.value("batch.mode") == "elastic"
    assert leaves.status("batch.mode") == "stated"


def test_one_bit_optimizers_compress_after_a_warm_up() -> None:
    optimizer = {"type": "OnebitAdam", "params": {"freeze_step": 400}}
    leaves = read({"train_batch_size": 96, "optimizer": optimizer})
    assert leaves.value("communication.compression") == "onebitadam"
    assert leaves.value("communication.compression_warmup_steps") == 400


def test_model_parallelism_is_one_only_where_deepspeed_runs_alone() -> None:
    name = "parallelism.tensor_parallel_size"
    megatron = read({"train_batch_size": 512, "zero_optimization": {"stage": 1}})
    assert megatron.value(name) is None
    assert read({"train_batch_size": "auto"}).value(name) == 1
    alone = read({"train_batch_size": 8, "optimizer": {"type": "Adam"}})
    assert (alone.value(name), alone.status(name)) == (1, "default")


def test_parallelism_that_deepspeed_runs_itself() -> None:
    leaves = read(
        {
            "train_batch_size": "auto",
            "tensor_parallel": {"autotp_size": 4},
            "sequence_parallel_size": 2,
            "pipeline": {"stages": 8},
        }
    )
    assert leaves.value("parallelism.tensor_parallel_size") == 4
    assert leaves.value("parallelism.ulysses_size") == 2
    assert leaves.value("parallelism.pipeline_parallel_size") == 8
    assert leaves.value("parallelism.pipeline_engine") == "deepspeed"


def test_texts_for_numbers_stop_deepspeed_where_it_converts_nothing() -> None:
    leaves = read(
        {
            "train_batch_size": 256,
            "gradient_accumulation_steps": "8",
            "gradient_clipping": "auto",
            "wall_clock_breakdown": "false",
            "fp16": {"enabled": True, "loss_scale": "0"},
            "zero_optimization": {"stage": 2, "reduce_bucket_size": "5e8"},
            "optimizer": {"type": "Adam", "params": {"lr": "1e-5"}},
        }
    )
    assert keys_and_texts(leaves) == [
        ("gradient_accumulation_steps", "8", True),
        ("wall_clock_breakdown", "false", True),
        ("fp16.loss_scale", "0", False),
        ("optimizer.params.lr", "1e-5", True),
    ]
    assert leaves.status("batch.gradient_accumulation_steps") == "invalid"


def test_duplicate_keys_are_kept_for_the_rule() -> None:
    leaves = read('{"train_batch_size": 8,\n "train_batch_size": 16,\n "fp16": {}}')
    keyed = leaves.reading.keyed
    assert keyed is not None
    assert keyed.refuses_duplicates
    assert [item.key for item in keyed.twice] == ["train_batch_size"]
    assert leaves.value("batch.global_batch_size") == 16


def test_comments_as_in_hjson() -> None:
    leaves = read('{\n  // per GPU\n  "train_micro_batch_size_per_gpu": 4,\n}')
    assert leaves.value("batch.micro_batch_size") == 4


@pytest.mark.parametrize(
    "content",
    [
        {"zero_optimization": [1, 2], "optimizer": "Adam", "fp16": True},
        {"zero_optimization": {"stage": 7, "offload_param": "cpu"}},
        {"optimizer": {"params": {"betas": [0.9], "lr": None}}, "scheduler": []},
        {"elasticity": 1, "bf16": {"enabled": [True]}, "pipeline": {"stages": "auto"}},
        [],
    ],
)
def test_odd_shapes_are_read_without_a_word(content: object) -> None:
    assert read(content).value("batch.micro_batch_size") is None


def test_a_stage_that_does_not_exist_is_no_stage() -> None:
    leaves = read({"zero_optimization": {"stage": 7}})
    assert leaves.note("parallelism.sharding_stage") == "7 is no ZeRO stage"


@pytest.mark.parametrize(
    "content",
    [
        {"zero_optimization": {"stage": 2}},
        {"train_batch_size": 8, "steps_per_print": 10},
        {"fp16": {"enabled": True}, "train_micro_batch_size_per_gpu": "auto"},
        {"zero_optimization": True, "train_batch_size": 8},
    ],
)
def test_is_recognised(content: object) -> None:
    assert READER.detect(document_of(json.dumps(content), "a.json")) >= 0.5


@pytest.mark.parametrize(
    "content",
    [
        {"train_batch_size": 8},
        {"pipe_parallel_size": 2, "zero_optimization": {"stage": 1}},
        {"num-layers": 12, "zero_optimization": {"stage": 1}, "steps_per_print": 10},
        {"base_model": "x", "gradient_clipping": 1.0, "train_batch_size": 8},
        {"fp16": True, "bf16": False, "batch_size": 8},
        ["train_batch_size", "steps_per_print"],
    ],
)
def test_look_alikes_are_not_recognised(content: object) -> None:
    assert READER.detect(document_of(json.dumps(content), "a.json")) < 0.5


@needs_corpus
def test_every_published_file_is_recognised_and_read() -> None:
    missed: list[str] = []
    templates = 0
    for path in sorted(corpus_folder("configs/deepspeed").iterdir()):
        try:
            document = document_of(path.read_text("utf-8"), "settings.json")
        except ReadError as error:
            templates += error.kind == "template"
            continue
        if READER.detect(document) < 0.5:
            missed.append(path.name)
        assert READER.read(document).facts.facts
    assert missed == []
    assert templates == 8
