"""The command line taken apart by the table of options, and laid over settings."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from speccheck.validator.cli.option_table import OPTIONS, Option, Value
from speccheck.validator.cli.settings.files import (
    SettingsError,
    SettingsPaths,
    shown,
)
from speccheck.validator.engine.request import Judging
from speccheck.validator.evidence.record import Record

if TYPE_CHECKING:
    from speccheck.validator.cli.settings.layer import Layer, Resolved
    from speccheck.validator.cli.settings.load import SettingsFile
    from speccheck.validator.evidence.value import Place

_NO = "--no-"
_MOST = 1e12
# What the command line adds to what settings say, where others take its place.
_ADDING = frozenset({"extend_select", "extend_ignore"})


class UsageError(Exception):
    """The command line is wrong; the message says what and how to mend it."""


class Origin(Record):
    """The settings files that count for a plan, or for a run.

    closest: the file that gives values, None for none. above: all from the folder up.
    """

    closest: str | None
    above: tuple[str, ...]


class RunSettings:
    """Finds and reads the settings of a run; each file is read once.

    A run that has none costs a few looks into each folder.
    """

    def __init__(
        self, arguments: Sequence[str], stdin_name: str | None, named: str | None
    ) -> None:
        """Take what the command line gives.

        Args:
            arguments: the files and folders that are judged.
            stdin_name: what the file of standard input is called.
            named: the one settings file for all (`--settings`).

        Raises SettingsError for a named file that is not there.
        """
        self._paths = SettingsPaths(lambda path: self._load(path) is not None)
        self._loaded: dict[str, SettingsFile | None] = {}
        self._folder = _common_folder(arguments, stdin_name)
        self._named = named if named is None else os.path.abspath(named)
        self._resolved: dict[Origin, Resolved] = {}
        self._layers: dict[tuple[Origin, tuple[tuple[str, str], ...]], Layer] = {}
        if named is not None and not os.path.isfile(named):
            problem = "a folder" if os.path.isdir(named) else "no such file"
            message = f"--settings {named}: {problem}: name a settings file"
            raise SettingsError(message)

    def of_run(self) -> "Layer | None":
        """Return what holds for all the run, and for plans without their own file."""
        return self._layer(self.origin_in(self._folder), ())

    def of_plan(self, paths: Sequence[str]) -> "Layer | None":
        """Return what holds for the plan of some files.

        The first is what it is about.
        """
        return self._layer(self.origin_of(paths[0]), paths)

    def origin_of(self, path: str) -> Origin:
        """Return the settings files that count for a file."""
        return self.origin_in(os.path.dirname(path))

    def origin_in(self, folder: str) -> Origin:
        """Return the settings files that count in a folder."""
        above = self._paths.above(folder)
        if self._named is not None:
            return Origin(self._named, above)
        return Origin(above[0] if above else None, above)

    def reason(self, paths: Sequence[str]) -> str:
        """Return which settings were taken for files of a plan under several."""
        closest = [self.origin_of(path).closest for path in paths]
        if len(set(closest)) <= 1:
            return ""
        first = os.path.basename(paths[0])
        if closest[0] is None:
            return f"no settings, as {first} is judged"
        return f"settings of {shown(closest[0])}, the closest to {first}"

    def _load(self, path: str) -> "SettingsFile | None":
        """Return what a file sets; None for a pyproject.toml that sets nothing of ours.

        Raises SettingsError.
        """
        if path not in self._loaded:
            # Most runs have no settings file.
            from speccheck.validator.cli.settings.load import load  # noqa: PLC0415

            self._loaded[path] = load(path)
        return self._loaded[path]

    def _layer(self, origin: Origin, paths: Sequence[str]) -> "Layer | None":
        if origin.closest is None and not origin.above:
            return None
        # Most runs have no settings file.
        from speccheck.validator.cli.settings.layer import (  # noqa: PLC0415
            layer_of,
            patterns_for,
            resolved,
        )

        result = self._resolved.get(origin)
        if result is None:
            result = resolved(self._load, origin.closest, origin.above)
            self._resolved[origin] = result
        patterns = patterns_for(result, paths)
        layer = self._layers.get((origin, patterns))
        if layer is None:
            layer = self._layers[(origin, patterns)] = layer_of(result, patterns)
        return layer


def _common_folder(arguments: Sequence[str], stdin_name: str | None) -> str:
    """Return the folder that holds all that is judged.

    The current one where nothing is.
    """
    folders = [_folder_of(argument, stdin_name) for argument in arguments]
    return os.path.commonpath(folders) if folders else os.getcwd()


def _folder_of(argument: str, stdin_name: str | None) -> str:
    path = (stdin_name or "stdin") if argument == "-" else argument
    is_folder = argument != "-" and os.path.isdir(path)
    return os.path.abspath(path if is_folder else os.path.dirname(path))


class CommandLine(Record):
    """What a user wants of a command: by the command line, and by settings.

    Attributes:
        files: what stands beside the options.
        values: of options, by name; those of settings where the command line says none.
        options: those that the command has.
        command: its words; empty for `speccheck FILE...`.
        formats: of the reports of the command; none: those of judgements.
        own: the values of the command line alone; None before settings are read, and
            where none are.
        settings: the settings of the run; None before they are read, and where none
            are.
        layer: what settings say that holds here.
        places: where settings give values of options.
        writes_baseline: whether the command writes the file of the baseline, which may
            be missing then.

    """

    files: tuple[str, ...]
    values: Mapping[str, Value]
    options: tuple[Option, ...] = OPTIONS
    command: str = ""
    formats: tuple[str, ...] = ()
    own: Mapping[str, Value] | None = None
    settings: RunSettings | None = None
    layer: "Layer | None" = None
    places: "Mapping[str, tuple[Place, ...]] | None" = None
    writes_baseline: bool = False

    @property
    def stated(self) -> Mapping[str, Value]:
        """What the command line says by itself."""
        return self.values if self.own is None else self.own

    def has(self, name: str) -> bool:
        """Return whether an option is given."""
        return name in self.values

    def text(self, name: str) -> str | None:
        """Return the value of an option that is a text."""
        value = self.values.get(name)
        return value if isinstance(value, str) else None

    def integer(self, name: str) -> int | None:
        """Return the value of an option that is a whole number."""
        value = self.values.get(name)
        return value if isinstance(value, int) else None

    def number(self, name: str) -> float | None:
        """Return the value of an option that is a number."""
        value = self.values.get(name)
        return float(value) if isinstance(value, int | float) else None

    def texts(self, name: str) -> list[str]:
        """Return the texts of an option that may be given several times."""
        value = self.values.get(name)
        return value if isinstance(value, list) else []

    def word(self, name: str, known: Sequence[str]) -> str:
        """Return the value of an option with a few words, the first by default.

        Raises UsageError for another word.
        """
        value = self.text(name) or known[0]
        if value not in known:
            message = f"{flag_of(name)} {value}: must be one of {', '.join(known)}"
            raise UsageError(message)
        return value

    def only(self, noun: str) -> str:
        """Return the one word that the command takes; raises UsageError."""
        if len(self.files) != 1:
            message = f"{self.command} takes one {noun}, not {len(self.files)}"
            raise UsageError(message)
        return self.files[0]

    def demand_no_file(self, remedy: str) -> None:
        """Raise UsageError for a file on the line of a command that takes none."""
        if self.files:
            message = f"{self.command} takes no file: {self.files[0]}; {remedy}"
            raise UsageError(message)


def flag_of(name: str) -> str:
    """Return the option whose value is kept under a name."""
    return "--" + name.replace("_", "-")


def parse(
    arguments: Sequence[str],
    options: tuple[Option, ...] = OPTIONS,
    command: str = "",
    formats: tuple[str, ...] = (),
) -> CommandLine:
    """Take a command line apart; raises UsageError."""
    by_flag = {option.flag: option for option in options}
    by_flag |= {option.letter: option for option in options if option.letter}
    files: list[str] = []
    values: dict[str, Value] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            files.extend(rest)
        elif argument == "-" or not argument.startswith("-"):
            files.append(argument)
        else:
            flag, equal, text = argument.partition("=")
            option = by_flag.get(flag)
            undone = None if option else _undone(flag, by_flag)
            if (option or undone) is None:
                raise UsageError(_unknown(flag, by_flag, command))
            is_switch = option is None or option.kind == "switch"
            if equal and is_switch:
                message = f"{flag} takes no value"
                raise UsageError(message)
            if undone is not None:
                values[undone.name] = False
            elif option is not None and is_switch:
                values[option.name] = True
            elif option is not None:
                following = text if equal else next(rest, None)
                if following is None:
                    message = f"{flag} needs a value: {flag} {option.metavar}"
                    raise UsageError(message)
                _put(values, option, following)
    return CommandLine(tuple(files), values, options, command, formats)


def _unknown(flag: str, known: Mapping[str, Option], command: str) -> str:
    from speccheck.validator.evidence.spelling import nearest  # noqa: PLC0415 - rare

    if command and any(option.flag == flag for option in OPTIONS):
        return f"{command} has no option {flag}: it is one of speccheck FILE"
    close = nearest(flag, [name for name in known if name.startswith("--")])
    help_of = f"speccheck {command or 'check'} --help"
    hint = f"did you mean {close}?" if close else f"see {help_of}"
    return f"no option {flag}: {hint}"


def _undone(flag: str, known: Mapping[str, Option]) -> Option | None:
    """Return the switch of `--no-full`: what settings turn on is off for this run."""
    if "--settings" not in known or not flag.startswith(_NO):
        return None
    option = known.get("--" + flag.removeprefix(_NO))
    is_settable = option is not None and option.kind == "switch" and option.setting
    return option if is_settable else None


def _put(values: dict[str, Value], option: Option, text: str) -> None:
    if option.repeatable:
        known = values.setdefault(option.name, [])
        if isinstance(known, list):
            known.append(text)
        return
    values[option.name] = _converted(option, text)


def _converted(option: Option, text: str) -> Value:
    if option.kind not in {"integer", "number"}:
        return text
    try:
        number: int | float = int(text) if option.kind == "integer" else float(text)
    except ValueError:
        number = 0
    if not 0 < number < _MOST:  # also refuses nan and infinity
        wanted = "a whole number" if option.kind == "integer" else "a number"
        message = f"{option.flag} {text}: must be {wanted} above zero"
        raise UsageError(message)
    return number


def with_settings(line: CommandLine, *, writes_baseline: bool = False) -> CommandLine:
    """Return the command line with what settings say where it says nothing.

    Args:
        line: the command line.
        writes_baseline: whether it writes the baseline, which need not be there then.

    Raises SettingsError for a settings file that cannot be read, or is wrong.
    """
    if line.has("isolated"):
        return line._replace(values=_without_false(line.values))
    settings = RunSettings(
        line.files, line.text("stdin_filename"), line.text("settings")
    )
    line = line._replace(
        settings=settings, own=line.values, writes_baseline=writes_baseline
    )
    return laid_over(line, settings.of_run())


def laid_over(line: CommandLine, layer: "Layer | None") -> CommandLine:
    """Return the command line over one layer of settings."""
    stated = line.stated
    if layer is None:
        return line._replace(values=_without_false(stated), layer=None, places=None)
    known = {option.name for option in line.options if option.setting}
    values = dict(stated)
    places: dict[str, tuple[Place, ...]] = {}
    for name, value in layer.values.items():
        if name not in known or (name == "extend_select" and "select" in stated):
            continue  # --select names all that is judged
        own = stated.get(name)
        if own is None:
            values[name] = value
        elif name in _ADDING and isinstance(own, list) and isinstance(value, list):
            values[name] = [*value, *own]
        else:
            continue
        places[name] = layer.places[name]
    return line._replace(values=_without_false(values), layer=layer, places=places)


def _without_false(values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values without switches that are off: as if nobody had said so."""
    return {name: value for name, value in values.items() if value is not False}


class SettingsForFiles:
    """What settings say of judging each plan; made once for all of the same files."""

    def __init__(
        self, line: CommandLine, judging_of: Callable[[CommandLine], Judging]
    ) -> None:
        """Take the command line with its settings, and how to read it."""
        self._line = line
        self._judging_of = judging_of
        # By the id of a layer: all of them are kept by the settings of the run.
        self._known: dict[int, Judging] = {}

    def __call__(self, paths: tuple[str, ...], /) -> Judging:
        """Return how the plan of these files is judged."""
        settings = self._line.settings
        layer = settings.of_plan(paths) if settings else None
        judging = self._known.get(id(layer))
        if judging is None:
            judging = self._judging_of(laid_over(self._line, layer))
            self._known[id(layer)] = judging
        return judging

    def reason(self, paths: tuple[str, ...], /) -> str:
        """Return which settings were taken, where these files lie under several."""
        settings = self._line.settings
        return settings.reason(paths) if settings else ""
