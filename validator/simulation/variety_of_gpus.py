"""How the GPUs of healthy nodes differ: heat, power, counts of corrected errors."""

from typing import Any

from speccheck.validator.simulation.dice import Dice
from speccheck.validator.simulation.shape import Shape

_SLOWDOWN = "temperature_slowdown_celsius"
_MARGIN, _OF_MEMORY = "temperature_margin_celsius", "memory_temperature_celsius"
_CORRECTED = "ecc_corrected_volatile"
# Share of GPUs in whose life a row was replaced after corrected errors; plausible.
_ROW_REPLACED = 0.004


def vary_gpus(
    gpus: list[dict[str, Any]], shape: Shape, dice: Dice, cluster: str
) -> None:
    """Make each GPU a specimen; `cluster` is the NVLink domain of the rack, if any."""
    # Cold aisles differ by some degrees from end to end; plausible.
    inlet = dice.bell(30, 1.6)
    for number, gpu in enumerate(gpus):
        gpu["uuid"], gpu["serial"] = dice.digest(), dice.digest()
        _vary_heat(gpu, inlet, behind=number * 2 >= len(gpus), dice=dice)
        _vary_memory(gpu, dice)
        # Trained anew at each start, a link replays some packets; plausible.
        gpu["pcie_replays"] = dice.whole(0, 6)
        if cluster and shape.is_registered:
            gpu["fabric_cluster"] = cluster


def _vary_heat(gpu: dict[str, Any], inlet: float, *, behind: bool, dice: Dice) -> None:
    """Temperatures at rest: air reaches the second row of GPUs some degrees warmer.

    The edition calls 15 degrees between GPUs of a node too much; here it is 9 at most.
    """
    heat = round(inlet + (2 if behind else 0) + dice.bell(0, 0.9))
    gpu["temperature_celsius"] = heat
    if isinstance(gpu[_MARGIN], int):
        gpu[_MARGIN] = gpu[_SLOWDOWN] - heat
    if isinstance(gpu[_OF_MEMORY], int):
        gpu[_OF_MEMORY] = heat + dice.whole(5, 10)  # plausible
    # Boards at rest draw within some per cent of each other; plausible.
    gpu["power_watts"] = round(gpu["power_watts"] * dice.bell(1, 0.012), 3)


def _vary_memory(gpu: dict[str, Any], dice: Dice) -> None:
    """Corrected errors are no fault: Azure drains a node after 20 million of them.

    Most GPUs have a handful in their life and few have hundreds; plausible.
    """
    gpu["ecc_corrected_aggregate"] = dice.few(600)
    gpu[_CORRECTED] = min(gpu["ecc_corrected_aggregate"], dice.few(3))
    gpu["memory_used_bytes"] = dice.whole(0, 3) * 2**20
    if isinstance(gpu["remap_banks"], list) and dice.happens(_ROW_REPLACED):
        most, some, *rest = gpu["remap_banks"]
        gpu["remapped_rows_correctable"] = 1
        gpu["remap_banks"] = [most - 1, some + 1, *rest]
