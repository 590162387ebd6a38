"""The collectives: their buffers, how they are done, and whether the result is right.

Sizes and bus bandwidth are those of NVIDIA/nccl-tests (doc/PERFORMANCE.md): the size is
that of the whole buffer, for all-gather of the gathered one; bus bandwidth is algorithm
bandwidth (size over time) times a factor that says what each rank must send at least.
"""

from collections.abc import Callable
from typing import Any

from speccheck.probes.collectives.patterns import (
    differing,
    moved,
    summed,
    sums,
    write,
)

# By collective, the functions of torch.distributed that do it, the best first, each by
# its present name and then by that of older torch, which newer torch warns of.
_FUNCTIONS = {
    "all_reduce": (("all_reduce",),),
    "all_gather": (("all_gather_single", "all_gather_into_tensor"), ("all_gather",)),
    "reduce_scatter": (
        ("reduce_scatter_single", "reduce_scatter_tensor"),
        ("reduce_scatter",),
    ),
    "all_to_all": (("all_to_all_single",), ("all_to_all",)),
    "send_recv": (("batch_isend_irecv",),),
}
_OF_TENSORS = frozenset(
    {
        "all_gather_single",
        "all_gather_into_tensor",
        "reduce_scatter_single",
        "reduce_scatter_tensor",
        "all_to_all_single",
    }
)
_IN_PLACE = frozenset({"all_reduce"})
_WHOLE = frozenset({"all_reduce", "send_recv"})  # not cut into a block for each rank
# How torch says that a backend lacks a function (torch/csrc/distributed/c10d/).
_LACKS = ("not support", "no support", "not implemented", "unsupported")


class NotOffered(Exception):  # noqa: N818 - a usage error with its own message
    """The backend of this torch has no such collective for such data."""


def bus_factor(collective: str, ranks: int) -> float:
    """Return bus bandwidth over algorithm bandwidth.

    2(n-1)/n for all-reduce, (n-1)/n where each rank has a block, 1 for a pair.
    """
    if collective == "send_recv":
        return 1.0
    return (2 if collective == "all_reduce" else 1) * (ranks - 1) / ranks


def placement(collective: str) -> str:
    """Return whether the result replaces what was sent."""
    return "in_place" if collective in _IN_PLACE else "out_of_place"


def elements_of(collective: str, size_bytes: int, ranks: int, width: int) -> int:
    """Return the elements of the whole buffer: as long a block for each rank."""
    elements = max(1, size_bytes // width)
    if collective in _WHOLE:
        return elements
    return max(ranks, elements - elements % ranks)


class Exchange:
    """One collective among the ranks of the default group, on buffers of one size."""

    def __init__(
        self,
        torch: Any,  # noqa: ANN401
        collective: str,
        data_type: str,
        device: str,
        function: str,
        elements: int,
    ) -> None:
        """Make the buffers."""
        distributed = torch.distributed
        self._torch = torch
        self._distributed = distributed
        self._collective = collective
        self._function = function
        self._rank: int = distributed.get_rank()
        self._ranks: int = distributed.get_world_size()
        block = elements // self._ranks
        kind = {"dtype": getattr(torch, data_type), "device": device}
        self._block = block
        self._sent = torch.empty(
            block if collective == "all_gather" else elements, **kind
        )
        if collective in _IN_PLACE:
            self._received = self._sent
        else:
            received = block if collective == "reduce_scatter" else elements
            self._received = torch.empty(received, **kind)

    def run(self) -> None:
        """Do it once."""
        distributed, sent, received = self._distributed, self._sent, self._received
        do = getattr(distributed, self._function)
        if self._function == "all_reduce":
            do(sent)
        elif self._function in _OF_TENSORS:
            do(received, sent)
        elif self._function == "all_gather":
            do(list(received.split(self._block)), sent)
        elif self._function == "reduce_scatter":
            do(received, list(sent.split(self._block)))
        elif self._function == "all_to_all":
            do(list(received.split(self._block)), list(sent.split(self._block)))
        else:
            self._pass_on()

    def _pass_on(self) -> None:
        """Send to the next rank and receive from the one before."""
        result = self._distributed
        following = (self._rank + 1) % self._ranks
        before = (self._rank - 1) % self._ranks
        works = result.batch_isend_irecv(
            [
                result.P2POp(result.isend, self._sent, following),
                result.P2POp(result.irecv, self._received, before),
            ]
        )
        for work in works:
            work.wait()

    def fill(self) -> None:
        """Write what this rank sends, and nothing right where it receives."""
        adds = self._collective in {"all_reduce", "reduce_scatter"}
        values = summed(self._rank, self._ranks) if adds else moved(self._rank)
        if self._received is not self._sent:
            self._received.fill_(-1)
        write(self._torch, self._sent, values)

    def wrong_values(self) -> int:
        """Return how many elements this rank has received wrong."""
        torch, received, block = self._torch, self._received, self._block
        if self._collective == "all_reduce":
            return differing(torch, received, sums(self._ranks))
        if self._collective == "reduce_scatter":
            return differing(torch, received, sums(self._ranks), self._rank * block)
        if self._collective == "send_recv":
            before = (self._rank - 1) % self._ranks
            return differing(torch, received, moved(before))
        first = self._rank * block if self._collective == "all_to_all" else 0
        return sum(
            differing(torch, part, moved(rank), first)
            for rank, part in enumerate(received.split(block))
        )


def functions_of(
    distributed: Any,  # noqa: ANN401
    collective: str,
) -> list[str]:
    """Return the functions that this torch has for a collective, the best first.

    Each has one name: the present one where torch knows it.
    """
    present = [
        next((name for name in names if hasattr(distributed, name)), "")
        for names in _FUNCTIONS[collective]
    ]
    return [name for name in present if name]


def offered(
    torch: Any,  # noqa: ANN401
    collective: str,
    data_type: str,
    device: str,
    finish: Callable[[], None],
) -> str:
    """Return the function of torch.distributed that the backend has; raises NotOffered.

    It is tried: the name is there whether the backend has it or not. What a backend
    lacks it says before it sends anything, on all ranks alike.
    """
    ranks = torch.distributed.get_world_size()
    reason = ""
    for function in functions_of(torch.distributed, collective):
        try:
            Exchange(torch, collective, data_type, device, function, ranks).run()
            finish()
        except (RuntimeError, ValueError, TypeError) as error:
            reason = str(error).splitlines()[0]
            is_type = "scalar type" in reason or "data type" in reason.lower()
            if not is_type and not any(word in reason.lower() for word in _LACKS):
                raise
        else:
            return function
    backend = torch.distributed.get_backend()
    text = f" ({reason})" if reason else ""
    message = (
        f"{backend} of torch {torch.__version__} has no {collective} of {data_type}"
        f"{text}: try another --data-type or --backend, or a newer torch"
    )
    raise NotOffered(message)
