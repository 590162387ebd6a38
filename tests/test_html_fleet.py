"""`speccheck fleet DIR --output html`: one page with every node on it."""

import re
from pathlib import Path

import pytest

from fleet_trials import kept, nodes, renamed
from hostile_files import BIDI, ESCAPES, HARMFUL, QUOTES, SCRIPT, STYLE_END
from html_reading import Page
from speccheck.validator.cli.main import main
from speccheck.validator.engine.request import Request
from speccheck.validator.fleet.attendance import Expected
from speccheck.validator.fleet.reading import listing
from speccheck.validator.fleet.run import FleetRun, FleetWork, judge_fleet
from speccheck.validator.fleet.verdict import Reason, Unfit, fleet_verdict
from speccheck.validator.report.forms.html_fleet import fleet_html
from speccheck.validator.report.forms.html_fleet_map import map_html
from speccheck.validator.report.node_outcome import NodeOutcome
from told_fleets import told_fleet

FAULTS = """\
schema: speccheck-faults/1
measurements: true
faults:
  - {fault: straggler, nodes: [11]}
  - {fault: row_remap_pending, nodes: [3, 5-6]}
  - {fault: variable, nodes: [17], name: NCCL_ALGO, value: Ring}
  - {fault: missing, nodes: [20]}
"""
PENDING = "memory_fault_pending: GPU 0: a memory row waits to be remapped"
MANY = 10_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("fleet")
    (found / "plan.yaml").write_text(FAULTS, encoding="utf-8")
    words = ["--nodes", "24", "--faults", str(found / "plan.yaml"), "--quiet"]
    assert main(["simulate", *words, "--out", str(found / "pre")]) == 0
    return found


@pytest.fixture(scope="module")
def run(folder: Path) -> FleetRun:
    request = Request(arguments=(), use="preflight")
    work = FleetWork(request, (), NodeOutcome(request.use, "error"))
    found = listing((str(folder / "pre"),))
    return judge_fleet(work, found, Expected(24, (), "--expect"), now=0, cores=1)


def written(folder: Path, *words: str) -> str:
    path = folder / "fleet.html"
    main(["fleet", str(folder / "pre"), *words, "--output", f"html={path}"])
    return path.read_text("utf-8")


def test_the_page_says_what_the_text_says(folder: Path) -> None:
    text = written(folder, "--expect", "node[0001-0024]")
    page = Page(text)
    page.demand_alone()
    assert {"main", "nav", "header", "title"} <= page.tags
    for part in (
        "SYNTHETIC 23 nodes made by speccheck simulate",
        "no-go 23 of 24 nodes reported",
        "Nodes 23 GPUs 184 Fit 19 of 24 needed",
        "no-go 4 missing 1 fit, with a warning 1 fit 18",
        "error HW-002 memory_fault_pending on 3 nodes",
        "GPU 0: a memory row waits to be remapped",
        "do RESET_GPU",
        "node[0003,0005-0006] 3 no-go RESET_GPU memory_fault_pending",
        "node0020 1 missing",
        "To drain: 4 nodes, those that are no-go",
        "They are synthetic.",
        "Missing: 1: node0020",
        "copies host_to_device copy_engine 512 MiB",
        "slow: node0011",
    ):
        assert part in page.text, part


def test_each_node_is_a_cell_with_its_state_and_its_reason(folder: Path) -> None:
    text = written(folder, "--expect", "node[0001-0024]")
    drawn = text[text.index('id="fleet-map"') :]
    cells = re.findall(r'<i(?: class="(\w)")? title="([^"]*)"></i>', drawn)
    assert [title[:8] for _, title in cells] == [f"node{n:04}" for n in range(1, 25)]
    assert cells[0] == ("", "node0001")
    assert cells[2] == (
        "x",
        f"node0003: no-go: {PENDING}",
    )
    assert cells[10] == (
        "w",
        "node0011: fit, with a warning: slower_than_the_fleet",
    )
    assert cells[19] == ("m", "node0020: missing")
    words = "4 no-go, 1 missing, 1 fit, with a warning, 18 fit"
    assert f'role="img" aria-label="map of 24 nodes: {words}"' in text


def test_nodes_that_are_expected_by_number_are_drawn_as_missing(folder: Path) -> None:
    page = written(folder, "--expect", "26")
    assert page.count('<i class="m" title="a node that did not report: missing">') == 3
    assert "missing 3</li>" in page


def test_the_page_and_the_text_are_written_together(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "both.html"
    words = ["fleet", str(folder / "pre"), "--expect", "24", "--output", "text"]
    assert main([*words, "--output", f"html={path}"]) == 3
    assert "no-go  23 of 24 nodes reported" in capsys.readouterr().out
    assert path.read_text("utf-8").endswith("</html>\n")


@pytest.mark.slow
@pytest.mark.parametrize("length", [20, 5_000])
def test_ten_thousand_nodes_stay_below_two_megabytes(
    run: FleetRun, length: int
) -> None:
    """Each of them unfit for a reason of its own, which is the most there is to say."""
    unfit = tuple(
        Unfit(f"rack{n:05}", "no-go", (Reason("rule", f"{n} {'<' * length}"),))
        for n in range(MANY)
    )
    verdict = fleet_verdict(run)._replace(unfit=unfit)
    result = told_fleet(run, verdict)
    text = "".join(fleet_html(result))
    assert len(text) < 2_000_000
    assert text.count('<i class="x"') == MANY + 1  # and that of the legend
    page = Page(text)
    assert "10,000" in page.text
    alike = "".join(fleet_html(told_fleet(run, fleet_verdict(run))))
    assert len(alike) < 100_000


@pytest.mark.slow
def test_more_nodes_than_a_page_can_show_are_counted(run: FleetRun) -> None:
    unfit = tuple(Unfit(f"n{n}", "missing") for n in range(30_000))
    text = map_html(run, fleet_verdict(run)._replace(unfit=unfit))
    assert "20,000 of 30,024 nodes are drawn, those that are not fit first." in text
    assert "fit 21" in Page(f"<h1></h1>{text}").text  # counted, though not drawn


def test_nothing_of_a_hostile_fleet_becomes_markup(tmp_path: Path) -> None:
    hostile = f"{SCRIPT}{STYLE_END}{QUOTES}{ESCAPES}{BIDI}"
    fleet = nodes(4)
    first, second, *_ = fleet
    fleet[first]["driver"]["version"] = hostile
    fleet[first]["host"]["kernel_release"] = hostile
    fleet[second] = renamed(fleet[second], hostile)
    fleet[second]["gpus"][0]["name"] = hostile
    fleet[second]["launch"] = {"engine": "slurm", "node": hostile, "job": hostile}
    folder = kept(tmp_path / "pre", fleet)
    (folder / "broken.json").write_text(hostile, encoding="utf-8")
    text = written(tmp_path)
    page = Page(text)
    assert text.count("<script") == 1
    assert "img" not in page.tags
    body = text[text.index("<body>") : text.index("<script")]
    for harm in HARMFUL:
        assert harm not in body, harm
    assert "&lt;script&gt;" in body


def test_a_fleet_without_nodes_has_no_map(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pre").mkdir()
    (tmp_path / "pre" / "broken.json").write_text("{")
    page = Page(written(tmp_path))
    assert "no node reported anything that could be read" in page.text
    assert "Nothing that was judged fails" not in page.text
    capsys.readouterr()
