"""The PCIe bus of a healthy machine.

On bare metal each GPU sits behind a switch that it shares with its adapters. A guest
sees each device by itself, at whatever link its hypervisor shows.
"""

from speccheck.validator.simulation.networks import adapter_address
from speccheck.validator.simulation.shape import (
    ABSENT,
    NOT_SUPPORTED,
    Leaves,
    Shape,
    gpu_address,
    numa_node,
    profiles,
)

_GIGATRANSFERS = {3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
_IDLE = 2.5
_SWITCHES = {3: 6, 4: 4}  # NVSwitches by generation of NVLink; later ones hide
_OF_A_BOARD = 8  # GPUs that switches on the board itself join
_BRIDGE = {"vendor": "0x1000", "device": "0xc030", "pci_class": "0x060400"}
# Users see the first 64 bytes of the configuration space; this one was privileged.
_NO_CONTROL = {"status": "not_supported", "source": "config"}


def pci_devices(shape: Shape) -> list[Leaves]:
    """GPUs, the adapters of the network, NVSwitches, drives, and bridges above them."""
    is_virtual = bool(shape.instance.get("is_virtual"))
    found: list[Leaves] = []
    for number in range(shape.gpus):
        numa = numa_node(shape, number)
        above = [] if is_virtual else _bridges(number)
        found += [
            _device(address, numa, above[:depth], shape)
            | _BRIDGE
            | {"driver": "pcieport", "acs_control": 0}
            for depth, address in enumerate(above)
        ]
        found.append(_device(gpu_address(number), numa, above, shape) | _gpu(shape))
    for number in range(_adapters(shape)):
        if not is_virtual:
            found.append(_adapter_port(shape, number))
        found.append(_adapter(shape, number))
    for number in range(shape.instance.get("nvme_drives", 0)):
        found += _drive(
            shape, number, [] if is_virtual else [f"0001:00:{number:02x}.0"]
        )
    return found + ([] if is_virtual else _switches(shape))


def _adapters(shape: Shape) -> int:
    count: int = shape.instance.get("network_adapters", 0)
    return count


def _bridges(number: int) -> list[str]:
    """Root port, and the ports of the switch that lead to the GPU."""
    bus = 0x10 + 0x10 * number
    return [
        f"0000:{bus - 8:02x}:01.0",
        f"0000:{bus - 7:02x}:00.0",
        f"0000:{bus - 6:02x}:00.0",
    ]


def _adapter_bridges(shape: Shape, number: int) -> list[str]:
    """Of the same switch, with a port for each adapter."""
    root, switch, port = _bridges(number * shape.gpus // _adapters(shape))
    return [root, switch, f"{port[:-4]}{number + 1:02x}.0"]


def _gpu(shape: Shape) -> Leaves:
    devices = profiles()["gpus"][shape.instance["gpu"]]["devices"]
    of_gpu: int = shape.gpu.get("pcie_generation_maximum_of_gpu", 4)
    return {
        "vendor": "0x10de",
        "device": f"0x{devices[0] if devices else 'ffff'}",
        "pci_class": "0x030200",
        "driver": "nvidia",
        # It idles; the slot may give less than the GPU could take.
        "speed_gigatransfers_per_second": _IDLE,
        "speed_maximum_gigatransfers_per_second": _GIGATRANSFERS[of_gpu],
        "acs_control": _NO_CONTROL,
    }


def _adapter_port(shape: Shape, number: int) -> Leaves:
    above = _adapter_bridges(shape, number)
    numa = numa_node(shape, number * shape.gpus // _adapters(shape))
    port = _device(above[-1], numa, above[:-1], shape)
    return port | _BRIDGE | {"driver": "pcieport", "acs_control": 0}


def _adapter(shape: Shape, number: int) -> Leaves:
    gpu = number * shape.gpus // _adapters(shape)
    is_virtual = bool(shape.instance.get("is_virtual"))
    above = [] if is_virtual else _adapter_bridges(shape, number)
    numa = -1 if is_virtual else numa_node(shape, gpu)
    return _device(adapter_address(number), numa, above, shape) | {
        "vendor": "0x15b3",
        "device": "0x1021",
        "pci_class": "0x020000",
        "driver": shape.instance.get("network_driver", "mlx5_core"),
        "acs_control": _NO_CONTROL,
    }


def _drive(shape: Shape, number: int, above: list[str]) -> list[Leaves]:
    """A drive, and the root port that it hangs on."""
    drive = _device(f"0001:{number + 1:02x}:00.0", 0, above, shape)
    return [
        *(_device(port, 0, [], shape) | _BRIDGE for port in above),
        drive
        | {"vendor": "0x1d0f", "device": "0xcd01", "pci_class": "0x010802"}
        | {"driver": "nvme"},
    ]


def _switches(shape: Shape) -> list[Leaves]:
    if not shape.has_switches or shape.gpus != _OF_A_BOARD:
        return []
    count = _SWITCHES.get(shape.gpu["nvlink_generation"], 0)
    return [
        _device(f"0000:{0xC0 + number:02x}:00.0", 0, [], shape)
        | {"vendor": "0x10de", "device": "0x22a3", "pci_class": "0x068000"}
        | {"driver": "nvidia-nvswitch"}
        for number in range(count)
    ]


def _device(address: str, numa: int, above: list[str], shape: Shape) -> Leaves:
    speed = _GIGATRANSFERS[shape.instance.get("pcie_generation_maximum", 4)]
    is_virtual = bool(shape.instance.get("is_virtual"))
    return {
        "address": address,
        "numa_node": numa,
        "ancestors": above,
        "is_virtual_function": False,
        "speed_gigatransfers_per_second": speed,
        "speed_maximum_gigatransfers_per_second": speed,
        "width": 16,
        "width_maximum": 16,
        "iommu_group": ABSENT if is_virtual else "30",
        "iommu_domain": ABSENT if is_virtual else "identity",
        "correctable_errors": 2,  # some since boot are no fault
        "non_fatal_errors": 0,
        "fatal_errors": 0,
        "acs_control": NOT_SUPPORTED,
        "maximum_read_request_bytes": 512,
    }
