"""Programs that descend from a framework, and which options the parser at hand has.

A copy of a framework reads most of its options, lacks those that came later, and has
some of its own. A command line shows by its options which copies it may be for; what
none of them settles is left open, and an option that one of them lacks is proposed by
no rule.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from speccheck.validator.evidence.framework_keys import (
    FrameworkKeys,
    FrameworkVersion,
    parse_version,
)
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record

_OPTION = lazy_pattern(r"(?<![\w-])--[a-z][\w-]*")
_SENTENCE = lazy_pattern(r"(?<=[.;])\s+")


class Fork(Record):
    """One program.

    Attributes:
        name: what messages call it.
        adds: its own options.
        takes: the options of the framework that it has; None for all of them.
        settles: fields of the plan that it settles whatever the options, with why.
    """

    name: str
    adds: frozenset[str]
    takes: frozenset[str] | None = None
    settles: Mapping[str, tuple[bool, str]] = {}


class CommandParser(Record):
    """What is known of the parser of a command line.

    Attributes:
        table: the options of the framework.
        forks: the programs that it may be; none for the framework itself.
        before: the first release that lacks an option that is given.
    """

    table: FrameworkKeys
    forks: tuple[Fork, ...] = ()
    before: FrameworkVersion | None = None

    @property
    def name(self) -> str:
        """What messages call the program."""
        return self.forks[0].name if self.forks else self.table.family

    @property
    def is_copied(self) -> bool:
        """Whether each program that it may be has a parser of its own."""
        return bool(self.forks) and all(fork.takes is not None for fork in self.forks)

    def has(self, option: str) -> bool:
        """Return whether an option may be proposed: each possible parser has it."""
        row = self.table.lookup((option,))
        if any(option in fork.adds for fork in self.forks):
            return all(option in fork.adds for fork in self.forks)
        if row is None:
            return False
        if any(
            fork.takes is not None and row.path not in fork.takes for fork in self.forks
        ):
            return False
        if self.before is None or not row.since:
            return True
        since = parse_version(row.since)
        return row.since.startswith("<") or not since.at_least(self.before)

    def adds(self, option: str) -> bool:
        """Return whether an option is that of a fork."""
        return any(option in fork.adds for fork in self.forks)

    def settles(self, field: str) -> tuple[bool, str] | None:
        """Return a value that all programs that it may be settle, with why."""
        values = [fork.settles.get(field) for fork in self.forks]
        first = values[0] if values else None
        is_shared = first is not None and all(
            value is not None and value[0] is first[0] for value in values
        )
        return first if is_shared else None


def parser_of(
    table: FrameworkKeys, forks: Iterable[Fork], options: Collection[str]
) -> CommandParser:
    """Return the parser that options are for.

    A fork is one that adds options that are given and unknown to the framework; of
    several those that account for most of the options.
    """
    own = {option for option in options if table.lookup((option,)) is None}
    known = {
        row.path for option in options if (row := table.lookup((option,))) is not None
    }
    scores: list[tuple[int, Fork]] = []
    for fork in forks:
        claimed = len(own & fork.adds)
        lost = 0 if fork.takes is None else len(known - fork.takes)
        if claimed:
            scores.append((claimed - lost, fork))
    best = max((score for score, _ in scores), default=0)
    fitting = tuple(fork for score, fork in scores if score == best)
    return CommandParser(table, fitting, None if fitting else _before(table, options))


def _before(table: FrameworkKeys, options: Iterable[str]) -> FrameworkVersion | None:
    """Return the first release that lacks an option that is given."""
    bounds = [
        parse_version(row.removed_in)
        for option in options
        if (row := table.lookup((option,))) is not None and row.removed_in
    ]
    numbered = [bound for bound in bounds if bound.number]
    return next(
        (
            bound
            for bound in numbered
            if all(other.at_least(bound) for other in numbered)
        ),
        None,
    )


def advice_for(text: str, parsers: Sequence[CommandParser]) -> str:
    """Return advice without the sentences that name an option which no parser has.

    Options of launchers and tools, which no key table of a parser holds, stay.
    """
    if not parsers or "--" not in text:
        return text
    kept = [
        sentence
        for sentence in _SENTENCE.split(text)
        if all(map(_may_name(parsers), _OPTION.findall(sentence)))
    ]
    return " ".join(kept)


def _may_name(parsers: Sequence[CommandParser]) -> Callable[[str], bool]:
    def is_fine(option: str) -> bool:
        owners = [
            parser
            for parser in parsers
            if parser.table.lookup((option,)) is not None or parser.adds(option)
        ]
        return not owners or any(parser.has(option) for parser in owners)

    return is_fine
