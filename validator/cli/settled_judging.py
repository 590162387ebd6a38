"""What settings say of judging, beside what options say: places, locks, levels."""

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.cli.option_table import Value
from speccheck.validator.cli.options import Parsed
from speccheck.validator.cli.settings.names import SettingsError
from speccheck.validator.cli.settings.settled import Settled
from speccheck.validator.editions.compose import UnknownProfile, find_profile
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.engine.request import Judging, Policy
from speccheck.validator.engine.selection import told
from speccheck.validator.evidence.value import Place
from speccheck.validator.report.style import printable
from speccheck.validator.sources.context import Context

if TYPE_CHECKING:
    from speccheck.validator.cli.settings.layer import Layer

_LISTS = {
    "select": "select",
    "extend_select": "extend-select",
    "ignore": "ignore",
    "extend_ignore": "ignore",
}


def with_policy(judging: Judging, parsed: Parsed) -> Judging:
    """The same with what only settings say, and with the places of what they say.

    Raises SettingsError for the name of a GPU, a fabric, an instance type or a profile
    that nobody knows, and for a file of waivers or of a baseline that is not there.
    """
    settled = parsed.settled
    if settled is None or settled.layer is None:
        return judging
    layer, places = settled.layer, settled.places or {}
    context = judging.context._replace(
        places=tuple(
            (name, places[name][0]) for name in Context._fields if name in places
        )
    )
    _verify_names(context)
    _verify_profiles(parsed.values, places)
    selection = judging.selection._replace(
        mandatory=layer.policy.mandatory,
        places=tuple(_named(parsed.values, places)),
    )
    return judging._replace(
        context=context,
        selection=selection,
        policy=_policy(judging.policy, settled, layer),
        settings=layer.files,
    )


def _policy(own: Policy, settled: Settled, layer: "Layer") -> Policy:
    """The policy of settings under what options say; raises SettingsError."""
    policy = layer.policy
    for name, path in (("waivers", policy.waivers), ("baseline", policy.baseline)):
        is_written = name == "baseline" and settled.writes_baseline
        is_own = name in settled.own
        if path is None or is_own or is_written or os.path.isfile(path):
            continue
        place = layer.places[name][0]
        message = f"{told(place)}: {place.key}: no such file: {printable(path)}"
        raise SettingsError(message)
    return policy._replace(
        waivers=own.waivers or policy.waivers,
        baseline=own.baseline or policy.baseline,
        inline_ignores=own.inline_ignores and policy.inline_ignores,
    )


def _named(
    values: Mapping[str, Value], places: Mapping[str, tuple[Place, ...]]
) -> Iterator[tuple[str, str, Place]]:
    for name, option in _LISTS.items():
        texts = values.get(name)
        if isinstance(texts, list):
            for text, place in zip(texts, places.get(name, ()), strict=False):
                for one in text.split(","):
                    yield option, one.strip(), place


def _verify_names(context: Context) -> None:
    """Raise SettingsError for a name of settings that stands in no catalogue."""
    named = dict(context.places)
    if named.keys().isdisjoint({"gpu", "fabric", "instance"}):
        return
    from speccheck.validator.catalogue.hardware import (  # noqa: PLC0415 - seldom
        resolve_accelerator,
        resolve_fabric,
        resolve_instance,
    )

    for field, text, resolve in (
        ("gpu", context.gpu, resolve_accelerator),
        ("fabric", context.fabric, resolve_fabric),
        ("instance", context.instance, resolve_instance),
    ):
        place = named.get(field)
        if place is None or text is None:
            continue
        try:
            resolve(text)
        except UnknownName as error:
            message = f"{told(place)}: {place.key}: {error}"
            raise SettingsError(message) from error


def _verify_profiles(
    values: Mapping[str, Value], places: Mapping[str, tuple[Place, ...]]
) -> None:
    names, spec = values.get("profile"), values.get("spec")
    if not isinstance(names, list) or "profile" not in places:
        return
    edition = load_edition(spec if isinstance(spec, str) else "1.0")
    for name, place in zip(names, places["profile"], strict=False):
        try:
            find_profile(edition, name)
        except UnknownProfile as error:
            message = f"{told(place)}: {place.key}: {error}"
            raise SettingsError(message) from error
