"""Engine, node and rank, by the variables of real launchers and of broken ones."""

import json
import random
from pathlib import Path

import pytest

from machine_files import build, healthy
from speccheck.validator.cli.main import main
from speccheck.validator.evidence.node.node import ProcessLaunch, read_launch
from speccheck.validator.node.launcher import launch_of, name_of

# Of `srun -N4 --ntasks-per-node=8` on n[1-4], the process 11; as Slurm 22.05 sets them.
STEP = {
    "SLURM_JOB_ID": "4711",
    "SLURM_JOBID": "4711",
    "SLURM_JOB_NODELIST": "n[1-6]",
    "SLURM_JOB_NUM_NODES": "6",
    "SLURM_NNODES": "4",
    "SLURM_NTASKS": "32",
    "SLURM_PROCID": "11",
    "SLURM_LOCALID": "3",
    "SLURM_NODEID": "1",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NODELIST": "n[1-4]",
    "SLURM_STEP_NUM_NODES": "4",
    "SLURM_STEP_NUM_TASKS": "32",
    "SLURMD_NODENAME": "n2",
}
OF_STEP = ProcessLaunch(
    *("slurm", "n2", "4711", 0, 11, 32, 4, "n[1-4]", 3), rank_from="SLURM_PROCID"
)
# Of a batch script: it has a rank, and is none of the tasks that srun will start.
BATCH = {
    "SLURM_JOB_ID": "4711",
    "SLURM_JOB_NODELIST": "n[1-6]",
    "SLURM_JOB_NUM_NODES": "6",
    "SLURM_NTASKS": "48",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
    "SLURMD_NODENAME": "n1",
}
# As Slurm 22.05.8 gives it to a prolog; other releases call the list by the job.
PROLOG = {
    "SLURM_JOB_ID": "4711",
    "SLURM_JOB_NTASKS": "48",
    "SLURM_JOB_NUM_NODES": "6",
    "SLURM_JOB_RESTART_COUNT": "0",
    "SLURM_JOB_USER": "anna",
    "SLURM_NODELIST": "n[1-6]",
    "SLURM_SCRIPT_CONTEXT": "prolog_slurmd",
    "SLURMD_NODENAME": "n5",
}
# As Open MPI 4.1 sets them, of the second of two processes on the second of two nodes.
MPIRUN = {
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    "OMPI_MCA_orte_num_nodes": "2",
    "OMPI_MCA_ess_base_jobid": "2073821185",
    "PMIX_NAMESPACE": "2073821185",
    "PMIX_RANK": "3",
}
# As MPICH's Hydra sets them.
HYDRA = {
    "PMI_RANK": "2",
    "PMI_SIZE": "4",
    "MPI_LOCALRANKID": "0",
    "MPI_LOCALNRANKS": "2",
}
# As torch.distributed.run 2.x sets them, on the second of two agents.
TORCHRUN = {
    "RANK": "9",
    "WORLD_SIZE": "16",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "8",
    "GROUP_RANK": "1",
    "GROUP_WORLD_SIZE": "2",
    "MASTER_ADDR": "n1",
    "MASTER_PORT": "29500",
    "TORCHELASTIC_RESTART_COUNT": "1",
    "TORCHELASTIC_RUN_ID": "run-7",
}
POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
INDEXED = {
    **POD,
    "JOB_COMPLETION_INDEX": "5",
    "NODE_NAME": "gke-a3-17",
    "SPECCHECK_RANKS": "8",
    "SPECCHECK_JOB": "preflight",
}
NO_NODE = "a pod is not told its node: set NODE_NAME from spec.nodeName"


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({}, ProcessLaunch(), id="nobody"),
        pytest.param(STEP, OF_STEP, id="srun"),
        pytest.param(
            {**STEP, "SLURM_RESTART_COUNT": "2"},
            OF_STEP._replace(attempt=2),
            id="again",
        ),
        pytest.param(
            {**STEP, "PMIX_RANK": "11", "PMIX_NAMESPACE": "slurm.pmix.4711.0"},
            OF_STEP._replace(rank_from="PMIX_RANK"),
            id="srun --mpi=pmix",
        ),
        pytest.param(
            {**STEP, "PMI_RANK": "11", "PMI_SIZE": "32"},
            OF_STEP._replace(rank_from="PMI_RANK"),
            id="srun --mpi=pmi2",
        ),
        pytest.param(
            BATCH,
            ProcessLaunch("slurm", "n1", "4711", 0, nodes=6, node_list="n[1-6]"),
            id="sbatch",
        ),
        pytest.param(
            PROLOG,
            ProcessLaunch("slurm", "n5", "4711", 0, nodes=6, node_list="n[1-6]"),
            id="prolog",
        ),
        pytest.param(
            {"SLURM_JOB_ID": "4711", "SLURM_JOB_NODELIST": "n[1-6]"}
            | {"SLURMD_NODENAME": "n5"},
            ProcessLaunch("slurm", "n5", "4711", node_list="n[1-6]"),
            id="another prolog",
        ),
        pytest.param(
            {"SLURMD_NODENAME": "n5"},
            ProcessLaunch("slurm", "n5"),
            id="HealthCheckProgram",
        ),
        pytest.param(
            MPIRUN,
            ProcessLaunch(
                *("mpi", "box", "2073821185", None, 3, 4, 2, None, 1, 2),
                rank_from="OMPI_COMM_WORLD_RANK",
            ),
            id="mpirun",
        ),
        pytest.param(
            HYDRA,
            ProcessLaunch(
                *("mpi", "box", None, None, 2, 4, None, None, 0, 2),
                rank_from="PMI_RANK",
            ),
            id="mpiexec of MPICH",
        ),
        pytest.param(
            TORCHRUN,
            ProcessLaunch(
                *("torchrun", "box", "run-7", 1, 9, 16, 2, None, 1, 8),
                rank_from="RANK",
            ),
            id="torchrun",
        ),
        pytest.param(
            INDEXED,
            ProcessLaunch(
                *("kubernetes", "gke-a3-17", "preflight", None, 5, 8),
                rank_from="JOB_COMPLETION_INDEX",
            ),
            id="Indexed Job",
        ),
        pytest.param(
            {**POD, "RANK": "1", "WORLD_SIZE": "16", "PET_NNODES": "2"}
            | {"PET_NODE_RANK": "1", "NODE_NAME": "w1"},
            ProcessLaunch(
                "kubernetes", "w1", rank=1, ranks=2, rank_from="PET_NODE_RANK"
            ),
            id="PyTorchJob, whose RANK is of the pod",
        ),
        pytest.param(
            POD,
            ProcessLaunch("kubernetes", unknown={"node": NO_NODE}),
            id="a pod alone",
        ),
        pytest.param(
            {"NODE_NAME": "agent-3"}, ProcessLaunch(), id="NODE_NAME of a CI is no node"
        ),
        pytest.param(
            {"RAY_JOB_ID": "01000000", "RAY_RAYLET_PID": "77"},
            ProcessLaunch("ray", "box", "01000000"),
            id="ray",
        ),
        pytest.param(
            {"SPECCHECK_HOST": "n9"}, ProcessLaunch("none", "n9"), id="by the user"
        ),
    ],
)
def test_each_engine_is_known_by_its_variables(
    environ: dict[str, str], expected: ProcessLaunch
) -> None:
    assert launch_of(environ, "box") == expected


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param(  # the agent is task 1 of 2, its workers have ranks of their own
            {
                **STEP,
                **TORCHRUN,
                "SLURM_PROCID": "1",
                "SLURM_NTASKS": "2",
                "SLURM_LOCALID": "0",
                "SLURM_STEP_NUM_TASKS": "2",
                "SLURM_STEP_NUM_NODES": "2",
                "SLURM_STEP_NODELIST": "n[1-2]",
            },
            ProcessLaunch(
                *("slurm", "n2", "4711", 0, 9, 16, 2, "n[1-2]", 1, 8), rank_from="RANK"
            ),
            id="srun torchrun",
        ),
        pytest.param(  # the step is that of mpirun's daemons, on all nodes but one
            {
                **STEP,
                **MPIRUN,
                "SLURM_PROCID": "0",
                "SLURM_STEP_NUM_NODES": "1",
                "SLURM_STEP_NUM_TASKS": "1",
                "SLURM_STEP_NODELIST": "n2",
                "SLURM_JOB_NODELIST": "n[1-2]",
                "SLURM_JOB_NUM_NODES": "2",
            },
            ProcessLaunch(
                *("slurm", "n2", "4711", 0, 3, 4, 2, "n[1-2]", 1, 2),
                rank_from="OMPI_COMM_WORLD_RANK",
            ),
            id="mpirun in Slurm",
        ),
        pytest.param(
            {**INDEXED, **TORCHRUN},
            ProcessLaunch(
                *("kubernetes", "gke-a3-17", "preflight", None, 9, 16),
                local_rank=1,
                local_ranks=8,
                nodes=2,
                rank_from="RANK",
            ),
            id="torchrun in a pod",
        ),
        pytest.param(  # deepspeed and accelerate set these, and nothing else
            {**STEP, "RANK": "5", "WORLD_SIZE": "64", "LOCAL_RANK": "5"},
            OF_STEP._replace(rank=5, ranks=64, local_rank=5, rank_from="RANK"),
            id="srun of a launcher of another size",
        ),
        pytest.param(
            {**STEP, "RANK": "11", "WORLD_SIZE": "32", "LOCAL_RANK": "3"},
            OF_STEP._replace(rank_from="RANK"),
            id="exported again from SLURM_PROCID",
        ),
    ],
)
def test_of_nested_launchers_the_inner_tells_the_rank_the_outer_the_node(
    environ: dict[str, str], expected: ProcessLaunch
) -> None:
    assert launch_of(environ, "n2") == expected


def test_a_rank_that_the_batch_script_exported_is_in_doubt() -> None:
    """`export RANK=$SLURM_PROCID` before srun gives each task the rank 0."""
    left_over = {"RANK": "0", "WORLD_SIZE": "32", "LOCAL_RANK": "0"}
    found = launch_of({**STEP, **left_over}, "n2")
    assert (found.rank, found.ranks, found.local_rank) == (None, 32, None)
    assert found.unknown["rank"] == (
        "RANK tells rank 0, SLURM_PROCID rank 11, of as many ranks: one of them is not "
        "of this process"
    )
    assert found.is_first_on_node


@pytest.mark.parametrize(
    ("environ", "field", "reason"),
    [
        ({"SLURM_PROCID": "-1"}, "rank", "SLURM_PROCID=-1: must be a whole number"),
        ({"SLURM_PROCID": "eleven"}, "rank", "SLURM_PROCID=eleven: must be"),
        ({"SLURM_PROCID": "1" * 99}, "rank", f"SLURM_PROCID={'1' * 40}...: must be"),
        ({"SLURM_PROCID": "٣"}, "rank", "SLURM_PROCID=٣: must be"),
        ({"SLURM_PROCID": "1\x1b[2J"}, "rank", "SLURM_PROCID='1\\x1b[2J': must be"),
        ({"SLURM_PROCID": "32"}, "rank", "SLURM_PROCID=32 of 32 ranks: ranks count"),
        ({"SLURM_STEP_NUM_TASKS": "0"}, "ranks", "SLURM_STEP_NUM_TASKS=0: must be"),
        ({"SLURM_LOCALID": "x"}, "local_rank", "SLURM_LOCALID=x: must be"),
        ({"SLURM_RESTART_COUNT": "?"}, "attempt", "SLURM_RESTART_COUNT=?: must be"),
        ({"SLURM_STEP_NUM_NODES": "0"}, "nodes", "SLURM_STEP_NUM_NODES=0: must be"),
        ({"SLURM_JOB_ID": " \t"}, "job", "SLURM_JOB_ID="),
        ({"SLURMD_NODENAME": "../../etc"}, "node", "SLURMD_NODENAME=../../etc: is no"),
        ({"SLURMD_NODENAME": "a;reboot"}, "node", "SLURMD_NODENAME=a;reboot: is no"),
        ({"SPECCHECK_HOST": "-x"}, "node", "SPECCHECK_HOST=-x: is no name of a host"),
        ({"SLURM_STEP_NODELIST": "n\n1"}, "node_list", "SLURM_STEP_NODELIST="),
        ({"SLURM_STEP_NODELIST": "n" * 40_000}, "node_list", "SLURM_STEP_NODELIST=n"),
    ],
)
def test_what_is_no_value_is_not_known_and_says_why(
    environ: dict[str, str], field: str, reason: str
) -> None:
    found = launch_of({**STEP, **environ}, "n2")
    assert found._asdict()[field] is None
    assert found.unknown[field].startswith(reason)
    assert found.unknown[field].isprintable()
    others = {"engine", "node_list", "nodes", "job"} - {field}
    assert all(found._asdict()[item] == OF_STEP._asdict()[item] for item in others)
    # Nothing of it may hide the node from being looked at.
    assert found.is_first_on_node or field not in {"rank", "local_rank"}


def test_a_node_name_that_was_carried_to_another_node_is_not_believed() -> None:
    """MPICH's mpiexec gives its own variables to all nodes: n2 is not this one."""
    found = launch_of(STEP, "n3.cluster.example")
    assert found.node is None
    assert found.unknown["node"].startswith(
        "SLURMD_NODENAME=n2, and this machine is n3"
    )
    assert name_of(found, "n3") == "n3"
    # Several slurmd on one machine: its own name is that of no node.
    assert launch_of(STEP, "build-host").node == "n2"
    assert launch_of({**STEP, "SLURM_JOB_NODELIST": "n[1-"}, "n3").node == "n2"


def test_a_shell_of_salloc_is_on_no_node_of_the_job() -> None:
    found = launch_of({"SLURM_JOB_ID": "4711", "SLURM_NNODES": "2"}, "login")
    assert (found.engine, found.node, found.nodes) == ("slurm", None, 2)
    assert "SLURMD_NODENAME is not set" in found.unknown["node"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, ProcessLaunch()),
        ([], ProcessLaunch()),
        ({}, ProcessLaunch()),
        (
            {"engine": "slurm", "node": "n17", "rank": 17, "ranks": 64, "more": 1},
            ProcessLaunch("slurm", "n17", rank=17, ranks=64),
        ),
        (
            {"engine": "pbs", "node": "n1\n", "rank": True, "attempt": -1, "job": 7},
            ProcessLaunch(
                unknown={
                    "engine": "must be one of slurm, mpi, torchrun, kubernetes, ray, "
                    "none",
                    "node": "is no name of a host",
                    "job": "must be a text",
                    "attempt": "must be a whole number from 0",
                    "rank": "must be a whole number from 0",
                }
            ),
        ),
        (
            {"rank": 64, "ranks": 64},
            ProcessLaunch(unknown={"rank": "rank 64 of 64 ranks: ranks count from 0"}),
        ),
        (
            {"unknown": {"rank": "x" * 999, "y": "z", "node": 3}},
            ProcessLaunch(unknown={"rank": "x" * 300}),
        ),
        (
            {"unknown": "all", "node": {"status": "absent"}},
            ProcessLaunch(unknown={"node": "must be a text"}),
        ),
    ],
)
def test_what_a_snapshot_says_is_read_as_far_as_it_can_be(
    data: object, expected: ProcessLaunch
) -> None:
    assert read_launch(data) == expected


def test_what_was_recognised_is_read_again_from_a_snapshot() -> None:
    for environ in (STEP, BATCH, PROLOG, MPIRUN, TORCHRUN, INDEXED, POD):
        found = launch_of(environ, "box")
        assert read_launch(json.loads(json.dumps(found.content()))) == found


def test_whatever_variables_say_nothing_breaks() -> None:
    chance = random.Random(1)  # noqa: S311 - the same each time
    names = [*{**STEP, **MPIRUN, **HYDRA, **TORCHRUN, **INDEXED, **PROLOG}]
    values = ["", "0", "1", "8", "-1", "x", "n1", "n[1-4]", "n[1-", "../x", "\x1b[2J"]
    for _ in range(3000):
        some = chance.sample(names, chance.randint(0, len(names)))
        found = launch_of({name: chance.choice(values) for name in some}, "box")
        assert read_launch(json.loads(json.dumps(found.content()))) == found
        assert found.rank is None or found.ranks is None or found.rank < found.ranks
        assert all(item.isprintable() for item in found.unknown.values())


@pytest.mark.slow
def test_probe_writes_how_it_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in STEP.items():
        monkeypatch.setenv(name, value)
    out = f"{tmp_path}/snapshots/"
    assert main(["probe", "--budget", "3s", "--out", out]) == 0
    taken = json.loads(Path(out, "n2.json").read_text())
    assert read_launch(taken["launch"]) == OF_STEP
    # Copied files are those of another machine than this.
    root = str(build(tmp_path / "root", *healthy()))
    other = tmp_path / "other.json"
    assert main(["probe", "--sysroot", root, "--out", str(other)]) == 0
    assert "launch" not in json.loads(other.read_text())
