"""Mistakes that health checkers of others were shipped with: none of them is ours.

Each case is a machine of which a tool said something false; on sound ones nothing may
fail.
"""

from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from captured import GPU, nvidia_smi
from judged_nodes import failing, findings
from machine_files import Files
from probed import content, healthy_but
from speccheck.validator.catalogue.nodes import gpu_profiles
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.simulation.fault import Change, Snapshot
from speccheck.validator.simulation.healthy import healthy_node
from speccheck.validator.simulation.shape import profiles
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.formats.snapshot import node_of

ABSENT = {"status": "absent", "source": "NVML"}
DENIED = {"status": "not_permitted", "source": "NVML", "code": "4"}
INTERFACES_OF_16 = (1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 16, 17)


def _gpu(number: int, **leaves: object) -> Change:
    return lambda node: node["gpus"][number].update(leaves)


def _gpus(**leaves: object) -> Change:
    return lambda node: [gpu.update(leaves) for gpu in node["gpus"]]


def _part(kind: str, **leaves: object) -> Change:
    return lambda node: node[kind].update(leaves)


def _port(number: int, **leaves: object) -> Change:
    return lambda node: node["rdma_ports"][number].update(leaves)


def _set(name: str, value: str) -> Change:
    leaves = {"name": name, "value": value, "layer": "environment"}
    return lambda node: node["variables"].append(leaves)


def _together(*changes: Change) -> Change:
    return lambda node: [change(node) for change in changes]


def _logged(*codes: int) -> Change:
    """Return Xids of GPU 2 in the log, whose lines end after the code."""

    def change(node: Snapshot) -> None:
        address = node["gpus"][2]["pci_address"]
        known = {**node["kernel_events"][0], "is_of_application": False}
        for code in codes:
            line = f"Xid (PCI:{address}): {code}, logged by the driver"
            leaves = {"pci_address": address, "code": code, "text": line}
            node["kernel_events"].append({**known, **leaves})

    return change


def _down(*numbers: int) -> Change:
    def change(node: Snapshot) -> None:
        for number in numbers:
            _port(number, state="DOWN", physical_state="Polling")(node)

    return change


def _last_adapter_gone(node: Snapshot) -> None:
    node["rdma_devices"].pop()
    node["rdma_ports"].pop()


def _as_it_is(_node: Snapshot) -> None:
    """Change nothing."""


def _of_another_type(node: Snapshot) -> None:
    node["host"]["instance_type"] = "Standard_ND999_v9"


def _unknown_without_rdma(node: Snapshot) -> None:
    node["host"]["instance_type"] = "p7.48xlarge"
    node.update(rdma_devices=[], rdma_ports=[])


def _other_topology(node: Snapshot) -> None:
    _set("NCCL_TOPO_FILE", "/etc/topo.xml")(node)
    node["driver"].update(
        topology_file="/etc/topo.xml", topology_file_addresses=["0000:ab:00.0"]
    )


def _seven_on_the_bus(node: Snapshot) -> None:
    """Take away the management library, and one GPU of the bus."""
    node["gpus"] = ABSENT
    node["pci_devices"].pop(3)


class Case(NamedTuple):
    """A machine, and what one rule must say of it."""

    instance: str
    change: Change
    rule: str
    outcome: str
    level: str = ""
    action: str = ""


MUST, SHOULD, INFO = "error", "warning", "info"
CASES: dict[str, Case] = {
    "rows remapped beyond a limit that was read from another field": Case(
        "dgx-h100",
        _gpu(4, remapped_rows_uncorrectable=600),
        *("memory_wearing_out", "fail", SHOULD, "MONITOR"),
    ),
    "one VBIOS of eight is another, and a list was taken for one value": Case(
        "dgx-h100",
        _gpu(4, vbios_version="96.00.74.00.09"),
        *("gpu_firmware_differs", "fail", SHOULD, "SUPPORT"),
    ),
    "heat was only written to the log": Case(
        "dgx-h100",
        _gpu(4, clock_event_reasons=0x40),
        *("slowed_by_hardware", "fail", SHOULD, "ISOLATE"),
    ),
    "a power brake was only written to the log": Case(
        "dgx-h100",
        _gpu(4, clock_event_reasons=0x80),
        *("power_brake_active", "fail", MUST, "ISOLATE"),
    ),
    "a remapped row and corrected errors drained a node": Case(
        "dgx-h100",
        _logged(63, 92),
        *("fatal_xid", "pass"),
    ),
    "a remapped row is told all the same": Case(
        "dgx-h100", _logged(63), "xid_recorded", "fail", INFO, "MONITOR"
    ),
    "a type that nobody knows came out well": Case(
        "azure-nd96isr-h100-v5", _of_another_type, "rail_missing", "unknown", MUST
    ),
    "no profile, no adapter, and all of none were there": Case(
        "aws-p5", _unknown_without_rdma, "rail_missing", "unknown", MUST
    ),
    "a topology file of devices that are not there": Case(
        "dgx-h100",
        _other_topology,
        *("topology_file_of_other_machine", "fail", MUST, "FIX_CONFIG"),
    ),
    "seven GPUs on the bus and no library, of a type whose branch was not reached": (
        Case("oci-b300-8", _seven_on_the_bus, "gpu_missing", "unknown", MUST)
    ),
    "a list of adapters with one twice and another missing": Case(
        "oci-gpu-a100-v2-8",
        _set("NCCL_IB_HCA", "=" + ",".join(f"mlx5_{n}" for n in INTERFACES_OF_16)),
        *("adapter_list_misses_ports", "fail", MUST, "FIX_CONFIG"),
    ),
    "a name that begins others": Case(
        "oci-h100-8",
        _set("NCCL_IB_HCA", "mlx5_1"),
        *("adapter_list_misses_ports", "fail", MUST, "FIX_CONFIG"),
    ),
    "four ports of a tray where eight were the default": Case(
        "dgx-gb200", _as_it_is, "rail_missing", "pass", MUST
    ),
    "three of eight ports where one was the default": Case(
        "azure-nd96asr-v4",
        _down(3, 4, 5, 6, 7),
        *("rail_missing", "fail", MUST, "ISOLATE"),
    ),
    "one EFA device of 32 is missing": Case(
        "aws-p5", _last_adapter_gone, "rail_missing", "fail", MUST, "ISOLATE"
    ),
    "a port at a quarter of its rate": Case(
        "azure-nd96isr-h100-v5",
        _port(5, rate_gbit_per_second=100.0),
        *("rail_missing", "fail", MUST, "ISOLATE"),
    ),
    "an index that is of RoCE v2 on all ports but one": Case(
        "oci-h100-8",
        _together(
            _set("NCCL_IB_GID_INDEX", "3"),
            _port(4, gid_types=["IB/RoCE v1", "RoCE v2", "RoCE v2", "IB/RoCE v1"]),
        ),
        *("gid_not_routable", "fail", MUST, "FIX_CONFIG"),
    ),
    "losses of a link that one look cannot date": Case(
        "dgx-h100",
        _together(
            _port(2, link_downed=5),
            lambda node: node.update(kernel_events=DENIED, kernel_log={}),
        ),
        *("link_lost", "unknown"),
    ),
    "memory may be locked up to 8 MiB": Case(
        "azure-nd96isr-h100-v5",
        _part("host", locked_memory_bytes=8 * 2**20),
        *("locked_memory_limited", "fail", MUST, "FIX_CONFIG"),
    ),
    "64 MiB of shared memory": Case(
        "azure-nd96isr-h100-v5",
        _part("host", shared_memory_bytes=64 * 2**20),
        *("shared_memory_below_share", "fail", SHOULD, "FIX_CONFIG"),
    ),
    "an interface that is not there": Case(
        "azure-nd96isr-h100-v5",
        _set("NCCL_SOCKET_IFNAME", "eth9"),
        *("bootstrap_interface_unusable", "fail", MUST, "FIX_CONFIG"),
    ),
    "a library newer than the module": Case(
        "azure-nd96isr-h100-v5",
        _part("driver", management_library_status=18, version={"status": "failed"}),
        *("driver_and_library_differ", "fail", MUST, "REBOOT"),
    ),
    "a GPU that was lost in the middle": Case(
        "azure-nd96isr-h100-v5",
        _gpu(3, is_lost=True, ecc_uncorrected_volatile=ABSENT),
        *("gpu_needs_recovery", "fail", MUST, "REBOOT"),
    ),
    "counters of errors that may not be read": Case(
        "azure-nd96isr-h100-v5",
        _gpus(ecc_uncorrected_volatile=DENIED),
        *("memory_fault_pending", "unknown"),
    ),
    "error correction off": Case(
        "azure-nd96isr-h100-v5",
        _gpu(0, ecc_is_on=False, ecc_is_on_after_reboot=False),
        *("error_correction_off", "fail", MUST, "FIX_CONFIG"),
    ),
    "a row that waits for a reset": Case(
        "azure-nd96isr-h100-v5",
        _gpu(6, remap_is_pending=True),
        *("memory_fault_pending", "fail", MUST, "RESET_GPU"),
    ),
    "uncorrected errors since the start": Case(
        "azure-nd96isr-h100-v5",
        _gpu(6, ecc_uncorrected_volatile=2),
        *("memory_fault_pending", "fail", MUST, "RESET_GPU"),
    ),
    "partitions left on": Case(
        "azure-nd96isr-h100-v5",
        _gpu(0, mig_is_on=True),
        *("gpu_partitioned", "fail", MUST, "FIX_CONFIG"),
    ),
    "a limit of power below the default": Case(
        "azure-nd96isr-h100-v5",
        _gpu(0, power_limit_watts=500.0),
        *("power_limited", "fail", SHOULD, "FIX_CONFIG"),
    ),
    "neither the module nor dma-buf": Case(
        "azure-nd96isr-h100-v5",
        _part("driver", modules=["nvidia", "ib_core"], dma_buf_is_exported=False),
        *("gpudirect_rdma_missing", "fail", MUST, "FIX_CONFIG"),
    ),
    "an NVLink line that was cut": Case(
        "aws-p6-b200",
        _together(_logged(149), _gpu(2, recovery_action=DENIED)),
        *("fatal_xid", "unknown"),
    ),
}


def judged(case: Case) -> list[Finding]:
    """Return what the rule says of the machine."""
    node = deepcopy(healthy_node(case.instance))
    case.change(node)
    return [finding for finding in findings(node) if finding.rule == case.rule]


@pytest.mark.parametrize("name", CASES)
def test_a_known_mistake_is_not_made(name: str) -> None:
    case = CASES[name]
    found = judged(case)
    worst = [finding for finding in found if finding.outcome == case.outcome]
    assert worst, [finding.message for finding in found]
    if case.outcome != "fail":
        assert not any(finding.outcome == "fail" for finding in found)
    if case.level:
        assert {item.level for item in worst} == {case.level}
    if case.action:
        assert {item.action for item in worst} == {case.action}


def _older_host(node: Snapshot) -> None:
    """Put boards of generation 5 into slots of generation 4, of an unlisted maker."""
    node["host"].update(instance_type="AS-4124GO", vendor="Supermicro", product="none")
    for gpu in node["gpus"]:
        gpu.update(pcie_generation=4, pcie_generation_maximum=4)
    for device in node["pci_devices"]:
        if device["pci_class"].startswith("0x0302"):
            device.update(speed_gigatransfers_per_second=16.0)


# Sound machines that tools took out of service.
SOUND: dict[str, tuple[str, Change]] = {
    "an H100 in a host of generation 4": ("dgx-h100", _older_host),
    "replays since the driver was loaded": ("dgx-h100", _gpu(1, pcie_replays=150)),
    "a cluster of zeros where one node is the fabric": (
        "dgx-h100",
        _gpus(fabric_cluster="00000000-0000-0000-0000-000000000000", fabric_clique=0),
    ),
    "application clocks at their default, below the maximum": (
        "dgx-a100",
        _gpus(
            application_sm_clock_mhz=1095,
            application_sm_clock_default_mhz=1095,
            sm_clock_maximum_mhz=1410,
        ),
    ),
    "an idle GPU that says so": ("dgx-h100", _gpus(clock_event_reasons=0x1)),
    "links that idle at a lower generation": ("dgx-h100", _gpus(pcie_generation=1)),
    "twelve of eighteen links by design": ("azure-nc80adis-h100-v5", _as_it_is),
    "errors of programs": (
        "dgx-h100",
        _logged(13, 31, 43, 45),
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_machine_stays_in_service(name: str) -> None:
    instance, change = SOUND[name]
    node = deepcopy(healthy_node(instance))
    change(node)
    assert failing(node) - {"xid_recorded"} == set()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA GH200 480GB", "gh200"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA H100 NVL", "h100-nvl"),
        ("NVIDIA GB200", "gb200"),
        ("NVIDIA B200", "b200"),
    ],
)
def test_a_name_that_holds_another_is_not_taken_for_it(
    name: str, expected: str
) -> None:
    node = node_of(
        {"schema": "speccheck-snapshot/1", "gpus": [{"name": name}]}, "node.json"
    )
    (gpu,) = node.several(Gpus).each()
    assert gpu_profiles().of(gpu).id.startswith(expected)


def test_profiles_are_not_those_of_a_mock() -> None:
    """A mock of a B200 had another device, generation, memory and clock."""
    row = profiles()["gpus"]["b200-sxm-180gb"]
    assert row["devices"] == ["2901"]  # the mock has 2340
    leaves: dict[str, Any] = row["leaves"]
    assert leaves["memory_total_bytes"][0] == 192_265_846_784  # 192 GiB
    assert leaves["pcie_generation_maximum_of_gpu"][0] == 5  # 6
    assert leaves["sm_clock_maximum_mhz"][0] == 1965  # 2100


@pytest.mark.parametrize("word", ["N/A", "[N/A]", "", "Unknown Error"])
def test_a_state_that_is_no_state_is_not_well(word: str, tmp_path: Path) -> None:
    """A tool took the text N/A of a fabric for healthy."""
    before, _, rest = GPU.partition("<state>")
    text = f"{before}<state>{word}</state>{rest.partition('</state>')[2]}"
    path = tmp_path / "node.xml"
    path.write_text(nvidia_smi(text), encoding="utf-8")
    _, (file,) = read_file(str(path))
    (reading,) = file.readings
    assert reading.node is not None
    (gpu,) = reading.node.several(Gpus).shown
    assert not gpu.fabric_state.is_known


def test_a_line_of_another_start_is_none_of_this_one(tmp_path: Path) -> None:
    """A tool matched lines of the same day of the year before."""
    now = "6,4,13000000,-;NVRM: Xid (PCI:0000:1b:00): 31, pid=4242, name=python\n"
    old = "Nov 20 11:00:00 node kernel: NVRM: Xid (PCI:0000:1b:00): 79, fallen off\n"
    files: Files = {
        "/dev/kmsg": f"5,0,0,-;Linux version 6.8\n{now}",
        "/var/log/kern.log": old,
    }
    found = content(healthy_but(tmp_path, files), "kernel_log")
    assert [event["code"] for event in found["kernel_events"]] == [31]
    assert found["kernel_log"]["last_seconds"] == 13.0
