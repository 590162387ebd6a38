"""A fleet beside a golden machine, and beside itself on another day."""

import json
from pathlib import Path
from typing import Any

import pytest

from reported_fleets import (
    Fleet,
    Run,
    healthy_fleet,
    kept,
    result_lines,
    the_day_after,
)
from speccheck.validator.cli.main import main

NODES = 6


@pytest.fixture
def fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run `speccheck fleet` in a folder of its own: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> tuple[int, str, str]:
        code = main(["fleet", *words])
        found = capsys.readouterr()
        assert "Traceback" not in found.out + found.err
        return code, found.out, found.err

    return command


def document(run: Run, *words: str, code: int = 0) -> dict[str, Any]:
    found, out, err = run(*words, "--output", "json")
    assert (found, err) == (code, "")
    data: dict[str, Any] = json.loads(out)
    return data


def golden(found: dict[str, Any], key: str = "findings") -> list[tuple[Any, ...]]:
    """Return what is said of the golden machine: leaf, found, wanted, nodes."""
    return [
        (
            group["rule"].removeprefix("golden "),
            value["measured"],
            value["required"],
            value["nodes"],
        )
        for group in found[key]
        if group["rule"].startswith("golden")
        for value in group["values"]
    ]


# --- a golden machine ----------------------------------------------------------------


def test_a_fleet_that_is_as_it_should_be_has_no_finding(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    found = document(fleet, kept("now", nodes), "--golden", "now/n01.json")
    assert golden(found) == []
    assert found["since"] is None


def test_what_is_otherwise_is_told_by_leaf_and_value(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    Path("golden.json").write_text(json.dumps(nodes["n01"]), "utf-8")
    for name in ("n02", "n03", "n04"):
        nodes[name]["driver"]["ofed_version"] = "MLNX_OFED-5.8"
    nodes["n04"]["driver"]["ofed_version"] = "MLNX_OFED-4.9"
    usual = nodes["n01"]["gpus"][0]["vbios_version"]
    for gpu in nodes["n06"]["gpus"]:
        gpu["vbios_version"] = "96.00.AA"
    nodes["n05"]["variables"].append(
        {"name": "NCCL_DEBUG_SUBSYS", "value": "INIT", "layer": "environment"}
    )
    found = document(fleet, kept("now", nodes), "--golden", "golden.json")
    ofed = nodes["n01"]["driver"]["ofed_version"]
    assert golden(found) == [
        ("gpus.vbios_version", "96.00.AA", usual, ["n06"]),
        ("variables.NCCL_DEBUG_SUBSYS", "INIT", "not set", ["n05"]),
        ("driver.ofed_version", "MLNX_OFED-4.9", ofed, ["n04"]),
        ("driver.ofed_version", "MLNX_OFED-5.8", ofed, ["n02", "n03"]),
    ]
    assert found["exit_code"] == 0  # a warning, as any other


def test_it_counts_where_warnings_count(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    Path("golden.json").write_text(json.dumps(nodes["n01"]), "utf-8")
    nodes["n02"]["driver"]["ofed_version"] = "MLNX_OFED-5.8"
    words = [kept("now", nodes), "--golden", "golden.json", "--fail-on", "warning"]
    words += ["--ignore", "FT-007"]  # the report is of January
    found = document(fleet, *words, code=1)
    assert [item["node"] for item in found["unfit"]] == ["n02"]
    _, out, _ = fleet(*words, "--drain-list", "plain=out.txt")
    assert "warning golden driver.ofed_version  on 1 node" in out
    assert Path("out.txt").read_text("utf-8") == "n02\n"


def test_a_variable_of_the_golden_machine_that_no_node_sets_is_told(
    fleet: Run,
) -> None:
    nodes = healthy_fleet(NODES)
    node = json.loads(json.dumps(nodes["n01"]))
    node["variables"].append(
        {"name": "NCCL_CROSS_NIC", "value": "1", "layer": "system_file"}
    )
    Path("golden.json").write_text(json.dumps(node), "utf-8")
    found = document(fleet, kept("now", nodes), "--golden", "golden.json")
    names = sorted(nodes)
    assert golden(found) == [("variables.NCCL_CROSS_NIC", "not set", "1", names)]


def test_what_is_not_seen_on_a_node_is_no_pass(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    Path("golden.json").write_text(json.dumps(nodes["n01"]), "utf-8")
    nodes["n02"]["driver"]["ofed_version"] = {"status": "not_permitted"}
    found = document(fleet, kept("now", nodes), "--golden", "golden.json")
    assert golden(found) == []
    assert golden(found, "unknown") == [("driver.ofed_version", None, None, ["n02"])]


def test_result_lines_are_compared_as_far_as_they_tell(fleet: Run) -> None:
    nodes = healthy_fleet(1)
    Path("golden.json").write_text(json.dumps(nodes["n01"]), "utf-8")
    lines = result_lines("r.jsonl", ["n01", "n02"], driver__version="535.1")
    words = (lines, "--expect", "2", "--golden", "golden.json")
    found = document(fleet, *words, code=3)  # rules of fleets miss as much
    version = nodes["n01"]["driver"]["version"]
    assert golden(found) == [("driver.version", "535.1", version, ["n01", "n02"])]
    untold = {row[0] for row in golden(found, "unknown")}
    assert "gpus.name" in untold
    assert "driver.version" not in untold


def test_nothing_to_compare_is_inconclusive(fleet: Run) -> None:
    Path("golden.json").write_text('{"schema": "speccheck-snapshot/1"}', "utf-8")
    nodes = kept("now", healthy_fleet(2))
    found = document(fleet, nodes, "--golden", "golden.json", code=3)
    assert "no node tells anything" in found["reason"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "g.json:"),
        ("[]", "neither a snapshot nor a profile"),
        ('{"schema": "speccheck-snapshot/2"}', "newer speccheck"),
        ('{"schema": "speccheck-snapshot/1", "gpus": 1}', "damaged"),
    ],
)
def test_a_broken_golden_file_is_one_line(fleet: Run, text: str, says: str) -> None:
    Path("g.json").write_text(text, "utf-8")
    nodes = kept("now", healthy_fleet(1))
    code, out, err = fleet(nodes, "--golden", "g.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


# --- another day ---------------------------------------------------------------------


def test_nothing_changed_but_the_clock(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    words = kept("now", the_day_after(nodes)), "--diff", kept("then", nodes)
    since = document(fleet, *words)["since"]
    assert since == {
        "before": "then",
        "nodes_in_both": NODES,
        "hours": [24.0, 24.0],
        "came": [],
        "went": [],
        "flipped": [],
        "changed": [],
        "not_known_now": [],
        "grown": [],
        "not_compared": [],
    }
    _, out, _ = fleet(*words)
    assert "\nsince then, 24 h ago\n  nothing else changed on 6 nodes\n" in out


def changed_fleet(nodes: Fleet) -> Fleet:
    """Return what happened to a fleet within a day."""
    later = the_day_after(nodes)
    del later["n06"]
    later["n09"] = json.loads(json.dumps(later["n01"]))
    later["n09"]["launch"]["node"] = "n09"
    for gpu in later["n09"]["gpus"]:
        gpu["uuid"] += "-new"
    for name in ("n01", "n02", "n03"):
        later[name]["driver"]["ofed_version"] = "MLNX_OFED-24"
    later["n04"]["driver"]["nccl_version"] = {"status": "failed"}
    later["n05"]["gpus"][2]["ecc_uncorrected_aggregate"] += 1
    later["n05"]["gpus"][0]["pcie_replays"] += 3  # within what chance gives
    later["n02"]["gpus"][0]["pcie_replays"] += 480
    later["n03"]["kernel_events"].append(
        {"event": "xid", "code": 94, "pci_address": "0000:1b:00.0", "count": 2}
    )
    later["n01"]["gpus"][7]["is_lost"] = True
    return later


def test_what_happened_within_a_day_is_named(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    now, then = kept("now", changed_fleet(nodes)), kept("then", nodes)
    since = document(fleet, now, "--diff", then, code=3)["since"]
    usual = nodes["n01"]["driver"]
    assert (since["came"], since["went"]) == (["n09"], ["n06"])
    flips = {(item["before"], item["now"]): item["nodes"] for item in since["flipped"]}
    assert flips["fit", "no-go"][0] == "n01"
    assert since["changed"] == [
        {
            "leaf": "driver.ofed_version",
            "before": usual["ofed_version"],
            "now": "MLNX_OFED-24",
            "nodes": ["n01", "n02", "n03"],
        }
    ]
    assert since["not_known_now"] == [
        {
            "leaf": "driver.nccl_version",
            "before": usual["nccl_version"],
            "now": "failed",
            "nodes": ["n04"],
        }
    ]
    grown = {
        (item["leaf"], item["is_grave"]): [
            (row["node"], row["by"], row["per_hour"]) for row in item["nodes"]
        ]
        for item in since["grown"]
    }
    assert grown == {
        ("gpus.ecc_uncorrected_aggregate", True): [("n05", 1.0, 1 / 24)],
        ("gpus.pcie_replays", False): [("n02", 480.0, 20.0)],
        ("kernel_events.xid", True): [("n03", 2.0, 2 / 24)],
    }


def test_the_text_of_a_day(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    now, then = kept("now", changed_fleet(nodes)), kept("then", nodes)
    _, out, _ = fleet(now, "--diff", then)
    section = out.partition("\nsince then, 24 h ago\n")[2]
    usual = nodes["n01"]["driver"]["ofed_version"]
    for line in (
        "  1 node came\n    n09\n",
        "  1 node went\n    n06\n",
        f"  driver.ofed_version: {usual} -> MLNX_OFED-24\n    n[01-03]\n",
        (
            "  gpus.pcie_replays  grew on 1 node of 5; +0 is usual\n"
            "    n02  +480  20 an hour\n"
        ),
        "  kernel_events.xid  grew on 1 node of 5; +0 is usual\n",
    ):
        assert line in section, section


def test_a_counter_that_all_nodes_grew_by_is_usual(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    later = the_day_after(nodes)
    for number, node in enumerate(later.values()):
        node["gpus"][0]["pcie_replays"] += 1000 + number
    words = kept("now", later), "--diff", kept("then", nodes)
    assert document(fleet, *words)["since"]["grown"] == []


def test_a_counter_that_began_anew_counts_what_it_shows(fleet: Run) -> None:
    nodes = healthy_fleet(NODES)
    nodes["n03"]["rdma_ports"][0]["link_downed"] = 9
    later = the_day_after(nodes)
    later["n03"]["rdma_ports"][0]["link_downed"] = 2
    words = kept("now", later), "--diff", kept("then", nodes)
    (item,) = document(fleet, *words)["since"]["grown"]
    assert item["nodes"] == [
        {"node": "n03", "by": 2.0, "per_hour": None, "began_anew": True}
    ]


def test_fleets_without_a_common_node_say_so(fleet: Run) -> None:
    nodes = healthy_fleet(2)
    others = {f"x{name}": node for name, node in healthy_fleet(2).items()}
    for name, node in others.items():
        node["launch"]["node"] = name
    words = kept("now", nodes), "--diff", kept("then", others)
    _, out, _ = fleet(*words)
    assert "no node is in both: nothing could be compared" in out
    assert "nothing else changed" not in out


def test_what_a_day_of_result_lines_does_not_tell_is_counted(fleet: Run) -> None:
    nodes = healthy_fleet(2)
    version = nodes["n01"]["driver"]["version"]
    then = result_lines("then.jsonl", nodes, driver__version=version)
    since = document(fleet, kept("now", nodes), "--diff", then)["since"]
    assert (since["changed"], since["not_known_now"]) == ([], [])
    untold = {item["leaf"]: item["nodes"] for item in since["not_compared"]}
    assert untold["gpus.name"] == 2
    assert "driver.version" not in untold


def test_days_the_wrong_way_round_say_so(fleet: Run) -> None:
    nodes = healthy_fleet(2)
    words = kept("now", nodes), "--diff", kept("then", the_day_after(nodes))
    _, out, _ = fleet(*words)
    assert "since then, which is the NEWER one" in out


@pytest.mark.parametrize("flag", ["--diff", "--golden"])
def test_a_file_that_is_not_there_is_one_line(fleet: Run, flag: str) -> None:
    nodes = kept("now", healthy_fleet(1))
    for value in ("none.json", ""):
        code, out, err = fleet(nodes, flag, value)
        assert (code, out, err.count("\n")) == (2, "", 1)
