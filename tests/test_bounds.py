"""What is surely so of a job whose nodes, GPUs or hours nobody states."""

from pathlib import Path

import pytest

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.cli.main import main
from speccheck.validator.engine.applicability import plan_size_class
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.forecast.bounds import (
    MOST_BYTES_PER_GPU,
    MOST_FLOPS_PER_SECOND,
    MOST_GPUS_PER_NODE,
    least_gpu_hours,
    least_gpus,
    least_hours,
    least_nodes,
    most_micro_batches,
)
from speccheck.validator.run.run import run
from stated_plan import plan

_MESH: dict[str, object] = {
    "parallelism.tensor_parallel_size": 8,
    "parallelism.pipeline_parallel_size": 8,
}
_SEVEN_BILLION: dict[str, object] = {
    "run.role": "pretrain",
    "run.steps": 100_000,
    "batch.sequence_length": 4096,
    "batch.micro_batch_size": 2,
    "batch.global_batch_size": 1024,
    "precision.compute_dtype": "bf16",
    "precision.fp8": False,
    "model.layers": 32,
    "model.hidden_size": 4096,
    "model.attention_heads": 32,
    "model.key_value_heads": 32,
    "model.feed_forward_size": 11008,
    "model.gated_feed_forward": True,
    "parallelism.tensor_parallel_size": 1,
    "parallelism.pipeline_parallel_size": 1,
    "parallelism.context_parallel_size": 1,
    "parallelism.ulysses_size": 1,
}


@pytest.mark.parametrize(
    ("leaves", "words"),
    [
        (_MESH, "at least 64 GPUs (tensor 8 x pipeline 8)"),
        ({**_MESH, "cluster.world_size": 128}, "128 GPUs"),
        (
            {
                "parallelism.pipeline_parallel_size": 4,
                "parallelism.expert_parallel_size": 64,
                "parallelism.tensor_parallel_size": 8,
            },
            "at least 256 GPUs (pipeline 4 x expert 64)",
        ),
        (
            {
                "parallelism.tensor_parallel_size": 8,
                "parallelism.shard_size": 16,
                "parallelism.replicate_size": 2,
            },
            "at least 256 GPUs (tensor 8 x replicas 2 x shards 16)",
        ),
        # Ranks of a Ulysses group may be among the shards, and -1 fills the mesh.
        (
            {"parallelism.ulysses_size": 8, "parallelism.shard_size": 8},
            "at least 8 GPUs (Ulysses 8)",
        ),
        (
            {"parallelism.tensor_parallel_size": 4, "parallelism.shard_size": -1},
            "at least 4 GPUs (tensor 4)",
        ),
        ({"cluster.nodes": 4}, "at least 4 GPUs (4 nodes)"),
    ],
)
def test_a_job_has_the_gpus_of_its_mesh(leaves: dict[str, object], words: str) -> None:
    bound = least_gpus(plan(leaves))
    assert bound is not None
    assert bound.in_words == words


def test_a_large_model_does_not_fit_on_one_node() -> None:
    llama: dict[str, object] = {
        **_SEVEN_BILLION,
        "model.layers": 126,
        "model.hidden_size": 16384,
        "model.attention_heads": 128,
        "model.key_value_heads": 8,
        "model.feed_forward_size": 53248,
        "precision.parameter_dtype": "fp32",
        "optimizer.name_of_optimizer": "AdamW",
    }
    bound = least_gpus(plan(llama))
    assert bound is not None
    assert bound.in_words == (
        "at least 21 GPUs (402 billion parameters x 16 bytes on GPUs of 309 GB)"
    )
    assert least_gpus(plan(llama, run__role="lora")) is None
    assert least_gpus(plan(llama, memory__parameter_offload_device="cpu")) is None


def test_nodes_follow_from_gpus() -> None:
    bound = least_nodes(plan(_MESH))
    assert bound is not None
    assert bound.in_words == (
        "at least 4 nodes (64 GPUs: tensor 8 x pipeline 8, at most 16 each)"
    )
    bound = least_nodes(plan(_MESH, cluster__gpus_per_node=8))
    assert bound is not None
    assert bound.number == 8
    assert least_nodes(plan({"parallelism.tensor_parallel_size": 8})) is None
    assert least_nodes(plan({})) is None


def test_length_follows_from_the_work_at_the_peak() -> None:
    hours = least_hours(plan(_SEVEN_BILLION))
    assert hours is not None
    assert hours.in_words == (
        "at least 3.51 h (100,000 steps x 8,192 tokens a rank x 6 x 6.48 billion "
        "parameters at 2.52 PFLOP/s)"
    )
    together = least_gpu_hours(plan(_SEVEN_BILLION))
    assert together is not None
    assert together.in_words == (
        "at least 1,799 GPU hours (6 x 6.48 billion parameters x 419 billion tokens "
        "at 2.52 PFLOP/s)"
    )


def test_few_ranks_have_the_most_micro_batches() -> None:
    leaves: dict[str, object] = {
        **_MESH,
        "parallelism.context_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "batch.global_batch_size": 64,
        "batch.micro_batch_size": 2,
    }
    most = most_micro_batches(plan(leaves))
    assert most is not None
    assert most.in_words == (
        "at most 32 micro-batches (global batch 64 / micro-batch 2)"
    )
    most = most_micro_batches(plan(leaves, cluster__nodes=256))
    assert most is not None
    assert most.in_words == (
        "at most 8 micro-batches (global batch 64 / micro-batch 2 / 4 data-parallel "
        "ranks of at least 256 GPUs (256 nodes))"
    )
    assert most_micro_batches(plan(leaves, batch__micro_batch_size=None)) is None


@pytest.mark.parametrize(
    "unsure",
    [
        {"run__role": "sft"},  # samples may be short
        {"parallelism__tensor_parallel_size": None},
        {"recovery__walltime_seconds": 3600.0},
        {"model__adapter": "lora"},
        {"precision__fp8_recipe": "nvfp4"},
        {"model__experts": 8},
    ],
)
def test_no_length_without_all_that_bounds_it(unsure: dict[str, object]) -> None:
    assert least_hours(plan(_SEVEN_BILLION, **unsure)) is None


def test_limits_are_those_of_the_hardware_catalogue() -> None:
    catalogue = read_compiled("hardware")
    instances = catalogue["instances"].values()
    assert max(row["gpus_per_node"] for row in instances) == MOST_GPUS_PER_NODE
    accelerators = catalogue["accelerators"].values()
    assert max(row["memory_bytes"] for row in accelerators) == MOST_BYTES_PER_GPU
    for dtype, most in MOST_FLOPS_PER_SECOND.items():
        peaks = [row["dense_teraflops"].get(dtype) or 0 for row in accelerators]
        assert max(peaks) * 1e12 == pytest.approx(most)


_TORCHTITAN = """
[model]
name = "llama3"
flavor = "70B"
[training]
local_batch_size = 1
seq_len = 8192
steps = 100
[parallelism]
tensor_parallel_degree = {tensor}
pipeline_parallel_degree = 8
context_parallel_degree = {context}
[comm]
train_timeout_seconds = 10800
"""


def _findings(folder: Path, text: str) -> dict[str, Finding]:
    file = folder / "train.toml"
    file.write_text(text)
    (judged,) = run(Request(arguments=(str(file),), full=True)).plans
    return {located.finding.rule: located.finding for located in judged.findings}


def test_a_clause_for_large_jobs_applies_by_the_degrees(tmp_path: Path) -> None:
    text = _TORCHTITAN.format(tensor=8, context=8)
    finding = _findings(tmp_path, text)["watchdog_longer_than_recovery"]
    assert finding.outcome == "fail"
    assert finding.note.endswith(
        "at least 32 nodes (512 GPUs: tensor 8 x pipeline 8 x context 8, at most 16 "
        "each); at least 512 GPUs (tensor 8 x pipeline 8 x context 8)"
    )


def test_a_bound_never_makes_a_job_small(tmp_path: Path) -> None:
    findings = _findings(tmp_path, _TORCHTITAN.format(tensor=1, context=1))
    assert "watchdog_longer_than_recovery" not in findings
    (file,) = tmp_path.iterdir()
    (judged,) = run(Request(arguments=(str(file),), full=True)).plans
    outcomes = {
        located.finding.outcome
        for located in judged.findings
        if located.finding.clause == "FT-002"
    }
    assert outcomes == {"unknown"}


@pytest.mark.parametrize("gpu", ["A100-80GB", "A100", "a100-pcie-80gb"])
def test_every_form_of_a_gpu_without_fp8_fails(
    gpu: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "train.sh"
    file.write_text(
        "torchrun --nproc-per-node=8 pretrain_gpt.py --num-layers 32 --hidden-size 4096"
        " --num-attention-heads 32 --seq-length 4096 --micro-batch-size 1"
        " --global-batch-size 64 --bf16 --fp8-format hybrid\n"
    )
    assert main([str(file), "--gpu", gpu]) == 1
    assert "fp8 needs compute capability 8.9" in capsys.readouterr().out


def test_flash_attention_fails_without_the_family_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "train.yaml"
    file.write_text(
        "per_device_train_batch_size: 1\n"
        "gradient_accumulation_steps: 8\n"
        "output_dir: /checkpoints\n"
        "attn_implementation: flash_attention_2\n"
    )
    main([str(file), "--gpu", "V100-32GB", "--format", "hf-trainer"])
    assert "flash_attention_before_ampere" in capsys.readouterr().out


@pytest.mark.parametrize(("nodes", "size"), [(1, "XS"), (2, None)])
def test_one_node_is_the_smallest_job_whatever_its_gpus(
    nodes: int, size: str | None
) -> None:
    assert plan_size_class(plan({"cluster.nodes": nodes})) == size
