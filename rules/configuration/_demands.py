"""What a framework demands beside a key, judged with three answers."""

from collections.abc import Iterable, Mapping, Sequence

from speccheck.validator.evidence.framework_keys import (
    Demand,
    KeyTest,
    dotted,
    parse_version,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey

_OFF = frozenset({"", "no", "none", "false", "null", "off"})
_OPEN = ("$", "{{")  # what a shell, a template or another tool fills in
Named = Mapping[str, Sequence[StatedKey]]


class Judged(Record):
    """One demand of which all conditions hold. holds: None where it cannot be told."""

    demand: Demand
    keys: tuple[StatedKey, ...]
    holds: bool | None
    missing: tuple[str, ...] = ()


def judged_demands(files: Sequence[KeyedFile]) -> Iterable[Judged]:
    """The demands that the files of a plan raise, by the table of each file."""
    for file in files:
        table = file.catalogue
        if table is None or not table.demands:
            continue
        named = _by_name(file)
        shared = {
            name
            for other in files
            if other is not file and other.catalogue is table
            for name in _by_name(other)
        }
        for demand in table.demands:
            if not any(key_test.key in named for key_test in demand.when):
                continue
            if not all(
                _holds(key_test, file, named, shared) for key_test in demand.when
            ):
                continue
            yield _judged(demand, file, named, shared)


def _judged(
    demand: Demand, file: KeyedFile, named: Named, shared: Iterable[str]
) -> Judged:
    tests = (*demand.when, *demand.needs)
    keys = tuple(key for test in tests for key in named.get(test.key, ()))
    answers = [_holds(need, file, named, shared) for need in demand.needs]
    if any(answers):
        return Judged(demand, keys, holds=True)
    if None in answers:
        return Judged(demand, keys, None, tuple(need.key for need in demand.needs))
    if demand.since and not _has_reached(file, demand.since):
        return Judged(demand, keys, None, ("run.framework_version",))
    return Judged(demand, keys, holds=False)


def _has_reached(file: KeyedFile, since: str) -> bool:
    version = file.version
    return version is not None and version.at_least(parse_version(since))


def _by_name(file: KeyedFile) -> Named:
    """The keys by their tabulated name, whichever spelling the file uses."""
    result: dict[str, list[StatedKey]] = {}
    for key in file.keys:
        row = file.catalogue.lookup(key.path) if file.catalogue else None
        name = row.path if row is not None else dotted(key.path)
        result.setdefault(name, []).append(key)
    return result


def _holds(
    test: KeyTest, file: KeyedFile, named: Named, shared: Iterable[str]
) -> bool | None:
    """Whether a key is as asked; None where that cannot be told."""
    keys = named.get(test.key, ())
    if not keys:
        return _holds_without(test, file, shared)
    rows = file.catalogue.rows if file.catalogue else {}
    is_switch = test.key in rows and rows[test.key].type == "flag"
    answers = {_answer(test, is_switch or key.value, is_stated=True) for key in keys}
    if len(answers) > 1:
        return None
    (answer,) = answers
    is_positive = answer is True and test.is_set
    if any(not key.is_sure for key in keys) and not is_positive:
        return None
    return answer


def _holds_without(
    test: KeyTest, file: KeyedFile, shared: Iterable[str]
) -> bool | None:
    """What the lack of a key means: the default, where nothing may hold the key."""
    if file.hidden or test.key in shared or file.catalogue is None:
        return None
    row = file.catalogue.rows.get(test.key)
    if test.is_stated or row is None or row.type == "flag":
        return _answer(test, value=None, is_stated=False)
    default = file.catalogue.default(tuple(test.key.split(".")), file.version)
    if default is None:
        return None
    return _answer(test, default.value, is_stated=False)


def _answer(test: KeyTest, value: object, *, is_stated: bool) -> bool | None:
    if isinstance(value, str):
        if any(sign in value for sign in _OPEN) or value == "auto":
            return None
        value = value.strip()
    if test.is_stated:
        return is_stated
    if test.one_of:
        texts = [str(item) for item in (value if isinstance(value, list) else [value])]
        allowed = {str(item).lower() for item in test.one_of}
        return bool(texts) and all(text.lower() in allowed for text in texts)
    if (test.at_least, test.at_most, test.below) != (None, None, None):
        return _is_within(test, value)
    is_on = value not in (None, False) and str(value).lower() not in _OFF
    return is_on == test.is_set


def _is_within(test: KeyTest, value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return False
    try:
        number = float(str(value))
    except ValueError:
        return None
    return (
        (test.at_least is None or number >= test.at_least)
        and (test.at_most is None or number <= test.at_most)
        and (test.below is None or number < test.below)
    )
