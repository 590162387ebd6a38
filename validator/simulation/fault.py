"""What a fault is: a change of a healthy snapshot, and the rules that must find it."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from speccheck.validator.catalogue.nodes import xid_catalogue
from speccheck.validator.evidence.record import Record
from speccheck.validator.simulation.healthy import healthy_node
from speccheck.validator.simulation.measurements import measure
from speccheck.validator.simulation.rng import Chance, Dice
from speccheck.validator.simulation.shape import NOT_SUPPORTED, shape_of

Snapshot = dict[str, Any]
_CHANGES_A_DAY = 200
Change = Callable[[Snapshot], object]


def gpu_with(number: int, **leaves: object) -> Change:
    """Return a change of leaves of one GPU."""
    return lambda node: node["gpus"][number].update(leaves)


def all_gpus_with(**leaves: object) -> Change:
    """Return a change of leaves of every GPU."""
    return lambda node: [gpu.update(leaves) for gpu in node["gpus"]]


def port_with(number: int, **leaves: object) -> Change:
    """Return a change of leaves of one port."""
    return lambda node: node["rdma_ports"][number].update(leaves)


def interface_with(number: int, **leaves: object) -> Change:
    """Return a change of leaves of one interface."""
    return lambda node: node["network_interfaces"][number].update(leaves)


def part_with(kind: str, **leaves: object) -> Change:
    """Return a change of leaves of what a node has once."""
    return lambda node: node[kind].update(leaves)


def variable_set(name: str, value: str) -> Change:
    """Return a change of a variable in the environment of the node."""
    leaves = {"name": name, "value": value, "layer": "environment"}
    return lambda node: node["variables"].append(leaves)


def log_line(node: Snapshot, address: str, **leaves: object) -> None:
    """Simulate one line more, of a moment in the time that the log covers."""
    when = round(node["kernel_log"]["last_seconds"] * 0.9, 1)
    line: Snapshot = {
        "event": "xid",
        "code": 31,
        "pci_address": address,
        "device": {"status": "absent", "source": "sysfs"},
        "count": 1,
        "first_seconds": when,
        "last_seconds": when,
        "text": "",
        "is_fatal": False,
        "is_of_application": True,
    }
    node["kernel_events"].append({**line, **leaves})


def fallen_off_the_bus(node: Snapshot) -> None:
    """Simulate a GPU that does not answer, and the line of the driver about it."""
    gpu = node["gpus"][3]
    gpu.update(is_lost=True, recovery_action=2)
    text = f"Xid (PCI:{gpu['pci_address']}): 79, GPU has fallen off the bus."
    log_line(
        node,
        gpu["pci_address"],
        event="xid",
        code=79,
        text=text,
        is_of_application=False,
    )


def switch_fault(node: Snapshot) -> None:
    """Simulate a fatal line about an NVSwitch; the driver does not tell of recovery."""
    text = "SXid (PCI:0000:c0:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
    leaves = {"event": "sxid", "code": 20034, "is_fatal": True, "text": text}
    leaves["is_of_application"] = False
    # A driver that does not tell whether the GPUs have recovered.
    for gpu in node["gpus"]:
        gpu["recovery_action"] = {"status": "not_supported", "source": "NVML"}
    log_line(node, "0000:c0:00.0", **leaves)


def gpu_gone(node: Snapshot) -> None:
    """Simulate one GPU less than the type has: the driver does not list it any more."""
    node["gpus"].pop()
    for gpu in node["gpus"]:
        for leaf in ("common_ancestors", "peer_read_status", "peer_nvlink_status"):
            gpu[leaf].pop()


def link_down(gpu: int, link: int) -> Change:
    """Return the change of an NVLink that is down: nothing else is known of it."""

    def change(node: Snapshot) -> None:
        board = node["gpus"][gpu]
        if board["nvlink_is_active"][link] is not True:
            raise LookupError
        for leaf, item in board.items():
            if leaf.startswith("nvlink_") and isinstance(item, list):
                item[link] = None
        board["nvlink_is_active"][link] = False

    return change


def link_with(number: int, link: int, **leaves: object) -> Change:
    """Return a change of the readings of one link of one GPU."""

    def change(node: Snapshot) -> None:
        for leaf, item in leaves.items():
            node["gpus"][number][leaf][link] = item

    return change


def imex_down(node: Snapshot) -> None:
    """Simulate IMEX that is down: no scheduler starts it with a job."""
    node["driver"].update(imex_is_running=False, imex_channels=0)
    node["host"].update(slurm_daemon_is_running=False, kubelet_is_running=False)
    node["host"]["services_installed"] = []


def switches_out_of_reach(node: Snapshot) -> None:
    """Simulate switches out of reach: without this module no GPU is registered."""
    node["driver"]["modules"].remove("ib_umad")
    for gpu in node["gpus"]:
        gpu.update(fabric_state=1)


def adapter_gone(node: Snapshot) -> None:
    """Simulate the last adapter missing on every list."""
    lost = node["rdma_devices"].pop()["pci_address"]
    node["rdma_ports"].pop()
    by_address = (("network_interfaces", "pci_address"), ("pci_devices", "address"))
    for kind, leaf in by_address:
        node[kind] = [item for item in node[kind] if item[leaf] != lost]


def topology_file_of_others(node: Snapshot) -> None:
    """Simulate a file for NCCL that names devices of another machine."""
    node["driver"]["topology_file_addresses"] = ["000b:00:00.0"]
    variable_set("NCCL_TOPO_FILE", node["driver"]["topology_file"])(node)


def without_module(name: str) -> Change:
    """Return a change to a module that is not loaded, nor what would do its work."""

    def change(node: Snapshot) -> None:
        node["driver"]["modules"].remove(name)
        node["driver"]["dma_buf_is_exported"] = False

    return change


def pci_with(address: str, **leaves: object) -> Change:
    """Return a change of the device at that address."""

    def change(node: Snapshot) -> None:
        (device,) = (item for item in node["pci_devices"] if item["address"] == address)
        device.update(leaves)

    return change


def pci_of_class_with(pci_class: str, **leaves: object) -> Change:
    """Return a change of the first device of a class."""

    def change(node: Snapshot) -> None:
        all_devices = node["pci_devices"]
        next(
            device for device in all_devices if device["pci_class"] == pci_class
        ).update(leaves)

    return change


def all_pci_with(**leaves: object) -> Change:
    """Return a change of leaves of every device on the bus."""
    return lambda node: [device.update(leaves) for device in node["pci_devices"]]


def switch_gone(node: Snapshot) -> None:
    """Simulate one NVSwitch less on the bus."""
    devices = node["pci_devices"]
    devices.remove(
        next(device for device in devices if device["pci_class"] == "0x068000")
    )


def bus_error(node: Snapshot) -> None:
    """Simulate a line of the kernel about a bridge."""
    text = "pcieport 0000:08:01.0: PCIe Bus Error: severity=Uncorrectable (Fatal)"
    leaves = {"event": "pcie_bus_error", "is_fatal": True, "text": text}
    log_line(node, "0000:08:01.0", **leaves, code={"status": "absent"})


def peer_out_of_reach(gpu: int) -> Change:
    """Return a change by which GPUs of two halves do not reach each other."""

    def change(node: Snapshot) -> None:
        gpus = node["gpus"]
        other = (gpu + len(gpus) // 2) % len(gpus)
        gpus[gpu]["peer_nvlink_status"][other] = 5
        gpus[other]["peer_nvlink_status"][gpu] = 5

    return change


def peer_lost(gpu: int) -> Change:
    """Return a change by which a GPU does not reach one that reaches it."""

    def change(node: Snapshot) -> None:
        gpus = node["gpus"]
        other = (gpu + len(gpus) // 2) % len(gpus)
        gpus[gpu]["peer_nvlink_status"][other] = 4

    return change


def peers_refused(node: Snapshot) -> None:
    """Simulate refused peers: no GPU may read the memory of another one."""
    for number, gpu in enumerate(node["gpus"]):
        status = gpu["peer_read_status"]
        gpu["peer_read_status"] = [4 if n != number else 0 for n in range(len(status))]


LIBRARIES = ["libcuda.so.1", "libnvidia-ml.so.1", "libnccl.so.2"]


def memory_error(node: Snapshot) -> None:
    """Simulate a line of the kernel about host memory."""
    text = "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0"
    leaves = {"event": "memory_error", "code": None, "text": text}
    log_line(node, "0000:00:00.0", **leaves, is_of_application=False)


def without_aperture_devices(node: Snapshot) -> None:
    """Simulate the lack of the devices that TCPXO needs."""
    node["driver"]["device_nodes"].remove("aperture_devices")


def slowed_since_start(gpu: int) -> Change:
    """Return a change by which heat slowed a GPU for a tenth of its time."""

    def change(node: Snapshot) -> None:
        nanoseconds = int(node["host"]["uptime_seconds"] * 10**9 / 10)
        node["gpus"][gpu]["thermal_slowdown_nanoseconds"] = nanoseconds

    return change


def link_errors(gpu: int, link: int) -> Change:
    """Return a change to a link that counts a thousand errors a second."""

    def change(node: Snapshot) -> None:
        counts = node["gpus"][gpu]["nvlink_crc_flit_errors"]
        counts[link] = int(node["host"]["uptime_seconds"] * 1000)

    return change


def flapping(port: int) -> Change:
    """Return a change by which the carrier of one port came and went."""

    def change(node: Snapshot) -> None:
        name = node["rdma_ports"][port]["network_interface"]
        (result,) = (
            item for item in node["network_interfaces"] if item["name"] == name
        )
        days = node["host"]["uptime_seconds"] / 86_400
        result["carrier_changes"] = int(_CHANGES_A_DAY * (1 + days))

    return change


def reduction_without_plugin(node: Snapshot) -> None:
    """Simulate reduction that is requested, with nothing there to do it."""
    variable_set("NCCL_COLLNET_ENABLE", "1")(node)
    node["driver"].update(nccl_plugins=[], nccl_plugin_releases=[])


def unregistered_module(node: Snapshot) -> None:
    """Simulate a module loaded beside the kernel's own RDMA core, with an old NCCL."""
    node["driver"].update(
        peer_memory_is_registered=False,
        dma_buf_is_exported=False,
        nccl_version="2.21.5",
        nccl_versions=["2.21.5"],
    )


def unknown_hardware(node: Snapshot) -> None:
    """Simulate a machine without a profile: nothing is wrong, and nothing is sure."""
    node["host"]["instance_type"] = "sun-ultra-5"
    for gpu in node["gpus"]:
        gpu.update(name="NVIDIA Graphics Device", pci_device_id="0x777710de")


def xid_logged(gpu: int, code: int) -> Change:
    """Return a change by which the driver logs a line about a GPU that answers.

    Where it is no program's fault, nobody tells that the GPU has recovered.
    """

    def change(node: Snapshot) -> None:
        board = node["gpus"][gpu]
        is_of_program = _is_of_program(code)
        if not is_of_program:
            board["recovery_action"] = NOT_SUPPORTED
        address = board["pci_address"]
        text = f"NVRM: Xid (PCI:{address.removesuffix('.0')}): {code}, pid=4242"
        leaves = {"code": code, "text": text, "is_of_application": is_of_program}
        log_line(node, address, event="xid", **leaves)

    return change


@cache
def _is_of_program(code: int) -> bool:
    known = xid_catalogue().xid(code)
    return known is not None and known.kind == "application"


def hot(gpu: int, celsius: int) -> Change:
    """Return a change to a GPU that is so hot, its memory equally hotter."""

    def change(node: Snapshot) -> None:
        board = node["gpus"][gpu]
        before = board["temperature_celsius"]
        board["temperature_celsius"] = celsius
        margin, memory = "temperature_margin_celsius", "memory_temperature_celsius"
        if isinstance(board[margin], int):
            board[margin] += before - celsius
        if isinstance(board[memory], int):
            board[memory] += celsius - before

    return change


def of_other_release(version: str) -> Change:
    """Return a change to another release of the driver, all of which fits together."""

    def change(node: Snapshot) -> None:
        driver = node["driver"]
        driver.update(
            version=version,
            kernel_module_version=version,
            management_library_version=f"12.{version}",
        )
        if isinstance(driver["fabric_manager_version"], str):
            driver["fabric_manager_version"] = version
        for gpu in node["gpus"]:
            gpu["gsp_firmware_version"] = version

    return change


def all_adapters_with(**leaves: object) -> Change:
    """Return the same change of all RDMA devices."""

    def change(node: Snapshot) -> None:
        if not node["rdma_devices"]:
            raise LookupError
        for device in node["rdma_devices"]:
            device.update(leaves)

    return change


def adapters_exchanged(node: Snapshot) -> None:
    """Simulate two adapters of one half with each other's name: crossed rails."""
    for kind, name in (("rdma_devices", "name"), ("rdma_ports", "device")):
        result = node[kind]
        outcome, other = result[0], result[1]
        result[0] = {**other, name: outcome[name]}
        result[1] = {**outcome, name: other[name]}


def earlier(hours: float) -> Change:
    """Return a change to a snapshot taken so much earlier."""

    def change(node: Snapshot) -> None:
        before = datetime.fromisoformat(node["taken"]) - timedelta(hours=hours)
        node["taken"] = before.strftime("%Y-%m-%dT%H:%M:%SZ")

    return change


def of_version(version: int) -> Change:
    """Return a change to a snapshot that a program of later years has written."""
    return lambda node: node.update(schema=f"speccheck-snapshot/{version}")


def unchanged(node: Snapshot) -> None:
    """Leave the machine as it is: nothing is wrong with it."""


Values = Mapping[str, object]
# What becomes of the file of a node, where not all goes well with it.
Delivery = Literal["", "missing", "damaged", "empty", "twice", "killed"]
_NOTHING: Values = MappingProxyType({})
_USUAL = "dgx-h100"


class Fault(Record):
    """One thing that is wrong with a machine, or with the evidence of it.

    text: what is wrong, for people.
    make: takes values by name, and gives the change of a healthy snapshot.
    values: those that a plan may set, with what holds where it does not.
    rules: all that must fail by it, as a warning or an error, on this node alone; none
        where a single node shows nothing above the level of information.
    is_fleet: only a comparison with the other nodes finds it.
    is_measured: it shows in measurements alone.
    instance: a type of machine that can have it.
    """

    text: str
    make: Callable[..., Change]
    rules: tuple[str, ...] = ()
    values: Values = _NOTHING
    is_fleet: bool = False
    instance: str = _USUAL
    delivery: Delivery = ""
    is_measured: bool = False

    def change(self, values: Values = _NOTHING) -> Change:
        """Return the change of a snapshot, with values that a plan sets."""
        return self.make(**{**self.values, **values})

    def well(self, instance: str = "") -> Snapshot:
        """Return a machine of that type, or of its own, with nothing wrong."""
        name = instance or self.instance
        result = healthy_node(name)
        if self.is_measured:
            measure(result, shape_of(name), Chance(Dice(name), Dice(name)))
        return result

    def snapshot(self) -> Snapshot:
        """Return a machine of its type with nothing else wrong."""
        result = self.well()
        self.change()(result)
        return result


def fixed(change: Change, text: str, *rules: str, instance: str = _USUAL) -> Fault:
    """Return a fault that is the same wherever it is planted."""
    return Fault(text, lambda: change, rules, instance=instance)


def of_gpu(
    number: int,
    text: str,
    *rules: str,
    instance: str = _USUAL,
    **leaves: object,
) -> Fault:
    """Return a fault of leaves of one GPU; a plan may say of which."""

    def make(gpu: int) -> Change:
        return gpu_with(gpu, **leaves)

    return Fault(text, make, rules, {"gpu": number}, instance=instance)


def of_link(
    at: tuple[int, int],
    text: str,
    *rules: str,
    instance: str = _USUAL,
    **leaves: object,
) -> Fault:
    """Return a fault of leaves of one link of one GPU; a plan may say of which."""

    def make(gpu: int, link: int) -> Change:
        return link_with(gpu, link, **leaves)

    values: Values = {"gpu": at[0], "link": at[1]}
    return Fault(text, make, rules, values, instance=instance)


def of_port(
    number: int,
    text: str,
    *rules: str,
    instance: str = _USUAL,
    **leaves: object,
) -> Fault:
    """Return a fault of leaves of one port; a plan may say of which."""

    def make(port: int) -> Change:
        return port_with(port, **leaves)

    return Fault(text, make, rules, {"port": number}, instance=instance)
