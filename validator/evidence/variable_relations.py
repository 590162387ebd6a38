"""What several variables, or one and the job around it, do together.

Rows of schemas/catalogues/nccl/relations.yaml, whose head explains the fields.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.nccl_variables import (
    C_INTEGER,
    NcclVariables,
    integer_seen,
    release,
)
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Value

# NVIDIA/nccl docs, NCCL_DEBUG_SUBSYS.
_SUBSYSTEMS = frozenset(
    {
        *("INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC"),
        *("ALLOC_HOST", "CALL", "PROXY", "NVLS", "BOOTSTRAP", "REG", "PROFILE"),
        *("RAS", "DESTROY", "ALL"),
    }
)
_STREAMS = ("/dev/stdout", "/dev/stderr", "stdout", "stderr")
_FEWEST_LETTERS = 2  # NVIDIA/nccl src/misc/socket.cc: one letter counts as not set


def entries(text: str) -> list[str]:
    """Return the entries of a list, without its operators and without blanks."""
    listed = text.strip().removeprefix("^").removeprefix("=").split(",")
    return [text.strip() for text in listed]


def _distinct_entries(text: str) -> bool:
    """Return whether entries differ as PyTorch reads devices: a list ends at no number.

    MIG and GPU ids do not end it.

    Source: pytorch/pytorch torch/cuda/__init__.py (_parse_visible_devices).
    """
    texts = entries(text)
    if not texts[0].startswith(("GPU-", "MIG-")):
        ends = (at for at, text in enumerate(texts) if not text.isdecimal())
        texts = texts[: next(ends, len(texts))]
    return len(texts) == len(set(texts))


def _exclusion_of_loopback(text: str) -> bool:
    """Return whether a list that excludes something excludes the loopback as well."""
    is_exact = text.strip().startswith("^=")
    return not text.strip().startswith("^") or any(
        entry == "lo" or (entry == "l" and not is_exact) for entry in entries(text)
    )


def _one_file_a_process(text: str) -> bool:
    return "%p" in text or text.strip().lower() in _STREAMS or "$" in text


def _prefixes_that_differ(text: str) -> bool:
    """Return whether no name without `=` begins others of the same kind: mlx5_1."""
    if text.strip().lstrip("^").startswith("="):
        return True
    names = [entry.partition(":")[0] for entry in entries(text)]
    return not any(name.endswith("_1") for name in names)


def _power_of_two(text: str) -> bool:
    number = integer_seen(text)
    return number is None or number <= 0 or number & (number - 1) == 0


def _address_range(text: str) -> bool:
    address, slash, length = text.strip().partition("/")
    plain = address.replace(":", "").replace(".", "")
    is_address = bool(plain) and all(text in "0123456789abcdefABCDEF" for text in plain)
    return bool(slash) and is_address and length.isdecimal()


def _two_letters(text: str) -> bool:
    return len(text) >= _FEWEST_LETTERS


def _no_blanks(text: str) -> bool:
    return not any(item.isspace() for item in text.strip())


def _written_out_path(text: str) -> bool:
    return not text.strip().startswith("~")


def _subsystems(text: str) -> bool:
    named = [entry.removeprefix("^").upper() for entry in entries(text)]
    return all(text in _SUBSYSTEMS for text in named if text)


def _address_and_port(text: str) -> bool:
    head, _, port = text.strip().rpartition(":")
    return bool(head) and port.isdecimal()


def _device_policy(text: str) -> bool:
    """Return whether NCCL knows a way to choose the network devices of a GPU.

    Source: NVIDIA/nccl src/graph/topo.cc (getNetDevsPolicyOnce).
    """
    word, colon, most = text.strip().upper().partition(":")
    if word == "MAX" and colon:
        return (integer_seen(most) or 0) > 0
    return word in {"AUTO", "ALL"} and not colon


def _block_policies(text: str) -> list[str]:
    """Return the policies of a text in capitals, without the bars between them."""
    return [word for word in text.upper().split("|") if word]


def _block_policy(text: str) -> bool:
    """Return whether NCCL knows each policy of its blocks; a digit is the older way.

    Source: NVIDIA/nccl src/init.cc (getEnvCtaPolicyOnce).
    """
    if text[:1].isdigit():
        return text[0] in "012"
    return {*_block_policies(text)} <= {"DEFAULT", "EFFICIENCY", "ZERO"}


def _block_policies_that_agree(text: str) -> bool:
    return not {"ZERO", "EFFICIENCY"} <= {*_block_policies(text)}


def _numbers_with_commas(text: str) -> bool:
    numbers = [item.strip() for item in text.split(",") if item]
    return all(C_INTEGER.fullmatch(number) for number in numbers)


def _as_many_numbers(wanted: int) -> Callable[[str], bool]:
    """Return the form of so many numbers with commas."""
    return lambda text: (
        len(text.split(",")) == wanted
        and all(C_INTEGER.fullmatch(item.strip()) for item in text.split(","))
    )


FORMS: Mapping[str, Callable[[str], bool]] = {
    "distinct_entries": _distinct_entries,
    "exclusion_of_loopback": _exclusion_of_loopback,
    "one_file_a_process": _one_file_a_process,
    "prefixes_that_differ": _prefixes_that_differ,
    "power_of_two": _power_of_two,
    "address_range": _address_range,
    "two_letters": _two_letters,
    "no_blanks": _no_blanks,
    "written_out_path": _written_out_path,
    "subsystems": _subsystems,
    "address_and_port": _address_and_port,
    "merge_policy": lambda text: text.strip().upper() in {"ALL", "RAIL"},
    "device_policy": _device_policy,
    "block_policy": _block_policy,
    "block_policies_that_agree": _block_policies_that_agree,
    "numbers_with_commas": _numbers_with_commas,
    "four_numbers": _as_many_numbers(4),
    "five_numbers": _as_many_numbers(5),
}


def _is(text: str, wanted: Sequence[str | int]) -> bool:
    number = integer_seen(text) or 0  # no number at the start is read as 0
    folded = text.strip().lower()
    return any(
        number == item if isinstance(item, int) else folded == item.lower()
        for item in wanted
    )


def _contains(text: str, parts: Sequence[str]) -> bool:
    folded = text.lower()
    return any(part.lower() in folded for part in parts)


def _above(text: str, limit: int) -> bool:
    number = integer_seen(text)
    return number is not None and number > limit


def _below(text: str, limit: int) -> bool:
    number = integer_seen(text)
    return number is not None and number < limit


def _lists(text: str, words: Sequence[str]) -> bool:
    return any(entry.upper() in words for entry in entries(text))


def _begins(text: str, starts: Sequence[str]) -> bool:
    return text.strip().lower().startswith(tuple(start.lower() for start in starts))


# Tests of one text by itself; those that look at other variables are the relation's.
TESTS: Mapping[str, Callable[[str, Any], bool]] = {
    "is": _is,
    "is_not": lambda text, values: not _is(text, values),
    "above": _above,
    "below": _below,
    "lists": _lists,
    "begins": _begins,
    "contains": _contains,
    "is_without": lambda text, parts: not _contains(text, parts),
    "malformed": lambda text, form: not FORMS[form](text),
    "set": lambda _text, _is_set: True,
}

Operand = Any  # of JSON: texts, numbers, names; the compiler looks at each
Test = tuple[str, Operand]  # its name, and what it compares with

UNKNOWN = "a text that no file tells"
DROPPED = "dropped"  # in a fix: all variables that lose their effect
_OF_UNSET = frozenset({"unset", "lacks"})
_OF_ANY_TEXT = frozenset({"set", "unset"})


class JobFacts(Record):
    """What relations are looked for in.

    nccl: the catalogue, with defaults and what providers publish. plan: the leaves that
    `where` speaks of, and the release of NCCL.
    """

    environment: Environment
    plan: TrainingPlan
    nccl: NcclVariables


class RelationMatch(Record):
    """A relation that a plan shows."""

    relation: "Relation"
    causes: tuple[Variable, ...]  # the variables of the tests that are set
    dropped: tuple[Variable, ...]  # those that lose their effect
    leaves: tuple[Value[Any], ...]  # of the plan, that it rests on


class Relation(Record):
    """One row; `when` and `where` hold tests by name of variable and of leaf.

    fix: values by variable; None deletes one. Empty where no change is certain.
    """

    id: str
    kind: str
    when: Mapping[str, Test]
    reason: str
    remedy: str
    where: Mapping[str, Test] = {}
    drops: Sequence[str] = ()
    drops_but: Sequence[str] = ()
    drops_unless: Sequence[str] = ()
    unless_set: Sequence[str] = ()
    since: str = ""
    until: str = ""
    fix: Mapping[str, str | None] = {}

    def triggers(self) -> Iterator[str]:
        """Yield variables of which one must be set for the relation to be judged."""
        required = [n for n, (test, _) in self.when.items() if test not in _OF_UNSET]
        yield from required[:1] or self.drops

    def judge(self, job: JobFacts) -> RelationMatch | str | None:
        """Return the match, the name of what is unknown, or None if it does not hold.

        A leaf of `where` that does not hold decides, whatever else is not known.
        """
        causes, open_tests = self._causes(job)
        if causes is None:
            return None
        dropped = tuple(self._dropped(job))
        if not (dropped if self.drops else not _are_published(causes, job)):
            return None
        tests = (*self.where.items(), *self._release_tests(job.nccl))
        leaves = [(job.plan.value(name), test) for name, test in tests]
        known = [(leaf.value, test) for leaf, test in leaves if leaf.value is not None]
        if not all(_leaf_holds(value, test) for value, test in known):
            return None
        open_tests += [leaf.name for leaf, _ in leaves if leaf.value is None]
        if open_tests:
            return open_tests[0]
        shown = tuple(cause for cause in causes if cause not in dropped)
        return RelationMatch(self, shown, dropped, tuple(leaf for leaf, _ in leaves))

    def _causes(self, job: JobFacts) -> tuple[list[Variable] | None, list[str]]:
        """Return variables whose tests hold, and those set to what no file states."""
        if any(job.environment.sets(name) for name in self.unless_set):
            return None, []
        causes: list[Variable] = []
        open_tests: list[str] = []
        for name, test in self.when.items():
            held = _held(name, test, job)
            if held is None:
                return None, []
            if held is UNKNOWN:
                open_tests.append(name)
            elif isinstance(held, Variable):
                causes.append(held)
        return causes, open_tests

    def _dropped(self, job: JobFacts) -> Iterator[Variable]:
        for variable in job.environment.variables:
            name = variable.name
            if name in self.drops_but or variable.value == "":
                continue
            is_meant = name not in self.when and _begins_as(name, self.drops)
            if not is_meant and name not in self.drops:
                continue
            if (variable.value or "").strip().lower() in self.drops_unless:
                continue
            if not _are_published([variable], job):
                yield variable

    def _release_tests(self, nccl: NcclVariables) -> Iterator[tuple[str, Test]]:
        """Yield the bounds that do not hold for all releases that are still in use."""
        if self.since and release(self.since) > nccl.assumed:
            yield "run.nccl_version", ("from_release", self.since)
        if self.until:
            yield "run.nccl_version", ("before_release", self.until)


class Relations:
    """The rows by the variables that must be set."""

    __slots__ = ("_by_name", "_by_start", "_rows")

    def __init__(self, rows: Sequence[Relation]) -> None:
        """Order the rows."""
        self._rows = tuple(rows)
        self._by_name: dict[tuple[str, str], list[int]] = {}
        self._by_start: dict[tuple[str, str], list[int]] = {}
        for number, row in enumerate(self._rows):
            for name in row.triggers():
                starts = name.endswith("*")
                rows_of = self._by_start if starts else self._by_name
                rows_of.setdefault((row.kind, name.rstrip("*")), []).append(number)

    def rows(self) -> Sequence[Relation]:
        """Return all of them."""
        return self._rows

    def about(self, kind: str, environment: Environment) -> Iterator[Relation]:
        """Yield the rows of a kind that concern what is set, by the table."""
        numbers: set[int] = set()
        for variable in environment.variables:
            numbers.update(self._by_name.get((kind, variable.name), ()))
        for (wanted, start), rows in self._by_start.items():
            if wanted == kind and environment.sets(start + "*"):
                numbers.update(rows)
        return (self._rows[number] for number in sorted(numbers))


class RelatedVariables(Record):
    """What the files set, the job around it, and the rows that may concern it."""

    job: JobFacts
    relations: Relations


def _held(name: str, test: Test, job: JobFacts) -> Variable | str | None:
    """Return what makes a test hold, a variable or a text; None if it does not hold."""
    word, operand = test
    variable = _first(name, job.environment)
    if variable is None or variable.value == "":
        return name if word in _OF_UNSET else None
    text = variable.value
    if text is None and word not in _OF_ANY_TEXT:
        return UNKNOWN
    return variable if _text_holds(word, operand, text or "", job) else None


def _first(name: str, environment: Environment) -> Variable | None:
    """Return the variable of that name, or the first that begins so."""
    if not name.endswith("*"):
        return environment.find(name)
    result = (
        variable
        for variable in environment.variables
        if variable.name.startswith(name[:-1])
    )
    return next(result, None)


def _text_holds(word: str, operand: Operand, text: str, job: JobFacts) -> bool:
    if word in _OF_UNSET:
        return word == "lacks" and not TESTS["is"](text, operand)
    if word in {"above_variable", "product_above"}:
        return _compares(word, operand, text, job)
    return TESTS[word](text, operand)


def _compares(word: str, operand: Operand, text: str, job: JobFacts) -> bool:
    """Return whether a number is too large beside that of another variable."""
    name, limit = (operand, 0) if word == "above_variable" else operand
    other = job.environment.find(name)
    own = integer_seen(text)
    number = (
        job.nccl.default(name, ())
        if other is None or other.value == ""
        else integer_seen(other.value or "")
    )
    if own is None or number is None:
        return False
    return own > number if word == "above_variable" else own * number > int(limit)


def _leaf_holds(value: Operand, test: Test) -> bool:
    word, operand = test
    if word == "from_release":
        return release(value) >= release(operand)
    if word == "before_release":
        return release(value) < release(operand)
    if isinstance(value, tuple):  # a compute capability: the generation
        value = value[0]
    return TESTS[word](str(value), operand)


def _begins_as(name: str, patterns: Sequence[str]) -> bool:
    return any(
        pattern.endswith("*") and name.startswith(pattern[:-1]) for pattern in patterns
    )


def _are_published(variables: Sequence[Variable], job: JobFacts) -> bool:
    """Return whether the provider of the machine publishes one of the values."""
    instance = job.plan.value("cluster.instance_type").value
    return any(
        job.nccl.is_published(variable, job.environment, instance)
        for variable in variables
    )
