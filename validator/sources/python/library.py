"""Functions and objects of Python's own modules, and of parsers of command lines."""

from collections.abc import Callable, Sequence
from typing import TypeGuard

from speccheck.validator.sources.python.operators import (
    LONGEST_LIST,
    LONGEST_TEXT,
    applied,
    condition_of,
    first_unknown,
)
from speccheck.validator.sources.python.values import (
    Block,
    BlockEntry,
    Evaluated,
    Imported,
    Known,
    LocalClass,
    OptionParser,
    ParserOption,
    Unknown,
    items_of,
)

_CLASS_PARSERS = ("HfArgumentParser", "TrlParser", "H4ArgumentParser")


def fallback(value: Evaluated, condition: str) -> Evaluated:
    """Return a value that holds only as long as nobody gives another."""
    if isinstance(value, Known) and condition:
        return value._replace(only_if=value.only_if or condition)
    return value


def entry_at(owner: Block, key: Evaluated) -> BlockEntry | None:
    """Return what a block holds at a key."""
    if isinstance(key, Known) and isinstance(key.value, str | int):
        return owner.entries.get(key.value)
    return None


def item_of(owner: Block, arguments: Sequence[Evaluated]) -> Evaluated:
    """Return what `get` of a mapping gives."""
    entry = entry_at(owner, arguments[0])
    if entry is not None:
        return entry.value
    if owner.open_reason:
        return Unknown(owner.open_reason)
    return arguments[1] if len(arguments) > 1 else Known(None)


def add_option(
    parser: OptionParser, arguments: Sequence[Evaluated], named: dict[str, Evaluated]
) -> None:
    """Add an option of argparse with its default."""
    words = [
        str(item.value)
        for item in arguments
        if isinstance(item, Known) and isinstance(item.value, str)
    ]
    if not words:
        return
    long = next((word for word in words if word.startswith("--")), words[0])
    destination = named.get("dest")
    name = long.lstrip("-").replace("-", "_")
    if isinstance(destination, Known):
        name = str(destination.value)
    action = named.get("action")
    word = action.value if isinstance(action, Known) else None
    switch = {"store_true": True, "store_false": False}.get(str(word))
    default = named.get("default")
    if default is None and switch is not None:
        default = Known(not switch)
    typed = named.get("type")
    kind = "str"
    if typed is not None:
        module, _, kind = (
            typed.name.rpartition(".") if _is_name(typed) else ("", "", "")
        )
        kind = kind if module == "builtins" else ""
    if isinstance(default, Known) and isinstance(default.value, str) and kind:
        default = applied(kind, [default]) or default
    if (
        kind == "bool"
        or "nargs" in named
        or (word is not None and switch is None and word != "store")
    ):
        kind = ""  # several words, any text, or an action that is not followed
    flags = (long, *(word for word in words if word != long))
    parser.options[name] = ParserOption(flags, default, kind or "", switch)


def _is_name(value: Evaluated) -> TypeGuard[Imported]:
    return isinstance(value, Imported)


def called(
    name: str, arguments: Sequence[Evaluated], named: Block, branches: tuple[int, ...]
) -> Evaluated | None:
    """Return what a function of Python's own modules gives; None for any other.

    Args:
        name: dotted.
        arguments: those by position.
        named: those by name.
        branches: in which it is called.

    """
    call = _CALLS.get(name)
    if call is not None:
        return call(arguments, named)
    if name in _COPIES:
        first = arguments[0] if arguments else Unknown("nothing")
        return first.copied(branches) if isinstance(first, Block) else first
    if name.rpartition(".")[2] in _CLASS_PARSERS and arguments:
        return _class_parser(arguments[0])
    module, _, function = name.rpartition(".")
    return applied(function, arguments) if module == "builtins" else None


def spread(block: Block, value: Evaluated, line: str) -> None:
    """Add to a block what `**value` holds."""
    if isinstance(value, Block) and not value.is_list:
        block.entries.update(value.entries)
        block.open_reason = block.open_reason or value.open_reason
    else:
        block.open_reason = f"{line} adds arguments that are not in this file"


def _class_parser(classes: Evaluated) -> OptionParser:
    if isinstance(classes, Block):
        return OptionParser(tuple(item.value for item in classes.entries.values()))
    return OptionParser((classes,))


def _dictionary(arguments: Sequence[Evaluated], named: Block) -> Evaluated:
    for value in arguments:
        spread(named, value, "dict()")
    return named


def _length(arguments: Sequence[Evaluated], named: Block) -> Evaluated:
    del named
    first = arguments[0] if arguments else None
    if isinstance(first, Block) and not first.open_reason and not first.name:
        return Known(len(first.entries), note="a number of items")
    return Unknown("a length that is not known")


def _of_environment(arguments: Sequence[Evaluated], named: Block) -> Evaluated:
    """Return what is read of a variable: the default, where it is not set."""
    if not arguments:
        return Unknown("a variable of the environment")
    default = named.entries.get("default")
    name = arguments[0].value if isinstance(arguments[0], Known) else "the variable"
    value = arguments[1] if len(arguments) > 1 else None
    if value is None and default is not None:
        value = default.value
    if value is None or (isinstance(value, Known) and value.value is None):
        return Unknown(f"{name} of the environment")
    return fallback(value, f"{name} is not set")


def _path(arguments: Sequence[Evaluated], named: Block) -> Evaluated:
    """Return a path of texts."""
    del named
    parts = [item for item in arguments if isinstance(item, Known)]
    if not parts or len(parts) < len(arguments):
        return first_unknown(*arguments)
    texts = [str(item.value) for item in parts]
    if any(text.startswith("/") for text in texts[1:]):
        return Unknown("a path of several roots")
    joined = "/".join(text.rstrip("/") or "/" for text in texts)
    return Known(joined, condition_of(*parts))


def _parser(arguments: Sequence[Evaluated], named: Block) -> Evaluated:
    del arguments, named
    return OptionParser()


def _joined_text(owner: Known, value: Evaluated) -> Evaluated:
    """Return what `join` makes of a list of texts."""
    parts = items_of(value) or []
    known = [item for item in parts if isinstance(item, Known)]
    texts = [item.value for item in known if isinstance(item.value, str)]
    length = sum(len(text) + len(str(owner.value)) for text in texts)
    if not texts or len(texts) < len(parts) or length > LONGEST_TEXT:
        return Unknown("what join() of a text gives")
    return Known(str(owner.value).join(texts), condition_of(owner, *known))


def text_method(owner: Known, name: str, arguments: Sequence[Evaluated]) -> Evaluated:
    """Return what a method of a text gives."""
    if name == "join" and len(arguments) == 1:
        return _joined_text(owner, arguments[0])
    known = [item for item in arguments if isinstance(item, Known)]
    longest = max((len(str(item.value)) for item in known), default=1)
    is_long = name == "replace" and longest * len(str(owner.value)) > LONGEST_TEXT
    if name not in _TEXT_METHODS or len(known) < len(arguments) or is_long:
        return Unknown(f"what {name}() of a text gives")
    try:
        value = getattr(str(owner.value), name)(*(item.value for item in known))
    except (TypeError, ValueError):
        return Unknown(f"what {name}() of a text gives")
    condition = condition_of(owner, *known)
    if not isinstance(value, list | tuple):
        return Known(value, condition)
    return _list([Known(item, condition) for item in value])


def view_of(owner: Block, name: str) -> Evaluated:
    """Return the items, keys or values of a mapping."""
    if owner.open_reason or owner.is_list or owner.name:
        return Unknown(owner.open_reason or f"what {name}() gives")
    values: list[Evaluated] = [entry.value for entry in owner.entries.values()]
    if name == "keys":
        values = [Known(key) for key in owner.entries]
    elif name == "items":
        values = [
            _list([Known(key), item.value]) for key, item in owner.entries.items()
        ]
    return _list(values)


def set_of(values: Sequence[Evaluated]) -> Evaluated:
    """Return a set of values, each once."""
    known = [value for value in values if isinstance(value, Known)]
    if len(known) < len(values) or condition_of(*known):
        return Unknown("a set of values that are not all known")
    return _list([*{item.value: Known(item.value) for item in known}.values()])


def _set(arguments: Sequence[Evaluated], named: Block) -> Evaluated:
    del named
    values = items_of(arguments[0]) if len(arguments) == 1 else None
    return set_of(values) if values is not None else Unknown("a set")


def _list(values: Sequence[Evaluated]) -> Block:
    block = Block(None)
    block.is_list = True
    block.entries = {
        index: BlockEntry(value, None, None) for index, value in enumerate(values)
    }
    return block


def _range(arguments: Sequence[Evaluated], named: Block) -> Evaluated:
    del named
    numbers = [item.value for item in arguments if isinstance(item, Known)]
    whole = [number for number in numbers if type(number) is int]
    if not whole or len(whole) < len(arguments) or condition_of(*arguments):
        return Unknown("a range that is not known")
    try:
        steps = range(*whole)
    except (TypeError, ValueError):
        return Unknown("a range that fails")
    if len(steps) > LONGEST_LIST:
        return Unknown("a range that is too long")
    return _list([Known(number) for number in steps])


def _sorted(arguments: Sequence[Evaluated], named: Block) -> Evaluated:
    parts = items_of(arguments[0]) if len(arguments) == 1 else None
    known = [item for item in parts or () if isinstance(item, Known)]
    if parts is None or len(known) < len(parts) or named.entries:
        return Unknown("an order that is not known")
    condition = condition_of(*known)
    numbers = [item.value for item in known if isinstance(item.value, int | float)]
    texts = [item.value for item in known if isinstance(item.value, str)]
    if len(numbers) == len(known):
        return _list([Known(number, condition) for number in sorted(numbers)])
    if len(texts) == len(known):
        return _list([Known(text, condition) for text in sorted(texts)])
    return Unknown("an order that is not known")


def _attribute(arguments: Sequence[Evaluated], named: Block) -> Evaluated:
    """Return what `getattr` gives of an object."""
    del named
    owner, *rest = arguments or [Unknown("nothing")]
    if not isinstance(owner, Block) or not rest:
        return Unknown("an attribute that is not known")
    entry = entry_at(owner, rest[0])
    if entry is not None:
        return entry.value
    return Unknown(owner.open_reason or "an attribute that is not set here")


def _has_attribute(arguments: Sequence[Evaluated], named: Block) -> Evaluated:
    del named
    two = 2
    owner = arguments[0] if len(arguments) == two else None
    if isinstance(owner, Block) and entry_at(owner, arguments[1]) is not None:
        return Known(value=True)
    return Unknown("an attribute that is not set here")


def _is_instance(arguments: Sequence[Evaluated], named: Block) -> Evaluated:
    """Return whether a plain value is of a class."""
    del named
    value, kind = (*arguments, Unknown(""), Unknown(""))[:2]
    if not isinstance(value, Known):
        return Unknown("a class that is not known")
    kinds = items_of(kind) if isinstance(kind, Block) else [kind]
    outcomes: list[bool] = []
    for item in kinds or [Unknown("")]:
        if isinstance(item, LocalClass):
            outcomes.append(False)
        elif not isinstance(item, Imported):
            return Unknown("a class that is not known")
        else:
            module, _, name = item.name.rpartition(".")
            if module == "builtins" and name not in _CLASSES:
                return Unknown("a class that is not known")
            outcomes.append(
                module == "builtins" and isinstance(value.value, _CLASSES[name])
            )
    return Known(any(outcomes), value.only_if)


_CLASSES: dict[str, type] = {
    kind.__name__: kind for kind in (int, float, str, bool, dict, list, tuple, set)
}
_TEXT_METHODS = frozenset(
    {"lower", "upper", "strip", "lstrip", "rstrip", "replace", "split", "title"}
    | {"removeprefix", "removesuffix", "startswith", "endswith", "rsplit"}
    | {"capitalize", "isdigit", "count", "rpartition", "partition"}
)
_COPIES = frozenset({"builtins.list", "builtins.tuple", "copy.deepcopy", "copy.copy"})
_CALLS: dict[str, Callable[[Sequence[Evaluated], Block], Evaluated]] = {
    "builtins.dict": _dictionary,
    "builtins.len": _length,
    "builtins.range": _range,
    "builtins.set": _set,
    "builtins.frozenset": _set,
    "builtins.sorted": _sorted,
    "builtins.getattr": _attribute,
    "builtins.hasattr": _has_attribute,
    "builtins.isinstance": _is_instance,
    "addict.Dict": _dictionary,
    "argparse.ArgumentParser": _parser,
    "os.environ.get": _of_environment,
    "os.environ.setdefault": _of_environment,
    "os.getenv": _of_environment,
    "os.path.join": _path,
    "pathlib.Path": _path,
}
BUILTINS = frozenset(
    name.removeprefix("builtins.")
    for name in (*_CALLS, *_COPIES)
    if name.startswith("builtins.")
) | {"int", "float", "str", "bool", "abs", "min", "max", "round"}
