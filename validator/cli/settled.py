"""The command line over the settings: what a run is asked for by both together."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from speccheck.validator.cli.option_table import Option, Value
from speccheck.validator.cli.options import Parsed
from speccheck.validator.cli.settings.of_run import RunSettings
from speccheck.validator.cli.settings.settled import Settled
from speccheck.validator.engine.request import Judging

if TYPE_CHECKING:
    from speccheck.validator.cli.settings.layer import Layer
    from speccheck.validator.evidence.value import Place

# What the command line adds to what settings say, where others take its place.
_ADDING = frozenset({"extend_select", "extend_ignore"})


def with_settings(
    parsed: Parsed, options: Sequence[Option], *, writes_baseline: bool = False
) -> Parsed:
    """The command line with what settings say where it says nothing.

    Args:
        parsed: the command line.
        options: those that the command has.
        writes_baseline: whether it writes the baseline, which need not be there then.

    Raises SettingsError for a settings file that cannot be read, or is wrong.
    """
    own = parsed.values
    if "isolated" in own:
        return parsed._replace(values=_without_false(own))
    stdin_name, named = own.get("stdin_filename"), own.get("settings")
    settings = RunSettings(
        parsed.files,
        stdin_name if isinstance(stdin_name, str) else None,
        named if isinstance(named, str) else None,
    )
    flags = frozenset(one.name for one in options)
    settled = Settled(settings, own, flags, writes_baseline)
    return laid_over(parsed, settled, settings.of_run())


def laid_over(parsed: Parsed, settled: Settled, layer: "Layer | None") -> Parsed:
    """The command line over one layer of settings."""
    if layer is None:
        values = _without_false(settled.own)
        return parsed._replace(values=values, settled=settled)
    values = dict(settled.own)
    places: dict[str, tuple[Place, ...]] = {}
    for name, value in layer.values.items():
        if name not in settled.flags or (
            name == "extend_select" and "select" in settled.own
        ):
            continue  # --select names all that is judged
        own = settled.own.get(name)
        if own is None:
            values[name] = value
        elif name in _ADDING and isinstance(own, list) and isinstance(value, list):
            values[name] = [*value, *own]
        else:
            continue
        places[name] = layer.places[name]
    settled = settled._replace(layer=layer, places=places)
    return parsed._replace(values=_without_false(values), settled=settled)


def _without_false(values: Mapping[str, Value]) -> dict[str, Value]:
    """The values without switches that are off: they are as if nobody had said so."""
    return {name: value for name, value in values.items() if value is not False}


class ForFiles:
    """What settings say of judging each plan; made once for all of the same files."""

    def __init__(
        self, parsed: Parsed, settled: Settled, judging_of: Callable[[Parsed], Judging]
    ) -> None:
        """Take the command line, and how to read what it asks for."""
        self._parsed = parsed
        self._settled = settled
        self._judging_of = judging_of
        # By the id of a layer: all of them are kept by the settings of the run.
        self._known: dict[int, Judging] = {}

    def __call__(self, paths: tuple[str, ...], /) -> Judging:
        """How the plan of these files is judged."""
        layer = self._settled.settings.of_plan(paths)
        found = self._known.get(id(layer))
        if found is None:
            parsed = laid_over(self._parsed, self._settled, layer)
            found = self._known[id(layer)] = self._judging_of(parsed)
        return found

    def reason(self, paths: tuple[str, ...], /) -> str:
        """Which settings were taken, where these files lie under several."""
        return self._settled.settings.reason(paths)
