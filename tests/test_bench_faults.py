"""`speccheck bench` when something goes wrong: what was measured is kept and told."""

import os
import shutil
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench_ranks import (
    SPECCHECK,
    ends,
    free_port,
    needs_torch,
    ranks_below,
    run,
    runs,
    started,
)

pytestmark = [needs_torch, pytest.mark.slow, pytest.mark.alone]

SMALL = ("--min-size", "64KiB", "--max-size", "128KiB", "--iterations", "3")
# It goes on until something ends it.
LONG = ("--min-size", "64KiB", "--max-size", "1GiB", "--iterations", "100")
FIRST_SIZE, SECOND_SIZE = "65536", "131072"
# torch is imported before the program can tell it to leave its own words out.
_CORRUPTING = """
import os
import sys
os.environ["TORCH_CPP_LOG_LEVEL"] = "FATAL"
import torch.distributed as distributed
from speccheck.validator.cli.main import main

right = distributed.all_reduce

def wrong(tensor, *arguments, **named):
    work = right(tensor, *arguments, **named)
    if tensor.numel() > 1234 and distributed.get_rank() == 1:
        tensor[1234] += 1
    return work

distributed.all_reduce = wrong
code = main(sys.argv[1:])
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)  # as the program ends: threads of torch may outlive it
"""


def world_of(size: int) -> dict[str, object]:
    """Return what every rank of a world on this machine is told."""
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    return {"WORLD_SIZE": size, **address}


def a_rank(rank: int, world: dict[str, object]) -> dict[str, object]:
    """Return what one of them is told."""
    own = {"RANK": rank, "LOCAL_RANK": rank, "SPECCHECK_HOST": f"node{rank}"}
    return {**world, **own}


@pytest.mark.parametrize(
    "kind", ["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send-recv"]
)
def test_every_collective_is_right_and_has_its_bus_bandwidth(
    kind: str, tmp_path: Path
) -> None:
    out = tmp_path / "run.json"
    words = ("--ranks", "3", "--data-type", "bfloat16", "--out", str(out))
    hosts = ("--backend", "gloo")
    code, table, error = run((*SPECCHECK, "bench", kind, *SMALL, *words, *hosts))
    # Of all-reduce a must asks, and of the GPUs nothing was seen.
    assert (code, error) == (3 if kind == "all-reduce" else 0, "")
    (found,) = runs(out)
    assert found["collective"] == kind.replace("-", "_")
    assert found["wrong_values"] == [0, 0]
    assert found["is_complete"] is True
    assert (found["ranks"], found["backend"], found["nodes"]) == (3, "gloo", 1)
    factor = {"all-reduce": 4 / 3, "send-recv": 1.0}.get(kind, 2 / 3)
    for at, seconds in enumerate(found["seconds"]):
        rate = found["size_bytes"][at] / seconds
        assert found["algorithm_bytes_per_second"][at] == pytest.approx(rate)
        assert found["bus_bytes_per_second"][at] == pytest.approx(rate * factor)
    assert str(found["size_bytes"][1]) in table


def test_a_machine_without_gpus_passes_nothing_unless_hosts_are_meant() -> None:
    words = ("bench", "all-gather", *SMALL, "--ranks", "2", "--profile", "ci")
    code, table, error = run((*SPECCHECK, *words))
    assert code == 3
    assert "no rank has a GPU that torch can use" in error
    assert FIRST_SIZE in table


def test_a_wrong_element_is_caught(tmp_path: Path) -> None:
    script, out = tmp_path / "corrupting.py", tmp_path / "run.json"
    script.write_text(_CORRUPTING)
    command = (sys.executable, str(script), "bench", "all-reduce", *SMALL)
    world = world_of(2)
    with ExitStack() as stack:
        ranks = [
            stack.enter_context(
                started((*command, "--out", str(out)), a_rank(rank, world))
            )
            for rank in range(2)
        ]
        (code, _, error), (_, _, silent) = [item.ended() for item in ranks]
    assert (code, silent) == (1, "")
    assert "4 values came out wrong, on node1" in error
    (found,) = runs(out)
    assert found["wrong_values"] == [2, 2]  # before the timed iterations, and after
    assert found["wrong_hosts"] == ["node1"]


def test_ranks_that_do_not_come_are_named() -> None:
    command = (*SPECCHECK, "bench", "all-reduce", "--deadline", "20")
    world = world_of(4)
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(started(command, a_rank(rank, world)))
            for rank in (0, 2)
        )
        code, out, error = first.ended()
        assert second.ended()[2] == ""
    assert (code, out) == (3, "")
    assert "2 of 4 ranks came within 20 s; missing: ranks 1, 3" in error


def test_rank_0_that_does_not_come_is_told_by_the_others() -> None:
    command = (*SPECCHECK, "bench", "all-reduce", "--deadline", "3")
    world = world_of(4)
    code, _, error = run(command, a_rank(3, world))
    assert code == 3
    place = f"127.0.0.1:{world['MASTER_PORT']}"
    assert error.startswith(
        f"speccheck: rank 3: rank 0 at {place} does not answer within 3 s"
    )


def long_run(out: Path, *words: str) -> tuple[str, ...]:
    return (*SPECCHECK, "bench", "all-reduce", *LONG, *words, "--out", str(out))


def test_an_interrupt_keeps_what_was_measured(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    with started(long_run(out, "--ranks", "2"), on_terminal=True) as item:
        item.wait_for(FIRST_SIZE)
        ranks = ranks_below(item.process.pid)
        os.kill(item.process.pid, signal.SIGINT)
        code, table, error = item.ended()
    assert (code, sorted(ranks)) == (130, [0, 1])
    assert "interrupted; what was measured until then follows" in error
    (found,) = runs(out)
    assert (found["is_complete"], found["ended_by"]) == (False, "interrupt")
    assert found["size_bytes"][0] == int(FIRST_SIZE)
    assert FIRST_SIZE in table
    assert all(map(ends, ranks.values()))


def test_a_rank_that_dies_is_named(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    with started(long_run(out, "--ranks", "3"), on_terminal=True) as item:
        item.wait_for(FIRST_SIZE)
        ranks = ranks_below(item.process.pid)
        os.kill(ranks[2], signal.SIGKILL)
        code, _, error = item.ended()
    assert code == 3
    assert "rank 2 (" in error
    assert "no longer answers" in error
    assert "(rank 2 was ended by signal 9)" in error
    (found,) = runs(out)
    assert found["is_complete"] is False
    assert found["ended_by"].startswith("fault: ")
    assert "rank 2 (" in found["ended_by"]
    assert all(map(ends, ranks.values()))


def test_ranks_end_with_whoever_started_them(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    with started(long_run(out, "--ranks", "2"), on_terminal=True) as item:
        item.wait_for(SECOND_SIZE)  # then the first is kept
        ranks = ranks_below(item.process.pid)
        item.process.kill()
        item.ended()  # its terminal is closed when the last of them has ended
        assert all(map(ends, ranks.values()))
    (found,) = runs(out)
    assert found["is_complete"] is False


def test_the_budget_ends_it(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    code, _, error = run(long_run(out, "--ranks", "2", "--budget", "25s"))
    assert code == 3
    assert "the time budget of 25 s is used up" in error
    (found,) = runs(out)
    assert (found["is_complete"], found["ended_by"]) == (False, "time budget")


def test_what_does_not_fit_on_the_disk_is_printed(tmp_path: Path) -> None:
    """A limit on the size of files, which the shell sets, is as a disk that is full."""
    out = tmp_path / "run.json"
    command = (*SPECCHECK, "bench", "all-reduce", *SMALL, "--ranks", "2")
    shell = (shutil.which("sh") or "sh", "-c", 'ulimit -f 1; exec "$@"', "sh")
    code, printed, error = run((*shell, *command, "--out", str(out)))
    assert code == 2
    assert "the measurement follows on standard output" in error
    assert '"schema": "speccheck-snapshot/1"' in printed
    assert list(tmp_path.iterdir()) == []
