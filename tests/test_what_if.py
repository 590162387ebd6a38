"""`speccheck plan --what-if`: what is set, and what follows from it."""

from pathlib import Path

import pytest

from what_if_plans import JOB, Row, rows, what_if

MEGATRON = """\
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py \\
  --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 \\
  --num-layers-per-virtual-pipeline-stage 4 \\
  --micro-batch-size 1 --global-batch-size 64 --bf16
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB, encoding="utf-8")
    return Path("job.yaml")


CASES: dict[str, tuple[list[str], list[Row], list[str]]] = {
    "nodes": (
        ["nodes=16"],
        [
            ("cluster.nodes", 4, 16, "stated"),
            ("cluster.world_size", 32, 128, "derived"),
            ("parallelism.data_parallel_size", 32, 128, "derived"),
            ("parallelism.replicate_size", 4, 16, "derived"),
            ("batch.gradient_accumulation_steps", 4, 1, "derived"),
            ("recovery.minimum_nodes", 4, 16, "derived"),
            ("recovery.maximum_nodes", 4, 16, "derived"),
        ],
        ["kept: global batch 256 and micro-batch 2; the accumulation follows: 1"],
    ),
    "gpus-of-a-node": (
        ["gpus_per_node=4"],
        [
            ("cluster.gpus_per_node", 8, 4, "stated"),
            ("cluster.world_size", 32, 16, "derived"),
            ("parallelism.data_parallel_size", 32, 16, "derived"),
            ("parallelism.replicate_size", 4, 2, "derived"),
            ("batch.gradient_accumulation_steps", 4, 8, "derived"),
            ("recovery.processes_per_node", 8, 4, "derived"),
        ],
        ["kept: global batch 256 and micro-batch 2; the accumulation follows: 8"],
    ),
    "gpus": (
        ["gpus=64"],
        [
            ("cluster.nodes", 4, 8, "derived"),
            ("cluster.world_size", 32, 64, "stated"),
            ("parallelism.data_parallel_size", 32, 64, "derived"),
            ("parallelism.replicate_size", 4, 8, "derived"),
            ("batch.gradient_accumulation_steps", 4, 2, "derived"),
            ("recovery.minimum_nodes", 4, 8, "derived"),
            ("recovery.maximum_nodes", 4, 8, "derived"),
        ],
        ["kept: global batch 256 and micro-batch 2; the accumulation follows: 2"],
    ),
    "two-degrees-in-one-option": (
        ["tp=4,pp=2"],
        [
            ("parallelism.tensor_parallel_size", 1, 4, "stated"),
            ("parallelism.pipeline_parallel_size", 1, 2, "stated"),
            ("parallelism.data_parallel_size", 32, 4, "derived"),
            ("parallelism.replicate_size", 4, 1, "derived"),
            ("parallelism.shard_size", 8, 4, "derived"),
            ("batch.gradient_accumulation_steps", 4, 32, "derived"),
        ],
        ["kept: global batch 256 and micro-batch 2; the accumulation follows: 32"],
    ),
    "degrees-that-cancel-out": (
        ["tp=4", "nodes=16"],
        [
            ("cluster.nodes", 4, 16, "stated"),
            ("cluster.world_size", 32, 128, "derived"),
            ("parallelism.tensor_parallel_size", 1, 4, "stated"),
            ("recovery.minimum_nodes", 4, 16, "derived"),
            ("recovery.maximum_nodes", 4, 16, "derived"),
        ],
        [],
    ),
    "data-parallel-ranks": (
        ["dp=16"],
        [
            ("cluster.nodes", 4, 2, "derived"),
            ("cluster.world_size", 32, 16, "derived"),
            ("parallelism.data_parallel_size", 32, 16, "stated"),
            ("parallelism.replicate_size", 4, 2, "derived"),
            ("batch.gradient_accumulation_steps", 4, 8, "derived"),
            ("recovery.minimum_nodes", 4, 2, "derived"),
            ("recovery.maximum_nodes", 4, 2, "derived"),
        ],
        ["kept: global batch 256 and micro-batch 2; the accumulation follows: 8"],
    ),
    "micro-batch": (
        ["micro_batch=4"],
        [
            ("batch.micro_batch_size", 2, 4, "stated"),
            ("batch.gradient_accumulation_steps", 4, 2, "derived"),
        ],
        ["kept: global batch 256; the accumulation follows: 2"],
    ),
    "accumulation": (
        ["grad_accum=8"],
        [
            ("batch.gradient_accumulation_steps", 4, 8, "stated"),
            ("batch.global_batch_size", 256, 512, "derived"),
        ],
        [],
    ),
    "accumulation-beside-nodes": (
        ["grad_accum=2,global_batch=256,nodes=8"],
        [
            ("cluster.nodes", 4, 8, "stated"),
            ("cluster.world_size", 32, 64, "derived"),
            ("parallelism.data_parallel_size", 32, 64, "derived"),
            ("parallelism.replicate_size", 4, 8, "derived"),
            ("batch.gradient_accumulation_steps", 4, 2, "stated"),
            ("recovery.minimum_nodes", 4, 8, "derived"),
            ("recovery.maximum_nodes", 4, 8, "derived"),
        ],
        [],
    ),
    "a-batch-that-does-not-divide": (
        ["global_batch=300"],
        [
            ("batch.gradient_accumulation_steps", 4, None, "unknown"),
            ("batch.global_batch_size", 256, 300, "stated"),
        ],
        [],
    ),
    "sharding": (
        ["zero=1"],
        [("parallelism.sharding_stage", 3, 1, "stated")],
        [],
    ),
    "groups-of-one-shard": (
        ["shards=1,replicas=32"],
        [
            ("parallelism.replicate_size", 4, 32, "stated"),
            ("parallelism.shard_size", 8, 1, "stated"),
            ("parallelism.sharding_stage", 3, 0, "derived"),
        ],
        [],
    ),
    "no-sharding": (
        ["zero=0"],
        [
            ("parallelism.replicate_size", 4, None, "unknown"),
            ("parallelism.shard_size", 8, None, "unknown"),
            ("parallelism.sharding_stage", 3, 0, "stated"),
        ],
        [],
    ),
    "number-format": (
        ["precision=float16"],
        [
            ("precision.compute_dtype", "bf16", "fp16", "stated"),
            ("precision.bf16", True, False, "derived"),
            ("precision.fp16", False, True, "derived"),
        ],
        [],
    ),
    "switch-of-a-number-format": (
        ["precision.fp16=true"],
        [
            ("precision.compute_dtype", "bf16", "fp16", "derived"),
            ("precision.bf16", True, False, "derived"),
            ("precision.fp16", False, True, "stated"),
        ],
        [],
    ),
    "recomputation": (
        ["recompute=selective"],
        [
            ("memory.recompute_mode", "full", "selective", "stated"),
            ("memory.recompute_method", "uniform", None, "unknown"),
            ("memory.recompute_layers", 1, None, "unknown"),
        ],
        [],
    ),
    "interval-in-steps": (
        ["interval=500"],
        [
            ("checkpoint.interval_steps", None, 500, "stated"),
            ("checkpoint.interval_seconds", 600.0, None, "unknown"),
            ("checkpoint.interval_unit", None, "steps", "derived"),
        ],
        [],
    ),
    "shape-of-the-model": (
        ["model.hidden_size=8192"],
        [
            ("model.parameters", 13000000000, None, "unknown"),
            ("model.hidden_size", 5120, 8192, "stated"),
            ("model.head_dimension", 128, None, "unknown"),
        ],
        ["the stated number of parameters no longer holds"],
    ),
    "list-and-comma-in-a-value": (
        [
            "telemetry.sinks=wandb+tensorboard",
            "memory.allocator_configuration=expandable_segments:True,max_split:1,sp=on",
        ],
        [
            ("parallelism.sequence_parallel", None, True, "stated"),
            (
                "memory.allocator_configuration",
                None,
                "expandable_segments:True,max_split:1",
                "stated",
            ),
            ("telemetry.sinks", None, ["wandb", "tensorboard"], "stated"),
        ],
        [],
    ),
    "the-same-value": (["tp=1"], [], []),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_set_replaces_statements_and_the_rest_follows(
    job: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    changes, expected, remarks = CASES[name]
    found = what_if(capsys, job, *changes)
    assert rows(found) == expected
    assert found["remarks"] == remarks


def test_a_gpu_brings_its_memory_and_takes_the_machine_type_away(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = JOB.replace("gpus_per_node: 8", "instance_type: p5.48xlarge")
    job.write_text(text, encoding="utf-8")
    found = {row[0]: row[1:] for row in rows(what_if(capsys, job, "gpu=A100-40GB"))}
    memory = found["cluster.accelerator_memory_bytes"]
    assert memory == (85520809984, 42949672960, "derived")
    assert found["cluster.instance_type"] == ("aws-p5", None, "unknown")
    assert found["cluster.compute_capability"] == ([9, 0], [8, 0], "derived")
    assert "cluster.gpus_per_node" not in found
    found = {
        row[0]: row[1:] for row in rows(what_if(capsys, job, "instance=p4d.24xlarge"))
    }
    assert found["cluster.accelerator"][1] == "a100-sxm4-40gb"


def test_larger_groups_of_shards_turn_sharding_on(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = JOB.replace("sharding_stage: 3", "sharding_stage: 0")
    text = text.replace("fsdp2", "ddp").replace("shard_size: 8", "shard_size: 1")
    job.write_text(text.replace("replicate_size: 4", "replicate_size: 32"), "utf-8")
    found = rows(what_if(capsys, job, "shards=32,replicas=1"))
    assert ("parallelism.sharding_stage", 0, 3, "derived") in found
    assert ("parallelism.engine", "ddp", "fsdp2", "derived") in found


def test_one_stage_has_no_virtual_ones(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = job.with_name("pretrain.sh")
    path.write_text(MEGATRON, encoding="utf-8")
    found = what_if(capsys, path, "pp=1")
    assert (
        "parallelism.layers_per_virtual_stage",
        4,
        None,
        "unknown",
    ) in rows(found)
    vpp = {row[0]: row[1:] for row in rows(what_if(capsys, path, "vpp=4"))}
    assert vpp == {
        "parallelism.virtual_stages": (None, 4, "stated"),
        "parallelism.layers_per_virtual_stage": (4, None, "unknown"),
    }


def test_a_changed_value_has_the_option_for_its_place(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = what_if(capsys, job, "zero=2")["values"]
    assert row["before"]["places"] == [
        {
            "file": "job.yaml",
            "key": "parallelism.sharding_stage",
            "line": 11,
            "column": 19,
        }
    ]
    assert row["after"]["places"] == [
        {
            "file": "command line",
            "key": "--what-if zero=2",
            "line": None,
            "column": None,
        }
    ]
