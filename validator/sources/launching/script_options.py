"""Facts from the options of a command line in a script."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.sources.convert import Convert, Unusable
from speccheck.validator.sources.facts import Fact, FactSheet
from speccheck.validator.sources.launching.launch_commands import (
    launch_of,
    mentions_only,
    python_program,
)
from speccheck.validator.sources.reader import Reference
from speccheck.validator.sources.scripts.shell import Command, Option, Word
from speccheck.validator.sources.source import Source

_CONFIG_SUFFIXES = (".yaml", ".yml", ".json", ".toml", ".hjson")
_SCRIPT_SUFFIXES = (".sh", ".bash", ".sbatch", ".slurm", ".env")
_SOURCING = frozenset({"source", "."})


class Leaf(Record):
    """The leaf that an option states, and how its text becomes a value."""

    name: str
    convert: Convert
    # For a switch that takes no value: what its presence means.
    present: object = None


def option_place(file: str, option: Option) -> Place:
    """The place of an option's value, or of the flag where it has none."""
    flag, values, word = option
    return word_place(file, flag, values[0] if values else word)


def is_sure(option: Option) -> bool:
    """Whether an option is given in any case, whatever its value is."""
    flag, _, word = option
    return word.resolved or word.text != flag


def word_place(file: str, key: str, word: Word) -> Place:
    """The place where a word is written."""
    span = Span(word.line, word.column, max(1, word.length))
    return Place(file, key, span=span)


def last_options(found: Iterable[Option]) -> dict[str, Option]:
    """The options by flag; as argument parsers do, the last of equal ones counts."""
    return {flag: (flag, values, word) for flag, values, word in found}


def state_option(sheet: FactSheet, leaf: Leaf, option: Option) -> None:
    """Put the fact that an option states onto the sheet."""
    flag, values, word = option
    if not is_sure(option):
        reason = f"{flag} is given only under a condition"
        sheet.unusable(leaf.name, reason, word_place(sheet.file, flag, word))
        return
    if leaf.present is not None:
        sheet.state(leaf.name, leaf.present, word_place(sheet.file, flag, word))
        return
    if not values:
        return
    place = word_place(sheet.file, flag, values[0])
    if not values[0].resolved:
        sheet.unusable(leaf.name, unresolved(values[0]), place)
        return
    value = leaf.convert(values[0].text)
    if isinstance(value, Unusable):
        sheet.unusable(leaf.name, value.reason, place)
    else:
        sheet.state(leaf.name, value, place)


def unresolved(word: Word) -> str:
    """Why the value of a word is not known."""
    text = word.text[:60]
    return (
        f"{text} is known only when the script runs"
        if "$" in text
        else f"{text} is given only under a condition"
    )


def may_hold_options(word: Word) -> bool:
    """Whether a word is a variable of the environment: `$EXTRA_ARGS`.

    `"$@"` and `$1` are what the script is called with: it is read as called without.
    """
    name = word.text.strip('"${}')
    is_argument = name[:1] in {"@", "*"} or name[:1].isdigit()
    return not word.resolved and "$" in word.text and not is_argument


def state_options(
    sheet: FactSheet, given: Mapping[str, Option], leaves: Mapping[str, Leaf]
) -> None:
    """Put the facts of all known options of one command onto the sheet."""
    for flag, option in given.items():
        leaf = leaves.get(flag)
        if leaf is not None:
            state_option(sheet, leaf, option)


def shared_facts(parts: Sequence[Sequence[Fact]], what: str) -> Iterator[Fact]:
    """What several commands of one script say alike; the rest is not known.

    Args:
        parts: the facts of each command.
        what: the commands, for the reason: `launch commands`.
    """
    if len(parts) == 1:
        yield from parts[0]
        return
    by_name: dict[str, list[Fact]] = {}
    for part in parts:
        for fact in part:
            by_name.setdefault(fact.name, []).append(fact)
    for name, facts in by_name.items():
        main = min(facts, key=lambda fact: fact.status != "stated")
        if len(facts) >= len(parts) and all(one.value == main.value for one in facts):
            yield main
        else:
            reason = f"differs between the {len(parts)} {what}"
            yield Fact(name, None, "unknown", main.places[:1], reason)


def references(source: Source) -> tuple[Reference, ...]:
    """The files that the commands of a script name as their configuration.

    Configurations that several programs take each for itself, and scripts of which
    several are started, belong to different plans: none of them is a reference.
    """
    configs: dict[int, list[dict[str, Reference]]] = {}
    scripts: dict[str, Reference] = {}
    sourced: dict[str, Reference] = {}
    for command in source.script.commands:
        if mentions_only(command):
            continue
        named = _named_files(source.name, command, _CONFIG_SUFFIXES)
        if named:
            configs.setdefault(_rank(command), []).append(named)
        started = _named_files(source.name, command, _SCRIPT_SUFFIXES)
        if command.words[0].text in _SOURCING:
            sourced.update(started)
        elif started:
            scripts.update(tuple(started.items())[:1])
    shared: dict[str, Reference] = {}
    if configs:
        first, *others = configs[min(configs)]
        shared = {
            target: one
            for target, one in first.items()
            if all(target in other for other in others)
        }
    if len(scripts) > 1:
        scripts = {}
    return tuple({**shared, **scripts, **sourced}.values())


def _rank(command: Command) -> int:
    """Launch commands before other programs of Python, and those before the rest."""
    if launch_of(command) is not None:
        return 0
    return 1 if python_program(command) is not None else 2


def _named_files(
    file: str, command: Command, suffixes: tuple[str, ...]
) -> dict[str, Reference]:
    found: dict[str, Reference] = {}
    for word in command.words:
        if word.resolved and word.text.endswith(suffixes):
            target = word.text.rpartition("=")[2]
            found[target] = Reference(target, word_place(file, target, word))
    return found
