"""`speccheck certify --dry-run`: published figures, and what they would settle."""

from functools import cache

import pytest

from certify_published_page import PAGE, TYPES, page
from compile_catalogues import read_source
from compile_published import compile_published
from predictions.prediction import rows
from published_runs import INSTANCES
from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.catalogue.published_runs import (
    PublishedRun,
    published_runs,
    published_types,
)
from speccheck.validator.certification.published import DryRun, dry_run, snapshot_of
from speccheck.validator.cli.main import main

Capture = pytest.CaptureFixture[str]


@cache
def found(name: str) -> DryRun:
    return dry_run(name)


def test_the_page_says_what_the_rules_say_now() -> None:
    assert PAGE.read_text("utf-8") == page(), "run make bandwidth"
    assert len(TYPES) >= 6


def test_every_figure_is_a_row_of_the_ground_truth() -> None:
    by_id = {row["id"]: row for row in rows("busbw")}
    compiled = read_compiled("published")
    for run in read_source("bandwidth/published")["runs"]:
        result = [by_id[name] for name in run["rows"]]
        first = result[0]
        assert {item["kind"] for item in result} == {"measured"}
        assert {INSTANCES[item["platform"]] for item in result} == {run["instance"]}
        assert not any("forced" in item["algorithm"] for item in result)
        assert (run["collective"], run["nodes"], run["ranks"]) == (
            first["collective"],
            int(first["nodes"]),
            int(first["ranks"]),
        )
        assert {"on": True, "off": False, "": None}[first["nvls"]] == run.get("nvls")
        (points,) = (
            item["points"]
            for item in compiled[run["instance"]]
            if item["id"] == run["id"]
        )
        published = [
            [
                int(float(item["size_bytes"])) if item["size_bytes"] else None,
                round(float(item["busbw_gbps"]) * 1e9),
            ]
            for item in result
        ]
        assert points == published, run["id"]


def test_wrong_rows_are_refused() -> None:
    row = {
        "id": "x",
        "instance": "aws-p5",
        "unit": "GB/s",
        "collective": "all_reduce",
        "nodes": 1,
        "ranks": 8,
        "confidence": "verified",
        "source": "s",
    }
    instances = {"instances": [{"id": "aws-p5"}]}
    for change, result in (
        ({"instance": "nobody", "points": {}}, "x: an unknown type of machine"),
        ({"unit": "Gbit/s", "points": {}}, "not GB/s"),
        ({"points": {"1 GB": 400}}, "'1 GB' is no size"),
    ):
        with pytest.raises(ValueError, match=result):
            compile_published(
                {"sources": {"s": "s"}, "runs": [row | change]}, instances
            )


@pytest.mark.parametrize("name", published_types())
def test_no_figure_gives_a_level(name: str) -> None:
    """Files and machines come first, and no figure shows any."""
    dry = found(name)
    assert dry.runs
    assert all(item.certification_level == "L3" for item in dry.settled)
    # Only tracks of which a figure speaks have settled clauses.
    spoken = [item.track for item in dry.tracks if item.settled]
    assert spoken == ["comm-topology"]
    first = next(item for item in dry.tracks if item.track == "comm-topology").open[0]
    assert first.level == "L1"
    assert first.musts > 0
    assert first.kinds == ("no configuration or launch script of the job",)


def test_figures_settle_clauses_with_their_numbers() -> None:
    outcomes = {item.clause: item.outcome for item in found("aws-p5").settled}
    assert outcomes == {
        "COMM-010": "pass",
        "COMM-011": "pass",
        "COMM-070": "pass",
        "COMM-071": "pass",
        "COMM-074": "pass",
        "COMM-076": "pass",
    }
    floor = found("aws-p5").settled[0].figures[0]
    assert (floor.measured, floor.required) == (487.9, 360.0)  # 0.9 x 400 GB/s


def test_what_a_figure_does_not_reach_is_told() -> None:
    outcomes = {item.clause: item.outcome for item in found("aws-p5en").settled}
    assert outcomes["COMM-070"] == "fail"  # 364.9 GB/s at 4 GiB; 368 are usual
    assert outcomes["COMM-010"] == "pass"


def test_one_figure_without_a_floor_leaves_its_clause_open() -> None:
    """20 racks have no floor: that 1 and 2 racks pass settles nothing of them."""
    (floor,) = (
        item
        for item in found("coreweave-gb200-nvl72").settled
        if item.clause == "COMM-010"
    )
    assert floor.outcome == "unknown"
    assert [item.outcome for item in floor.figures] == ["pass", "pass", "unknown"]


def test_a_must_that_fails_rules_its_level_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (run,) = published_runs("azure-nd96isr-h100-v5")
    slow = run._replace(points=((16 * 2**30, 200e9),))

    def slow_runs(_: str) -> tuple[PublishedRun, ...]:
        return (slow,)

    name = "speccheck.validator.certification.published.published_runs"
    monkeypatch.setattr(name, slow_runs)
    dry = dry_run("azure-nd96isr-h100-v5")
    track = next(item for item in dry.tracks if item.track == "comm-topology")
    assert (track.at_most, track.highest) == ("L2", "L3")


def test_a_size_that_nobody_published_is_assumed() -> None:
    gather = next(
        item for item in published_runs("aws-p5") if item.collective == "all_gather"
    )
    assert [*map(list, gather.points)] == [[None, 338.6e9]]
    (run,) = snapshot_of(gather)["collective_runs"]
    assert run["size_bytes"] == [16 * 2**30]


def test_the_text_says_that_it_certifies_nothing(capsys: Capture) -> None:
    words = ["--profile", "instance/aws-p5", "--profile", "instance/oci-h100-8"]
    assert main(["certify", "--dry-run", *words]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.count("published figures certify nothing") == 2
    assert "COMM-010 would pass (must, L3)" in out
    assert "487.9 GB/s at 14.9 GiB is 1.22 of 400 GB/s" in out
    assert "required: 360" in out
    assert "nothing that was measured of this type is in the catalogue" in out
    assert "at a size that was not stated (taken as 16 GiB)" in out


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (["--profile", "instance/nobody"], "instance/nobody"),
        (["--profile", "size/L"], "size/L: --dry-run takes types of machines"),
        (["--evidence", "kit"], "--dry-run takes no --evidence"),
        (["--key", "key.pem"], "--dry-run takes no --key"),
    ],
)
def test_a_wrong_command_line_is_told(
    words: list[str], result: str, capsys: Capture
) -> None:
    assert main(["certify", "--dry-run", *words]) == 2
    assert result in capsys.readouterr().err
