"""How the GPUs of healthy nodes differ: heat, power, counts of corrected errors."""

from typing import Any

from speccheck.validator.simulation.dice import Chance
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
    """Temperatures at rest: air reaches the second row of GPUs some degrees warmer.

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
    """Corrected errors are no fault: Azure drains a node after 20 million of them.

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
