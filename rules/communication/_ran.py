"""What rules on the log of a run share: what was meant, and of which communicators."""

from collections.abc import Callable, Container

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.measurement.collective import (
    Communicator,
    Communicators,
    VariablesInForce,
    named,
    whole_ones,
)
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.evidence.value import MissingEvidence, Place
from speccheck.validator.rule import Verdict, Verdicts

VERBS = frozenset({"infiniband", "roce-lossless", "spectrum-x-ra2.2", "mrc"})
PLUGIN_ONLY = frozenset({"efa", "gcp-tcpxo", "gcp-tcpx"})
NO_FAST_PATH = frozenset({"ethernet-tcp", "nvlink-only"})
BY_USER = "environment"
Judge = Callable[[Communicator], Verdict | None]


class Setting:
    """A variable of the run, by its file or by the NCCL log.

    value: its text.
    place: where that text stands.
    """

    __slots__ = ("place", "value")

    def __init__(self, value: str, place: Place) -> None:
        """Take the value and where it stands."""
        self.value = value
        self.place = place

    @property
    def is_off(self) -> bool:
        """Whether NCCL reads 0."""
        return integer_seen(self.value) == 0


def setting(
    name: str, environment: Environment, taken: VariablesInForce
) -> Setting | None:
    """Return the variable in the run; the log counts before the files."""
    for variable_in_force in taken.shown:
        if (
            variable_in_force.name.value == name
            and variable_in_force.value.value is not None
        ):
            return Setting(
                variable_in_force.value.value, variable_in_force.value.places[0]
            )
    variable = environment.find(name)
    if variable is None or variable.value is None:
        return None
    return Setting(variable.value, variable.place)


def several_nodes(communicator: Communicator) -> bool:
    """Return whether it spans nodes; raises MissingEvidence if the log is silent."""
    if not communicator.nodes.is_known and communicator.links_by_network.or_else(0) > 0:
        return True
    return communicator.nodes.need() > 1


def ranks_of_node(communicator: Communicator) -> int:
    """Return how many of its ranks a node has; raises MissingEvidence."""
    number = communicator.ranks_per_node.value
    return (
        number
        if number is not None
        else communicator.ranks.need() // max(1, communicator.nodes.need())
    )


def networks(communicator: Communicator) -> list[str]:
    """Return the networks that its processes chose."""
    return (
        (communicator.network.value or "").split(", ")
        if communicator.network.value
        else []
    )


def one_verdict(
    communicators: Communicators, judge: Judge, worked: Container[int | None] = ()
) -> Verdicts:
    """Yield one verdict on all of a job's communicators, which share a remedy.

    A log that lacks some of the ranks proves no pass.

    worked: numbers of ranks of which a measurement shows that all took part.
    """
    whole = whole_ones(communicators.shown)
    result: dict[str, list[Verdict]] = {}
    lacking: MissingEvidence | None = None
    for communicator in communicators.shown:
        if communicator.ranks.value == 1:
            continue
        try:
            verdict = judge(communicator)
        except MissingEvidence as error:
            lacking = lacking or error
            continue
        if verdict is None:
            continue
        if verdict.outcome == "pass" and not (
            named(communicator) in whole or communicator.ranks.value in worked
        ):
            reason = "the log does not show that all ranks of it are there"
            lacking = lacking or MissingEvidence(communicator.is_complete.name, reason)
        else:
            result.setdefault(verdict.outcome, []).append(verdict)
    if failed := result.get("fail"):
        others = len(failed) - 1
        more = f"; {others} more communicators alike" if others else ""
        yield failed[0]._replace(message=failed[0].message + more)
        return
    if lacking is not None:
        raise lacking
    if "unknown" in result:
        yield result["unknown"][0]
    elif "pass" in result:
        yield result["pass"][0]
