"""Probes that read files, where these are closed, odd or hostile; PCI and the clock."""

import os
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from machine_files import (
    DMI,
    GPU,
    NIC,
    PCI,
    PORT,
    SLOT,
    SWITCH,
    Files,
    build,
    config_space,
)
from probed import FILE_PROBES, content, healthy_but
from speccheck.probes.clock import kept
from speccheck.probes.raw_value import Absence

GPU_FOLDER = f"{PCI}/{PORT}/{SWITCH}/{SLOT}/{GPU}"
_NOBODY = 65534


def gpu_device(folder: Path) -> dict[str, Any]:
    devices = content(folder, "pci")["pci_devices"]
    return next(device for device in devices if device["address"] == GPU)


def test_link_of_lower_speed_and_errors(tmp_path: Path) -> None:
    files: Files = {
        f"{GPU_FOLDER}/current_link_speed": "8.0 GT/s PCIe\n",
        f"{GPU_FOLDER}/current_link_width": "8\n",
        f"{GPU_FOLDER}/aer_dev_fatal": "DLP 1\nTOTAL_ERR_FATAL 1\n",
        f"{GPU_FOLDER}/aer_dev_nonfatal": "no total\n",
        f"{GPU_FOLDER}/config": config_space(read_request=2, access_control=0x1D),
    }
    gpu = gpu_device(healthy_but(tmp_path, files))
    assert gpu["speed_gigatransfers_per_second"] == 8.0
    assert gpu["width"] == 8
    assert gpu["fatal_errors"] == 1
    assert gpu["non_fatal_errors"]["status"] == "failed"
    assert gpu["acs_control"] == 0x1D
    assert gpu["maximum_read_request_bytes"] == 512


def test_virtual_function_tells_no_link(tmp_path: Path) -> None:
    files: Files = {
        f"{GPU_FOLDER}/current_link_speed": "Unknown\n",
        f"{GPU_FOLDER}/current_link_width": "0\n",
        f"{GPU_FOLDER}/config": config_space(length=64),
    }
    links = {f"{GPU_FOLDER}/physfn": f"{PCI}/{PORT}/{SWITCH}/{SLOT}/{NIC}"}
    gpu = gpu_device(healthy_but(tmp_path, files, links=links))
    assert gpu["is_virtual_function"] is True
    assert gpu["speed_gigatransfers_per_second"]["status"] == "absent"
    assert gpu["width"]["status"] == "absent"
    assert gpu["acs_control"]["status"] == "not_permitted"
    assert gpu["maximum_read_request_bytes"]["status"] == "not_permitted"


def test_capabilities_that_go_in_a_circle_end(tmp_path: Path) -> None:
    space = bytearray(config_space())
    space[0x41] = 0x40
    space[0x100:0x104] = (0x0001 | 0x100 << 20).to_bytes(4, "little")
    gpu = gpu_device(healthy_but(tmp_path, {f"{GPU_FOLDER}/config": bytes(space)}))
    assert gpu["acs_control"]["status"] == "not_supported"
    assert gpu["maximum_read_request_bytes"]["status"] == "not_supported"


def test_links_that_lead_out_are_absent(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("Secret Vendor\n")
    machine = healthy_but(
        tmp_path / "machine",
        without=(f"{DMI}/sys_vendor", "/proc/self/environ"),
        links={
            f"{DMI}/sys_vendor": f"out:{outside}",
            "/proc/self/environ": "out:/proc/self/environ",
            "/usr/local/lib": "out:/usr/lib",
        },
    )
    found = content(machine)
    assert found["host"]["vendor"]["status"] == "absent"
    assert found["variables"]["status"] == "absent"
    assert found["driver"]["nccl_versions"] == ["2.21.5"]


@pytest.mark.slow
def test_huge_and_binary_files_leave_the_rest(tmp_path: Path) -> None:
    noise = bytes(range(256)) * 40_000
    places = (
        f"{DMI}/sys_vendor",
        "/proc/self/limits",
        "/proc/cpuinfo",
        "/proc/mdstat",
        "/proc/cmdline",
        "/proc/modules",
        "/proc/driver/nvidia/version",
        "/dev/kmsg",
        "/etc/nccl.conf",
        "/proc/buddyinfo",
        f"{GPU_FOLDER}/config",
        f"{GPU_FOLDER}/numa_node",
        f"{GPU_FOLDER}/current_link_speed",
    )
    found = content(healthy_but(tmp_path, dict.fromkeys(places, noise)))
    assert len(found["host"]["vendor"]) <= 200
    assert found["host"]["vendor"].isprintable()
    assert found["host"]["memory_total_bytes"] == 2_113_465_048 * 1024
    assert found["host"]["locked_memory_bytes"]["status"] == "failed"
    assert found["driver"]["kernel_module_version"]["status"] == "failed"
    gpu = next(device for device in found["pci_devices"] if device["address"] == GPU)
    assert gpu["numa_node"]["status"] == "failed"
    assert gpu["speed_gigatransfers_per_second"]["status"] == "absent"


def test_pipes_and_folders_in_place_of_files_do_not_hang(tmp_path: Path) -> None:
    machine = healthy_but(
        tmp_path,
        {f"{DMI}/product_name/folder": ""},
        without=("/proc/meminfo", "/dev/kmsg", f"{DMI}/product_name"),
    )
    os.mkfifo(machine / "proc/meminfo")
    os.mkfifo(machine / "dev/kmsg")
    found = content(machine)
    assert found["host"]["memory_total_bytes"]["status"] == "failed"
    assert found["host"]["product"]["status"] == "failed"
    assert found["kernel_events"]["status"] == "failed"


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """Yield a folder for a test that must not be root: root may read everything."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def as_nobody() -> Generator[None]:
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_closed_files_are_not_permitted(unprivileged: Path) -> None:
    machine = healthy_but(unprivileged)
    content(machine)  # imports the probes while that is allowed
    closed = (
        f"{DMI}/board_name",
        "/proc/self/limits",
        "/etc/nccl.conf",
        "/dev/nvidia0",
        "/dev/kmsg",
        "/sys/bus/pci/devices",
    )
    for path in closed:
        (machine / path.lstrip("/")).chmod(0)
    with as_nobody():
        found = content(machine)
    (machine / "sys/bus/pci/devices").chmod(0o755)
    assert found["host"]["board"]["status"] == "not_permitted"
    assert found["host"]["open_files"]["status"] == "not_permitted"
    assert "nvidia0" in found["driver"]["device_nodes_denied"]
    for kind in ("variables", "pci_devices", "kernel_events"):
        assert found[kind]["status"] == "not_permitted", kind


def test_user_file_that_a_variable_names(tmp_path: Path) -> None:
    files: Files = {
        "/proc/self/environ": "NCCL_CONF_FILE=/job/nccl.conf\0",
        "/job/nccl.conf": "NCCL_ALGO=Ring\n",
    }
    found = content(healthy_but(tmp_path, files), "settings")["variables"]
    result = [
        (finding["name"], finding["value"])
        for finding in found
        if finding["layer"] == "user_file"
    ]
    assert result == [("NCCL_ALGO", "Ring")]


def test_variables_without_a_home(tmp_path: Path) -> None:
    build(tmp_path, {"/proc/self/environ": "HOME=/h\0", "/h/.nccl.conf": "NCCL_A=1\n"})
    found = content(tmp_path, "settings")["variables"]
    assert [(finding["name"], finding["layer"]) for finding in found] == [
        ("HOME", "environment"),
        ("NCCL_A", "user_file"),
    ]


@pytest.mark.parametrize(
    ("status", "offset", "error", "expected"),
    [
        (0x2001, 1_500_000, 900, (True, 1.5)),
        (0x0001, -1500, 900, (True, 1.5)),
        (0x2001, 0, 750, (True, 0.75)),
    ],
)
def test_clock_that_is_kept(
    status: int, offset: int, error: int, expected: tuple[bool, float]
) -> None:
    assert kept(status, offset, error) == expected


def test_clock_that_nobody_keeps() -> None:
    is_synchronised, milliseconds = kept(0x0040, 0, 0)
    assert is_synchronised is False
    assert isinstance(milliseconds, Absence)


def test_this_machine_is_read_without_an_exception() -> None:
    found = content("/", *FILE_PROBES)
    assert isinstance(found["host"]["memory_total_bytes"], int)
    assert isinstance(found["host"]["shared_memory_bytes"], (int, dict))
    assert isinstance(found["variables"], list)
