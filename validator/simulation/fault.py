"""What a fault is: a change of a healthy snapshot, and the rules that must find it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.simulation.changes import (
    Change,
    Snapshot,
    gpu_with,
    link_with,
    port_with,
)
from speccheck.validator.simulation.dice import Chance, Dice
from speccheck.validator.simulation.healthy import healthy_node
from speccheck.validator.simulation.measurements import measure
from speccheck.validator.simulation.shape import shape_of

Values = Mapping[str, object]
# What becomes of the file of a node, where not all goes well with it.
Delivery = Literal["", "missing", "damaged", "empty", "twice", "killed"]
_NOTHING: Values = MappingProxyType({})
_USUAL = "dgx-h100"


class Fault(Record):
    """One thing that is wrong with a machine, or with what came of looking at it.

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
        """The change of a snapshot, with values of a plan in the place of the usual."""
        return self.make(**{**self.values, **values})

    def well(self, instance: str = "") -> Snapshot:
        """A machine of that type, or of its own, with nothing wrong."""
        name = instance or self.instance
        found = healthy_node(name)
        if self.is_measured:
            measure(found, shape_of(name), Chance(Dice(name), Dice(name)))
        return found

    def snapshot(self) -> Snapshot:
        """A machine of its type with nothing else wrong."""
        found = self.well()
        self.change()(found)
        return found


def fixed(change: Change, text: str, *rules: str, instance: str = _USUAL) -> Fault:
    """A fault that is the same wherever it is planted."""
    return Fault(text, lambda: change, rules, instance=instance)


def of_gpu(
    number: int,
    text: str,
    *rules: str,
    instance: str = _USUAL,
    **leaves: object,
) -> Fault:
    """Other leaves of one GPU; a plan may say of which."""

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
    """Other leaves of one link of one GPU; a plan may say of which."""

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
    """Other leaves of one port; a plan may say of which."""

    def make(port: int) -> Change:
        return port_with(port, **leaves)

    return Fault(text, make, rules, {"port": number}, instance=instance)
