"""What the memory models are told of a plan, and what they say of it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast.memory import (
    host_forecast,
    memory_forecast,
    peak_otherwise,
)
from speccheck.validator.forecast.quantity import Forecast
from speccheck.validator.models.estimate import Estimate
from speccheck.validator.run.run import read_plans

NAMES = ["states", "activations", "logits", "buffers", "overhead", "total"]
PARAMETERS = 8_030_261_248
MEGATRON_8B: dict[str, dict[str, Any]] = {
    "run": {"role": "pretrain", "framework": "megatron-lm"},
    "cluster": {"nodes": 2, "gpus_per_node": 8, "accelerator": "H100-80GB"},
    "parallelism": {
        "engine": "megatron",
        "sharding_stage": 1,
        "tensor_parallel_size": 2,
        "pipeline_parallel_size": 1,
        "context_parallel_size": 1,
        "sequence_parallel": True,
    },
    "batch": {
        "micro_batch_size": 1,
        "gradient_accumulation_steps": 8,
        "sequence_length": 8192,
    },
    "precision": {"compute_dtype": "bf16", "gradient_accumulate_dtype": "fp32"},
    "memory": {"recompute_mode": "selective"},
    "kernels": {"attention_backend": "flash"},
    "optimizer": {"name_of_optimizer": "adam", "is_distributed": True},
    "model": {
        "family": "transformer",
        "layers": 32,
        "hidden_size": 4096,
        "attention_heads": 32,
        "key_value_heads": 8,
        "feed_forward_size": 14336,
        "gated_feed_forward": True,
        "vocabulary_size": 128256,
        "tied_embeddings": False,
    },
}


class Plans:
    """Plans of one native file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, **changes: object) -> TrainingPlan:
        """Return the plan of 8 billion parameters, with changes.

        None takes one away.
        """
        stated: dict[str, Any] = {"speccheck": 1}
        stated |= {name: dict(section) for name, section in MEGATRON_8B.items()}
        for name, value in changes.items():
            section, _, leaf = name.partition("__")
            stated[section][leaf] = value
            if value is None:
                del stated[section][leaf]
        path = self.folder / "config.yaml"
        path.write_text(yaml.safe_dump(stated), "utf-8")
        request = Request((str(path),))
        (group,) = (group for _, groups in read_plans(request) for group in groups)
        return assemble(group.files, request.judging.context).plan


@pytest.fixture
def plans(tmp_path: Path) -> Plans:
    return Plans(tmp_path)


def named(forecast: Forecast, name: str) -> Estimate:
    return forecast.named(name).need()


def test_the_parts_add_up_to_the_total(plans: Plans) -> None:
    found = memory_forecast(plans())
    assert found.subject == "memory"
    assert [item.name for item in found.quantities] == NAMES
    parts = [item.need() for item in found.quantities[:-1]]
    total = named(found, "total")
    assert total.kind == "calibrated"
    assert total.value == pytest.approx(sum(part.value for part in parts))
    assert total.lower == pytest.approx(sum(part.lower for part in parts))
    assert all(item.lower <= item.value <= item.upper for item in (*parts, total))
    assert not any(item.missing for item in found.quantities)


def test_the_limit_is_the_memory_of_the_gpu(plans: Plans) -> None:
    limit = memory_forecast(plans()).limit
    assert limit is not None
    assert (limit.name, limit.need().value) == ("capacity", 85_520_809_984)
    unknown = memory_forecast(plans(cluster__accelerator=None)).limit
    assert unknown is not None
    assert unknown.missing == ("cluster.accelerator_memory_bytes",)


def test_states_are_counted_by_the_scheme_of_the_framework(plans: Plans) -> None:
    states = named(memory_forecast(plans()), "states")
    assert states.value == pytest.approx(PARAMETERS / 2 * (6 + 12 / 8), rel=1e-3)


def test_a_best_value_is_no_longer_calibrated_where_a_part_of_it_is_open(
    plans: Plans,
) -> None:
    found = memory_forecast(plans(model__vocabulary_size=None))
    assert named(found, "total").kind == "lower_bound"
    assert "model.vocabulary_size" in found.named("total").missing


def test_without_the_tokens_of_a_step_states_alone_are_bounded(plans: Plans) -> None:
    found = memory_forecast(plans(batch__sequence_length=None))
    assert named(found, "states").upper < float("inf")
    assert named(found, "activations").upper == float("inf")
    assert found.named("activations").missing == ("batch.sequence_length",)


def test_without_ranks_nothing_is_said_of_states(plans: Plans) -> None:
    found = memory_forecast(plans(cluster__nodes=None))
    assert found.named("states").missing == ("cluster.world_size",)
    assert found.named("total").estimate is None
    with pytest.raises(MissingEvidence, match=r"cluster\.world_size"):
        named(found, "total")


def test_the_optimizer_of_deepspeed_for_bf16_may_cut_its_state_unasked(
    plans: Plans,
) -> None:
    """BLOOM trained at stage 0; other releases keep 16 bytes whole."""
    deepspeed: dict[str, object] = {
        "parallelism__engine": "deepspeed",
        "parallelism__sharding_stage": 0,
        "precision__gradient_accumulate_dtype": None,
    }
    found = named(memory_forecast(plans(**deepspeed)), "states")
    assert found.lower == pytest.approx(PARAMETERS / 2 * (4 + 12 / 8), rel=0.01)
    assert found.upper > PARAMETERS / 2 * 16
    half = plans(**deepspeed, precision__compute_dtype="fp16")
    whole = named(memory_forecast(half), "states")
    assert whole.lower == pytest.approx(PARAMETERS / 2 * 16, rel=0.01)


def test_fsdp_that_leaves_weights_whole_keeps_their_shards_besides(
    plans: Plans,
) -> None:
    plan = plans(
        run__framework="torchtitan",
        parallelism__engine="fsdp2",
        parallelism__sharding_stage=2,
        parallelism__tensor_parallel_size=1,
        precision__parameter_dtype="fp32",
    )
    states = named(memory_forecast(plan), "states")
    assert states.value == pytest.approx(PARAMETERS * (2 + 16 / 16), rel=1e-3)
    assert states.lower == pytest.approx(PARAMETERS * (2 + 12 / 16), rel=0.01)


def test_weights_of_an_8_bit_run_may_take_one_byte(plans: Plans) -> None:
    states = named(memory_forecast(plans(precision__fp8=True)), "states")
    assert states.lower == pytest.approx(PARAMETERS / 2 * (5 + 12 / 8), rel=0.01)


def test_adapters_are_an_interval(plans: Plans) -> None:
    total = named(memory_forecast(plans(model__adapter="lora")), "total")
    assert total.kind != "calibrated"


def test_the_peak_without_recomputation_is_higher_and_with_offload_lower(
    plans: Plans,
) -> None:
    plan = plans(memory__recompute_mode="full")
    redone = named(memory_forecast(plan), "total")
    assert peak_otherwise(plan, recompute=False).upper > redone.upper
    moved = plans(memory__optimizer_offload_device="cpu")
    lower = named(memory_forecast(moved), "total").lower
    assert peak_otherwise(moved, offload=False).lower > lower


def test_what_the_ranks_of_a_node_offload_adds_up(plans: Plans) -> None:
    found = host_forecast(plans(memory__optimizer_offload_device="cpu"))
    assert found is not None
    assert found.lower == pytest.approx(8 * PARAMETERS / 2 * 12 / 8, rel=0.01)
    pipeline = plans(
        memory__optimizer_offload_device="cpu", parallelism__pipeline_parallel_size=2
    )
    assert host_forecast(pipeline) is None
