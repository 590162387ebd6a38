"""The bandwidth model against vectors, published runs and its own ceilings."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest
import yaml

from compile_catalogues import read_source
from predictions.prediction import GROUND_TRUTH, rows
from speccheck.validator.catalogue.hardware import published_bandwidth, readings_of
from speccheck.validator.editions.compose import compose
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.evidence.measurement.bandwidth import GpuReadings
from speccheck.validator.models.bus_bandwidth import (
    GIGA,
    Collective,
    adapter_rate,
    bandwidths,
    ranks_of_ratio,
)
from speccheck.validator.models.expectation import (
    MARGIN,
    NO_THRESHOLD_BELOW,
    OF_ALL_TO_ALL,
    CollectiveSetting,
    Expectation,
    Floors,
    expectation,
    implausible,
    share_of_peak,
    small_message_seconds,
)

GIBIBYTE = 2**30
LARGE = 16 * GIBIBYTE
Vector = Mapping[str, Any]


def _document() -> Any:  # noqa: ANN401 - YAML
    text = (GROUND_TRUTH / "bandwidth_vectors.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=yaml.CSafeLoader)


VECTORS: list[Vector] = _document()["vectors"]
IDENTITIES: dict[str, Vector] = {item["id"]: item for item in _document()["identities"]}


def _id(vector: Vector) -> str:
    return str(vector["id"])


def _readings(gpu: str) -> GpuReadings:
    found = readings_of(gpu)
    assert found is not None, gpu
    return found


def setting_of(vector: Vector) -> CollectiveSetting:
    result = vector["inputs"]
    network = result.get("network")
    return CollectiveSetting(
        result["collective"],
        result["ranks"],
        result["domains"],
        _readings(result["gpu"]),
        network_bytes_per_gpu=network and network * GIGA,
        algorithm=result.get("algorithm"),
        reduces_in_network=result.get("in_network", False),
    )


def _found(look: Expectation) -> dict[str, float | None]:
    bounds = look.ceilings
    found = {
        "ring_ceiling": bounds.ring,
        "hierarchical_ceiling": bounds.hierarchical,
        "in_network_ceiling": bounds.in_network,
        "all_to_all_ceiling": bounds.all_to_all,
        "domain_ceiling": bounds.domain,
        "plausible": look.plausible,
        "floor_fail": look.fail_below,
        "floor_warn": look.warn_below,
    }
    return {name: rate and rate / GIGA for name, rate in found.items()}


@pytest.mark.parametrize("vector", VECTORS, ids=_id)
def test_ceilings_and_floors_of_a_vector(vector: Vector) -> None:
    setting, size = setting_of(vector), vector["inputs"]["size"]
    look = expectation(setting, size)
    expected = dict(vector["expected"])
    share = expected.pop("share_of_reference", None)
    found = _found(look)
    for name, rate in expected.items():
        assert found[name] == (None if rate is None else pytest.approx(rate, abs=0.01))
    if share is not None:
        large = expectation(setting, size, Floors(least_bytes=NO_THRESHOLD_BELOW))
        assert large.reference is not None
        reached = vector["published"] * GIGA / large.reference.value
        assert reached == pytest.approx(share, abs=0.002)


@pytest.mark.parametrize("vector", VECTORS, ids=_id)
def test_verdict_of_a_vector(vector: Vector) -> None:
    setting, size = setting_of(vector), vector["inputs"]["size"]
    rate = vector["published"] * GIGA
    is_threshold = vector["kind"] == "threshold"
    judge = _of_threshold if is_threshold else _of_measurement
    assert judge(setting, size, rate) == vector["verdict"]


def _of_threshold(setting: CollectiveSetting, size: int, rate: float) -> str:
    if implausible(setting, rate, size):
        return "rejected"
    look = expectation(setting, size, Floors(least_bytes=NO_THRESHOLD_BELOW))
    return "weak" if rate < (look.fail_below or 0) else "accepted"


def _of_measurement(setting: CollectiveSetting, size: int, rate: float) -> str:
    look = expectation(setting, size)
    if look.plausible is not None and rate > look.plausible:
        return "implausible"
    if setting.domains == 1:
        return "plausible"
    if look.fail_below is None or look.warn_below is None:
        return "not_evaluated"
    if rate < look.fail_below:
        return "fail"
    return "warn" if rate < look.warn_below else "pass"


def test_bus_bandwidth_follows_from_time_and_size() -> None:
    item = IDENTITIES["busbw-identity"]
    result, expected = item["inputs"], item["expected"]
    seconds = result["time_us"] / 1e6
    found = bandwidths("all_reduce", result["ranks"], result["size"], seconds)
    slack = item["tolerance"]
    rates = found.algorithm.value / GIGA, found.bus.value / GIGA
    assert rates[0] == pytest.approx(expected["algorithm"], abs=slack)
    assert rates[1] == pytest.approx(expected["bus"], abs=slack)
    assert ranks_of_ratio("all_reduce", rates[1] / rates[0]) == result["ranks"]


def test_what_an_adapter_carries_under_sums_within_nodes() -> None:
    item = IDENTITIES["wire-rate"]
    result = item["inputs"]
    found = adapter_rate(result["bus"], result["nodes"], result["ranks"])
    expected = item["expected"]["per_gpu"]
    assert found == pytest.approx(expected, abs=item["tolerance"])


COLLECTIVES: tuple[Collective, ...] = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
)
SIZES = (GIBIBYTE, LARGE)


def _settings_of_the_catalogue() -> Iterator[tuple[str, CollectiveSetting]]:
    """Yield every machine of the hardware catalogue, on 1 to 64 nodes."""
    for row in read_source("hardware/instances")["instances"]:
        gpu = readings_of(row["accelerator"])
        if gpu is None:
            continue
        each, network = row["gpus_per_node"], row.get("network", {})
        rate = None
        if "gbit_per_s" in network:
            rate = network["count"] * network["gbit_per_s"] / 8 / each * GIGA
        for nodes, collective in product(range(1, 65), COLLECTIVES):
            for domains in {nodes, -(-nodes * each // (gpu.gpus or each))}:
                item = CollectiveSetting(collective, nodes * each, domains, gpu, rate)
                yield row["id"], item


@pytest.mark.slow
def test_no_floor_of_ours_lies_above_its_ceiling() -> None:
    with_floor: dict[str, set[str]] = {}
    for (name, setting), size in product(_settings_of_the_catalogue(), SIZES):
        look = expectation(setting, size, Floors(most_ranks=10**6))
        if look.warn_below is None or look.fail_below is None:
            assert look.reason, setting
            continue
        with_floor.setdefault(name, set()).add(setting.collective)
        assert look.ceiling is not None, setting
        assert look.fail_below < look.warn_below < look.ceiling, (name, setting)
        assert not implausible(setting, look.warn_below, size), (name, setting)
        if look.impossible is not None and look.plausible is not None:
            assert look.plausible <= look.impossible * 1.0001, (name, setting)
    of_all = [item for item, found in with_floor.items() if found == {*COLLECTIVES}]
    assert {"dgx-h100", "aws-p5", "azure-nd96isr-h200-v5", "gcp-a4x"} <= {*of_all}


def test_every_curve_that_was_published_is_above_its_floor() -> None:
    held = 0
    for gpu in ("A100-SXM4-80GB", "H100-SXM5-80GB", "H200-SXM", "B200-SXM", "GB200"):
        readings = _readings(gpu)
        for curve in published_bandwidth().curves(readings.id):
            setting = CollectiveSetting(
                "all_reduce", curve.ranks, curve.domains, readings, 50 * GIGA
            )
            for size, rate in curve.points:
                look = expectation(setting, size)
                assert look.ceiling is not None
                assert rate <= look.ceiling * MARGIN, (curve.id, size)
                if look.fail_below is not None:
                    assert rate >= look.fail_below, (curve.id, size)
                    held += 1
    assert held >= 30


def test_the_share_of_a_size_lies_between_those_around_it() -> None:
    setting = CollectiveSetting("all_reduce", 8, 1, _readings("B200-SXM"))
    sizes = [2**20, 3 * 2**20, 2**28, 3 * 2**27, GIBIBYTE, LARGE, 4 * LARGE]
    shares = [share_of_peak(setting, item) for item in sizes]
    assert shares == sorted(shares)
    assert shares[-2:] == [1.0, 1.0]
    assert share_of_peak(setting, 1) == shares[0]


@pytest.mark.parametrize(
    ("setting", "size", "reason"),
    [
        (CollectiveSetting("broadcast", 16, 2, GpuReadings()), LARGE, "broadcast"),
        (
            CollectiveSetting("all_reduce", 16, 2, GpuReadings()),
            LARGE,
            "NVLink does not join",
        ),
        (CollectiveSetting("all_reduce", 15, 2, GpuReadings()), LARGE, "15 ranks in 2"),
        (CollectiveSetting("all_reduce", 1, 1, GpuReadings()), LARGE, "1 ranks in 1"),
        (
            CollectiveSetting("all_reduce", 8, 1, _readings("B300-SXM")),
            LARGE,
            "nobody published",
        ),
        (
            CollectiveSetting("all_reduce", 16, 2, _readings("H200-SXM")),
            LARGE,
            "adapters of a node are not known",
        ),
        (
            CollectiveSetting("all_reduce", 72, 1, _readings("GB300")),
            4 * GIBIBYTE,
            "no curve tells",
        ),
        (
            CollectiveSetting(
                "all_reduce", 8, 1, _readings("H200-SXM"), algorithm="tree"
            ),
            LARGE,
            "no readings of tree",
        ),
    ],
)
def test_outside_the_readings_the_answer_says_why(
    setting: CollectiveSetting, size: int, reason: str
) -> None:
    look = expectation(setting, size)
    assert (look.fail_below, look.warn_below) == (None, None)
    assert reason in look.reason


def test_adapters_of_idle_gpus_raise_the_ceiling_and_not_the_floor() -> None:
    gpu = _readings("H100-SXM5-80GB")
    alone = CollectiveSetting("all_reduce", 2, 2, gpu, 50 * GIGA)
    helped = alone._replace(idle_network_bytes=350 * GIGA)
    few, more = expectation(alone, LARGE), expectation(helped, LARGE)
    assert few.fail_below == pytest.approx(40e9)
    assert few.impossible == pytest.approx(52.5e9)
    assert more.fail_below == few.fail_below
    assert more.impossible == pytest.approx(420e9)


def test_small_messages_take_longer_on_more_nodes() -> None:
    gpu = _readings("H100-SXM5-80GB")
    times = []
    for nodes in (1, 2, 8, 64):
        found = small_message_seconds(
            CollectiveSetting("all_reduce", 8 * nodes, nodes, gpu), "hopper"
        )
        assert found is not None
        times.append(found.value)
    assert times == sorted(times)
    # 13 to 17 us for 8 bytes to 2 KiB (NVIDIA/dgxc-benchmarking).
    assert 10e-6 < times[0] < 20e-6


def _numbers(clause: str, use: str) -> Mapping[str, Any]:
    composed = compose(load_edition(), use=use)
    return composed.numbers(clause, nodes=None, precision=None)


@pytest.mark.parametrize(("use", "share"), [("ci", 0.8), ("preflight", 0.8)])
def test_the_model_and_the_clauses_have_the_same_numbers(
    use: str, share: float
) -> None:
    floors, numbers = Floors(), _numbers("COMM-010", use)
    assert (floors.fail, share) == (numbers["floor_fraction"],) * 2
    assert floors.least_bytes == numbers["min_payload"]
    assert floors.least_domain_bytes == numbers["domain_payload"]
    assert floors.most_ranks == numbers["max_ranks"]
    usual = _numbers("COMM-070", use)
    assert floors.warn == usual["usual_fraction"]
    assert usual["floor_fraction"] == numbers["floor_fraction"]
    assert _numbers("COMM-071", use)["margin"] == MARGIN
    assert _numbers("COMM-074", use)["floor_fraction"] == floors.fail
    assert _numbers("COMM-076", use)["floor_fraction"] == OF_ALL_TO_ALL.fail
    assert _numbers("COMM-011", use)["min_payload"] == floors.least_bytes


def test_a_certificate_asks_for_more() -> None:
    for clause in ("COMM-010", "COMM-070"):
        assert _numbers(clause, "certify")["floor_fraction"] == 0.9


def test_published_figures_of_the_catalogue_are_rows_of_the_ground_truth() -> None:
    """No number of a curve stands in the catalogue alone."""
    published = {
        (int(float(row["size_bytes"])), round(float(row["busbw_gbps"]) * GIGA))
        for row in rows("busbw")
        if row["size_bytes"] and row["busbw_gbps"]
    }
    for domain in ("a100-8", "h100-8", "h200-8", "b200-8", "gb200-domain"):
        for curve in published_bandwidth().curves(domain):
            assert {(size, round(rate)) for size, rate in curve.points} <= published
