"""GPUs, instance types and fabrics by the names that people write."""

from collections.abc import Iterator
from typing import Any

import pytest

from compile_catalogues import read_source
from speccheck.validator.catalogue.hardware import (
    Accelerator,
    resolve_accelerator,
    resolve_fabric,
    resolve_instance,
)
from speccheck.validator.catalogue.names import UnknownName

GIB = 2**30
ACCELERATORS = read_source("hardware/accelerators")
INSTANCES = read_source("hardware/instances")
CONFIDENCES = {"verified", "secondary", "derived"}


@pytest.mark.parametrize(
    ("text", "row_id"),
    [
        ("h100-sxm5-80gb", "h100-sxm5-80gb"),
        ("H100 SXM", "h100-sxm5-80gb"),
        ("HGX H100", "h100-sxm5-80gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
        ("NVIDIA-H100-80GB-HBM3", "h100-sxm5-80gb"),  # Kubernetes label
        ("NVIDIA H100 PCIe", "h100-pcie-80gb"),
        ("H100 NVL", "h100-nvl-94gb"),
        ("H100-94GB", "h100-nvl-94gb"),
        ("NVIDIA H200", "h200-sxm-141gb"),  # as a driver writes it: the SXM board
        ("NVIDIA H200 NVL", "h200-nvl-141gb"),
        ("NVIDIA GH200 480GB", "gh200-96gb"),  # that is Grace's memory
        ("NVIDIA GH200 144G HBM3e", "gh200-144gb"),
        ("NVIDIA GB200", "gb200-186gb"),
        ("GB200-186GB", "gb200-186gb"),
        ("GB200 NVL72", "gb200-186gb"),
        ("GB300", "gb300-288gb"),
        ("B200-180GB", "b200-sxm-180gb"),
        ("B200-192GB", "b200-sxm-180gb"),  # as announced
        ("NVIDIA B300 SXM6 AC", "b300-sxm-288gb"),
        ("A100-SXM4-40GB", "a100-sxm4-40gb"),
        ("a100sxm480gb", None),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("Tesla V100-SXM2-32GB", "v100-sxm2-32gb"),
        ("Tesla T4", "t4-16gb"),
        ("NVIDIA A10G", "a10g-24gb"),
        ("A10", "a10-24gb"),
        ("L40", "l40-48gb"),
        ("NVIDIA L40S", "l40s-48gb"),
        ("A6000-48GB", "rtx-a6000-48gb"),
        ("NVIDIA RTX A6000", "rtx-a6000-48gb"),
        ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada-48gb"),
        (
            "NVIDIA RTX PRO 6000 Blackwell Server Edition",
            "rtx-pro-6000-blackwell-96gb",
        ),
        ("RTX4090-24GB", "rtx-4090-24gb"),
        ("NVIDIA GeForce RTX 3090", "rtx-3090-24gb"),
        ("H20", "h20-96gb"),
        ("H20-141GB", "h20-141gb"),
        ("AMD Instinct MI300X", "mi300x-192gb"),
        ("MI355X", "mi355x"),
        ("tpu-v5p", "google-tpu-v5p"),
    ],
)
def test_name_of_one_board(text: str, row_id: str | None) -> None:
    if row_id is None:
        with pytest.raises(UnknownName):
            resolve_accelerator(text)
    else:
        assert resolve_accelerator(text).id == row_id


def test_every_driver_name_and_id_resolves_to_its_row() -> None:
    for row in ACCELERATORS["accelerators"]:
        assert resolve_accelerator(row["id"]).id == row["id"]
        prefix = {"AMD": "AMD Instinct", "NVIDIA": "NVIDIA"}.get(row["vendor"], "")
        for name in row.get("driver_names", ()):
            assert resolve_accelerator(f"{prefix} {name}").id == row["id"], name


def test_name_of_several_boards_gives_what_they_have_in_common() -> None:
    h100 = resolve_accelerator("H100-80GB")
    assert h100.id is None
    assert h100.candidates == ("h100-sxm5-80gb", "h100-pcie-80gb")
    assert h100.name == "H100 80 GB"
    assert h100.memory_bytes == 85_520_809_984
    assert h100.compute_capability == (9, 0)
    assert (h100.bf16, h100.fp8, h100.fp4) == (True, True, False)
    assert h100.form_factor is None
    assert h100.has_nvlink is None
    assert h100.dense_teraflops == {}


def test_name_without_memory_leaves_the_memory_open() -> None:
    assert resolve_accelerator("H100").memory_bytes is None
    assert resolve_accelerator("A100").memory_bytes is None
    assert resolve_accelerator("A100").dense_teraflops["bf16"] == 312
    assert resolve_accelerator("L40S").memory_bytes == 46068 * 2**20


def test_board_that_needs_a_bridge_leaves_nvlink_open() -> None:
    assert resolve_accelerator("h100-sxm5-80gb").has_nvlink is True
    assert resolve_accelerator("h100-pcie-80gb").has_nvlink is None
    assert resolve_accelerator("h100-pcie-80gb").nvlink_bridge_only is True
    assert resolve_accelerator("RTX 4090").has_nvlink is False


@pytest.mark.parametrize(
    ("text", "bf16", "fp8", "fp4"),
    [
        ("V100-32GB", False, False, False),
        ("T4", False, False, False),
        ("A100-40GB", True, False, False),
        ("RTX 3090", True, False, False),
        ("L40S", True, True, False),
        ("H100", True, True, False),
        ("B200", True, True, True),
        ("RTX 5090", True, True, True),
        ("MI250X", True, False, False),
        ("MI300X", True, True, False),
    ],
)
def test_number_formats(text: str, *, bf16: bool, fp8: bool, fp4: bool) -> None:
    gpu = resolve_accelerator(text)
    assert (gpu.bf16, gpu.fp8, gpu.fp4) == (bf16, fp8, fp4)


@pytest.mark.parametrize(
    ("text", "suggestions"),
    [
        ("H1000", ("H100",)),
        ("RTX 6000", ("RTX 6000 Ada", "RTX A6000")),  # Turing or Ada: not guessed
        ("MI300A", ("MI300X",)),
        ("H100-64GB", ("h100-sxm5-80gb", "h100-pcie-80gb", "h100-nvl-94gb")),
        ("H100 OAM", ("h100-sxm5-80gb", "h100-pcie-80gb", "h100-nvl-94gb")),
        ("H100 turbo", ("H100",)),
        ("NVIDIA Graphics Device", ()),
        ("", ()),
    ],
)
def test_unknown_gpu_is_an_error(text: str, suggestions: tuple[str, ...]) -> None:
    with pytest.raises(UnknownName) as caught:
        resolve_accelerator(text)
    assert (caught.value.kind, caught.value.name) == ("GPU", text)
    assert caught.value.suggestions == suggestions
    for name in suggestions:
        assert name in str(caught.value)
        assert resolve_accelerator(name).candidates


@pytest.mark.parametrize(
    ("text", "row_id", "gpu", "fabric", "gigabytes_per_second"),
    [
        ("p5.48xlarge", "aws-p5", "h100-sxm5-80gb", "efa", 400),
        ("ml.p4d.24xlarge", "aws-p4d", "a100-sxm4-40gb", "efa", 50),
        ("a3-megagpu-8g", "gcp-a3-mega", "h100-sxm5-80gb", "gcp-tcpxo", 200),
        ("a3-highgpu-8g", "gcp-a3-high", "h100-sxm5-80gb", "gcp-tcpxo", 100),
        ("ND_GB200_v6", "azure-nd128isr-gb200-v6", "gb200-186gb", "infiniband", 200),
        (
            "Standard_ND96isr_H100_v5",
            "azure-nd96isr-h100-v5",
            "h100-sxm5-80gb",
            "infiniband",
            400,
        ),
        ("BM.GPU.H200.8", "oci-h200-8", "h200-sxm-141gb", "roce-lossless", 400),
        ("dgx-h100", "dgx-h100", "h100-sxm5-80gb", "infiniband", 400),
        ("g5.48xlarge", "aws-g5-48xlarge", "a10g-24gb", None, None),
        ("HGX H100", "hgx-h100", "h100-sxm5-80gb", None, None),  # anybody's
    ],
)
def test_instance(
    text: str,
    row_id: str,
    gpu: str,
    fabric: str | None,
    gigabytes_per_second: float | None,
) -> None:
    instance = resolve_instance(text)
    assert instance.id == row_id
    assert instance.accelerator.id == gpu
    assert instance.fabric == fabric
    assert instance.network_gigabytes_per_second == gigabytes_per_second


def test_instance_knows_its_shape() -> None:
    tray = resolve_instance("Standard_ND128isr_NDR_GB200_v6")
    assert (tray.gpus_per_node, tray.nvlink_domain_size) == (4, 72)
    assert tray.host_memory_bytes == 864 * GIB
    assert resolve_instance("g5.48xlarge").nvlink_domain_size == 1


def test_every_type_name_resolves() -> None:
    for row in INSTANCES["instances"]:
        for name in (row["id"], *row["type_names"]):
            instance = resolve_instance(name)
            assert instance.id == row["id"]
            if instance.fabric is not None:
                assert resolve_fabric(instance.fabric) == instance.fabric


def test_unknown_instance_is_an_error() -> None:
    with pytest.raises(UnknownName, match=r"unknown instance type 'p5.48xlrge'") as at:
        resolve_instance("p5.48xlrge")
    assert at.value.suggestions[0] == "p5.48xlarge"


@pytest.mark.parametrize(
    ("text", "fabric"),
    [
        ("infiniband", "infiniband"),
        ("IB", "infiniband"),
        ("roce", "roce-lossless"),
        ("RoCE v2", "roce-lossless"),
        ("spectrum-x", "spectrum-x-ra2.2"),
        ("mrc", "mrc"),
        ("EFA", "efa"),
        ("tcpxo", "gcp-tcpxo"),
        ("nvlink-only", "nvlink-only"),
        ("ethernet", "ethernet-tcp"),
        ("tcp", "ethernet-tcp"),
        ("fabric/roce-lossless", "roce-lossless"),
    ],
)
def test_fabric(text: str, fabric: str) -> None:
    assert resolve_fabric(text) == fabric


def test_unknown_fabric_is_an_error() -> None:
    with pytest.raises(UnknownName, match="did you mean infiniband"):
        resolve_fabric("infinband")
    with pytest.raises(UnknownName, match="nvlink-only or ethernet-tcp"):
        resolve_fabric("omnipath")


GPUS_OF_CASES = (
    *("A100-40GB", "A100-80GB", "A6000-48GB", "B200-180GB", "GB200-186GB"),
    *("H100-80GB", "V100-32GB"),
)


@pytest.mark.parametrize("text", GPUS_OF_CASES)
def test_gpus_as_users_state_them_have_memory_and_capability(text: str) -> None:
    gpu = resolve_accelerator(text)
    stated = int(text.split("-")[1].removesuffix("GB"))
    assert gpu.memory_bytes is not None
    assert 0.93 * stated * GIB < gpu.memory_bytes <= stated * GIB
    assert gpu.compute_capability is not None


def quantities(value: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - YAML
    """Yield all {value, unit, ...} below a row."""
    if isinstance(value, dict):
        if "value" in value:
            yield value
        else:
            for part in value.values():
                yield from quantities(part)


def named_sources(text: str) -> set[str]:
    return set(text.split("; "))


@pytest.mark.parametrize(
    ("rows", "sources"),
    [
        (ACCELERATORS["accelerators"], ACCELERATORS["sources"]),
        (INSTANCES["instances"], INSTANCES["sources"]),
    ],
    ids=["accelerators", "instances"],
)
def test_every_number_has_a_source_and_a_confidence(
    rows: list[dict[str, Any]], sources: dict[str, str]
) -> None:
    used: set[str] = set()
    for row in rows:
        assert row["confidence"] in CONFIDENCES, row["id"]
        used |= named_sources(row["source"])
        for quantity in quantities(row):
            assert quantity["unit"], row["id"]
            assert quantity["confidence"] in CONFIDENCES, row["id"]
            used |= named_sources(quantity["source"])
        if "source" in row.get("nvlink", {}):
            used |= named_sources(row["nvlink"]["source"])
    assert used == sources.keys()


RANGES = {  # of any board since 2016, by unit
    "GB": (12, 288),
    "GB/s": (20, 8000),
    "TFLOPS": (8, 15000),
    "count": (1, 18),
    "generation": (1, 6),
    "W": (50, 3000),  # of a module of two
    "MHz": (200, 10_000),
    "code": (1, 7),
    "flag": (False, True),
}


def test_numbers_of_an_accelerator_are_plausible() -> None:
    wrong = [
        f"{row['id']}: {fault}"
        for row in ACCELERATORS["accelerators"]
        for fault in (
            *implausible_memory(row),
            *implausible_numbers(row),
            *implausible_peaks(row),
        )
    ]
    assert not wrong, "\n".join(wrong)


def implausible_memory(row: dict[str, Any]) -> Iterator[str]:
    nominal = row["memory_nominal"]["value"]
    if nominal not in row["sold_as_gigabytes"]:
        yield f"nominal memory {nominal} is not sold"
    total = row.get("memory_driver_total", {"value": nominal * GIB})["value"]
    if not 0.93 < total / (nominal * GIB) <= 1.0:
        yield f"memory_driver_total {total} of nominal {nominal} GB"


def implausible_numbers(row: dict[str, Any]) -> Iterator[str]:
    for quantity in quantities(row):
        if quantity["unit"] != "bytes":
            low, high = RANGES[quantity["unit"]]
            if not low <= quantity["value"] <= high:
                yield f"outside {low} to {high}: {quantity}"
    nvlink = row["nvlink"]
    if "links" in nvlink:
        product = nvlink["links"]["value"] * nvlink["payload_per_link"]["value"]
        if product != nvlink["total_one_way"]["value"]:
            yield f"links carry {product}"


def implausible_peaks(row: dict[str, Any]) -> Iterator[str]:
    peak = {dtype: item["value"] for dtype, item in row.get("dense_peak", {}).items()}
    for dtype in ("fp8", "fp4"):
        if dtype in peak and not row[dtype]:
            yield f"a peak of {dtype}, which it lacks"
    doubles = "fp8" in peak and row["vendor"] in {"NVIDIA", "AMD"}
    if doubles and peak["fp8"] != pytest.approx(2 * peak["bf16"], rel=0.03):
        yield f"fp8 is not twice bf16: {peak}"
    if row["vendor"] == "NVIDIA":
        capability = tuple(int(part) for part in row["compute_capability"].split("."))
        if (row["fp8"], row["fp4"]) != (capability >= (8, 9), capability >= (10, 0)):
            yield f"fp8 and fp4 at compute capability {capability}"


def test_shape_of_an_instance_is_plausible() -> None:
    wrong = [
        f"{row['id']}: {fault}"
        for row in INSTANCES["instances"]
        for fault in implausible_shape(row)
    ]
    assert not wrong, "\n".join(wrong)


def implausible_shape(row: dict[str, Any]) -> Iterator[str]:
    gpus, domain = row["gpus_per_node"], row["nvlink_domain_size"]
    if gpus not in {1, 2, 4, 8, 16}:
        yield f"{gpus} GPUs"
    if domain != 1 and domain % gpus and gpus % domain:
        yield f"an NVLink domain of {domain} for {gpus} GPUs"
    if "network" in row:
        if row["network"]["gbit_per_s"] not in {100, 200, 400, 800}:
            yield f"rate of the network: {row['network']}"
        count = row["network"]["count"]
        if count % gpus and gpus % count:
            yield f"{count} adapters for {gpus} GPUs"
    memory = row.get("host_memory", {"value": 512 * GIB})
    if not 64 * GIB < memory["value"] < 4096 * GIB:
        yield f"host memory: {memory}"
    sold = row.get("host_memory_nominal", {"value": 512 * GIB})
    if sold["value"] % (8 * GIB) or not 16 * GIB <= sold["value"] <= 4096 * GIB:
        yield f"host memory as it is sold: {sold}"


def test_accelerators_are_frozen() -> None:
    gpu = resolve_accelerator("H100")
    assert isinstance(gpu, Accelerator)
    with pytest.raises(AttributeError):
        gpu.id = "h100"  # type: ignore[misc]
