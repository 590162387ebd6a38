"""Functions and objects of Python's own modules, and of parsers of command lines."""

from collections.abc import Callable, Sequence

from speccheck.validator.sources.python.operators import (
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
    OptionParser,
    Unknown,
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
    switch = {"store_true": False, "store_false": True}
    value = named.get("default")
    if value is None and isinstance(action, Known) and action.value in switch:
        value = Known(switch[str(action.value)])
    elif value is not None and isinstance(value, Known):
        kind = named.get("type")
        if isinstance(value.value, str) and isinstance(kind, Imported):
            value = applied(kind.name.rpartition(".")[2], [value]) or value
    if value is None or (isinstance(value, Known) and value.value is None):
        parser.options[name] = Unknown(f"{long} of the command line")
    else:
        parser.options[name] = fallback(value, f"{long} is not given")


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


_COPIES = frozenset({"builtins.list", "builtins.tuple", "copy.deepcopy", "copy.copy"})
_CALLS: dict[str, Callable[[Sequence[Evaluated], Block], Evaluated]] = {
    "builtins.dict": _dictionary,
    "builtins.len": _length,
    "addict.Dict": _dictionary,
    "argparse.ArgumentParser": _parser,
    "os.environ.get": _of_environment,
    "os.environ.setdefault": _of_environment,
    "os.getenv": _of_environment,
    "os.path.join": _path,
    "pathlib.Path": _path,
}
