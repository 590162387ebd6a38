"""A name in NCCL_ALGO or NCCL_PROTO that NCCL does not know.

Why it hurts: from NCCL 2.24 on the job stops at its first collective; before, the name
is ignored and the choice is another one than the script says.

What passes: lists that parse, with names that the release of the job knows.

Where it does not apply: neither variable is set. Where the release is not stated, only
names that no release knows are failed.

Source: NVIDIA/nccl src/graph/tuning.cc and docs, environment variables: CollNet became
CollnetDirect and CollnetChain in 2.14; NVLS came in 2.17, NVLSTree in 2.18 and PAT in
2.23.

Bad::

    NCCL_ALGO=Rings

Good::

    NCCL_ALGO=Ring
"""

from speccheck.rules.communication._algorithms import FUNCTIONS, entries, tokens
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import release
from speccheck.validator.evidence.plan import Run
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule

# name -> first and last release with it, empty where there is no such bound
_ALGORITHMS = {
    "tree": ("", ""),
    "ring": ("", ""),
    "collnet": ("", "2.13"),
    "collnetdirect": ("2.14", ""),
    "collnetchain": ("2.14", ""),
    "nvls": ("2.17", ""),
    "nvlstree": ("2.18", ""),
    "pat": ("2.23", ""),
}
_PROTOCOLS = {"ll": ("", ""), "ll128": ("", ""), "simple": ("", "")}
_TABLES = {"NCCL_ALGO": _ALGORITHMS, "NCCL_PROTO": _PROTOCOLS}
_NEW_GRAMMAR = "2.24"


@rule(clause="COMM-003", about=("NCCL_ALGO", "NCCL_PROTO"))
def invalid_algorithm_list(environment: Environment, run: Run) -> Verdicts:
    """Judge each list by the grammar and the names of the release."""
    used = release(run.nccl_version.or_else(""))
    for name, known in _TABLES.items():
        variable = environment.find(name)
        if variable is None or variable.value == "":
            continue
        if variable.value is None:
            raise MissingEvidence(name, "its value is set outside the files")
        fault = _fault(variable.value, known, used)
        if fault is None:
            yield passed(at=variable.place, measured=variable.value)
            continue
        yield fail(
            f"{name}={variable.value}: {fault}",
            at=variable.place,
            measured=variable.value,
            required="names among " + ", ".join(known),
            cost="from NCCL 2.24 on the job stops at its first collective; before, the "
            "name is ignored",
        )


def _fault(
    text: str, known: dict[str, tuple[str, str]], used: tuple[int, ...]
) -> str | None:
    rows = entries(text)
    if used and used < release(_NEW_GRAMMAR) and any(function for function, _ in rows):
        return f"functions can be named from NCCL {_NEW_GRAMMAR} on only"
    for position, (function, names) in enumerate(rows):
        if position and not function:
            return "only the first entry may lack a function"
        if function and function not in FUNCTIONS:
            return f"{function} is no collective"
        faults = (_token_fault(token, known, used) for token in tokens(names))
        fault = next((fault for fault in faults if fault), None)
        if fault is not None:
            return fault
    return None


def _token_fault(
    token: str, known: dict[str, tuple[str, str]], used: tuple[int, ...]
) -> str | None:
    if token not in known:
        return f"{token or 'an empty name'} is no name that NCCL knows"
    since, until = known[token]
    if used and since and used < release(since):
        return f"{token} came with NCCL {since}"
    if used and until and used[:2] > release(until):
        return f"{token} went with NCCL {until}"
    return None
