"""`speccheck bench all-reduce` as far as it goes without torch: worlds and words."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest

from json_schemas import schema_text
from speccheck.probes.collectives.agreeing import sets_of, settled
from speccheck.probes.collectives.faults import fault_message
from speccheck.probes.collectives.interfaces import interface_to
from speccheck.probes.collectives.measure import TimedSize
from speccheck.probes.collectives.meeting import Member, Refused
from speccheck.probes.collectives.operations import (
    bus_factor,
    elements_of,
    functions_of,
)
from speccheck.probes.collectives.patterns import summed, sums
from speccheck.probes.collectives.results import Results, SetRun
from speccheck.probes.collectives.settings import Settings, settings_of
from speccheck.probes.collectives.timing import slowest_rank, timing
from speccheck.probes.collectives.world import (
    World,
    WrongWorld,
    first_of_hosts,
    read_world,
)
from speccheck.validator.cli.main import main
from speccheck.validator.evidence.measurement.collective import CollectiveRuns
from speccheck.validator.sources.files import read_file

TORCHRUN = {
    "RANK": "3",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "MASTER_ADDR": "node-a",
    "MASTER_PORT": "29400",
    "TORCHELASTIC_USE_AGENT_STORE": "True",
    "TORCHELASTIC_RESTART_COUNT": "2",
}
SRUN = {
    "SLURM_PROCID": "9",
    "SLURM_NTASKS": "16",
    "SLURM_STEP_NUM_TASKS": "16",
    "SLURM_LOCALID": "1",
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NODELIST": "gpu-[007-008]",
}
MPIRUN = {
    "OMPI_COMM_WORLD_RANK": "2",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_RANK": "2",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
    "PMIX_NAMESPACE": "3214213121",
}
HYDRA = {
    "PMI_RANK": "5",
    "PMI_SIZE": "8",
    "MPI_LOCALRANKID": "1",
    "MPI_LOCALNRANKS": "4",
}


def known(environ: dict[str, str]) -> World:
    found = read_world(environ)
    assert found is not None
    return found


def test_torchrun_tells_all_and_serves_the_store() -> None:
    world = known(TORCHRUN)
    assert (world.launcher, world.rank, world.size, world.local_rank) == (
        "torchrun",
        3,
        8,
        1,
    )
    assert (world.meeting_place, world.has_agent_store) == ("node-a:29400", True)
    assert world.attempt == "2"


def test_srun_meets_on_the_first_host_and_on_a_port_of_the_job() -> None:
    world = known(SRUN)
    assert (world.launcher, world.rank, world.size, world.local_rank) == (
        "srun",
        9,
        16,
        1,
    )
    assert world.address == "gpu-007"
    assert world.port == known({**SRUN, "SLURM_PROCID": "0"}).port
    assert world.port != known({**SRUN, "SLURM_JOB_ID": "4712"}).port
    assert 20_000 <= world.port < 30_000


def test_mpirun_on_one_host_meets_there() -> None:
    assert known(MPIRUN).address == "127.0.0.1"
    assert known({**HYDRA, "MASTER_ADDR": "node-b"}).rank == 5


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        (HYDRA, "mpirun does not tell the host of rank 0: set MASTER_ADDR"),
        ({"RANK": "0"}, "RANK is set and WORLD_SIZE is not"),
        ({**TORCHRUN, "RANK": "8"}, "rank 8 of 8 ranks"),
        ({**TORCHRUN, "RANK": "first"}, "RANK=first: must be a whole number"),
        ({**TORCHRUN, "MASTER_PORT": "70000"}, "MASTER_PORT=70000: must be from 1"),
        ({"PMIX_RANK": "1"}, "PMIX_RANK is set, and nothing tells how many"),
    ],
)
def test_a_world_that_does_not_hold_together(
    environ: dict[str, str], problem: str
) -> None:
    with pytest.raises(WrongWorld, match=problem.replace("(", r"\(")):
        read_world(environ)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"SLURM_PROCID": "0", "SLURM_NTASKS": "16"},  # a batch script: no step
        {**SRUN, "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"},  # a shell by srun
    ],
)
def test_one_process_is_alone(environ: dict[str, str]) -> None:
    assert read_world(environ) is None


def test_of_nested_launchers_the_inner_one_counts() -> None:
    assert known({**SRUN, **TORCHRUN}).launcher == "torchrun"
    assert known({**SRUN, **MPIRUN}).launcher == "mpirun"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("node1", "node1"),
        ("node1,node2", "node1"),
        ("node[01-04,7],gpu3", "node01"),
        ("r[1-2]n[03,5]-ib,login", "r1n03-ib"),
    ],
)
def test_the_first_of_folded_hosts(text: str, first: str) -> None:
    assert first_of_hosts(text) == first


def test_bus_bandwidth_is_that_of_nccl_tests() -> None:
    factors = {
        name: bus_factor(name, 8)
        for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    }
    assert factors == {
        "all_reduce": 1.75,
        "all_gather": 0.875,
        "reduce_scatter": 0.875,
        "all_to_all": 0.875,
    }
    assert bus_factor("send_recv", 8) == 1.0


@pytest.mark.parametrize(
    ("has", "functions"),
    [
        (("all_gather", "all_gather_into_tensor"), "all_gather_into_tensor all_gather"),
        (
            ("all_gather", "all_gather_into_tensor", "all_gather_single"),
            "all_gather_single all_gather",
        ),
        (("all_gather_single",), "all_gather_single"),
        ((), ""),
    ],
)
def test_a_function_goes_by_its_present_name(
    has: tuple[str, ...], functions: str
) -> None:
    """Newer torch warns of the older name, on stderr."""
    distributed = SimpleNamespace(**dict.fromkeys(has))
    assert functions_of(distributed, "all_gather") == functions.split()


def test_blocks_of_ranks_are_of_one_length() -> None:
    assert elements_of("all_reduce", 2**20, 3, 4) == 262_144
    assert elements_of("all_gather", 2**20, 3, 4) == 262_143
    assert elements_of("all_to_all", 4, 8, 4) == 8


@pytest.mark.parametrize("ranks", [2, 3, 8, 32, 33, 72, 1000])
def test_sums_are_exact_in_every_type(ranks: int) -> None:
    """bfloat16 has eight bits: every whole number up to 256."""
    added = [sum(values) for values in zip(*_all(ranks), strict=True)]
    assert added == sums(ranks)
    assert max(added) <= 256
    assert len({tuple(values) for values in _all(min(ranks, 7))}) == min(ranks, 7)


def _all(ranks: int) -> list[list[int]]:
    return [summed(rank, ranks) for rank in range(ranks)]


def test_an_iteration_takes_as_long_as_its_slowest_rank() -> None:
    assert slowest_rank([[1.0, 5.0, 2.0], [3.0, 1.0, 2.5]]) == [3.0, 5.0, 2.5]
    found = timing([4.0, 1.0, 2.0, 3.0, 10.0])
    assert (found.seconds, found.p99_seconds) == (3.0, 10.0)
    assert found.spread == pytest.approx((4.0 - 2.0) / 3.0)


def test_the_loopback_leads_to_itself() -> None:
    assert interface_to("127.0.0.1") == "lo"
    assert interface_to("no such address") == ""


def member(host: str, local_rank: int = 0, gpus: int = 0) -> Member:
    gpu, memory = ("NVIDIA H200", 140 * 10**9) if gpus else ("", 2**33)
    return Member(host, local_rank, gpus, gpu, "2.9.0", memory)


def test_rank_0_settles_what_was_left_open() -> None:
    cpus = [member("a"), member("b")]
    found = settled(Settings("all_reduce"), cpus)
    assert (found.backend, found.largest_bytes) == ("gloo", 2**26)
    gpus = [member("a", rank, gpus=8) for rank in range(8)]
    found = settled(Settings("all_reduce"), gpus)
    assert (found.backend, found.largest_bytes) == ("nccl", 2**33)
    assert settings_of(found.text()) == found


def test_what_these_ranks_cannot_measure_is_refused() -> None:
    some = [member("a", gpus=8), member("b")]
    with pytest.raises(Refused, match=r"rank 1 \(b\): no GPU that torch can use"):
        settled(Settings("all_reduce"), some)
    with pytest.raises(Refused, match="have room for 2 GiB each"):
        settled(Settings("all_reduce", largest_bytes=2**33), [member("a"), member("b")])
    unknown = Settings("all_reduce", rounds=((("a", "d"),),))
    with pytest.raises(Refused, match="hosts without ranks: d; there are a, b"):
        settled(unknown, [member("a"), member("b")])


def test_a_plan_says_who_measures_with_whom() -> None:
    hosts = ["a.cluster", "b.cluster", "a.cluster", "b.cluster"]
    rounds = ((("a", "b"),), (("a",), ("b",)))
    found = sets_of(Settings("all_reduce", rounds=rounds), [*map(member, hosts)])
    assert found == (((0, 1, 2, 3),), ((0, 2), (1, 3)))


HOSTS = ("n0", "n1", "n2", "n3")


def test_who_no_longer_answers_is_named() -> None:
    result = fault_message("all_reduce of 4 MiB: timed out", HOSTS, {1: "", 3: ""}, {})
    assert result.startswith(
        "all_reduce of 4 MiB: timed out; rank 2 (n2) no longer ans"
    )


def test_when_nobody_answers_the_own_link_is_suspect() -> None:
    result = fault_message("timed out", HOSTS, {}, {})
    assert "no other rank answers rank 0 (n0): look at the link of this host" in result
    result = fault_message("timed out", HOSTS[:2], {}, {})
    assert "rank 1 (n1) no longer answers rank 0 (n0): one of both" in result


def test_when_all_answer_their_reports_tell() -> None:
    alive = {1: "", 2: "", 3: ""}
    result = fault_message("", HOSTS, alive, {2: "out of memory"})
    assert "all ranks still answer rank 0 (n0); rank 2 (n2): out of memory" in result


@pytest.mark.slow
def test_results_are_evidence_with_their_conditions(tmp_path: Path) -> None:
    settings = Settings("all_gather", "gloo", largest_bytes=2**21, data_type="bfloat16")
    results = Results(settings, [member(name) for name in HOSTS])
    points = (
        TimedSize(2**20, 0.01, 0.02, 0.011, 0, 0),
        TimedSize(2**21, 0.0, 0.3, 0.1, 2, 2),
    )
    points = (points[0], points[1]._replace(wrong_ranks=(1,)))
    results.runs[1, 0] = SetRun((0, 2, 3), 1, "all_gather_into_tensor", points)
    results.ended_by = "time budget"
    path = tmp_path / "run.json"
    path.write_text(results.text())
    jsonschema.validate(json.loads(results.text()), json.loads(schema_text("snapshot")))
    status, (file,) = read_file(str(path))
    assert status.format == "measurement"
    node = file.readings[0].node
    assert node is not None
    (run,) = node.several(CollectiveRuns).each()
    assert {name: getattr(run, name).value for name in run.leaves} | {
        "tool_version": ""
    } == {
        "tool": "speccheck",
        "tool_version": "",
        "torch_version": "2.9.0",
        "collective": "all_gather",
        "placement": "out_of_place",
        "function": "all_gather_into_tensor",
        "backend": "gloo",
        "data_type": "bfloat16",
        "gpu": None,
        "ranks": 3,
        "nodes": 3,
        "hosts": ("n0", "n2", "n3"),
        "round": 1,
        "warmup_iterations": 5,
        "iterations": 20,
        "is_complete": False,
        "ended_by": "time budget",
        "is_compared": True,
        "wrong_hosts": ("n2",),
        "size_bytes": (2**20, 2**21),
        "seconds": (0.01, 0.0),
        "algorithm_bytes_per_second": (2**20 / 0.01, None),
        "bus_bytes_per_second": (pytest.approx(2**20 / 0.01 * 2 / 3), None),
        "wrong_values": (0, 2),
        "spread": (0.02, 0.3),
        "p99_seconds": (0.011, 0.1),
        "repeats": (0, 2),
    }


PLAN = {"schema": "speccheck-bench-plan/1", "kind": "pairs"}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["file.log"], "takes no file: file.log"),
        (["--ranks", "1"], "--ranks 1: must be from 2"),
        (["--min-size", "some"], "--min-size some: must be a size above zero"),
        (["--max-size", "1KiB"], "--max-size 1KiB: must not be below --min-size"),
        (["--data-type", "half"], "--data-type half: must be one of float32"),
        (["--backend", "mpi"], "--backend mpi: must be one of nccl, gloo"),
        (["--warm-up", "-1"], "--warm-up -1: must be a whole number from 0"),
        (["--timeout", "0"], "--timeout 0: must be seconds above zero"),
        (["--budget", "nan"], "--budget nan: must be seconds above zero"),
        (["--out", "/nowhere/run.json"], "/nowhere must be a folder to write to"),
        (["--plan", "/nowhere.json"], "/nowhere.json"),
        (["--instance", "p99"], "p99"),
        (["--deadlin", "3"], "did you mean --deadline?"),
    ],
)
def test_a_wrong_command_line_is_one_line(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "all-reduce", *words]) == 2
    result = capsys.readouterr()
    assert (result.out, result.err.count("\n")) == ("", 1)
    assert problem in result.err


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        ("{", "line 1: no JSON: Expecting property name"),
        ("[]", "schema is null, not speccheck-bench-plan/1"),
        (json.dumps({**PLAN, "rounds": [["a", "b"]]}), "no list of host names"),
        (
            json.dumps({**PLAN, "rounds": [[["a", "b"], ["b", "c"]]]}),
            "b is in two sets of the round",
        ),
    ],
)
def test_a_wrong_plan_is_refused(
    plan: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan)
    assert main(["bench", "all-reduce", "--plan", str(path)]) == 2
    assert problem in capsys.readouterr().err


def test_without_torch_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["bench", "all-reduce", "--ranks", "2"]) == 2
    needed = "bench all-reduce needs torch: pip install 'speccheck[bench]'\n"
    assert capsys.readouterr().err == f"speccheck: {needed}"


def test_of_wrong_words_under_a_launcher_rank_0_tells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)
    assert main(["bench", "all-reduce", "--ranks", "1"]) == 2
    assert capsys.readouterr().err == ""
