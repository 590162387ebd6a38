"""What is expected of GPUs and instances: by which names they are known, how surely."""

from functools import partial

import pytest

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.catalogue.nodes import gpu_profiles, instance_profile
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.part import SnapshotFile
from speccheck.validator.evidence.node.profile import (
    GpuProfile,
    InstanceProfile,
    ProfileRow,
)
from speccheck.validator.evidence.value import MissingEvidence, Value

FILE = SnapshotFile("node.json", {}, {})


def gpu(**leaves: object) -> Gpu:
    return Gpu(leaves, FILE, ("gpus", 0), "GPU 0")


def profile_of(name: str, device: str | None = None) -> GpuProfile:
    result = {} if device is None else {"pci_device_id": device}
    return gpu_profiles().of(gpu(name=name, **result))


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),  # nothing in it says SXM
        ("NVIDIA H100 NVL", "h100-nvl-94gb"),
        ("NVIDIA H100 PCIe", "h100-pcie-80gb"),
        ("NVIDIA H200", "h200-sxm-141gb"),
        ("NVIDIA H200 NVL", "h200-nvl-141gb"),
        ("NVIDIA GH200 480GB", "gh200-96gb"),
        ("NVIDIA B200", "b200-sxm-180gb"),
        ("NVIDIA GB200", "gb200-186gb"),
        ("NVIDIA GB300", "gb300-288gb"),
        ("NVIDIA B300 SXM6 AC", "b300-sxm-288gb"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("A100-SXM4-40GB", "a100-sxm4-40gb"),  # drivers before R470
        ("Tesla T4", "t4-16gb"),
        ("NVIDIA L40S", "l40s-48gb"),
        ("NVIDIA L40", "l40-48gb"),
        ("NVIDIA A10G", "a10g-24gb"),
    ],
)
def test_a_gpu_is_known_by_the_longest_name(name: str, row: str) -> None:
    assert profile_of(name).id == row


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA Graphics Device",  # of early drivers
        "NVIDIA GH200 999GB",  # holds H200
        "NVIDIA B200 NVL",  # another board than the SXM one
        "NVIDIA H200 PCIe",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA L40S-48Q",  # a part of a GPU, for a guest
        "GRID A100-40C",
        "NVIDIA",
        "",
    ],
)
def test_a_gpu_that_only_resembles_one_has_no_profile(name: str) -> None:
    found = profile_of(name)
    assert found.id == ""
    with pytest.raises(MissingEvidence, match="is not in the hardware catalogue"):
        found.nvlinks.need()


def test_the_device_tells_what_an_early_driver_does_not_name() -> None:
    assert profile_of("NVIDIA Graphics Device", "0x294110de").id == "gb200-186gb"
    assert profile_of("NVIDIA Graphics Device", "0x29411002").id == ""  # not NVIDIA
    assert profile_of("NVIDIA Graphics Device", "none").id == ""


def test_a_name_and_a_device_that_disagree_are_no_profile() -> None:
    assert profile_of("NVIDIA H100 80GB HBM3", "0x233010de").id == "h100-sxm5-80gb"
    found = profile_of("NVIDIA H100 80GB HBM3", "0x232410DE")
    assert found.id == ""
    with pytest.raises(MissingEvidence, match="h800-sxm5-80gb by its PCI device"):
        found.nvlinks.need()


def test_a_gpu_without_a_name_has_no_profile() -> None:
    found = gpu_profiles().of(gpu(name={"status": "not_permitted"}))
    with pytest.raises(MissingEvidence, match="not permitted"):
        found.memory_total_bytes.need()


def test_leaves_say_how_sure_they_are() -> None:
    found = profile_of("NVIDIA H100 80GB HBM3")
    assert found.nvlinks.value == 18
    assert found.nvlinks.status == "stated"
    assert found.nvlinks.places[0].key == "gpus[0].name"
    assert found.nvlinks.note == (
        "h100-sxm5-80gb in the hardware catalogue (verified: ml-net)"
    )
    assert found.nvlink_version.status == "derived"
    assert found.nvlink_speed_mbyte_per_second.value == 26562
    by_bridge = profile_of("NVIDIA H100 NVL")
    assert by_bridge.nvlinks.status == "default"
    assert (by_bridge.nvlinks.value, by_bridge.nvlinks_of_gpu.value) == (12, 18)
    assert by_bridge.nvlink_is_by_bridge.value is True


def test_sources_that_disagree_leave_a_leaf_unknown() -> None:
    clock = profile_of("NVIDIA H200").sm_clock_maximum_mhz
    assert (clock.value, clock.status) == (None, "conflict")
    assert clock.alternatives == (
        "1980 MHz (mlperf50)",
        "1965 MHz (mlperf50)",
        "1830 MHz (ml-acc)",
    )
    with pytest.raises(MissingEvidence, match="sources disagree about h200-sxm-141gb"):
        clock.need()


def test_what_the_catalogue_lacks_is_unknown() -> None:
    found = profile_of("NVIDIA A10G")
    with pytest.raises(MissingEvidence, match="does not have it for a10g-24gb"):
        found.sm_clock_maximum_mhz.need()


def gpus(*names: str) -> Gpus:
    return Gpus(
        tuple(gpu(name=name) for name in names), Value("gpus", len(names), "measured")
    )


def test_gpus_of_one_type_share_a_profile() -> None:
    profiles = gpu_profiles()
    assert profiles.shared(gpus("NVIDIA H200", "NVIDIA H200")).id == "h200-sxm-141gb"
    assert profiles.shared(gpus("NVIDIA H200", "NVIDIA B200")).id == ""
    assert profiles.shared(gpus()).id == ""


def test_an_instance_has_its_profile() -> None:
    found = instance_profile(Value("cluster.instance_type", "aws-p5", "stated"))
    assert found.id == "aws-p5"
    assert found.gpus.value == 8
    assert found.gpu.value == "h100-sxm5-80gb"
    assert found.network_adapters.value == 32
    assert found.network_gbit_per_second.value == 100.0
    assert found.network_names.value == ("rdmap*",)
    assert found.network_names.status == "default"  # names are given by an image
    assert found.is_virtual.value is True
    assert found.pcie_generation_maximum.status == "conflict"


@pytest.mark.parametrize("name", ["sun-ultra-5", None])
def test_an_unknown_instance_has_no_profile(name: str | None) -> None:
    found = instance_profile(Value("cluster.instance_type", name))
    assert found.id == ""
    with pytest.raises(MissingEvidence, match="the instance type is not known"):
        found.network_adapters.need()


def test_profiles_are_frozen() -> None:
    found = profile_of("NVIDIA H200")
    with pytest.raises(AttributeError, match="frozen"):
        found.nvlinks = Value("x")
    with pytest.raises(AttributeError, match="has no wheels"):
        _ = found.wheels


@pytest.mark.parametrize(
    ("kind", "rows"),
    [(GpuProfile, "gpus"), (InstanceProfile, "instances")],
)
def test_every_leaf_is_of_the_type_that_the_profile_declares(
    kind: type[GpuProfile | InstanceProfile], rows: str
) -> None:
    leaves_seen = set()
    for name, row in read_compiled("node_profiles")[rows].items():
        leaves = row["leaves"] if rows == "gpus" else row
        found = kind(partial(ProfileRow, name, leaves, ""), ())
        for leaf in leaves:
            value = getattr(found, leaf)
            assert value.is_known or value.status == "conflict", (name, leaf)
        leaves_seen |= leaves.keys()
    assert leaves_seen == kind.__annotations__.keys()
