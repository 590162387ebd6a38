"""How healthy machines of one type differ from each other, and from day to day.

Each spread is stated with its reason. "Plausible" marks those for which no source is
at hand: they are wide enough to be told apart, and keep off every limit of the edition,
so that no rule can fail by chance (tests/test_simulate_variety.py).
"""

from typing import Any

from speccheck.validator.simulation.rng import Chance, Dice
from speccheck.validator.simulation.shape import Shape

_SLOWDOWN = "temperature_slowdown_celsius"
_MARGIN, _OF_MEMORY = "temperature_margin_celsius", "memory_temperature_celsius"
_CORRECTED = "ecc_corrected_volatile"
# Share of GPUs in whose life a row was replaced after corrected errors; plausible.
_ROW_REPLACED = 0.004


def vary_gpus(
    gpus: list[dict[str, Any]], shape: Shape, chance: Chance, cluster: str
) -> None:
    """Make each GPU a specimen; `cluster` is the NVLink domain of the rack, if any."""
    dice = chance.life
    # Cold aisles differ by some degrees from end to end; plausible.
    inlet = dice.bell(30, 1.6)
    for number, gpu in enumerate(gpus):
        gpu["uuid"], gpu["serial"] = dice.digest(), dice.digest()
        _vary_heat(gpu, inlet, behind=number * 2 >= len(gpus), chance=chance)
        _vary_memory(gpu, chance)
        # Trained anew at each start, a link replays some packets; plausible.
        gpu["pcie_replays"] = dice.whole(0, 6)
        if cluster and shape.is_registered:
            gpu["fabric_cluster"] = cluster


def _vary_heat(
    gpu: dict[str, Any], inlet: float, *, behind: bool, chance: Chance
) -> None:
    """Simulate temperatures at rest: air is warmer where it reaches the second row.

    The edition calls 15 degrees between GPUs of a node too much; here it is 10 at most.
    """
    dice = chance.today
    own = chance.life.bell(0, 0.7)
    heat = round(inlet + (2 if behind else 0) + own + dice.bell(0, 0.4))
    gpu["temperature_celsius"] = heat
    if isinstance(gpu[_MARGIN], int):
        gpu[_MARGIN] = gpu[_SLOWDOWN] - heat
    if isinstance(gpu[_OF_MEMORY], int):
        gpu[_OF_MEMORY] = heat + dice.whole(5, 10)  # plausible
    # Boards at rest draw within some per cent of each other; plausible.
    draw = chance.life.bell(1, 0.01) * dice.bell(1, 0.003)
    gpu["power_watts"] = round(gpu["power_watts"] * draw, 3)


def _vary_memory(gpu: dict[str, Any], chance: Chance) -> None:
    """Simulate corrected errors, no fault: Azure drains a node after 20 million.

    Most GPUs have a handful in their life and few have hundreds; plausible.
    """
    dice = chance.life
    before, daily = dice.few(600), dice.few(3)
    gpu["ecc_corrected_aggregate"] = before + daily * chance.days
    gpu[_CORRECTED] = min(before, dice.few(3)) + daily * chance.days
    gpu["memory_used_bytes"] = chance.today.whole(0, 3) * 2**20
    if isinstance(gpu["remap_banks"], list) and dice.happens(_ROW_REPLACED):
        most, some, *rest = gpu["remap_banks"]
        gpu["remapped_rows_correctable"] = 1
        gpu["remap_banks"] = [most - 1, some + 1, *rest]


# Of a subnet; each rail is a subnet of its own, so that 10,000 nodes have room.
_MOST_LIDS = 0xBFFF
_FIRST_LID = 10


def vary_network(node: dict[str, Any], chance: Chance, index: int) -> None:
    """Make each adapter, port and interface a specimen."""
    dice = chance.life
    for device in node["rdma_devices"]:
        device["node_guid"] = dice.digest()
    grown = 1 + chance.days
    for port in node["rdma_ports"]:
        if port["link_layer"] == "InfiniBand":
            port["lid"] = _FIRST_LID + index % (_MOST_LIDS - _FIRST_LID)
            # Of waiting for credits, which is how InfiniBand works; plausible.
            port["transmit_waits"] = dice.few(40_000_000) * grown
        if isinstance(port["symbol_errors"], int):
            # A bit error rate of 1e-12 allows 120 an hour (IBTA); links that are well
            # count a few in weeks. Plausible.
            port["symbol_errors"] = dice.few(3)
        if isinstance(port["congestion_marked_packets"], int):
            # Marks are how RoCE holds senders back: they grow with the traffic, and
            # with the days. Plausible.
            marks = dice.few(20_000_000) * grown
            port["congestion_marked_packets"] = marks
            port["congestion_notifications_handled"] = marks // 2
    for interface in node["network_interfaces"]:
        interface["address"] = dice.digest()
        # Up, and down and up again while switch and adapter agree on a speed; the
        # edition allows five losses a day.
        interface["carrier_changes"] = 1 + 2 * dice.few(2)


Snapshot = dict[str, Any]

_HOUR, _DAY = 3600, 86_400
_MEBIBYTE = 2**20
# Share of nodes whose log still shows a program that failed; plausible. The codes are
# those that the catalogue in schemas/catalogues/xid calls the program's.
_PROGRAM_FAILED = 0.04
_OF_PROGRAMS = {
    13: "Graphics SM Warp Exception on (GPC 1, TPC 2, SM 0): Out Of Range Address",
    31: "pid=4242, name=python, MMU Fault: ENGINE GRAPHICS faulted",
    43: "pid=4242, name=python, Ch 00000008",
    45: "pid=4242, name=python, Ch 00000008",
}


def vary(
    node: Snapshot, shape: Shape, chance: Chance, index: int, cluster: str
) -> None:
    """Make of the machine of a type one specimen of it.

    Args:
        node: a healthy snapshot, which is changed.
        shape: its type.
        chance: of this node alone.
        index: its number in the fleet, from 0.
        cluster: the digest of the NVLink domain that it is in, if it is in one.

    """
    _vary_host(node["host"], chance)
    _vary_driver(node["driver"], chance.today)
    _vary_log(node, chance)
    vary_gpus(node["gpus"], shape, chance, cluster)
    for device in node["pci_devices"]:
        # Links count some while they are trained at each start; plausible.
        device["correctable_errors"] = chance.life.few(12)
    vary_network(node, chance, index)


def _vary_host(host: Snapshot, chance: Chance) -> None:
    """Simulate the time since the start, load, memory and clock of an idle node."""
    dice, passed = chance.today, chance.days * _DAY
    total = host["memory_total_bytes"]
    # Nodes of a fleet are started again after updates and repairs, one by one; from
    # hours to two months. Plausible.
    host["uptime_seconds"] = round(chance.life.between(_DAY / 2, 60 * _DAY) + passed, 2)
    # Daemons alone; plausible. The edition allows a tenth of the processors.
    host["load_one_minute"] = round(
        min(host["processors"] / 40, dice.bell(0.5, 0.1)), 2
    )
    # What page cache that cannot be dropped, and daemons, take; plausible.
    host["memory_available_bytes"] = _pages(total * dice.between(0.93, 0.97))
    host["shared_memory_free_bytes"] -= dice.whole(0, 64) * _MEBIBYTE
    host["free_large_blocks"] = [
        int(blocks * dice.between(0.6, 1.6)) for blocks in host["free_large_blocks"]
    ]
    # Cores at work under the governor of performance run within a few per cent of each
    # other; plausible.
    host["processor_mhz"] = round(dice.bell(3200, 40), 3)
    # What chrony reaches against servers of the same network: tens of microseconds;
    # plausible.
    host["clock_offset_milliseconds"] = round(dice.between(0.004, 0.12), 6)
    # Logs and images; plausible.
    used = chance.life.between(0.22, 0.48) + dice.between(0, 0.02)
    host["root_used_share"] = round(used, 4)
    host["zombie_processes"] = dice.few(2)


def _pages(number: float) -> int:
    return int(number) // 4096 * 4096


def _vary_driver(driver: Snapshot, dice: Dice) -> None:
    """Simulate plausible times of NVML, the first call being the longest."""
    driver["longest_answer_seconds"] = round(dice.between(0.02, 0.4), 3)


def _vary_log(node: Snapshot, chance: Chance) -> None:
    """Simulate a log as long as the machine has run, rarely with a program's Xid."""
    dice = chance.life
    uptime = node["host"]["uptime_seconds"]
    last = round(uptime - chance.today.between(1, _HOUR), 6)
    node["kernel_log"] = {
        # The start writes some 3,000 lines on a machine of this size, and each day
        # some more; plausible.
        "lines": dice.whole(2600, 3800) + int(uptime / _DAY * dice.between(5, 40)),
        "first_seconds": 0.0,
        "last_seconds": last,
    }
    (event,) = node["kernel_events"]
    node["kernel_events"] = []
    if not dice.happens(_PROGRAM_FAILED):
        return
    code = dice.one_of([*_OF_PROGRAMS])
    address = dice.one_of(node["gpus"])["pci_address"]
    first = uptime - chance.days * _DAY - _HOUR  # the same on all days
    when = round(dice.between(first / 10, first), 6)
    short = address.removesuffix(".0")
    node["kernel_events"] = [
        {
            **event,
            "code": code,
            "pci_address": address,
            "first_seconds": when,
            "last_seconds": when,
            "text": f"NVRM: Xid (PCI:{short}): {code}, {_OF_PROGRAMS[code]}",
        }
    ]
