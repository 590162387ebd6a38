"""`speccheck bench plan` and `speccheck bench judge`, from the command line."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from json_schemas import SCHEMAS
from slow_node import Cluster, measured
from speccheck.validator.cli.bench_search import plans_of
from speccheck.validator.cli.main import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run `speccheck bench ...` in an empty folder: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["bench", *words])
        found = capsys.readouterr()
        return code, found.out, found.err

    return run


def demand_valid(name: str, text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator(SCHEMAS[name]()).validate(found)
    return found


def run_plan(path: str, out: str, slow: dict[str, float], swings: float = 0.0) -> None:
    """Measure a plan on a simulated cluster, and keep what `speccheck bench` would."""
    (plan,) = plans_of([path])
    item = Cluster(plan.hosts, slow, swings=swings)
    runs = measured(plan, item, random.Random(out))  # noqa: S311
    data = {
        "schema": "speccheck-snapshot/1",
        "collective_runs": [dict(run.leaves) for run in runs],
    }
    Path(out).write_text(json.dumps(data, indent=1), "utf-8")


# --- plan ----------------------------------------------------------------------------


def test_a_plan_is_a_document_of_its_schema(bench: Run) -> None:
    code, out, err = bench("plan", "--nodes", "node[1-5]")
    assert code == 0
    plan = demand_valid("bench-plan", out)
    assert (plan["schema"], plan["kind"]) == ("speccheck-bench-plan/1", "pairs")
    assert plan["rounds"][0] == [["node2", "node5"], ["node3", "node4"]]
    assert (plan["nodes"], plan["set_size"]) == ("node[1-5]", 2)
    assert plan["waiting"] == ["node1", "node4", "node2", "node5", "node3"]
    assert err == (
        "5 nodes in 5 rounds of up to 2 sets of 2: about 5 min if a round takes 60 s;\n"
        "every pair meets once\n"
    )


def test_a_plan_as_lines_for_a_shell_loop(bench: Run) -> None:
    code, out, _ = bench(
        "plan", "--nodes", "a,b,c,d", "--rounds", "2", "--format=lines"
    )
    assert code == 0
    assert out == "0 0 a,d\n0 1 b,c\n1 0 a,b\n1 1 c,d\n"


def test_groups_of_a_size_and_their_duration(bench: Run) -> None:
    words = ("--kind", "groups", "--group-size", "16", "--out", "plan.json")
    code, out, err = bench(
        "plan", "--nodes", "n[001-512]", *words, "--round-seconds=90"
    )
    assert (code, out) == (0, "")
    plan = demand_valid("bench-plan", Path("plan.json").read_text("utf-8"))
    assert [len(sets) for sets in plan["rounds"]] == [32, 32, 32]
    assert err.startswith("512 nodes in 3 rounds of up to 32 sets of 16: about 4 min")


def test_nodes_come_from_a_host_file_too(bench: Run) -> None:
    Path("hosts").write_text("# rack 7\nn1 slots=8\nn2 slots=8\n\nn[3-4]  # spare\n")
    code, out, _ = bench("plan", "--nodes", "@hosts", "--format", "lines")
    assert code == 0
    assert out.splitlines()[0] == "0 0 n1,n4"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "--nodes is missing"),
        (("--nodes", "n1"), "it takes two to compare"),
        (("--nodes", "n[1-"), "cannot read"),
        (("--nodes", "n1,n2,n1"), "n1 is named twice"),
        (("--nodes", "@none"), "none: no such file"),
        (("--nodes", "n[1-4]", "--kind", "rings"), "--kind rings: must be one of"),
        (("--nodes", "n[1-4]", "--group-size", "2", "--kind", "x"), "--kind x"),
        (("--nodes", "n[1-4]", "--group-size", "4"), "goes with --kind groups"),
        (("--nodes", "n[1-4]", "--rounds", "4"), "all pairs of 4 nodes have met"),
        (
            ("--nodes", "n[1-4]", "--kind=groups", "--group-size=5"),
            "there are only 4 nodes",
        ),
        (("--nodes", "n[1-4]", "--out", "no/folder/plan.json"), "report not written"),
        (("--nodes", "n[1-4]", "--after", "x.json"), "--nodes goes without --after"),
        (("--after", "none.json"), "none.json: no such file"),
    ],
)
def test_what_cannot_be_planned(
    bench: Run, words: tuple[str, ...], problem: str
) -> None:
    code, out, err = bench("plan", *words)
    assert (code, out) == (2, "")
    assert problem in err
    assert err.startswith("speccheck: bench plan: ")
    assert err.count("\n") == 1


# --- judge ---------------------------------------------------------------------------


def test_from_plan_to_the_slow_node(bench: Run) -> None:
    """One far below its peers is blamed at once, one near them after another round."""
    bench("plan", "--nodes", "node[01-24]", "--out", "plan.json")
    slow = {"node07": 0.5, "node15": 0.88}
    run_plan("plan.json", "results.json", slow)
    code, out, _ = bench(
        "judge", "results.json", "--plan=plan.json", "--next=next.json"
    )
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "SLOW: node07; suspected: node15"
    assert "planned: 36 of 36 sets measured" in lines
    assert "node15 with" in out
    assert "run next.json" in out
    run_plan("next.json", "again.json", slow)
    code, out, _ = bench("judge", "results.json", "again.json")
    assert (code, out.splitlines()[0]) == (1, "SLOW: node[07,15]")


def test_the_next_plan_comes_from_bench_plan_too(bench: Run) -> None:
    bench("plan", "--nodes", "n[01-24]", "--rounds", "1", "--out", "plan.json")
    run_plan("plan.json", "results.json", {"n09": 0.5})
    code, _, _ = bench("judge", "results.json", "--next", "next.json")
    assert code == 3
    code, out, err = bench("plan", "--after", "results.json")
    assert code == 0
    assert out == Path("next.json").read_text("utf-8")
    assert len(json.loads(out)["rounds"]) == 2
    assert err.startswith("5 nodes in 2 rounds of up to 2 sets of 2")
    run_plan("next.json", "again.json", {"n09": 0.5})
    code, out, _ = bench("judge", "results.json", "again.json", "--plan", "plan.json")
    assert (code, out.splitlines()[0]) == (1, "SLOW: n09")
    code, out, err = bench("plan", "--after", "results.json", "again.json")
    assert (code, json.loads(out)["rounds"]) == (0, [])
    assert err == "nobody is suspected: nothing is left to measure\n"


def test_healthy_nodes_are_cleared(bench: Run) -> None:
    bench("plan", "--nodes", "n[01-12]", "--out", "plan.json")
    run_plan("plan.json", "results.json", {})
    code, out, _ = bench("judge", "results.json", "--plan", "plan.json")
    assert (code, out.splitlines()[0]) == (0, "NO SLOW NODE among 12")
    assert "speccheck RESULT holds the rates against" in " ".join(out.split())
    code, out, _ = bench("judge", "results.json", "--full")
    assert sum(line.startswith("  n") for line in out.splitlines()) == 12 + 1


def test_of_many_suspects_the_table_shows_the_slowest(bench: Run) -> None:
    bench("plan", "--nodes", "n[001-200]", "--rounds", "1", "--out", "plan.json")
    slow = {f"n{number:03d}": 0.5 for number in range(1, 21)}
    run_plan("plan.json", "results.json", slow)
    code, out, _ = bench("judge", "results.json")
    assert (code, out.count("suspect: ")) == (3, 24)
    assert "  and 16 more that are slow or suspected: --full shows them" in out
    assert bench("judge", "results.json", "--full")[1].count("suspect: ") == 40


def test_a_planned_node_that_is_missing_is_not_cleared(bench: Run) -> None:
    bench("plan", "--nodes", "n[01-12]", "--out", "plan.json")
    run_plan("plan.json", "results.json", {})
    data = json.loads(Path("results.json").read_text("utf-8"))
    left = [item for item in data["collective_runs"] if "n05" not in item["hosts"]]
    data["collective_runs"] = left
    Path("results.json").write_text(json.dumps(data), "utf-8")
    code, out, _ = bench("judge", "results.json", "--plan", "plan.json")
    assert code == 3
    assert out.startswith("NOT DECIDED: 1 planned node not measured\n")
    assert "planned: 15 of 18 sets measured; not measured at all: n05" in out


@pytest.mark.parametrize(
    ("names", "missing"),
    [("n1.site.org n2.site.org n3.site.org", []), ("n1.a n1.b n2.a", ["n1", "n3"])],
)
def test_names_with_and_without_domain(
    bench: Run, names: str, missing: list[str]
) -> None:
    bench("plan", "--nodes", "n[1-3]", "--out", "plan.json")
    hosts = names.split()
    runs = [
        {
            "collective": "all_reduce",
            "hosts": [host],
            "size_bytes": [1 << 30],
            "bus_bytes_per_second": [46e9],
        }
        for host in hosts
    ]
    data = {"schema": "speccheck-snapshot/1", "collective_runs": runs}
    Path("results.json").write_text(json.dumps(data), "utf-8")
    _, out, _ = bench("judge", "results.json", "--plan=plan.json", "--output=json")
    assert sorted(json.loads(out)["planned"]["missing"]) == missing


def nccl_tests_log(hosts: tuple[str, str], rate: float) -> str:
    """Return what all_reduce_perf prints of two nodes with one GPU each."""
    size = 1 << 30
    microseconds = size / (rate * 1e9) * 1e6
    half = f"{microseconds:9.1f} {rate:7.2f} {rate:7.2f}      0"
    ranks = "\n".join(
        f"#  Rank  {rank} Group  0 Pid  {4000 + rank} on {host:>10} device  0 "
        "[0000:1b:00] NVIDIA H100 80GB HBM3"
        for rank, host in enumerate(hosts)
    )
    return f"""\
# nThread 1 nGpus 1 minBytes {size} maxBytes {size} step: 2(factor) warmup iters: 1 \
iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
{ranks}
#
# Collective test starting: all_reduce_perf
#
#                                                              out-of-place       \
                in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong\
     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       \
     (us)  (GB/s)  (GB/s)
  {size}     {size // 4}     float     sum      -1 {half} {half}
# Out of bounds values : 0 OK
# Avg bus bandwidth    : {rate:.4f}
#
# Collective test concluded: all_reduce_perf
"""


def test_logs_of_nccl_tests_are_judged_by_their_rank_lists(bench: Run) -> None:
    bench("plan", "--nodes", "gpu[1-4]", "--format", "lines", "--out", "plan.lines")
    for line in Path("plan.lines").read_text("utf-8").splitlines():
        number, index, names = line.split()
        left, right = names.split(",")
        rate = 22.5 if "gpu3" in names else 46.1
        text = nccl_tests_log((left, right), rate)
        Path(f"round{number}-set{index}.log").write_text(text, "utf-8")
    code, out, err = bench("judge", *map(str, sorted(Path().glob("*.log"))))
    assert err == ""
    assert (code, out.splitlines()[0]) == (1, "SLOW: gpu3")
    # Both placements were measured, and each is compared with its own kind.
    assert out.count("6 sets, 3 of them slow") == 2


def test_the_judgement_as_json(bench: Run) -> None:
    bench("plan", "--nodes", "n[01-16]", "--out", "plan.json")
    run_plan("plan.json", "results.json", {"n03": 0.5, "n12": 0.9})
    code, out, _ = bench(
        "judge", "results.json", "--plan", "plan.json", "--output", "json"
    )
    found = demand_valid("bench-judgement", out)
    assert code == found["exit_code"] == 1
    assert found["answer"] == "slow"
    by_verdict = {node["host"]: node["verdict"] for node in found["nodes"]}
    assert by_verdict == {
        **{f"n{number:02d}": "cleared" for number in range(1, 17)},
        "n03": "slow",
        "n12": "suspect",
    }
    assert found["conditions"][0]["state"] == "judged"
    assert found["planned"] == {
        "nodes": 16,
        "missing": [],
        "sets": 24,
        "sets_measured": 24,
    }
    demand_valid("bench-plan", json.dumps(found["next"]))
    assert all("n12" in item for sets in found["next"]["rounds"] for item in sets)


def test_results_of_a_folder_and_what_else_lies_there(bench: Run) -> None:
    Path("all").mkdir()
    bench("plan", "--nodes", "n[01-12]", "--out", "all/plan.json")
    run_plan("all/plan.json", "all/results.json", {"n02": 0.5})
    Path("all/notes.yaml").write_text("a: 1\n")
    code, out, _ = bench("judge", "all")
    assert (code, out.splitlines()[0]) == (1, "SLOW: n02")


def test_a_result_that_cannot_be_read_is_told_beside_the_rest(bench: Run) -> None:
    bench("plan", "--nodes", "n[01-12]", "--out", "plan.json")
    run_plan("plan.json", "results.json", {"n02": 0.5})
    text = Path("results.json").read_text("utf-8")
    Path("cut.json").write_text(text[: len(text) // 2], "utf-8")
    code, out, _ = bench("judge", "results.json", "cut.json", "plan.json")
    assert code == 2
    assert out.startswith("SLOW: n02\n")
    assert "not read: cut.json" in out
    assert "not read: plan.json" in out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "no result given"),
        (("none.json",), "none.json: no such file"),
        (("empty.json",), "empty.json: measurement, no runs of a collective"),
        (("--plan", "none.json", "empty.json"), "none.json: no such file"),
        (("--plan", "list.json", "empty.json"), "list.json: schema is null, not"),
        (("--plan", "cut.json", "empty.json"), "cut.json: line 1: no JSON"),
        (("--plan", "twice.json", "empty.json"), "rounds[0][1]: a is in two sets"),
        (("--plan", "kind.json", "empty.json"), 'kind is "rings"'),
        (("--plan", "flat.json", "empty.json"), "rounds[0][0]: no list of host names"),
        (("--plan", "deep.json", "empty.json"), "deep.json: nested too deeply"),
        (("--output", "xml", "empty.json"), "--output xml: must be one of text, json"),
        (("--colour", "never"), "no option --colour: did you mean --color?"),
    ],
)
def test_what_cannot_be_judged(
    bench: Run, words: tuple[str, ...], problem: str
) -> None:
    head = '{"schema": "speccheck-bench-plan/1", "kind": "pairs", "rounds": '
    for name, text in {
        "empty": '{"schema": "speccheck-snapshot/1", "matrix_products": []}',
        "list": "[]",
        "cut": head + "[[",
        "twice": head + '[[["a", "b"], ["a", "c"]]]}',
        "kind": head.replace("pairs", "rings") + "[]}",
        "flat": head + '[["a", "b"]]}',
        "deep": "[" * 100_000,
    }.items():
        Path(f"{name}.json").write_text(text, "utf-8")
    code, out, err = bench("judge", *words)
    assert (code, out) == (2, "")
    assert problem in err
    assert err.count("\n") == 1


def test_hostile_names_do_not_reach_the_terminal(bench: Run) -> None:
    runs = [
        {
            "collective": "all_reduce\x1b[2J",
            "hosts": [f"a\x1b[31m{number}", f"b{number}"],
            "size_bytes": [1 << 30],
            "bus_bytes_per_second": [46e9 if number else 9e9],
        }
        for number in range(6)
    ]
    data = {"schema": "speccheck-snapshot/1", "collective_runs": runs}
    Path("results.json").write_text(json.dumps(data), "utf-8")
    code, out, _ = bench("judge", "results.json")
    assert code == 3
    assert "\x1b" not in out


@pytest.mark.slow
def test_ten_thousand_nodes(bench: Run) -> None:
    words = ("plan", "--nodes", "node[00001-10000]", "--kind=groups", "--out=plan.json")
    assert bench(*words)[0] == 0
    run_plan("plan.json", "results.json", {"node04711": 0.6})
    code, out, _ = bench("judge", "results.json", "--plan", "plan.json")
    assert (code, out.splitlines()[0]) == (1, "SLOW: node04711")


@pytest.mark.parametrize("name", ["plan", "judge"])
def test_help(bench: Run, name: str) -> None:
    code, out, _ = bench(name, "--help")
    assert code == 0
    assert out.startswith(f"usage: speccheck bench {name}")
    assert max(map(len, out.splitlines())) <= 88
