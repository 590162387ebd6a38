"""What the files of a plan show of their frameworks' relations between keys."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from speccheck.validator.evidence.accepted_values import (
    SWITCH_TEXT,
    SWITCH_WORDS,
    is_filled_in,
    shown_value,
)
from speccheck.validator.evidence.finding import Scalar
from speccheck.validator.evidence.framework_keys import (
    FrameworkKeys,
    FrameworkVersion,
    dotted,
    parse_version,
)
from speccheck.validator.evidence.key_forms import MEASURES
from speccheck.validator.evidence.key_relations import (
    ITEMS,
    NAME_TESTS,
    NUMBER_TESTS,
    OF_ALL_ITEMS,
    OF_NUMBERS,
    OF_POOLS,
    OF_VALUES,
    OF_WHOLE_LISTS,
    PLAN,
    PRODUCT,
    Answer,
    Condition,
    KeyRelation,
    Kind,
    Multiplicand,
    Operand,
    Term,
    factors_of,
    names_in,
    terms_of,
)
from speccheck.validator.evidence.plan import TrainingPlan, plan_evidence
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey, StatedKeys
from speccheck.validator.evidence.value import KeyPath, Place, Value

_LARGEST = 1e30  # what is counted or measured stays below
_OFF_WORDS = frozenset({"", "no", "none", "false", "null", "off"})


class KeyRelationMatch(Record):
    """A relation that a plan shows, or that stays open.

    Attributes:
        relation: the row.
        keys: the stated keys that it rests on, the first of `when` first.
        fields: the fields of the plan that it rests on.
        text: what was found, in the words of the files, with the arithmetic.
        missing: what would tell, where the answer is open.
        only_from: the release from which it holds, where that of the plan is unknown.
        is_undecided: whether the relation is broken depends on a stated value that
            cannot be read; `missing` are the names of such keys.
        losing: the stated keys that have no effect.
        edits: the keys that the row's fix changes, and their new values; None deletes.
    """

    relation: KeyRelation
    keys: tuple[StatedKey, ...]
    fields: tuple[Value[Any], ...]
    text: str
    missing: tuple[str, ...] = ()
    only_from: str = ""
    is_undecided: bool = False
    losing: tuple[StatedKey, ...] = ()
    edits: tuple[tuple[StatedKey, Scalar | None], ...] = ()

    @property
    def places(self) -> list[Place | Value[Any]]:
        """Where to look, the value to change first."""
        return [*(key.value_place for key in self.keys), *self.fields]


class RelatedKeys:
    """The keys of a plan's files and the relations of their frameworks."""

    __slots__ = ("_matches", "_plan", "_stated")

    def __init__(self, stated: StatedKeys, plan: TrainingPlan) -> None:
        """Take what the files state; nothing is looked for yet."""
        self._stated = stated
        self._plan = plan
        self._matches: tuple[KeyRelationMatch, ...] | None = None

    @property
    def has_relations(self) -> bool:
        """Whether relations are tabulated, and looked at, of each file that has some.

        Of the files of a fork, or of another program, they are not: nothing passes by
        them.
        """
        tabulated = [
            file
            for file in self._stated.files
            if file.catalogue is not None
            and file.keys
            and len(file.catalogue.relations()) > 0
        ]
        return bool(tabulated) and not any(
            file.is_of_another_parser or file.is_of_another_program
            for file in tabulated
        )

    def matches(self, *kinds: Kind) -> Iterator[KeyRelationMatch]:
        """Yield what the plan shows of these kinds, each relation once."""
        return (match for match in self._of(kinds) if not match.is_undecided)

    def undecided(self, *kinds: Kind) -> dict[str, StatedKey]:
        """Return the keys, by name, that cannot be read and on which relations rest."""
        return {
            name: key
            for match in self._of(kinds)
            if match.is_undecided
            for name, key in zip(match.missing, match.keys, strict=True)
        }

    def _of(self, kinds: Sequence[Kind]) -> list[KeyRelationMatch]:
        if self._matches is None:
            self._matches = tuple(related_matches(self._stated, self._plan))
        return [match for match in self._matches if match.relation.kind in kinds]


class Looked(Record):
    """What became of a name.

    Attributes:
        name: as the table writes it.
        value: of the key, its default, or the field of the plan.
        is_known: there is a value to judge by; null is one.
        keys: that state it.
        field: of the plan.
        missing: what is stated and cannot be read; empty for an unknown default.
        meaning: of a value that is no amount: -1 fills the mesh.
    """

    name: str
    value: object = None
    is_known: bool = True
    keys: tuple[StatedKey, ...] = ()
    field: Value[Any] | None = None
    missing: str = ""
    meaning: str = ""

    @property
    def is_stated(self) -> bool:
        """Whether it stands in a file or on a command line."""
        return bool(self.keys) or self.field is not None

    @property
    def shown(self) -> str:
        """The name with its value, as the end of a sentence or a part of it."""
        name = self.keys[0].place.key if self.keys else self.name.removeprefix(PLAN)
        value = self.value
        if isinstance(value, list | dict):
            return name
        if value is True and (self.keys or self.field):
            return name
        if self.keys:
            return f"{name} {shown_value(value)}"
        if value is None or value is False:
            return f"no {name}"
        by = "" if self.field is not None else " by default"
        return f"{name} {shown_value(value)}{by}"


class _Table:
    """The keys that all files of one framework state, by tabulated name."""

    def __init__(self, files: Sequence[KeyedFile], catalogue: FrameworkKeys) -> None:
        self.catalogue = catalogue
        self.files = files
        self.hidden = any(file.hidden for file in files)
        self.version: FrameworkVersion | None = next(
            (file.version for file in files if file.version), None
        )
        self._looked: dict[str, Looked] = {}
        self.named: dict[str, list[StatedKey]] = {}
        self._presets: dict[str, str] = {}  # names of files by the keys that they set
        for file in files:
            for key in file.keys:
                row = catalogue.lookup(key.path)
                name = row.path if row is not None else dotted(key.path)
                self.named.setdefault(name, []).append(key)
        for file in files:
            self._presets.update(self._preset_keys(file))

    @property
    def is_open_copy(self) -> bool:
        """Whether a copy of the framework reads the files, of an unknown release."""
        return self.version is None and any(
            file.is_beside_source for file in self.files
        )

    def is_from(self, release: FrameworkVersion, names: Iterable[str]) -> bool:
        """Return whether a key came with a release, or later: no older one has it."""
        catalogue = self.catalogue
        for name in names if self.version is None else ():
            row = catalogue.rows.get(name) if name in self.named else None
            if row is None or not row.since or row.since.startswith("<"):
                continue
            since = parse_version(row.since)
            if catalogue.is_of_family(since, release) and since.at_least(release):
                return True
        return False

    def _preset_keys(self, file: KeyedFile) -> Iterator[tuple[str, str]]:
        """Yield the keys that a file of the framework's own sets, by whose choice."""
        loader = self.catalogue.loaders.get(file.format)
        for name, by_preset in (loader.presets if loader else {}).items():
            default = self.catalogue.default((name,), self.version)
            for key in self.named.get(name, ()):
                chosen = str(key.value or "")
                if chosen and (default is None or chosen != default.value):
                    of_any = [*by_preset.values()]
                    listed = [by_preset["*"], by_preset.get(chosen, ())]
                    for set_by_it in listed if chosen in by_preset else of_any:
                        yield from ((other, chosen) for other in set_by_it)

    def _is_preset(self, name: str, keys: Sequence[StatedKey]) -> bool:
        """Return whether another file decides about a key, which was not read."""
        preset = self._presets.get(name)
        if preset is None:
            return False
        stems = [key.place.file.rpartition("/")[2].rpartition(".") for key in keys]
        return not stems or any(
            kind in {"yml", "yaml"} and stem != preset for stem, _, kind in stems
        )

    def converts(self, name: str) -> bool:
        """Return whether the loader makes numbers and switches of texts."""
        loaders = self.catalogue.loaders
        return any(
            loaders[file.format].handling_at(name) == "converted"
            for file in self.files
            if file.format in loaders
        )

    @property
    def takes_auto(self) -> bool:
        """Whether the text `auto` stands for a value that another tool fills in."""
        loaders = self.catalogue.loaders
        return any(
            loaders[file.format].takes_auto
            for file in self.files
            if file.format in loaders
        )

    def look(self, name: str, within: KeyPath) -> Looked:
        """Return the value of a key, or its default; within: of one item of a list."""
        if within:
            return self._look(name, within)
        result = self._looked.get(name)
        if result is None:  # relations share most of their names
            result = self._looked[name] = self._look(name, ())
        return result

    def _look(self, name: str, within: KeyPath) -> Looked:
        keys = tuple(
            key
            for key in self.named.get(name, ())
            if not within or key.path[: len(within)] == within or not _has_items(name)
        )
        if not keys:
            return self._default(name)
        row = self.catalogue.rows.get(name)
        kinds = row.type.split("|") if row is not None else ()
        # what follows a flag without a value is not its own
        values = [
            True
            if kinds == ["flag"] or ("bool" in kinds and key.value == [])
            else key.value
            for key in keys
        ]
        if len(values) > 1 and any(value != values[0] for value in values[1:]):
            return Looked(name, None, is_known=False, keys=keys, missing=name)
        first = values[0]
        if self._is_preset(name, keys):  # what the file states has no effect
            return Looked(name, first, is_known=False, keys=keys)
        is_open = not isinstance(first, bool | int | float) and (
            is_filled_in(first) or (first == "auto" and self.takes_auto)
        )
        if is_open or not all(key.is_sure for key in keys):
            return Looked(name, values[0], is_known=False, keys=keys, missing=name)
        meaning = row.meaning_of(values[0]) if row is not None else ""
        return Looked(name, values[0], keys=keys, meaning=meaning)

    def _default(self, name: str) -> Looked:
        if self.hidden:
            return Looked(name, is_known=False, missing=name)
        if self._is_preset(name, ()):
            return Looked(name, is_known=False)
        row = self.catalogue.rows.get(name)
        if row is None or row.type == "flag" or ITEMS in name or "*" in name:
            return Looked(name)
        default = self.catalogue.default(tuple(name.split(".")), self.version)
        if default is None:
            return Looked(name, is_known=False)
        return Looked(name, default.value, meaning=row.meaning_of(default.value))

    def items(self, prefix: str) -> list[KeyPath]:
        """Return where the items of a list begin, or what stands for a `*`."""
        depth = len(_steps(prefix))
        result: dict[KeyPath, None] = {}
        for name, keys in self.named.items():
            if name == prefix or name.startswith((f"{prefix}.", f"{prefix}[")):
                result.update((key.path[:depth], None) for key in keys)
        return [path for path in result if len(path) == depth]


def _has_items(name: str) -> bool:
    """Return whether a name stands for a key of each item of a list or free block."""
    return ITEMS in name or "*" in name


def _steps(name: str) -> list[str]:
    """Return the parts of a path as the file has them: an item of a list is one."""
    return [step for part in name.split(".") for step in _of_part(part)]


def _of_part(part: str) -> list[str]:
    bare = part.rstrip(ITEMS)
    return [bare, *[ITEMS] * ((len(part) - len(bare)) // len(ITEMS))]


class _Judgement:
    """One relation looked for in one plan, within one item of a list or in all."""

    def __init__(
        self,
        tables: Mapping[str, _Table],
        own: _Table,
        plan: TrainingPlan,
        within: KeyPath,
    ) -> None:
        self._tables = tables
        self._own = own
        self._plan = plan
        self._within = within
        self.looked: dict[str, Looked] = {}

    def look(self, name: str) -> Looked:
        """Return what is known of a name, looked up once."""
        result = self.looked.get(name)
        if result is None:
            result = self.looked[name] = self._look(name)
        return result

    def _look(self, name: str) -> Looked:
        if name.startswith(PLAN):
            field = self._plan.value(name.removeprefix(PLAN))
            if field.value is None:
                return Looked(name, is_known=False)
            return Looked(name, field.value, field=field)
        framework, colon, rest = name.partition(":")
        if not colon:
            return self._own.look(name, self._within)
        table = self._tables.get(framework)
        return table.look(rest, ()) if table else Looked(rest, is_known=False)

    def holds(self, condition: Condition) -> Answer:
        """Return whether a condition holds; None where that is open."""
        head = condition[0]
        if head in {"all", "any"}:
            answers = [self.holds(part) for part in condition[1:]]
            decides: bool = head == "any"
            if decides in answers:
                return decides
            return None if None in answers else not decides
        if head == "not":
            answer = self.holds(condition[1])
            return None if answer is None else not answer
        name, test, operand = condition
        return self._tests(name, test, operand)

    def _tests(self, name: str, test: str, operand: Operand) -> Answer:
        """Return the answer of one test of one name, or of a sum of products."""
        if test in OF_ALL_ITEMS or test in OF_WHOLE_LISTS:
            self.look(name)
            return self._tests_list(name, test, operand)
        if test in OF_NUMBERS:
            return self._tests_number(name, test, operand)
        looked = self.look(name)
        if test == "stated":
            is_open = bool(looked.missing) and not looked.is_stated
            return None if is_open else looked.is_stated is bool(operand)
        if test == "given":
            return self._is_given(looked, is_given=operand)
        return self._tests_value(looked, test, operand) if looked.is_known else None

    def is_free_text(self, name: str) -> bool:
        """Return whether a key of the own table takes any text."""
        row = self._own.catalogue.rows.get(name)
        return row is not None and not row.choices and "str" in row.type.split("|")

    def _tests_list(self, name: str, test: str, operand: Operand) -> Answer:
        """Return the answer of a test of all values of a name together."""
        if test in OF_ALL_ITEMS:
            return OF_ALL_ITEMS[test](self._all_values(name), operand)
        pool = self._pool(name)
        return None if pool is None else OF_WHOLE_LISTS[test](pool, operand)

    def _is_given(self, looked: Looked, *, is_given: bool) -> Answer:
        """Return whether a key is stated, and neither off, empty, zero nor below."""
        if looked.missing:
            return None
        number = self._number_of(looked)
        is_on = self._is_on(looked.name, looked.value) if number is None else number > 0
        return (looked.is_stated and is_on) is is_given

    def _tests_value(self, looked: Looked, test: str, operand: Operand) -> Answer:
        """Return the answer of a test of one known value."""
        value = looked.value
        if test in OF_POOLS:
            pool = self._pool(operand)
            if value is None or pool is None:
                return False if value is None else None
            return OF_POOLS[test](value, pool)
        if test in NAME_TESTS:
            other = self.look(operand)
            is_same = self._is_equal(looked.name, value, other.value)
            return is_same is (test == "same_as") if other.is_known else None
        if test in {"is", "is_not"}:
            is_one = any(self._is_equal(looked.name, value, item) for item in operand)
            return is_one is (test == "is")
        if test == "set":
            return (value is not None) is operand
        return value is not None and OF_VALUES[test](value, operand)

    def _without_number(self, name: str, operand: Operand) -> Answer:
        """Return what the lack of a number means: null compares with nothing.

        What a measure cannot read is open.
        """
        texts = [name, *([operand] if isinstance(operand, str) else [])]
        factors = [factor for text in texts for factor in factors_of(text)]
        return False if all(map(self._is_read, factors)) else None

    def _is_read(self, factor: Multiplicand) -> bool:
        if factor.is_literal:
            return True
        looked = self.look(factor.name)
        is_measured = not factor.measure or looked.value is None
        return looked.is_known and (is_measured or self.number_of(factor) is not None)

    def _tests_number(self, name: str, test: str, operand: Operand) -> Answer:
        """Return how a number compares with another; nothing of what is no amount."""
        if isinstance(operand, str) and self._has_sentinel(name, operand):
            return None
        number, other = self.number(name), self.number(operand)
        if number is None or other is None:
            return self._without_number(name, operand)
        return OF_NUMBERS[test](number, other)

    def _has_sentinel(self, *names: str) -> bool:
        """Return whether a number compared with another stands for no amount."""
        looked = (self.look(part) for name in names for part in names_in(name))
        return any(item.meaning for item in looked)

    def number(self, operand: Operand) -> float | None:
        """Return a number, that of a key, or a sum of products of several."""
        if isinstance(operand, int | float):
            return operand
        total: float = 0
        for term in terms_of(operand):
            product: float = 1
            for factor in term.factors:
                number = self.number_of(factor)
                if number is None:
                    return None
                product *= number
            total += product if term.sign == "+" else -product
        return total

    def number_of(self, factor: Multiplicand) -> float | None:
        """Return the number of a key, or what a measure counts of its value."""
        if factor.is_literal:
            return int(factor.name)
        looked = self.look(factor.name)
        if not factor.measure:
            return self._number_of(looked)
        value = self._all_values(factor.name) if factor.takes_items else looked.value
        is_there = (looked.is_known or factor.takes_items) and value is not None
        return MEASURES[factor.measure](value) if is_there else None

    def _number_of(self, looked: Looked) -> float | None:
        value = looked.value
        if not looked.is_known or isinstance(value, bool):
            return None
        number: float | None = None
        if isinstance(value, int | float):
            number = value
        elif isinstance(value, str) and self._own.converts(looked.name):
            number = _number_in(value)
        is_countable = number is not None and abs(number) <= _LARGEST
        return number if is_countable else None  # neither infinite nor of 309 digits

    def _is_equal(self, name: str, value: object, wanted: object) -> bool:
        if isinstance(wanted, bool):
            return self._is_on(name, value) is wanted
        if isinstance(wanted, int | float):
            number = self._number_of(Looked(name, value))
            return number == wanted
        if wanted is None or value is None:
            return value is wanted
        if isinstance(value, bool | list | dict):
            return value == wanted
        return str(value).strip() == str(wanted)

    def _is_on(self, name: str, value: object) -> bool:
        """Return whether a value counts as true, as Python has it after loading."""
        if not isinstance(value, str):
            return bool(value)
        text = value.strip()
        is_switch = re.match(SWITCH_TEXT, text) or re.match(SWITCH_WORDS, text)
        if is_switch and self._own.converts(name):
            return text.lower() in {"true", "1", "y", "t", "yes", "on"}
        return text.lower() not in _OFF_WORDS

    def _all_values(self, name: str) -> list[object] | None:
        """Return the values of all keys of a name; None where one cannot be read."""
        keys = [
            key
            for key in self._own.named.get(name, ())
            if not self._within or key.path[: len(self._within)] == self._within
        ]
        if len(keys) == 1 and isinstance(keys[0].value, list):
            return None if is_filled_in(keys[0].value) else keys[0].value
        values = [key.value for key in keys]
        return None if any(map(is_filled_in, values)) else values

    def _pool(self, name: str) -> frozenset[str] | None:
        """Return all values of a name, of every item; None where one is not known."""
        keys = self._own.named.get(name, ())
        if self._own.hidden or not all(key.is_sure for key in keys):
            return None
        values = [key.value for key in keys]
        if any(map(is_filled_in, values)):
            return None
        lists = (value if isinstance(value, list) else [value] for value in values)
        return frozenset(str(item).strip() for items in lists for item in items)


def _number_in(text: str) -> float | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def related_matches(
    stated: StatedKeys, plan: TrainingPlan
) -> Iterator[KeyRelationMatch]:
    """Yield what the files of a plan show, framework by framework."""
    groups: dict[tuple[FrameworkKeys, int], list[KeyedFile]] = {}
    foreign = {
        file.catalogue.framework
        for file in stated.files
        if file.catalogue is not None and file.is_of_another_program
    }
    for number, file in enumerate(stated.files, 1):
        if file.catalogue is None or not file.keys or file.is_of_another_parser:
            continue  # a fork refuses other things
        if file.catalogue.framework in foreign:
            continue  # so does another program, of its configuration too
        # Each job script, command or object of a launcher stands for itself.
        is_section = file.catalogue.reader not in {"", file.catalogue.family}
        group = (file.catalogue, number if is_section else 0)
        groups.setdefault(group, []).append(file)
    tables = [
        _Table(files, catalogue)
        for (catalogue, _), files in groups.items()
        if len(catalogue.relations()) or len(groups) > 1
    ]
    by_name = {table.catalogue.framework: table for table in tables}
    for table in tables:
        for relation in table.catalogue.relations().about(table.named):
            yield from _judged(relation, by_name, table, plan)


def _judged(
    relation: KeyRelation,
    tables: Mapping[str, _Table],
    own: _Table,
    plan: TrainingPlan,
) -> Iterator[KeyRelationMatch]:
    """Yield a match for each item of the list that the relation is about, or one."""
    only_from = ""
    if relation.since or relation.until:
        bound = parse_version(relation.since or relation.until)
        is_ordered = own.catalogue.is_of_family(own.version, bound)
        holds = _holds_in_release(relation, own.version if is_ordered else None)
        is_advice = relation.kind not in {"refused", "removed"}
        names = own.named if is_advice else relation.names
        if holds is None and relation.since and own.is_from(bound, names):
            holds = True
        if holds is False:
            return
        only_from = relation.since if holds is None else ""
    if relation.kind == "removed" and not only_from and own.version is None:
        only_from = own.catalogue.newest  # older ones had it: docs/decisions/0013
    is_warning = relation.kind in {"warned", "deprecated"}
    if is_warning and not only_from and own.is_open_copy:
        only_from = own.catalogue.newest
    for within in own.items(relation.within) if relation.within else [()]:
        judgement = _Judgement(tables, own, plan, within)
        match = _match(relation, judgement)
        if match is not None:
            yield match._replace(only_from=only_from)


def holds_unstated(
    condition: Condition, catalogue: FrameworkKeys, version: FrameworkVersion | None
) -> Answer:
    """Return whether a condition holds of a job that states nothing, by defaults."""
    table = _Table((), catalogue)
    table.version = version
    nothing, _ = plan_evidence({})
    return _Judgement({}, table, nothing, ()).holds(condition)


def _holds_in_release(
    relation: KeyRelation, version: FrameworkVersion | None
) -> Answer:
    """Return whether a release does so; the newest does what has no end."""
    if version is None:
        return None if not relation.until else False
    if relation.since and not version.at_least(parse_version(relation.since)):
        return None if version.or_newer else False
    until = parse_version(relation.until) if relation.until else None
    return until is None or version.surely_before(until)


def _match(relation: KeyRelation, judgement: _Judgement) -> KeyRelationMatch | None:
    condition = judgement.holds(relation.when)
    if condition is None:
        return _undecided(relation, judgement)
    needed = judgement.holds(relation.needs) if condition and relation.needs else False
    if not condition or needed is True:
        return None
    keys, fields = _rests_on(relation, judgement)
    losing = tuple(key for name in relation.loses for key in judgement.look(name).keys)
    missing: tuple[str, ...] = ()
    if needed is None:
        # What an unknown default leaves open says nothing of the files.
        stated = [looked.missing for looked in judgement.looked.values()]
        missing = tuple(name for name in stated if name)
    is_open = needed is None and not missing
    if is_open or not keys or (relation.loses and not losing):
        return None
    return KeyRelationMatch(
        relation,
        keys,
        fields,
        _text(relation, judgement),
        missing,
        losing=losing,
        edits=_edits(relation, judgement),
    )


def _undecided(relation: KeyRelation, judgement: _Judgement) -> KeyRelationMatch | None:
    """Return that stated values which cannot be read decide; None for unknown defaults.

    Numbers, switches and choices do; names of hosts and paths, which scripts fill in
    as a rule, are taken for sound.
    """
    unread = {
        looked.missing: looked.keys[0]
        for looked in judgement.looked.values()
        if looked.missing and looked.keys and not judgement.is_free_text(looked.name)
    }
    if not unread:
        return None
    keys, names = tuple(unread.values()), tuple(unread)
    return KeyRelationMatch(relation, keys, (), "", names, is_undecided=True)


def _edits(
    relation: KeyRelation, judgement: _Judgement
) -> tuple[tuple[StatedKey, Scalar | None], ...]:
    """Return the changes of a row's fix; none where one is not certain."""
    edits: list[tuple[StatedKey, Scalar | None]] = []
    for name, written in relation.fix.items():
        keys = judgement.look(name).keys
        value = written
        if isinstance(written, dict):
            number, of = (
                judgement.number(name),
                judgement.number(written["multiple_of"]),
            )
            if not number or not of:
                return ()
            value = -(-int(number) // int(of)) * int(of)
        if not keys or not all(key.is_certain for key in keys):
            return ()
        edits += [(key, value) for key in keys]
    return tuple(edits)


def _rests_on(
    relation: KeyRelation, judgement: _Judgement
) -> tuple[tuple[StatedKey, ...], tuple[Value[Any], ...]]:
    """Return the stated keys and fields, those of the condition first."""
    guilty = {*_names_of(relation.when, judgement)}
    if relation.needs:
        guilty |= {*_all_names(relation.needs)}
    looked = [judgement.looked.get(name) for name in relation.names if name in guilty]
    keys = {key.place: key for item in looked if item is not None for key in item.keys}
    fields = [item.field for item in looked if item is not None]
    return tuple(keys.values()), tuple(field for field in fields if field is not None)


def _names_of(condition: Condition, judgement: _Judgement) -> Iterator[str]:
    """Yield the names by which a condition holds: of alternatives those that do."""
    head = condition[0]
    if head in {"all", "any"}:
        for part in condition[1:]:
            if head == "all" or judgement.holds(part):
                yield from _names_of(part, judgement)
    else:
        yield from _all_names(condition)


def _all_names(condition: Condition) -> Iterator[str]:
    """Yield every name of a condition."""
    if condition[0] in _GROUPS:
        for part in condition[1:]:
            yield from _all_names(part)
        return
    name, test, operand = condition
    yield from names_in(name)
    if isinstance(operand, str) and test in {*NUMBER_TESTS, *NAME_TESTS, *OF_POOLS}:
        yield from names_in(operand)


def _text(relation: KeyRelation, judgement: _Judgement) -> str:
    """Return the message: the settings, what they need, why, and the arithmetic."""
    causes = _causes(relation.when, judgement)
    needs = relation.needs
    sums = _arithmetic(needs or relation.when, judgement)
    ending = f"{relation.reason}{f' ({sums})' if sums else ''}"
    if not needs:
        return f"{_beside(causes)}: {ending}"
    if needs[0] in _GROUPS or needs[1] not in _BROKEN or not _is_between(needs):
        return f"{_beside(causes)} needs {_needed(needs, judgement)}: {ending}"
    name, test, operand = needs
    left, right = _shown_sum(name, judgement), _shown_sum(operand, judgement)
    sides = {judgement.look(item).shown for item in names_in(f"{name} + {operand}")}
    others = [text for text in causes if text not in sides]
    beside = f" with {_listed(others)}" if others else ""
    return f"{left} {_BROKEN[test]} {right}{beside}: {ending}"


def _beside(texts: Sequence[str]) -> str:
    """Return settings that stand together: `a with b, c and d`."""
    first, *others = texts or [""]
    return f"{first} with {_listed(others)}" if others else first


def _listed(texts: Sequence[str]) -> str:
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last


def _is_between(condition: Condition) -> bool:
    """Return whether a test compares names, not a name with a number."""
    return isinstance(condition[2], str)


def _shown_sum(text: str, judgement: _Judgement) -> str:
    """Return names with their values, as they are added and multiplied."""
    return _joined_terms(text, lambda factor: _shown_factor(factor, judgement))


def _shown_factor(factor: Multiplicand, judgement: _Judgement) -> str:
    if factor.is_literal:
        return factor.name
    if not factor.measure:
        return judgement.look(factor.name).shown
    number = judgement.number_of(factor)
    count = "" if number is None else f" ({number:,.12g})"
    return f"{_written_factor(factor, judgement)}{count}"


def _joined_terms(text: str, shown: Callable[[Multiplicand], str]) -> str:
    """Return a sum of products with each factor in other words."""

    def product(term: Term) -> str:
        return PRODUCT.join(map(shown, term.factors))

    first, *others = terms_of(text)
    return "".join([product(first), *(f" {t.sign} {product(t)}" for t in others)])


def _causes(condition: Condition, judgement: _Judgement) -> list[str]:
    """Return the settings of a condition that make it hold, in words."""
    head = condition[0]
    if head == "all":
        parts = [text for part in condition[1:] for text in _causes(part, judgement)]
    elif head == "any":
        held = [part for part in condition[1:] if judgement.holds(part)]
        parts = [text for part in held for text in _causes(part, judgement)]
    elif head == "not":
        parts = _causes(condition[1], judgement)
    else:
        name, test, operand = condition
        if test == "stated" and not operand:
            return []
        names = names_in(name)
        if test in NUMBER_TESTS | NAME_TESTS and isinstance(operand, str):
            names += names_in(operand)
        looked = [judgement.look(item) for item in names]
        # what is absent, or off by default, is no cause that anybody would look for
        parts = [
            item.shown
            for item in looked
            if item.is_stated or item.value not in (None, False)
        ]
    return list(dict.fromkeys(parts))


def _needed(condition: Condition, judgement: _Judgement) -> str:
    """Return what is required, in words."""
    head = condition[0]
    if head in {"all", "any"}:
        joint = " and " if head == "all" else " or "
        open_parts = [
            part
            for part in condition[1:]
            if head == "any" or judgement.holds(part) is not True
        ]
        return joint.join(_needed(part, judgement) for part in open_parts)
    if head == "not":
        return f"not {_needed(condition[1], judgement)}"
    name, test, operand = condition
    return _in_words(_written(name, judgement), test, operand, judgement)


def _written(text: str, judgement: _Judgement) -> str:
    """Return a name, or a sum of products, as the files write it."""
    return _joined_terms(text, lambda factor: _written_factor(factor, judgement))


def _written_factor(factor: Multiplicand, judgement: _Judgement) -> str:
    keys = () if factor.is_literal else judgement.look(factor.name).keys
    name = keys[0].place.key if keys else factor.name.removeprefix(PLAN)
    return f"{factor.measure.replace('_', ' ')} of {name}" if factor.measure else name


_GROUPS = frozenset({"all", "any", "not"})
# What is said of two numbers, or two values, of which a test does not hold.
_BROKEN = {
    "above": "is not above",
    "at_least": "is below",
    "below": "is not below",
    "at_most": "is above",
    "equals": "is not",
    "multiple_of": "is no multiple of",
    "same_as": "is not",
    "differs_from": "is also",
}
_WORDS = {
    "above": "{name} above {operand}",
    "at_least": "{name} of {operand} or more",
    "below": "{name} below {operand}",
    "at_most": "{name} of at most {operand}",
    "equals": "{name} of {operand}",
    "multiple_of": "{name} to be a multiple of {operand}",
    "same_as": "{name} to be {operand}",
    "differs_from": "{name} to differ from {operand}",
    "begins": "{name} that begins with {operand}",
    "ends": "{name} that ends with {operand}",
    "contains": "{name} with {operand}",
    "lacks": "{name} without {operand}",
    "every_in": "{name} of {operand} alone",
    "is_a": "{name} as a {operand}",
    "some_in": "{name} with {operand}",
    "not_word": "another {name}",
    "length_above": "{name} of more than {operand}",
    "length_below": "{name} of fewer than {operand}",
    "count_above": "more than {operand} {name}",
    "count_below": "fewer than {operand} {name}",
    "distinct": "each {name} once",
}


def _in_words(name: str, test: str, operand: Operand, judgement: _Judgement) -> str:
    if test in {"stated", "set", "given"} or operand in ([True], [False]):
        is_on = operand in (True, [True]) and test != "is_not"
        return name if is_on else f"no {name}"
    if isinstance(operand, list):
        words = " or ".join(shown_value(item) for item in operand)
    elif isinstance(operand, str) and test in NUMBER_TESTS | NAME_TESTS:
        words = _written(operand, judgement)
        test = "same_as" if test == "equals" else test
    else:
        words = f"{operand:g}" if isinstance(operand, float) else str(operand)
    if test in {"is", "word"}:
        return f"no {name}" if operand == [None] else f"{name} {words}"
    if test == "is_not":
        return name if operand == [None] else f"{name} other than {words}"
    return _WORDS.get(test, "another {name}").format(name=name, operand=words)


def _arithmetic(condition: Condition, judgement: _Judgement) -> str:
    """Return the calculation of the first multiple or comparison between names."""
    head = condition[0]
    if head in _GROUPS:
        texts = (_arithmetic(part, judgement) for part in condition[1:])
        return next((text for text in texts if text), "")
    name, test, operand = condition
    if test not in NUMBER_TESTS:
        return ""
    number, other = judgement.number(name), judgement.number(operand)
    sums = [text for text in (name, operand) if isinstance(text, str)]
    reckoned = [text for text in sums if len(factors_of(text)) > 1]
    if number is None or other is None or not (reckoned or isinstance(operand, str)):
        return ""
    if test == "multiple_of" and other and number == int(number):
        return f"{number:,.12g} % {other:,.12g} = {int(number) % int(other):,}"
    return ", ".join(
        f"{_reckoned(text, judgement)} = {judgement.number(text) or 0:,.12g}"
        for text in reckoned
    )


def _reckoned(text: str, judgement: _Judgement) -> str:
    """Return a sum of products in numbers alone."""
    return _joined_terms(
        text, lambda factor: f"{judgement.number_of(factor) or 0:,.12g}"
    )
