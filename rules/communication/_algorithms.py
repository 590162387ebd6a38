"""The lists of NCCL_ALGO and NCCL_PROTO.

Grammar since NCCL 2.24 (src/graph/tuning.cc): entries are separated by `;`, each but
the first begins with a function and `:`, a leading `^` negates the whole list of an
entry, case does not count. Before, the variable is one plain list.
"""

from speccheck.validator.evidence.environment import Environment

FUNCTIONS = frozenset(
    {"broadcast", "reduce", "allgather", "reducescatter", "allreduce"}
)


def entries(text: str) -> list[tuple[str, str]]:
    """Return the function (empty for all) and list of each entry."""
    text_lists: list[tuple[str, str]] = []
    for entry in text.split(";"):
        function, colon, names = entry.rpartition(":")
        text_lists.append((function.strip().lower() if colon else "", names.strip()))
    return text_lists


def tokens(names: str) -> list[str]:
    """Return the names of one list, in lower case, without the negation."""
    return [part.strip().lower() for part in names.removeprefix("^").split(",")]


def negates(text: str) -> bool:
    """Return whether any entry excludes instead of selecting."""
    return any(names.startswith("^") for _, names in entries(text))


def algorithms_of(text: str, function: str) -> set[str]:
    """Return the names that are left for a function; the last fitting entry counts."""
    left: set[str] = set()
    for wanted, names in entries(text):
        if wanted in {"", function}:
            left = set(tokens(names))
    return left


def has_tuner(environment: Environment) -> bool:
    """Return whether a tuner plugin or a tuner file decides."""
    names = ("NCCL_TUNER_PLUGIN", "NCCL_TUNER_CONFIG_PATH", "NCCL_TUNER_CONFIG_FILE")
    result = (environment.find(name) for name in names)
    return any(
        variable is not None and variable.value not in {"", "none"}
        for variable in result
    )
