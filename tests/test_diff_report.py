"""What `speccheck diff` prints, and what it says of files that it cannot read."""

import json
from pathlib import Path

import pytest

from compared_machines import Run, a_day_later, machine, written
from speccheck.validator.cli.main import main


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run `speccheck diff` in a folder of its own: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> tuple[int, str, str]:
        code = main(["diff", *words])
        found = capsys.readouterr()
        assert "Traceback" not in found.out + found.err
        return code, found.out, found.err

    return command


def test_the_text_groups_and_folds(run: Run) -> None:
    node = machine()
    later = a_day_later(node)
    for gpu in later["gpus"]:
        gpu["vbios_version"] = "96.00.AA"
    later["gpus"][2]["nvlink_crc_flit_errors"][3] += 240
    later["host"]["kernel_arguments"] = ["quiet", "iommu=pt", "nokaslr"]
    later["kernel_events"].append(
        {"event": "xid", "code": 79, "pci_address": "0000:1b:00.0", "count": 3}
    )
    address = node["gpus"][0]["pci_address"]
    code, out, _ = run(written("a.json", node), written("b.json", later), "--exit-code")
    assert code == 1
    lines = out.splitlines()
    assert lines[2:] == [
        "one machine: 8 of its GPUs are in both",
        "",
        "identity and software",
        (
            f"  gpus.vbios_version  {node['gpus'][0]['vbios_version']} -> 96.00.AA"
            f"  (GPU {address} and 7 more)"
        ),
        "",
        "health",
        (
            "  gpus.nvlink_crc_flit_errors  [3] 0 -> 240  +240  10 an hour"
            f"  (GPU {node['gpus'][2]['pci_address']})"
        ),
        "  kernel_events.xid            came, 3 times  (79 0000:1b:00.0)",
        "",
        "limits and settings",
        "  host.kernel_arguments  +nokaslr, -ro",
        "",
        "never the same twice: 1 leaf (uptime_seconds); --full",
        "",
        f"11 differences, {lines[-1].partition(', ')[2]}",
    ]


@pytest.mark.parametrize(("changes_one", "code"), [(True, 1), (False, 0)])
def test_the_exit_code_is_asked_for(run: Run, *, changes_one: bool, code: int) -> None:
    node = machine()
    later = a_day_later(node)
    if changes_one:
        later["host"]["open_files"] = 1
    names = written("a.json", node), written("b.json", later)
    assert run(*names)[0] == 0
    assert run(*names, "--exit-code")[0] == code


def test_two_that_share_no_leaf_are_not_the_same(run: Run) -> None:
    schema = {"schema": "speccheck-snapshot/1"}
    names = written("a.json", schema), written("b.json", schema)
    code, out, _ = run(*names, "--exit-code")
    assert code == 3
    assert out.splitlines()[-1] == "NOTHING COMPARED: no leaf has a value in both"


def test_colour_and_full(run: Run) -> None:
    node = machine()
    names = written("a.json", node), written("b.json", a_day_later(node))
    _, out, _ = run(*names, "--full", "--color", "always")
    assert "\x1b[1mnever the same twice\x1b[0m" in out
    assert "host.uptime_seconds" in out


def test_what_a_hostile_snapshot_holds_reaches_no_terminal(run: Run) -> None:
    node = machine()
    later = a_day_later(node)
    token = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3f"
    later["host"]["kernel_release"] = "\x1b]0;gone\x07 6.8"
    later["host"]["product"] = f"server {token}"
    later["host"]["board"] = "x" * 100_000
    later["gpus"][0]["pci_address"] = "\x1b[2J"
    later["gpus"][1]["common_ancestors"] = [{"status": "failed"}] * 8
    later["taken"] = "\x1b[31m"
    names = written("a.json", node), written("b.json", later)
    code, out, err = run(*names)
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    assert token not in out
    assert max(map(len, out.splitlines())) < 400
    _, document, _ = run(*names, "--output", "json")
    assert token not in document


BAD: dict[str, tuple[str, str]] = {
    "no json": ("{", "bad.json:"),
    "no snapshot": ('{"a": 1}', "no snapshot of one machine"),
    "another version": ('{"schema": "speccheck-snapshot/9"}', "newer speccheck"),
    "damaged": ('{"schema": "speccheck-snapshot/1", "gpus": 7}', "gpus"),
    "damaged part": ('{"schema": "speccheck-snapshot/1", "host": [1]}', "host"),
    "empty": ("", "nothing in it"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_one_line(run: Run, kind: str) -> None:
    text, says = BAD[kind]
    Path("bad.json").write_text(text, "utf-8")
    code, out, err = run(written("good.json", machine()), "bad.json")
    assert (code, out) == (2, "")
    assert err.startswith("speccheck: bad.json")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "takes two snapshots, not 0"),
        (["a.json"], "takes two snapshots, not 1"),
        (["a.json", "a.json"], "given twice"),
        (["a.json", "b.json", "--output", "html"], "must be one of text, json"),
        (["a.json", "b.json", "--exit-cod"], "did you mean"),
        (["a.json", "none.json"], "no such file"),
    ],
)
def test_a_wrong_command_line_is_one_line(
    run: Run, words: list[str], says: str
) -> None:
    written("a.json", machine())
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_the_report_may_go_to_files(run: Run) -> None:
    node = machine()
    names = written("a.json", node), written("b.json", a_day_later(node))
    code, out, _ = run(*names, "--output", "json=x.json", "--output", "text=x.txt")
    assert (code, out) == (0, "")
    assert json.loads(Path("x.json").read_text("utf-8"))["verdict"] == "same"
    assert "the same: none of" in Path("x.txt").read_text("utf-8")
    assert run(*names, "--output", "json=a.json")[0] == 2
