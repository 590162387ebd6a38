"""What is to be measured and how: the same for every rank, because rank 0 tells it."""

import json
from typing import Any

from speccheck.validator.evidence.record import Record

OPERATIONS = {
    "all-reduce": "all_reduce",
    "all-gather": "all_gather",
    "reduce-scatter": "reduce_scatter",
    "all-to-all": "all_to_all",
    "send-recv": "send_recv",
}
# Name and bytes of an element; their sums are exact (operations.py).
DATA_TYPES = {"float32": 4, "bfloat16": 2, "float16": 2, "float64": 8, "int32": 4}
BACKENDS = ("nccl", "gloo")


class Settings(Record):
    """One measurement.

    collective: as evidence calls it. backend: empty for what fits the machine.
    largest_bytes: 0 for what fits the backend. budget_seconds: of everything, 0 for
    none. deadline_seconds: for the world to form. timeout_seconds: for one operation.
    rounds: of a plan: by round, the sets of hosts that measure at the same time.
    """

    collective: str
    backend: str = ""
    smallest_bytes: int = 2**20
    largest_bytes: int = 0
    iterations: int = 20
    warmup_iterations: int = 5
    data_type: str = "float32"
    compares: bool = True
    budget_seconds: float = 0.0
    deadline_seconds: float = 120.0
    timeout_seconds: float = 60.0
    rounds: tuple[tuple[tuple[str, ...], ...], ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of messages, each twice the one before."""
        numbers: list[int] = []
        size = self.smallest_bytes
        while size <= self.largest_bytes:
            numbers.append(size)
            size *= 2
        return tuple(numbers)

    def text(self) -> str:
        """Return the settings as the text that rank 0 sends to the others."""
        return json.dumps(self._asdict())


def settings_of(text: str | bytes) -> Settings:
    """Return the settings that rank 0 sent."""
    result: dict[str, Any] = json.loads(text)
    result["rounds"] = tuple(
        tuple(tuple(hosts) for hosts in sets) for sets in result["rounds"]
    )
    return Settings(**result)
