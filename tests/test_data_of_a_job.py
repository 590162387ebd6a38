"""What files name as data, and whether their job runs in a container."""

from pathlib import Path
from typing import Any

import pytest

from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Request
from speccheck.validator.run.run import read_plans

MEGATRON = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32"
OLMO = """\
run_name: seven
save_folder: /shared/run
model: {d_model: 4096, n_layers: 32, n_heads: 32, rope: true, weight_tying: false}
max_grad_norm: 1.0
optimizer: {name: adamw, learning_rate: 1.0e-4}
scheduler: {name: cosine_with_warmup, t_warmup: 10}
global_train_batch_size: 512
device_train_microbatch_size: 2
data: {num_workers: 4, paths: [/data/a.npy, "s3://bucket/b.npy"]}
"""
FACTORY = """\
model_name_or_path: meta-llama/Llama-3.1-8B
stage: sft
do_train: true
finetuning_type: full
template: llama3
dataset: alpaca
dataset_dir: /data/factory
cutoff_len: 2048
output_dir: /shared/run
"""


def values(folder: Path, name: str, text: str) -> tuple[Any, Any]:
    """Return the paths of data, and whether the job runs in a container."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    request = Request((str(path),))
    ((_, (group,)),) = read_plans(request)
    plan = assemble(group.files, request.judging.context).plan
    return plan.value("data.paths").value, plan.value("run.in_container").value


@pytest.mark.parametrize(
    ("name", "text", "paths"),
    [
        ("job.sh", f"{MEGATRON} --data-path /data/tokens", ("/data/tokens",)),
        (
            "job.sh",
            f"{MEGATRON} --data-path 0.3 /data/a 0.7 /data/b --split 99,1,0",
            ("/data/a", "/data/b"),
        ),
        ("job.sh", f"{MEGATRON} --train-data-path /data/a", ("/data/a",)),
        ("job.sh", f"{MEGATRON} --mock-data --data-path /data/tokens", None),
        ("job.sh", f"{MEGATRON} --data-path $DATA", None),
        ("job.sh", f"D=/data\n{MEGATRON} --data-path $D/tokens", ("/data/tokens",)),
        ("olmo.yaml", OLMO, ("/data/a.npy", "s3://bucket/b.npy")),
        ("olmo.yaml", OLMO.replace("[/data/a.npy, ", "[7, "), None),
        ("factory.yaml", FACTORY, ("/data/factory",)),
    ],
)
def test_files_tell_the_data(
    name: str, text: str, paths: tuple[str, ...] | None, tmp_path: Path
) -> None:
    assert values(tmp_path, name, text)[0] == paths


@pytest.mark.parametrize(
    ("line", "is_inside"),
    [
        (MEGATRON, None),
        (f"# docker run image {MEGATRON}\n{MEGATRON}", None),
        (f"docker run --gpus all image {MEGATRON}", True),
        (f"singularity exec --nv image.sif {MEGATRON}", True),
        (f"srun --container-image=nvcr.io/nvidia/nemo:24.07 {MEGATRON}", True),
        (f"#SBATCH --nodes 2 --container-image=image\nsrun {MEGATRON}", True),
    ],
)
def test_scripts_tell_a_container(
    line: str,
    is_inside: bool | None,  # noqa: FBT001 - of the parameters
    tmp_path: Path,
) -> None:
    assert values(tmp_path, "job.sh", f"#!/bin/sh\n{line}\n")[1] is is_inside
