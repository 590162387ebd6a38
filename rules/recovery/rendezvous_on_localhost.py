"""A rendezvous on localhost in a job on several nodes.

Why it hurts: every node opens a store of its own and waits for the others, until the
start-up times out.

What passes: the name or address of one fixed node.

Where it does not apply: one node; addresses that come from a variable, which the caller
of a script may set; a command for the node of rank 0 alone, which meets itself.

Source: PyTorch elastic documentation (--rdzv-endpoint).

Bad::

    torchrun --nnodes 4 --rdzv-endpoint localhost:29400 train.py

Good::

    torchrun --nnodes 4 --rdzv-endpoint node-0:29400 train.py
"""

from collections.abc import Iterator

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.plan import Cluster, Recovery
from speccheck.validator.evidence.script_names import SCRIPT_SUFFIXES
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import Place
from speccheck.validator.rule import Verdicts, fail, passed, rule

# A script often sets a variable only where its caller has not.
_OWN_HOST = frozenset({"localhost", "::1", "0.0.0.0"})  # noqa: S104 - not bound to


@rule(clause="COMM-017", about=("recovery.rendezvous_endpoint", "MASTER_ADDR"))
def rendezvous_on_localhost(
    environment: Environment, cluster: Cluster, recovery: Recovery, stated: StatedKeys
) -> Verdicts:
    """Judge the host of the rendezvous and of MASTER_ADDR."""
    nodes = cluster.nodes
    is_one = nodes.is_known and nodes.need() <= 1
    if is_one or _is_for_rank_zero(stated):
        return
    endpoint, master = recovery.rendezvous_endpoint, environment.stated("MASTER_ADDR")
    addresses = []
    is_stated = endpoint.is_known and endpoint.status != "default"
    if is_stated and all(_is_literal(endpoint.need(), endpoint.places)):
        addresses.append((endpoint.need(), endpoint.places))
    if (
        master is not None
        and master.value
        and not master.place.file.endswith(SCRIPT_SUFFIXES)
    ):
        addresses.append((master.value, (master.place,)))
    own = [(text, places) for text, places in addresses if _is_own_host(text)]
    if addresses and not own:
        yield passed(at=[place for _, places in addresses for place in places])
    for text, places in own:
        yield fail(
            f"each of the {nodes.need():,} nodes would meet itself at {text}; all must "
            f"meet at one node",
            at=[*places, nodes],
            measured=text,
            required="the address of one node",
            cost="every node waits for the others until the start-up times out",
            remedy="Use the name or address of one fixed node.",
        )


def _is_for_rank_zero(stated: StatedKeys) -> bool:
    """Return whether the command line says that it starts the first node alone."""
    ranks = [
        key
        for file in stated.files
        for key in file.keys
        if str(key.path[-1]).lstrip("-").replace("_", "-") == "node-rank"
    ]
    return bool(ranks) and all(key.is_sure and key.value == "0" for key in ranks)


def _is_literal(text: str, places: tuple[Place, ...]) -> Iterator[bool]:
    """Yield whether each place holds the text itself, not a variable."""
    return (place.span is None or place.span.length == len(text) for place in places)


def _is_own_host(text: str) -> bool:
    host = text.strip().strip("[]").lower()
    if host.count(":") == 1:
        host = host.partition(":")[0]
    return host in _OWN_HOST or host.startswith(("127.", "localhost:", "[::1]"))
