"""Programs that mpirun, mpiexec and horovodrun start."""

import pytest

from script_text import ReadScript, format_of, read_by_all, read_script
from speccheck.validator.sources.formats.mpirun import READER

OPEN_MPI = """\
#!/bin/bash
mpirun --allow-run-as-root -np 32 \\
  --map-by ppr:8:node --bind-to none --hostfile hosts \\
  -x NCCL_DEBUG=WARN -x NCCL_SOCKET_IFNAME=eth0,eth1 -x LD_LIBRARY_PATH \\
  --mca btl ^openib \\
  python train.py --config llama.yaml
"""
NODES, GPUS = "cluster.nodes", "cluster.gpus_per_node"
WORLD, PROCESSES = "cluster.world_size", "recovery.processes_per_node"
TASKS = "recovery.tasks_per_node"


def read(text: str) -> ReadScript:
    return read_script(READER, text)


def test_states_processes_nodes_and_gpus() -> None:
    script = read(OPEN_MPI)
    assert script.values("stated", "derived", "default") == {
        "recovery.launcher": "mpirun",
        "recovery.has_own_libraries": False,
        "recovery.max_restarts": 0,
        NODES: 4,
        GPUS: 8,
        WORLD: 32,
        PROCESSES: 8,
    }
    assert script.note(NODES) == "32 processes / 8 a node = 4"
    assert script.line(WORLD) == 2
    assert script.line(PROCESSES) == 3
    assert script.targets == ["llama.yaml", "hosts"]


@pytest.mark.parametrize(
    ("script", "has_own"),
    [
        ("mpirun -np 2 apptainer exec image.sif python train.py\n", True),
        ("#SBATCH --container-image=train.sqsh\nmpirun -np 2 python train.py\n", True),
        ("docker run image mpirun -np 2 python train.py\n", True),
        ("module load openmpi\nmpirun -np 2 python train.py\n", True),
        ("mpirun -np 2 python train.py\n", False),
    ],
)
def test_images_and_modules_have_libraries_of_their_own(
    script: str, *, has_own: bool
) -> None:
    assert read(script).values("derived")["recovery.has_own_libraries"] is has_own


def test_variables_reach_the_program() -> None:
    assert read_by_all(OPEN_MPI).variables == {
        "NCCL_DEBUG": "WARN",
        "NCCL_SOCKET_IFNAME": "eth0,eth1",
    }
    script = read_by_all(
        "mpiexec -n 2 -genv NCCL_DEBUG WARN -env A=1 -genv B c python train.py\n"
    )
    assert script.variables == {"NCCL_DEBUG": "WARN", "A": "1", "B": "c"}


@pytest.mark.parametrize(
    ("command", "leaf", "value"),
    [
        ("mpirun -np 16 -N 8 python train.py", NODES, 2),
        ("mpirun -np 16 --npernode 8 python train.py", PROCESSES, 8),
        ("mpiexec.hydra -n 16 -ppn 8 python train.py", NODES, 2),
        ("prterun --np 16 --map-by ppr:8:node:PE=12 python train.py", NODES, 2),
        ("mpirun -np 16 --map-by slot python train.py", NODES, None),
        ("mpirun -np 16 --map-by slot python train.py", WORLD, 16),
        ("mpirun -np 20 -N 8 python train.py", NODES, None),
        ("mpirun -H a:8,b:8 python train.py", NODES, 2),
        ("mpirun -H a:8,b:8 python train.py", PROCESSES, 8),
        ("mpirun -np 8 -H a:8,b:8 python train.py", NODES, None),
        ("mpirun -H a:x,b python train.py", NODES, None),
        ("mpirun --host a,a,b,b python train.py", PROCESSES, 2),
        ("horovodrun -np 16 -H a:8,b:8 python train.py", NODES, 2),
        ("horovodrun -np 16 -H a:8,b:8 python train.py", GPUS, 8),
        ("horovodrun -np 8 --host-discovery-script d.sh python train.py", WORLD, None),
        ("nohup time mpirun -np 4 python -m pkg.train", WORLD, 4),
        ("mpirun -np 8 bash -c 'python train.py'", WORLD, 8),
    ],
)
def test_options_in_all_their_forms(command: str, leaf: str, value: object) -> None:
    assert read(f"{command}\n").value(leaf) == value


def test_what_the_script_does_not_know_is_said() -> None:
    script = read("mpirun -np $RANKS -N $LOCAL python train.py\n")
    assert script.note(WORLD) == "${RANKS} is known only when the script runs"
    assert script.note(PROCESSES) == "${LOCAL} is known only when the script runs"
    assert script.value(GPUS) is None


def test_an_elastic_run_restarts() -> None:
    script = read("horovodrun --host-discovery-script d.sh python train.py\n")
    assert script.status("recovery.max_restarts") is None


def test_a_script_that_picks_devices_says_nothing_of_gpus() -> None:
    script = read("CUDA_VISIBLE_DEVICES=0\nmpirun -np 8 -N 2 python train.py\n")
    assert script.value(PROCESSES) == 2
    assert script.status(GPUS) is None


def test_a_launcher_below_says_the_rest() -> None:
    script = read_by_all(
        "mpirun -np 2 -N 1 torchrun --nnodes 2 --nproc-per-node 8 train.py\n"
    )
    assert script.value("recovery.launcher") == "torchrun"
    assert script.value(TASKS) == 1
    assert script.value(PROCESSES) == 8
    assert (script.value(GPUS), script.status(GPUS)) == (8, "derived")
    script = read_by_all("mpirun -N 8 torchrun --nproc-per-node 8 train.py\n")
    assert script.value(TASKS) == 8
    assert script.status(GPUS) == "default"


def test_slots_of_an_allocation_are_not_the_processes() -> None:
    """Sites grant one task for each core; mpirun starts as many as it is told."""
    head = "#SBATCH --nodes=4 --ntasks-per-node=96 --gpus-per-node=8\n"
    script = read_by_all(f"{head}mpirun -np 32 --map-by ppr:8:node python train.py\n")
    assert script.value(PROCESSES) == 8
    assert script.status(TASKS) is None
    assert script.status(GPUS) == script.status(NODES) == "stated"
    script = read_by_all(f"{head}mpirun python train.py\n")
    assert script.value(TASKS) == 96


def test_several_commands_that_differ_state_nothing() -> None:
    script = read("mpirun -np 8 python train.py\nmpirun -np 16 python train.py\n")
    assert script.note(WORLD) == "differs between the 2 commands under MPI"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (OPEN_MPI, "mpirun"),
        ("horovodrun -np 4 python train.py\n", "mpirun"),
        ("mpirun -np 8 ./all_reduce_perf -b 8 -e 1G\n", None),
        ("echo mpirun -np 8 python train.py\n", None),
        ("# mpirun -np 8 python train.py\nls\n", None),
        ("python compile.py\n", None),
    ],
)
def test_detection(text: str, name: str | None) -> None:
    assert format_of(text) == name
