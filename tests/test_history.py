"""The history of a fleet in a file: what is kept of runs, and what is told of days."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from json_schemas import SCHEMAS
from reported_fleets import Fleet, Run, healthy_fleet, kept
from speccheck.validator.cli.main import main
from speccheck.validator.fleet.history import database

ROOT = Path(__file__).resolve().parents[1]
NODES = 4


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run speccheck in a folder of its own: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> tuple[int, str, str]:
        code = main([*words])
        found = capsys.readouterr()
        assert "Traceback" not in found.out + found.err
        return code, found.out, found.err

    return command


def on_day(nodes: Fleet, day: int) -> Fleet:
    """Return a fleet on a day of January 2026; it is changed where it stands."""
    for node in nodes.values():
        node["taken"] = f"2026-01-{day:02d}T06:00:00Z"
        node["host"]["uptime_seconds"] = 1e6 + day * 86_400.0
    return nodes


def add(run: Run, nodes: Fleet, day: int, *, code: int = 0, file: str = "h.db") -> None:
    folder = kept(f"{file}-{day}", on_day(nodes, day))
    found, _, err = run("fleet", folder, "--history", file)
    assert (found, err) == (code, "")


def told(run: Run, *words: str) -> dict[str, Any]:
    code, out, err = run("history", "h.db", "--output", "json", *words)
    assert (code, err) == (0, "")
    document: dict[str, Any] = json.loads(out)
    jsonschema.Draft202012Validator(SCHEMAS["history"]()).validate(document)
    return document


def count(table: str, file: str = "h.db") -> int:
    with closing(sqlite3.connect(file)) as connection:
        row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
        return int(row[0])


def week(run: Run) -> Fleet:
    """Return four days: a GPU lost and repaired, a new driver, a link wearing out."""
    nodes = healthy_fleet(NODES)
    add(run, nodes, 1)
    nodes["n02"]["gpus"][3]["is_lost"] = True
    nodes["n03"]["rdma_ports"][1]["link_downed"] = 2
    add(run, nodes, 2, code=1)
    nodes["n02"]["gpus"][3]["is_lost"] = False
    nodes["n01"]["driver"]["ofed_version"] = "OFED-25"
    nodes["n03"]["rdma_ports"][1]["link_downed"] = 5
    add(run, nodes, 3)
    for node in nodes.values():
        node["driver"]["ofed_version"] = "OFED-25"
    nodes["n04"]["driver"]["ofed_version"] = {"status": "not_permitted"}
    nodes["n03"]["rdma_ports"][1]["link_downed"] = 1
    for gpu in nodes["n04"]["gpus"]:
        gpu["temperature_celsius"] += 10
    add(run, nodes, 4)
    return nodes


def test_a_week_is_told_run_by_run(run: Run) -> None:
    week(run)
    found = told(run)
    runs = [(item["verdict"], item["fit"], item["nodes"]) for item in found["runs"]]
    assert runs == [("go", 4, 4), ("no-go", 3, 4), ("go", 4, 4), ("go", 4, 4)]
    flips = [(item["node"], item["before"], item["now"]) for item in found["flips"]]
    assert flips == [("n02", "fit", "no-go"), ("n02", "no-go", "fit")]
    assert "gpu_needs_recovery" in found["flips"][0]["reason"]
    usual = healthy_fleet(1)["n01"]["driver"]["ofed_version"]
    changes = [
        (change["nodes"], change["before"], change["now"])
        for change in found["changes"]
    ]
    assert changes == [
        ("n01", None, "OFED-25"),
        (None, usual, "OFED-25"),
        ("n01", None, "OFED-25"),
        ("n04", None, {"not_known": "not permitted"}),
    ]
    (grown,) = found["growth"]
    assert (grown["node"], grown["leaf"]) == ("n03", "rdma_ports.link_downed")
    assert (grown["by"], grown["began_anew"]) == (2 + 3 + 1, True)
    assert [total for _, total in grown["points"]] == [0, 2, 5, 1]
    assert grown["per_hour"] == pytest.approx(6 / 72)
    assert found["not_fit"] == []


def test_a_node_is_told_by_itself(run: Run) -> None:
    nodes = week(run)
    found = told(run, "--node", "n04")
    assert [verdict["state"] for verdict in found["verdicts"]] == ["fit"] * 4
    usual = healthy_fleet(1)["n01"]["driver"]["ofed_version"]
    assert [
        (change["leaf"], change["before"], change["now"]) for change in found["changes"]
    ] == [("driver.ofed_version", usual, {"not_known": "not permitted"})]
    (heat,) = (
        number
        for number in found["numbers"]
        if number["leaf"] == "gpus.temperature_celsius"
    )
    last = nodes["n04"]["gpus"][0]["temperature_celsius"]
    assert [point["value"] for point in heat["points"]] == [last - 10] * 3 + [last]
    assert heat["points"][-1]["usual"] < last
    found = told(run, "--node", "n01")
    assert [(change["before"], change["now"]) for change in found["changes"]] == [
        (usual, "OFED-25")  # once: that the others followed is no change of it
    ]


def test_the_text_of_a_week(run: Run) -> None:
    week(run)
    _, out, _ = run("history", "h.db", "--node", "n02")
    lines = out.splitlines()
    assert lines[0] == "h.db · n02 · 4 runs, 2026-01-01 06:00 to 2026-01-04 06:00"
    assert lines[2:5] == [
        "verdicts",
        "  ·✗··  now fit",
        "  2026-01-01 06:00  fit",
    ]
    begin = "  2026-01-02 06:00  no-go  gpu_needs_recovery: GPU 3: the driver has lost"
    assert lines[5].startswith(begin)
    _, out, _ = run("history", "h.db")
    for line in (
        "  2026-01-02 06:00  no-go         3 of 4 fit  job 7",
        "  █▁██  4",
        "  n02  2 times, last 2026-01-03 06:00  no-go -> fit",
        "  2026-01-03 06:00  driver.ofed_version  -> OFED-25  on n01",
        "  n03  rdma_ports.link_downed  ▁▄█▂  +6  2 a day  began anew",
    ):
        assert line in out.splitlines(), out


@pytest.mark.slow
def test_one_leaf_and_fewer_days(run: Run) -> None:
    week(run)
    found = told(run, "--leaf", "rdma_ports.link_downed", "--days", "2")
    assert len(found["runs"]) == 3
    assert (found["changes"], found["flips"]) == ([], [])
    (grown,) = found["growth"]
    assert [total for _, total in grown["points"]] == [2, 5, 1]
    assert grown["by"] == 3 + 1


def test_the_same_evidence_is_one_run(run: Run) -> None:
    nodes = healthy_fleet(NODES)
    add(run, nodes, 1)
    before = Path("h.db").read_bytes()
    assert run("fleet", "h.db-1", "--history", "h.db")[0] == 0
    assert count("runs") == 1
    assert count("states") == NODES
    assert len(Path("h.db").read_bytes()) == len(before)


def test_only_what_is_new_is_kept(run: Run) -> None:
    nodes = healthy_fleet(NODES)
    add(run, nodes, 1)
    sizes = {name: count(name) for name in ("usual", "otherwise", "counters")}
    assert sizes["otherwise"] == 0
    add(run, nodes, 2)
    assert {name: count(name) for name in sizes} == sizes
    nodes["n01"]["driver"]["ofed_version"] = "OFED-25"
    add(run, nodes, 3)
    assert count("otherwise") == 1


def test_missing_nodes_are_part_of_a_run(run: Run) -> None:
    nodes = healthy_fleet(NODES)
    add(run, nodes, 1)
    del nodes["n03"]
    add(run, nodes, 2, code=3)
    found = told(run)
    assert [(item["node"], item["now"]) for item in found["flips"]] == [
        ("n03", "missing")
    ]
    assert [(item["node"], item["state"]) for item in found["not_fit"]] == [
        ("n03", "missing")
    ]
    assert told(run, "--node", "n03")["changes"] == []


def test_a_run_to_which_nobody_came_changes_no_value(run: Run) -> None:
    nodes = healthy_fleet(2)
    add(run, nodes, 1)
    Path("none").mkdir()
    Path("none/n01.json").write_text("", "utf-8")
    assert run("fleet", "none", "--expect", "n01", "--history", "h.db")[0] == 3
    add(run, nodes, 2)
    found = told(run, "--days", "100000")
    assert [item["fit"] for item in found["runs"]] == [2, 2, 0]  # its time is today's
    assert found["changes"] == []


_ADD = """
import sys
sys.path.insert(0, sys.argv[1])
from speccheck.validator.cli.main import main
for folder in sys.argv[2:]:
    assert main(["fleet", folder, "--history", "h.db", "--output", "json"]) == 0
"""


@pytest.mark.slow
def test_processes_that_write_one_file_lose_nothing(run: Run) -> None:
    nodes = healthy_fleet(2)
    folders = [kept(f"day-{day}", on_day(nodes, day)) for day in range(1, 10)]
    assert run("history", "h.db")[0] == 2  # nobody has made it
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _ADD, str(ROOT / ".imports"), *some],
            stdout=subprocess.DEVNULL,
        )
        for some in (folders[::3], folders[1::3], folders[2::3], folders[::3])
    ]
    assert [item.wait(timeout=120) for item in writers] == [0, 0, 0, 0]
    found = told(run)
    assert [item["fit"] for item in found["runs"]] == [2] * 9
    assert found["changes"] == []
    with closing(sqlite3.connect("h.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_run_that_cannot_be_kept_whole_leaves_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = healthy_fleet(2)
    add(run, nodes, 1)

    def broken(*_: object) -> None:
        msg = "disk I/O error"
        raise sqlite3.OperationalError(msg)

    folder = kept("next", on_day(nodes, 2))
    with monkeypatch.context() as patch:
        patch.setattr(
            "speccheck.validator.fleet.history.database._Rows._counters", broken
        )
        code, _, err = run("fleet", folder, "--history", "h.db")
    assert code == 2
    assert err == "speccheck: h.db: history not used: disk I/O error\n"
    assert [count(name) for name in ("runs", "states")] == [1, 2]


def older(path: str) -> None:
    """Write a file as the first version made it."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in database.statements(database.STEPS[0]):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {database.APPLICATION}")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()


def test_a_file_of_an_older_version_is_brought_up_to_date(run: Run) -> None:
    older("h.db")
    code, _, err = run("history", "h.db")
    assert code == 2
    assert "a history of version 1, older than 2: the next speccheck fleet" in err
    add(run, healthy_fleet(2), 1)
    assert len(told(run)["runs"]) == 1
    assert count("fleet_numbers") > 0


def newer(path: str) -> None:
    older(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def another(path: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (x)")
        connection.commit()


def damaged(path: str) -> None:
    older(path)
    with database.opened(path, writes=True):
        pass
    content = bytearray(Path(path).read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    Path(path).write_bytes(content)


OTHERS: dict[str, tuple[Callable[[str], object], str]] = {
    "a text": (lambda path: Path(path).write_text("mine\n"), "no history of speccheck"),
    "another database": (another, "no history of speccheck"),
    "a newer history": (newer, "use a newer speccheck"),
    "a damaged history": (damaged, "a damaged history"),
    "a folder": (lambda path: Path(path).mkdir(), "a folder, no history"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_file_that_is_something_else_is_left_as_it_is(run: Run, kind: str) -> None:
    make, says = OTHERS[kind]
    make("h.db")
    path = Path("h.db")
    before = path.read_bytes() if path.is_file() else b""
    nodes = kept("now", healthy_fleet(1))
    for words in (["history", "h.db"], ["fleet", nodes, "--history", "h.db"]):
        code, _, err = run(*words)
        assert (code, err.count("\n")) == (2, 1)
        assert says in err
    assert before == (path.read_bytes() if path.is_file() else b"")
    assert sorted(item.name for item in Path().iterdir()) == ["h.db", "now"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["none.db"], "no such file; speccheck fleet --history FILE makes one"),
        (["none/h.db"], "no such folder"),
        ([], "takes one file, not 0"),
        (["h.db", "--node", "n1"], "no node n1 in it: did you mean n01?"),
        (["h.db", "--leaf", "gpus.power_watt"], "did you mean gpus.power_watts?"),
        (["h.db", "--days", "0"], "must be a number above zero"),
    ],
)
def test_a_wrong_command_line_is_one_line(
    run: Run, words: list[str], says: str
) -> None:
    add(run, healthy_fleet(1), 1)
    code, out, err = run("history", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


def test_hostile_evidence_is_kept_and_told_harmlessly(run: Run) -> None:
    nodes = healthy_fleet(2)
    token = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3f"
    add(run, nodes, 1)
    nodes["n01"]["host"]["product"] = f"\x1b[31m'); DROP TABLE runs; -- {token}"
    nodes["n02"]["host"]["board"] = "?unknown to all"
    nodes["n02"]["gpus"][0]["pcie_replays"] = 10**400
    nodes["n02"]["gpus"][1]["power_watts"] = 1e308
    add(run, nodes, 2)
    _, out, _ = run("history", "h.db")
    assert "\x1b" not in out
    assert token not in out
    assert token.encode() not in Path("h.db").read_bytes()
    changed = {change["leaf"]: change["now"] for change in told(run)["changes"]}
    assert changed["host.board"] == "?unknown to all"
    assert "DROP TABLE runs" in changed["host.product"]


def test_no_run_of_that_time_is_inconclusive(run: Run) -> None:
    older("h.db")
    with database.opened("h.db", writes=True):
        pass
    code, out, _ = run("history", "h.db")
    assert (code, out) == (3, "h.db · no run of that time\n")
