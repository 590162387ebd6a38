"""What `speccheck plan` shows of the launches of scripts, launcher by launcher."""

import json
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main

_JOB = """#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
"""


def _launches(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> list[dict[str, str]]:
    """Return the accounts of a script: the values that are known, by their name."""
    path = tmp_path / "job.sbatch"
    path.write_text(text, encoding="utf-8")
    main(["plan", str(path)])
    accounts: list[dict[str, str]] = []
    is_launch = False
    for line in capsys.readouterr().out.splitlines():
        if not line.startswith(" "):
            is_launch = line.startswith("launch ")
            if is_launch:
                accounts.append({"launcher": line.split()[1]})
        elif is_launch and not line.startswith("   "):
            name, value, *rest = line.split()
            if value == "unknown":
                value = "?"
            accounts[-1][name] = value if rest or value == "?" else ""
    return accounts


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            (
                "srun torchrun --nnodes=4 --nproc_per_node=8 --rdzv_backend=c10d "
                "--rdzv_endpoint=node-0:29500 train.py"
            ),
            {
                "launcher": "torchrun",
                "spreader": "srun",
                "nodes": "4",
                "nodes_started": "4",
                "tasks": "1",
                "processes": "8",
                "world": "32",
                "devices": "32",
                "rendezvous_port": "29500",
                "rendezvous_backend": "c10d",
            },
        ),
        (
            (
                "srun accelerate launch --num_machines 4 --num_processes 32 "
                "--machine_rank $SLURM_NODEID --main_process_ip h train.py"
            ),
            {
                "launcher": "accelerate",
                "nodes": "4",
                "processes": "8",
                "processes_per_node": "8",
                "world": "32",
                "node_rank": "?",
                "rendezvous_address": "h",
            },
        ),
        (
            "srun -N 2 --ntasks-per-node=8 python train.py",
            {
                "launcher": "python",
                "spreader": "srun",
                "nodes_started": "2",
                "tasks": "8",
                "processes": "1",
                "processes_per_node": "8",
            },
        ),
        (
            "srun -n 2 torchrun --nproc_per_node=8 train.py",
            {"nodes_started": "2", "nodes": "1", "processes": "8"},
        ),
        (
            "srun --ntasks=$COUNT torchrun --nproc_per_node=8 train.py",
            {"spreader": "srun", "nodes": "1", "processes": "8"},
        ),
        (
            "mpirun -np 16 -H a:8,b:8 -x PATH python train.py",
            {
                "launcher": "python",
                "spreader": "mpirun",
                "nodes_started": "2",
                "tasks": "8",
                "world": "16",
            },
        ),
        (
            "composer --world_size 16 -n 8 --node_rank 0 --master_addr a train.py",
            {
                "launcher": "composer",
                "spreader": "batch",
                "nodes_started": "1",
                "nodes": "2",
                "processes": "8",
                "world": "16",
                "node_rank": "0",
            },
        ),
        (
            (
                "NNODES=2 NPROC_PER_NODE=8 NODE_RANK=1 MASTER_ADDR=a llamafactory-cli "
                "train x.yaml"
            ),
            {
                "launcher": "llamafactory-cli",
                "nodes": "2",
                "processes": "8",
                "world": "16",
                "node_rank": "1",
                "rendezvous_address": "a",
            },
        ),
        (
            "deepspeed --num_nodes 4 --num_gpus 8 --master_addr a train.py",
            {"launcher": "deepspeed", "nodes": "4", "processes": "8", "world": "32"},
        ),
        (
            "ssh node-1 torchrun --nnodes=4 --nproc_per_node=8 --node_rank=1 train.py",
            {"spreader": "ssh", "nodes": "4", "node_rank": "1"},
        ),
    ],
)
def test_each_launcher_states_its_account(
    command: str,
    expected: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    accounts = _launches(f"{_JOB}{command}\n", tmp_path, capsys)
    assert len(accounts) == 1
    shown = accounts[0]
    assert {name: shown.get(name) for name in expected} == expected


def test_a_step_whose_tasks_a_variable_states_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{_JOB}srun --ntasks=$COUNT torchrun --nproc_per_node=8 train.py\n"
    (account,) = _launches(text, tmp_path, capsys)
    assert "tasks" not in account
    assert "nodes_started" not in account


def test_a_step_on_a_named_host_counts_no_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{_JOB}srun -w node-1 torchrun --nnodes=4 --node_rank=1 train.py\n"
    (account,) = _launches(text, tmp_path, capsys)
    assert account["spreader"] == "srun"
    assert "nodes_started" not in account


def test_the_command_within_quotes_is_the_launch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{_JOB}srun bash -c 'torchrun --nnodes=4 --nproc_per_node=8 train.py'\n"
    (account,) = _launches(text, tmp_path, capsys)
    assert (account["launcher"], account["spreader"]) == ("torchrun", "srun")


def test_a_script_that_srun_starts_has_the_nodes_of_its_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = tmp_path / "train.sh"
    train.write_text(
        "torchrun --nnodes=4 --nproc_per_node=8 --node_rank=$SLURM_PROCID "
        "--master_addr=node-0 train.py\n",
        encoding="utf-8",
    )
    job = tmp_path / "job.sbatch"
    text = _JOB.replace("per-node=1", "per-node=8")
    job.write_text(f"{text}srun bash train.sh\n", encoding="utf-8")
    assert main([str(job), str(train)]) == 1
    shown = capsys.readouterr().out
    assert "SLURM_PROCID numbers tasks: 4 nodes x 8 tasks make it 0 to 31" in shown
    assert "8 tasks on a node x 8 processes = 64 ranks for 8 GPUs" in shown


def test_the_plan_gives_each_launch_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Give the sentence and each number of the account with its place."""
    path = tmp_path / "job.sbatch"
    command = (
        "srun torchrun --nnodes=4 --nproc_per_node=8 --rdzv_backend=c10d "
        "--rdzv_endpoint=node-0:29500 train.py\n"
    )
    path.write_text(_JOB + command, encoding="utf-8")
    main(["plan", "--output", "json", str(path)])
    (launch,) = json.loads(capsys.readouterr().out)["plans"][0]["launches"]
    assert launch["text"] == (
        "srun starts torchrun, on 4 nodes, 8 ranks a node, 32 ranks in all, "
        "32 GPUs allocated, meeting at node-0:29500 by c10d"
    )
    assert launch["launcher"]["value"] == "torchrun"
    account = {item["name"]: item for item in launch["account"]}
    assert account["launch.world"]["value"] == 32
    assert account["launch.world"]["note"] == "4 nodes x 8 ranks = 32"
    assert [place["line"] for place in account["launch.nodes"]["places"]] == [5]
