"""Events of a kernel log: what is counted, and what is not."""

from pathlib import Path
from typing import Any

import pytest

from machine_files import build
from probed import content
from speccheck.validator.evidence.node.kernel_lines import (
    ParsedEvent,
    address_of,
    event_of,
    shown,
)

GPU, NIC = "0000:1b:00.0", "0000:1c:00.0"
START = "Linux version 6.8.0-1021-aws (buildd@lcy02)"

LINES: dict[str, ParsedEvent | None] = {
    "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen "
    "off the bus.": ParsedEvent("xid", 79, GPU),
    "NVRM: Xid (PCI:0000:1b:00): 31, pid=42, name=python, Ch 00000008": ParsedEvent(
        "xid", 31, GPU
    ),
    "NVRM: GPU at PCI:0000:1b:00: GPU-0f5a": None,
    "NVRM: GPU 0000:1b:00.0: GPU has fallen off the bus.": ParsedEvent(
        "gpu_fallen_off_bus", pci_address=GPU
    ),
    "NVRM: GPU 0000:1b:00.0: RmInitAdapter failed! (0x62:0x40:2477)": ParsedEvent(
        "gpu_initialisation_failed", pci_address=GPU
    ),
    "NVRM: API mismatch: the client has the version 550.54.15, but": ParsedEvent(
        "driver_version_mismatch"
    ),
    "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress": (
        ParsedEvent("sxid", 12028, "0000:05:00.0", None, is_fatal=False)
    ),
    "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault": (
        ParsedEvent("sxid", 20034, "0000:c1:00.0", None, is_fatal=True)
    ),
    "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Severity 1 Engine": ParsedEvent(
        "sxid", 20034, "0000:c1:00.0"
    ),
    "pcieport 0000:10:01.0: PCIe Bus Error: severity=Corrected, "
    "type=Physical": ParsedEvent(
        "pcie_bus_error_corrected", pci_address="0000:10:01.0"
    ),
    "pcieport 0000:10:01.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), "
    "type=Transaction": ParsedEvent(
        "pcie_bus_error", None, "0000:10:01.0", None, is_fatal=False
    ),
    "pcieport 0000:10:01.0: AER: PCIe Bus Error: severity=Uncorrectable (Fatal), "
    "type=Inaccessible": ParsedEvent(
        "pcie_bus_error", None, "0000:10:01.0", None, is_fatal=True
    ),
    "pcieport 0000:10:01.0: AER: Corrected error received: 0000:10:01.0": None,
    "pcieport 0000:10:01.0: pciehp: Slot(5): Link Down": ParsedEvent(
        "pcie_link_down", pci_address="0000:10:01.0"
    ),
    "mlx5_core 0000:1c:00.0: 31.504 Gb/s available PCIe bandwidth, limited by 2.5 GT/s"
    " PCIe x16 link at 0000:19:00.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 "
    "link)": ParsedEvent("pcie_bandwidth_limited", pci_address=NIC),
    "mlx5_core 0000:1c:00.0: mlx5_pcie_event:293:(pid 9): Detected insufficient power "
    "on the PCIe slot (27W).": ParsedEvent("pcie_slot_power", pci_address=NIC),
    "mlx5_core 0000:1c:00.0: Port module event[error]: module 0, Cable error, High "
    "Temperature": ParsedEvent("module_temperature", pci_address=NIC),
    "mlx5_core 0000:1c:00.0: Port module event: module 0, Cable unplugged": ParsedEvent(
        "cable_unplugged", pci_address=NIC
    ),
    "mlx5_core 0000:1c:00.0: Port module event: module 0, Cable plugged": None,
    "mlx5_core 0000:1c:00.0: poll_health:800: device's health compromised - reached "
    "miss count": ParsedEvent("network_health", pci_address=NIC),
    "mlx5_core 0000:1c:00.0: wait_func:1158:(pid 7): QUERY_VPORT(0x750) timeout. Will "
    "cause a leak of a command resource": ParsedEvent(
        "network_command_timeout", pci_address=NIC
    ),
    "mlx5_core 0000:1c:00.0 ens1f0np0: Link down": ParsedEvent(
        "link_down", pci_address=NIC, device="ens1f0np0"
    ),
    "mlx5_core 0000:1c:00.0 ens1f0np0: Link up": None,
    "infiniband mlx5_0: Port: 1 Link DOWN": ParsedEvent("link_down", device="mlx5_0"),
    "bnxt_en 0000:1c:00.0 eth2: NIC Link is Down": ParsedEvent(
        "link_down", pci_address=NIC, device="eth2"
    ),
    "igb 0000:1c:00.0: igb: eno1 NIC Link is Down": ParsedEvent(
        "link_down", device="eno1"
    ),
    "ata1: SATA link down (SStatus 0 SControl 300)": None,
    "IPv6: ADDRCONF(NETDEV_UP): eth0: link is not ready": None,
    "Out of memory: Killed process 99 (python) total-vm:1kB": ParsedEvent(
        "out_of_memory"
    ),
    "Memory cgroup out of memory: Killed process 99 (python) total-vm:1kB": ParsedEvent(
        "out_of_memory_of_group"
    ),
    "INFO: task python:99 blocked for more than 120 seconds.": ParsedEvent("hung_task"),
    "watchdog: BUG: soft lockup - CPU#3 stuck for 26s! [python:99]": ParsedEvent(
        "soft_lockup"
    ),
    "NMI watchdog: Watchdog detected hard LOCKUP on cpu 3": ParsedEvent("hard_lockup"),
    "BUG: unable to handle page fault for address: 0": ParsedEvent("kernel_fault"),
    "kernel BUG at mm/slub.c:305!": ParsedEvent("kernel_fault"),
    "Oops: 0000 [#1] SMP NOPTI": ParsedEvent("kernel_fault"),
    "EDAC MC0: 1 UE memory read error on CPU_SrcID#0": ParsedEvent("memory_error"),
    "EDAC MC0: 12 CE memory read error on CPU_SrcID#0": ParsedEvent(
        "memory_error_corrected"
    ),
    "EDAC MC0: Giving out device to module i10nm_edac": None,
    "Memory failure: 0x1234: recovery action for dirty page: Recovered": ParsedEvent(
        "memory_error"
    ),
    "mce: [Hardware Error]: Machine check events logged": ParsedEvent(
        "machine_check_corrected"
    ),
    "mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 1": ParsedEvent(
        "machine_check"
    ),
    "{1}[Hardware Error]: event severity: corrected": ParsedEvent(
        "machine_check_corrected"
    ),
    "{1}[Hardware Error]: event severity: recoverable": ParsedEvent("machine_check"),
    "{1}[Hardware Error]: event severity: fatal": ParsedEvent(
        "machine_check", is_fatal=True
    ),
    "CPU3: Core temperature above threshold, cpu clock throttled": ParsedEvent(
        "processor_throttled"
    ),
    "DMAR: [DMA Read NO_PASID] Request device [1b:00.0] fault addr 0x1000": ParsedEvent(
        "iommu_fault"
    ),
    "blk_update_request: I/O error, dev nvme0n1, sector 99": ParsedEvent(
        "disk_error", device="nvme0n1"
    ),
    "nvme nvme0: I/O 12 QID 3 timeout, aborting": ParsedEvent(
        "disk_timeout", device="nvme0"
    ),
    "EXT4-fs error (device md0): ext4_find_entry:1455": ParsedEvent(
        "file_system_error", device="md0"
    ),
    "XFS (md0): Corruption detected. Unmount and run xfs_repair": ParsedEvent(
        "file_system_error", device="md0"
    ),
    "XFS (md0): Mounting V5 Filesystem": None,
    "EXT4-fs (md0): Remounting filesystem read-only": ParsedEvent(
        "file_system_read_only"
    ),
    "python[99]: segfault at 0 ip 0 sp 0 error 4": None,
    "systemd[1]: Started something.": None,
}


@pytest.mark.parametrize("line", LINES)
def test_line(line: str) -> None:
    assert event_of(line) == LINES[line]


def test_addresses_as_sysfs_writes_them() -> None:
    assert address_of("0000:1B:00") == GPU
    assert address_of("1b:00.0") == GPU
    assert address_of("00000000:1B:00.0") == GPU
    assert address_of(None) is None


def test_shown_text_is_short_and_printable() -> None:
    assert shown("a\x1b[31mb\u202e") == "a?[31mb?"
    assert len(shown("x" * 5000)) == 300


def records(*lines: str) -> str:
    return "".join(
        f"6,{number},{number * 1_000_000},-;{line}\n"
        for number, line in enumerate((START, *lines))
    )


def log(folder: Path, path: str, text: str | bytes) -> dict[str, Any]:
    return content(build(folder, {path: text}), "kernel_log")


def test_events_are_counted_by_code_and_device(tmp_path: Path) -> None:
    xid = "NVRM: Xid (PCI:0000:1b:00): {}, pid=42, name=python, {}"
    text = records(
        xid.format(31, "first"),
        xid.format(31, "second"),
        xid.format(31, "third").replace("1b", "2b"),
        xid.format(48, "DBE"),
    )
    found = log(tmp_path, "/dev/kmsg", text)
    shown_events = [
        (
            event["code"],
            event["pci_address"],
            event["count"],
            event["first_seconds"],
            event["last_seconds"],
            event["is_of_application"],
            event["text"].rpartition(" ")[2],
        )
        for event in found["kernel_events"]
    ]
    assert shown_events == [
        (31, GPU, 2, 1.0, 2.0, True, "second"),
        (31, "0000:2b:00.0", 1, 3.0, 3.0, True, "third"),
        (48, GPU, 1, 4.0, 4.0, False, "DBE"),
    ]
    assert found["kernel_log"]["lines"] == 5


def test_lines_that_processes_wrote_do_not_count(tmp_path: Path) -> None:
    text = records() + "12,9,9,-;root: NVRM: Xid (PCI:0000:1b:00): 79, a test\n"
    assert log(tmp_path, "/dev/kmsg", text)["kernel_events"] == []


def test_file_counts_from_the_last_start(tmp_path: Path) -> None:
    line = "2026-11-21T10:00:00 node kernel: [{:12.6f}] {}\n"
    text = (
        line.format(0.0, START)
        + line.format(90.0, "NVRM: Xid (PCI:0000:1b:00): 79, gone")
        + line.format(0.0, START)
        + line.format(12.5, "INFO: task python:9 blocked for more than 120 seconds.")
        + "2026-11-21T10:00:00 node sshd[9]: [1.000000] not of the kernel\n"
    )
    found = log(tmp_path, "/var/log/kern.log", text)
    assert [event["event"] for event in found["kernel_events"]] == ["hung_task"]
    assert found["kernel_log"] == {
        "lines": 2,
        "first_seconds": 0.0,
        "last_seconds": 12.5,
    }


def test_file_that_does_not_tell_the_start_is_no_evidence(tmp_path: Path) -> None:
    text = "Nov 21 10:00:00 node kernel: NVRM: Xid (PCI:0000:1b:00): 79, gone\n"
    found = log(tmp_path, "/var/log/messages", text)
    assert found["kernel_events"]["status"] == "failed"
    assert "earlier" in found["kernel_events"]["message"]
    assert found["kernel_log"]["lines"]["status"] == "failed"


def test_no_log_at_all(tmp_path: Path) -> None:
    found = log(tmp_path, "/etc/hostname", "node\n")
    assert found["kernel_events"]["status"] == "absent"


def test_empty_buffer_has_no_times(tmp_path: Path) -> None:
    found = log(tmp_path, "/dev/kmsg", b"\xff\x00garbage\n,,;\n")
    assert found["kernel_log"]["lines"] == 0
    assert found["kernel_log"]["last_seconds"]["status"] == "absent"


def test_end_of_a_huge_file_is_read(tmp_path: Path) -> None:
    line = "[    1.000000] x" + "y" * 90 + "\n"
    text = (
        "[    0.000000] " + START + "\n" + line * 60_000 + "[    0.000000] " + START
    ) + "\n[    2.000000] Oops: 0000 [#1]\n"
    found = log(tmp_path, "/var/log/dmesg", text)
    assert [event["event"] for event in found["kernel_events"]] == ["kernel_fault"]


def test_log_of_many_different_events_says_so(tmp_path: Path) -> None:
    lines = [f"NVRM: Xid (PCI:0000:1b:00): {number}, x" for number in range(1000, 1501)]
    found = log(tmp_path, "/dev/kmsg", records(*lines))
    assert found["kernel_events"]["status"] == "failed"
