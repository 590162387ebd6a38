"""Floors of measurements: healthy hardware holds them, and none asks for too much."""

import json
from pathlib import Path

import pytest

from speccheck.validator.catalogue.nodes import gpu_profiles
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.node.profile import GpuProfile
from speccheck.validator.evidence.value import Value
from speccheck.validator.models.bus_bandwidth import pcie_bytes_per_second
from speccheck.validator.run.run import run

GIGA = 1e9
H100, H200 = "NVIDIA H100 80GB HBM3", "NVIDIA H200"
A100, GB300 = "NVIDIA A100-SXM4-80GB", "NVIDIA GB300"
# GPU, direction, GB/s, and what each published number is worth. The source of all but
# those marked is Azure/AI-benchmarking-guide, or an issue of NVIDIA/nvbandwidth.
PUBLISHED = [
    (H100, "host_to_device", 51.0, "pass"),
    (H100, "device_to_host", 52.0, "pass"),
    (H100, "host_to_device", 55.6, "pass"),  # NVIDIA's blog on nvbandwidth
    (H200, "host_to_device", 52.0, "pass"),
    (H200, "device_to_device", 396.0, "pass"),  # stas00/ml-engineering
    (A100, "host_to_device", 26.28, "pass"),
    (A100, "device_to_device", 276.1, "pass"),
    (H100, "local", 1519.07, "pass"),  # Hugging Face Smol Training Playbook
    (H100, "local", 1237.0, "pass"),  # NVIDIA/nccl issue 1264: 2,474 read and written
    (H200, "local", 2005.0, "pass"),
    (A100, "local", 805.0, "pass"),
    (GB300, "local", 3312.4, "pass"),  # oracle-quickstart
    (GB300, "host_to_device", 211.5, "unknown"),  # oracle-quickstart
    ("NVIDIA GB200", "host_to_device", 201.0, "unknown"),
    ("NVIDIA H20-3e", "local", 1116.3, "unknown"),  # 46 % of its memory bandwidth
    ("NVIDIA RTX A6000", "device_to_device", 21.8, "unknown"),
]
FLOORS = ("host_copy_slow", "peer_copy_slow", "memory_slower_than_type")


def outcomes(path: Path) -> set[str]:
    """Return what the rules on floors, and on limits, say of measurements."""
    (plan,) = run(Request(arguments=(str(path),), use="preflight", full=True)).plans
    found = [finding.finding for finding in plan.findings]
    assert not [finding for finding in found if finding.outcome == "error"]
    limits = {
        finding.outcome for finding in found if finding.rule == "copy_beyond_link"
    }
    assert "fail" not in limits
    floors = {str(finding.outcome) for finding in found if finding.rule in FLOORS}
    return floors - {"not_applicable"}


@pytest.mark.parametrize(("gpu", "direction", "rate", "outcome"), PUBLISHED)
def test_published_copies_of_healthy_gpus_hold_what_is_asked(
    gpu: str, direction: str, rate: float, outcome: str, tmp_path: Path
) -> None:
    ends: dict[str, list[int | None]] = {"from_gpu": [0], "to_gpu": [0]}
    if direction == "device_to_device":
        ends["to_gpu"] = [1]
    elif direction != "local":
        ends["from_gpu" if direction == "host_to_device" else "to_gpu"] = [None]
    test = {
        "gpu": gpu,
        "direction": direction,
        "method": "copy_engine",
        "is_bidirectional": False,
        "is_all_at_once": False,
        **ends,
        "size_bytes": 2**29,
        "bytes_per_second": [rate * GIGA],
    }
    path = tmp_path / "copies.json"
    document = {"schema": "speccheck-snapshot/1", "copy_tests": [test]}
    path.write_text(json.dumps(document), encoding="utf-8")
    assert outcomes(path) == {outcome}


def floors_of(clause: str, number: str) -> dict[str, float]:
    """Return the numbers of a clause by accelerator."""
    found = load_edition().clauses[clause].numbers[number]
    assert found.value is None, "no floor for hardware that nobody has measured"
    return {
        profile.removeprefix("accel/"): float(value)
        for profile, value in found.by_profile.items()
        if isinstance(value, int | float)
    }


def profile_of(accelerator: str) -> GpuProfile:
    """Return what the catalogue has of a type of GPU."""
    return gpu_profiles().by_id(Value("cluster.accelerator", accelerator))


def test_no_floor_of_host_copies_is_above_the_line() -> None:
    floors = floors_of("HW-005", "host_copy")
    assert floors
    for name, floor in floors.items():
        profile = profile_of(name)
        line = pcie_bytes_per_second(
            profile.pcie_generation_maximum.need(), profile.pcie_width_maximum.need()
        )
        assert line
        assert floor * GIGA < 0.9 * line, name


def test_no_floor_of_peer_copies_is_above_the_links() -> None:
    for name, floor in floors_of("HW-005", "peer_copy").items():
        links = profile_of(name).nvlink_gigabytes_per_second.need()
        assert floor < 0.9 * links, name


def test_no_share_asks_for_all() -> None:
    shares = [
        ("HW-151", "memory_share", "memory_gigabytes_per_second"),
        ("KERN-004", "gemm_share", "bfloat16_teraflops"),
    ]
    for clause, number, leaf in shares:
        for name, share in floors_of(clause, number).items():
            assert 0 < share < 0.9, name
            assert getattr(profile_of(name), leaf).need() > 0, name


@pytest.mark.parametrize(
    ("generation", "width", "rate"),
    [(1, 16, 4.0), (3, 16, 15.754), (4, 16, 31.508), (5, 16, 63.015), (6, 16, 121.0)],
)
def test_a_link_carries_what_its_lanes_do(
    generation: int, width: int, rate: float
) -> None:
    found = pcie_bytes_per_second(generation, width)
    assert found is not None
    assert found / GIGA == pytest.approx(rate, abs=0.001)
    assert pcie_bytes_per_second(generation, 8) == pytest.approx(found / 2)


def test_a_floor_that_one_health_script_has_for_all_would_be_refused() -> None:
    """52 GB/s, also for boards of generation 4 (oracle-quickstart/oci-hpc)."""
    line = pcie_bytes_per_second(4, 16)
    assert line is not None
    assert line < 52 * GIGA
    assert pcie_bytes_per_second(7, 16) is None
