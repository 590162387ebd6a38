"""How predictions are shown, whatever they are of: bars, rows, data."""

import json
import re
from math import inf
from pathlib import Path

import jsonschema
import pytest

from json_schemas import schema_text
from speccheck.validator.cli.main import main
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast import all as all_forecasts
from speccheck.validator.forecast.quantity import Forecast, Quantity
from speccheck.validator.models.estimate import Estimate, exactly, within
from speccheck.validator.report.forecast_text import bar, forecast_lines
from speccheck.validator.report.style import Style
from speccheck.validator.report.wording import amount, best, bounds, in_words

GB = 10**9
SIZE = Quantity("capacity", "bytes", exactly(80 * GB, "catalogue"))


def size(name: str, value: float, share: float = 0.0) -> Quantity:
    found = within(value * GB, share, "rows") if share else exactly(value * GB, "sum")
    return Quantity(name, "bytes", found)


def at_least(name: str, lower: float, upper: float = inf) -> Quantity:
    found = Estimate(lower * GB, lower * GB, upper * GB, "lower_bound", "states")
    return Quantity(name, "bytes", found)


FITS = Forecast(
    "memory",
    (
        size("states", 20),
        size("activations", 10, 0.2),
        Quantity("tokens", "tokens", exactly(8192, "batch")),
        size("total", 30, 0.25),
        size("of_which_weights", 5),
    ),
    SIZE,
)
TOO_LARGE = Forecast(
    "memory",
    (at_least("states", 120), size("activations", 40), at_least("total", 160, 200)),
    SIZE,
)


def lines(*forecasts: Forecast, full: bool = False, width: int = 80) -> list[str]:
    style = Style(width=width)
    return list(forecast_lines(forecasts, style, knows_scale=True, full=full))


def test_the_bar_shows_parts_the_upper_bound_and_what_is_free() -> None:
    drawn = bar(FITS, 80)
    assert drawn is not None
    assert drawn.cells == "#" * 20 + "=" * 10 + "-" * 8 + "." * 42
    assert drawn.signs == {"states": "#", "activations": "=", "total": "-"}
    assert drawn.caption == "30 GB of 80 GB capacity, 38%"


def test_the_limit_stands_in_a_bar_that_reaches_beyond_it() -> None:
    drawn = bar(TOO_LARGE, 40)
    assert drawn is not None
    assert drawn.cells == "#" * 20 + "|" + "#" * 9 + "=" * 10
    assert drawn.caption == "at least 160 GB of 80 GB capacity (|), 200%"


def test_a_whole_may_have_another_name_and_chosen_parts() -> None:
    seconds = [
        Quantity("compute_seconds", "seconds", exactly(8, "")),
        Quantity("hidden_seconds", "seconds", exactly(6, "")),
        Quantity("step_seconds", "seconds", exactly(10, "")),
        Quantity("exposed", "seconds", exactly(2, "")),
    ]
    parts = ("compute_seconds", "exposed")
    step = Forecast("step", tuple(seconds), None, "step_seconds", parts)
    drawn = bar(step, 10)
    assert drawn is not None
    assert (drawn.cells, drawn.caption) == ("########==", "10 s")
    unknown = Quantity("exposed", "seconds", missing=("run.step_seconds",))
    lacking = (seconds[0], seconds[1]._replace(name="bubble"), seconds[2], unknown)
    of_three = ("compute_seconds", "bubble", "exposed")
    drawn = bar(Forecast("step", lacking, None, "step_seconds", of_three), 14)
    assert drawn is not None
    assert drawn.caption == "10 s without exposed"


@pytest.mark.parametrize(
    "forecast",
    [
        Forecast("none", (size("states", 1), size("activations", 1)), SIZE),
        Forecast("one", (size("states", 1), size("total", 1)), SIZE),
        Forecast("zero", (size("a", 0), size("b", 0), size("total", 0))),
        Forecast("open", (size("a", 1), size("b", 1), Quantity("total", "bytes"))),
        Forecast("infinite", (size("a", 1), size("b", inf), size("total", inf))),
    ],
    ids=lambda forecast: forecast.subject,
)
def test_there_is_no_bar_without_a_whole_of_parts(forecast: Forecast) -> None:
    assert bar(forecast, 40) is None


def test_rows_have_value_bounds_and_confidence() -> None:
    bubble = Quantity("bubble_share", "share", exactly(0, ""))
    shown = lines(FITS._replace(quantities=(*FITS.quantities, bubble)))
    assert shown == [
        "\nforecast: memory  30 GB of 80 GB capacity, 38%",
        "  [" + "#" * 19 + "=" * 9 + "-" * 8 + "." * 40 + "]",
        "  # states            20 GB                          exact",
        "  = activations       10 GB         8 to 12 GB       calibrated",
        "    tokens            8,192 tokens                   exact",
        "  - total             30 GB         22.5 to 37.5 GB  calibrated",
        "    of which weights  5 GB                           exact",
        "    none: bubble",
    ]


def test_what_is_missing_is_named_once_and_how_to_get_it() -> None:
    lack = ("run.step_seconds", "data.drop_last")
    step = Forecast(
        "step",
        (
            Quantity("compute_seconds", "seconds", missing=lack),
            Quantity("exposed", "seconds", missing=lack),
            Quantity("bubble", "share", exactly(0.25, "")),
        ),
    )
    energy = Forecast("energy", (Quantity("power", "watts", note="no such GPU"),))
    assert lines(step, energy) == [
        "\nforecast: step",
        "    bubble  25%    exact",
        "    not known: compute, exposed",
        "\nno forecast of energy (--full says what is missing)",
        "to predict more: add --step-seconds; state data.drop_last in config.yaml",
    ]
    assert lines(step, energy, full=True)[3:] == [
        "    not known: compute, exposed; needs run.step_seconds, data.drop_last",
        "\nforecast: energy",
        "    not known: power; no such GPU",
        "to predict more: add --step-seconds; state data.drop_last in config.yaml",
    ]
    assert lines(energy) == ["\nno forecast of energy (--full says what is missing)"]


def test_of_two_ways_to_know_the_one_that_tells_more_is_named() -> None:
    gpu = ("cluster.accelerator_memory_bytes", "cluster.power_watts")
    lacking = Quantity("power", "watts", missing=gpu)
    known = Quantity("nodes", "count", exactly(4, ""))
    (result,) = lines(Forecast("energy", (known, lacking)), full=True)[-1:]
    assert " ".join(result.split()) == (
        "to predict more: add --gpu by its full name (H100-SXM5-80GB) or --instance"
    )


def test_no_row_is_wider_than_the_terminal_if_a_narrow_gap_can_help() -> None:
    quantity = Quantity(
        "time_between_two_failures",
        "tokens_per_second",
        Estimate(6650, 4170, 7790, "calibrated", "rows"),
    )
    (_, row) = lines(Forecast("step", (quantity,)))
    assert row.count("  ") == 2
    assert len(row) == 80


def test_full_adds_note_range_and_source() -> None:
    found = within(10 * GB, 0.2, "torchtitan rows", "FSDP2")
    item = Quantity("activations", "bytes", found, (), "8,192 tokens x 32 layers")
    assert lines(Forecast("memory", (item,)), full=True)[2:] == [
        "        8,192 tokens x 32 layers",
        "        valid for FSDP2",
        "        source: torchtitan rows",
    ]


def test_numbers_carry_their_units() -> None:
    assert [amount(0.032, "share"), amount(61.34 * GB, "bytes")] == ["3.2%", "61.3 GB"]
    assert [amount(90, "seconds"), amount(5400, "seconds")] == ["1.5 min", "1.5 h"]
    assert amount(1150 * GB, "bytes", 80 * GB) == "1,150 GB"
    assert amount(1150 * GB, "bytes") == "1.15 TB"
    assert amount(inf, "bytes") == "no bound"
    assert best(at_least("states", 0)) == "no lower bound"
    assert bounds(at_least("states", 1)) == ""
    assert bounds(at_least("states", 1, 2)) == "at most 2 GB"
    wide = Estimate(GB, 0.5 * GB, 2 * GB, "advisory", "")
    assert bounds(Quantity("x", "bytes", wide)) == "500 MB to 2 GB"
    assert bounds(Quantity("x", "bytes", wide._replace(lower=0))) == "0 to 2 GB"
    assert bounds(Quantity("x", "bytes", wide._replace(upper=inf))) == "at least 500 MB"
    assert in_words("step_seconds", "seconds") == "step"
    assert in_words("tokens_per_second", "tokens_per_second") == "tokens per second"


def test_a_model_that_breaks_on_odd_numbers_says_so_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def divides(_: TrainingPlan) -> Forecast:
        return Forecast("memory", (size("states", 1 / 0),))

    def lacks(_: TrainingPlan) -> Forecast:
        name, reason = "run.hours", "no length"
        raise MissingEvidence(name, reason)

    pairs = (("memory", divides), ("energy", lacks))
    monkeypatch.setattr(all_forecasts, "subjects", lambda: pairs)
    memory, energy = all_forecasts.forecasts(TrainingPlan({}))
    assert memory.quantities[0].note.startswith("the values of the plan allow no")
    assert energy.quantities[0].missing == ("run.hours",)


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = tmp_path / "job.yaml"
    path.write_text("speccheck: 1\nbatch: {micro_batch_size: 2}\n", encoding="utf-8")

    def predicted(found: TrainingPlan) -> Forecast:
        is_small = found.value("batch.micro_batch_size").value == 1
        return FITS if is_small else TOO_LARGE

    monkeypatch.setattr(all_forecasts, "subjects", lambda: (("memory", predicted),))
    return str(path)


def test_the_data_has_parts_limit_and_no_infinite_number(
    plan: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", plan, "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads(schema_text("plan")))
    (forecast,) = document["plans"][0]["forecasts"]
    assert forecast["whole"] == "total"
    assert forecast["parts"] == ["states", "activations"]
    assert forecast["limit"]["value"] == 80 * GB
    assert forecast["quantities"][0] == {
        "name": "states",
        "unit": "bytes",
        "value": 120 * GB,
        "lower": 120 * GB,
        "upper": None,
        "kind": "lower_bound",
        "source": "states",
        "valid": None,
        "missing": [],
        "note": None,
    }


def test_a_change_shows_what_must_fit_before_and_after(
    plan: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", plan, "--what-if", "micro_batch=1"]) == 0
    text = capsys.readouterr().out
    assert "  memory, total" in text
    assert "at least 160 GB -> 30 GB\n" in text
    assert (
        "  before  memory at least 160 GB of 80 GB capacity (|), 200%\n"
        f"          [{'#' * 34}|{'#' * 16}{'=' * 17}]\n"
        "  after   memory 30 GB of 80 GB capacity, 38%\n"
        f"          [{'#' * 17}{'=' * 9}{'-' * 6}{'.' * 36}]\n"
    ) in text


def test_colours_come_from_rich_and_only_where_they_are_asked_for(
    plan: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", plan, "--color", "always"]) == 0
    coloured = capsys.readouterr().out
    assert main(["plan", plan, "--color", "never"]) == 0
    plain = capsys.readouterr().out
    assert "\x1b[" not in plain
    assert "\x1b[30;46m####" in coloured
    bare = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert bare.partition("forecast:")[2] == plain.partition("forecast:")[2] != ""
