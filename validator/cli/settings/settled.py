"""What settings and command line say of a run, each by itself."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from speccheck.validator.cli.option_table import Value
from speccheck.validator.cli.settings.of_run import RunSettings
from speccheck.validator.evidence.record import Record

if TYPE_CHECKING:
    from speccheck.validator.cli.settings.layer import Layer
    from speccheck.validator.evidence.value import Place


class Settled(Record):
    """What settings files say of a run, and what the command line alone says.

    flags: the names of the options that the command has; others do not concern it.
    writes_baseline: the command writes the file of the baseline, which may be missing.
    places: where settings give the values of options.
    """

    settings: RunSettings
    own: Mapping[str, Value]
    flags: frozenset[str]
    writes_baseline: bool = False
    layer: "Layer | None" = None
    places: "Mapping[str, tuple[Place, ...]] | None" = None
