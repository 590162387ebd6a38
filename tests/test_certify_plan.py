"""What `speccheck certify --plan` says to run: true commands, for every engine."""

import io
import json
import shlex
from contextlib import redirect_stdout

import pytest

from speccheck.validator.certification.needs import clauses_by_source, level_request
from speccheck.validator.certification.run_plan import (
    ENGINES,
    Engine,
    RunPlan,
    drill_example,
    run_plan,
)
from speccheck.validator.cli.command_line import parse
from speccheck.validator.cli.command_table import named
from speccheck.validator.cli.main import main
from speccheck.validator.cli.option_table import OPTIONS, Option
from speccheck.validator.editions.edition import NumberValue, load_edition

TYPE = "azure-nd96isr-h100-v5"
COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
TABLES: dict[str, tuple[Option, ...]] = {
    "preflight": named("preflight").options,
    "fleet": named("fleet").options,
    "certify": named("certify").options,
    "evidence": named("evidence pack").options,
    "bench": named("bench all-reduce").options,
}
# Other commands of the same certification, of whose options no table is here.
ELSEWHERE = ("keygen", "telemetry")


def planned(engine: Engine = "slurm", level: str = "L3", name: str = TYPE) -> RunPlan:
    return run_plan(level_request(load_edition(), name, level), engine)


def ours(command: str) -> list[list[str]]:
    """Return the words of each call of speccheck in a command."""
    found = []
    for piece in command.split("speccheck ")[1:]:
        text = piece.partition(" > ")[0].partition(";")[0].partition(" #")[0]
        found.append(shlex.split(text))
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_every_command_of_ours_is_parsed(engine: Engine) -> None:
    seen = set()
    for step in planned(engine).steps:
        for command in step.commands:
            for words in ours(command):
                name, rest = words[0], words[1:]
                seen.add(name)
                if name in ELSEWHERE:
                    continue
                if name == "bench":
                    assert rest.pop(0) in COLLECTIVES
                elif name == "evidence":
                    assert rest.pop(0) == "pack"
                elif name not in TABLES:
                    assert "/" in name, f"no command {name}"
                    parse(words, OPTIONS)
                    continue
                if name != "certify" or "--plan" in rest:
                    parse(rest, TABLES[name])
    assert {"preflight", "fleet", "bench", "evidence", "certify"} <= seen


@pytest.mark.parametrize(
    ("engine", "starts"),
    [
        ("slurm", "srun --nodes=2 --ntasks-per-node=8 --gpus-per-node=8 speccheck"),
        ("mpi", "mpirun -np 16 --hostfile hosts.txt --map-by ppr:8:node speccheck"),
        ("torchrun", "torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d "),
    ],
)
def test_an_engine_starts_one_process_a_gpu(engine: Engine, starts: str) -> None:
    (step,) = [item for item in planned(engine).steps if item.name == "collectives"]
    assert any(starts in command for command in step.commands)


def test_every_clause_of_the_level_is_settled_by_a_step() -> None:
    asked = level_request(load_edition(), TYPE, "L3")
    wanted = {
        item.clause.id for rows in clauses_by_source(asked).values() for item in rows
    }
    settled = {
        clause
        for step in planned().steps
        for row in step.settles
        for clause in row.clauses
    }
    assert settled == wanted


@pytest.mark.parametrize(
    ("level", "steps"),
    [
        ("L1", ["files", "certificate"]),
        ("L2", ["files", "machines", "collectives", "run", "certificate"]),
        (
            "L3",
            [
                *("files", "machines", "collectives", "adapters", "diagnosis"),
                *("run", "drill", "certificate"),
            ],
        ),
    ],
)
def test_a_level_takes_its_steps(level: str, steps: list[str]) -> None:
    assert [step.name for step in planned(level=level).steps] == steps


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        (TYPE, "number=0; for adapter in mlx5_ib0 mlx5_ib1 mlx5_ib2 mlx5_ib3 "),
        ("aws-p5", "number=0; for adapter in $(ls /sys/class/infiniband); do ib_"),
        ("gcp-a3-mega", ""),
    ],
)
def test_adapters_are_measured_by_their_names(name: str, begins: str) -> None:
    found = [o.commands for o in planned(name=name).steps if o.name == "adapters"]
    commands = [item for step in found for item in step]
    assert bool(commands) == bool(begins)
    assert all(command.startswith(begins) for command in commands)
    assert all(
        (" -c SRD " in command) == name.startswith("aws") for command in commands
    )


def test_the_drill_is_an_hour_of_utc_in_the_names_of_the_dictionary() -> None:
    records = [json.loads(line) for line in drill_example()]
    assert [record["event"] for record in records] == [
        "run.failure_injected",
        "run.failure_detected",
        "run.node_replaced",
        "run.restore",
        "run.resumed",
    ]
    assert {record["drill"] for record in records} == {"drill-1"}
    assert all(record["time"].endswith("Z") for record in records)
    assert records == sorted(records, key=lambda item: str(item["time"]))


def limit_of(name: str) -> NumberValue | None:
    return level_request(load_edition(), TYPE, "L3").composed.numbers("FT-009")[name]


def told(*words: str) -> tuple[int, str]:
    shown = io.StringIO()
    with redirect_stdout(shown):
        code = main(["certify", *words])
    return code, shown.getvalue()


def test_the_text_tells_time_nodes_clauses_and_commands() -> None:
    code, text = told("--plan", "--profile", f"instance/{TYPE}", "--nodes", "4")
    assert code == 0
    assert text.startswith(f"Level L3 of edition 1.1 for {TYPE}: 8 steps, 4 nodes")
    assert "$ srun --nodes=4 --ntasks-per-node=8" in text
    assert f"must be at most {limit_of('recovery_p95')} s" in " ".join(text.split())
    assert '{"time": "2026-11-21T20:10:00Z", "event": "run.failure_injected"' in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--plan", "--profile", "instance/nothing"], "no profile instance/nothing"),
        (["--plan", "--engine", "ray"], "--engine ray: must be one of slurm, mpi, "),
        (["--plan", "--level", "L4"], "--level L4: must be one of"),
        (["--plan", "--nodes", "1"], "--nodes 1: a type is known by 2 machines"),
        (["--plan", "--profile", "size/L"], "--profile size/L: must be one type"),
    ],
)
def test_a_wrong_command_line_is_one_line(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certify", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"speccheck: {says}")
    assert error.count("\n") == 1
