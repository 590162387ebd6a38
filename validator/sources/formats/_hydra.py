"""The defaults list of Hydra: which files a configuration is composed of.

Source: facebookresearch/hydra 1.3, hydra/_internal/defaults_list.py and
hydra/core/default_element.py. What lies in Hydra's own group `hydra/` configures the
launcher and the logging of Hydra, never the training.
"""

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.mapping import items, section
from speccheck.validator.sources.reader import Parent

_SELF = "_self_"
_NOT_CHOSEN = frozenset({"", _SELF})
_GLOBAL, _HERE, _GROUP = "_global_", "_here_", "_group_"
# How far above a file the root of its configurations may lie, and the working folder
# of a search path: Hydra knows both from its command line, a file does not.
_ASCENTS = ("", "..", "../..", "../../..", "../../../..")
_FILE_SCHEME = "file://"


class _Choice(Record):
    """One entry of a defaults list: the configuration and the package that it gets.

    package: as written behind the `@`; None where nothing is.
    """

    config: str
    group: str
    package: str | None
    at: KeyPath
    is_optional: bool = False
    is_override: bool = False


def hydra_parents(document: Document) -> tuple[Parent, ...]:
    """Return the files of the defaults list, the weakest first.

    What stands after `_self_` wins over the naming file. A name that is computed
    (`${...}`) or still to be chosen (`???`) names no file: nothing will be found there.
    """
    data = section(document.own_data)
    entries = items(data.get("defaults"))
    weaker: list[Parent] = []
    stronger: list[Parent] = []
    overriding: list[Parent] = []
    parents = weaker
    searched = _searched(data)
    for index, entry in enumerate(entries):
        if entry == _SELF:
            parents = stronger
            continue
        for choice in _choices(entry, ("defaults", index)):
            if choice.is_override:
                overriding.append(_parent(choice, searched, wins=False))
            else:
                wins = parents is stronger
                parents.append(_parent(choice, searched, wins=wins))
    return (*weaker, *overriding, *stronger)


def _choices(entry: object, at: KeyPath) -> list[_Choice]:
    """Return what an entry chooses: `name`, `group/name@package`, or `group: name`."""
    if isinstance(entry, str):
        config, package = _split(entry)
        choice = _Choice(config, config.rpartition("/")[0], package, at)
        return [choice] if _is_chosen(choice) else []
    choices: list[_Choice] = []
    for key, value in section(entry).items():
        words = str(key).split()
        if words and not isinstance(value, bool):  # Hydra 1.0 had `optional: true`
            flags = {*words[:-1]}
            if section(entry).get("optional") is True:
                flags.add("optional")
            names = items(value) if isinstance(value, list) else [value]
            choices += _group_choices(words[-1], names, flags, (*at, str(key)))
    return choices


def _group_choices(
    written: str, names: list[object], flags: set[str], at: KeyPath
) -> list[_Choice]:
    """Return configurations of one group, which `written` names with its package."""
    group, package = _split(written)
    choices = (
        _Choice(
            f"{group}/{name}",
            group,
            package,
            at,
            is_optional="optional" in flags,
            is_override="override" in flags,
        )
        for name in names
        if isinstance(name, str) and name not in _NOT_CHOSEN
    )
    return [choice for choice in choices if _is_chosen(choice)]


def _split(text: str) -> tuple[str, str | None]:
    name, sign, package = text.partition("@")
    return name, package if sign else None


def _is_chosen(choice: _Choice) -> bool:
    name = choice.config.lstrip("/")
    return name not in _NOT_CHOSEN and not name.startswith("hydra/")


def _parent(choice: _Choice, searched: tuple[str, ...], *, wins: bool) -> Parent:
    name = choice.config
    is_absolute = name.startswith("/")
    target = name.lstrip("/")
    if not target.endswith((".yaml", ".yml")):
        target += ".yaml"
    # A name such as `group: folder/name` counts from the group, one folder above.
    steps = _ASCENTS if is_absolute else _ASCENTS[:2]
    folders = (step or "." for step in steps)
    return Parent(
        target,
        choice.at,
        _package(choice),
        (*folders, *searched),
        wins=wins,
        is_optional=choice.is_optional,
    )


def _package(choice: _Choice) -> KeyPath:
    """Return where the values lie: in the written package, else in the group's.

    Packages are relative to that of the naming file, which is the top where that file
    is the primary one.
    """
    group = choice.group.lstrip("/").replace("/", ".")
    package = choice.package
    if package is None:
        package = group
    elif _GLOBAL in package:
        package = package.rpartition(_GLOBAL)[2]
    elif package == _HERE:
        package = ""
    else:
        package = package.replace(_GROUP, group)
    return tuple(step for step in package.split(".") if step)


def _searched(data: object) -> tuple[str, ...]:
    """Return the folders of `hydra.searchpath`, relative to the job's start."""
    texts: list[str] = []
    paths = items(section(data, "hydra").get("searchpath"))
    for path in paths:
        if isinstance(path, str) and path.startswith(_FILE_SCHEME):
            folder = path.removeprefix(_FILE_SCHEME).rstrip("/")
            if folder and not folder.startswith("/") and "${" not in folder:
                texts += [f"{step}/{folder}" if step else folder for step in _ASCENTS]
    return tuple(texts)
