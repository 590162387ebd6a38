"""How a process was started: by which engine, on which node, as which of its ranks.

A snapshot holds it as its object `launch`. Whatever stands there is read as far as it
has the form of such a thing; the rest is not known, and why.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from speccheck.validator.evidence.record import Record

ENGINES = ("slurm", "mpi", "torchrun", "kubernetes", "ray", "none")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,252}")
MOST_NUMBER = 10**9
MOST_JOB_CHARACTERS = 128
MOST_LIST_CHARACTERS = 32_768  # some thousand nodes that no range folds
_MOST_REASON_CHARACTERS = 300
_NUMBERS = ("attempt", "rank", "ranks", "nodes", "local_rank", "local_ranks")


class Launch(Record):
    """What is known of it.

    engine: whom the node belongs to, and who can take it out of service; where nobody
        does, what started the process.
    node: the name by which that engine knows the node.
    attempt: how often the job was started before.
    rank, ranks: of this process among all that were started with it.
    nodes, node_list: of the job, or of the step of it that this process belongs to.
    rank_from: the variable that told the rank.
    unknown: by field, why it is not known though something told it.
    """

    engine: str = "none"
    node: str | None = None
    job: str | None = None
    attempt: int | None = None
    rank: int | None = None
    ranks: int | None = None
    nodes: int | None = None
    node_list: str | None = None
    local_rank: int | None = None
    local_ranks: int | None = None
    rank_from: str = ""
    unknown: Mapping[str, str] = MappingProxyType({})

    @property
    def is_first_on_node(self) -> bool:
        """Whether this process is the one that looks at the node.

        Where the local rank is not known each does: twice is better than never.
        """
        return not self.local_rank

    def content(self) -> dict[str, object]:
        """As it stands in a snapshot: only what is known."""
        found: dict[str, object] = {
            name: value
            for name, value in self._asdict().items()
            if value is not None and value != "" and name != "unknown"
        }
        if self.unknown:
            found["unknown"] = dict(self.unknown)
        return found


def read_launch(data: object) -> Launch:
    """What a snapshot says under `launch`; nothing there makes it fail."""
    if not isinstance(data, Mapping):
        return Launch()
    unknown = _reasons(data.get("unknown"))
    values: dict[str, object] = {}
    for name in Launch._fields:
        found = data.get(name)
        if name == "unknown" or found is None:
            continue
        problem = wrong(name, found)
        if problem:
            unknown[name] = problem
        else:
            values[name] = found
    rank, ranks = values.get("rank"), values.get("ranks")
    if isinstance(rank, int) and isinstance(ranks, int) and rank >= ranks:
        unknown["rank"] = f"rank {rank} of {ranks} ranks: ranks count from 0"
        del values["rank"], values["ranks"]
    return Launch(**values, unknown=unknown)  # type: ignore[arg-type]


def wrong(name: str, found: object) -> str:
    """What is wrong with the value of a field; empty where nothing is."""
    if name in _NUMBERS:
        least = 1 if name in {"ranks", "nodes", "local_ranks"} else 0
        if type(found) is not int or not least <= found <= MOST_NUMBER:
            return f"must be a whole number from {least}"
        return ""
    return _wrong_text(name, found) if isinstance(found, str) else "must be a text"


def _wrong_text(name: str, found: str) -> str:
    if name == "engine" and found not in ENGINES:
        return f"must be one of {', '.join(ENGINES)}"
    if name == "node" and not NAME.fullmatch(found):
        return "is no name of a host"
    if not found.isprintable() or not found.strip():
        return "must be a printable text"
    most = MOST_LIST_CHARACTERS if name == "node_list" else MOST_JOB_CHARACTERS
    is_long = len(found) > most and name != "node"
    return f"is longer than {most:,} characters" if is_long else ""


def _reasons(found: object) -> dict[str, str]:
    if not isinstance(found, Mapping):
        return {}
    return {
        name: reason[:_MOST_REASON_CHARACTERS]
        for name, reason in found.items()
        if name in Launch._fields and isinstance(reason, str)
    }
