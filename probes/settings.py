"""Reads variables of communication libraries, from each place that sets them.

NCCL takes a variable from the environment, else from the user's file, else from the
system's (NVIDIA/nccl src/misc/param.cc). Names are told of all variables, values only
of those that are known to hold no secret.
"""

import os
import re

from speccheck.probes.raw_value import Absence, RawValue, Sheet
from speccheck.probes.root import Root
from speccheck.probes.specimens import is_shown
from speccheck.validator.evidence.record import Record

KINDS = ("variables",)
_ENVIRONMENT = "/proc/self/environ"
_SYSTEM_FILE = "/etc/nccl.conf"
_USER_FILE = ".nccl.conf"
_USER_FILE_VARIABLE = "NCCL_CONF_FILE"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,199}")
_MOST_VALUE = 4096
_NOT_SHOWN = "not a setting of a communication library"
Pairs = list[tuple[str, str]]


class NodeSettingsLayer(Record):
    """What one place sets; of equal names there the first counts."""

    name: str
    source: str
    pairs: Pairs

    def values(self) -> dict[str, str]:
        """Return the values by name."""
        return dict(reversed(self.pairs))


def probe(root: Root, sheet: Sheet) -> None:
    """Put down the variables, layer by layer."""
    layers = layers_of(root)
    if isinstance(layers, Absence):
        sheet.listed("variables", layers)
        return
    for layer in layers:
        _put(sheet, layer)
    sheet.listed("variables")


def layers_of(root: Root) -> list[NodeSettingsLayer] | Absence:
    """Return the places that set variables, the first of them counts.

    Where one is closed to this user, what NCCL reads there is not known: then the list
    is not whole, and is not given.
    """
    environment = _environment(root)
    if isinstance(environment, Absence):
        return environment
    layers = [NodeSettingsLayer("environment", _ENVIRONMENT, environment)]
    file = dict(environment).get(_USER_FILE_VARIABLE) or _home_file(root, environment)
    for name, path in (("user_file", file), ("system_file", _SYSTEM_FILE)):
        text = Absence("absent", _USER_FILE) if path is None else root.text(path)
        if not isinstance(text, Absence):
            layers.append(NodeSettingsLayer(name, path or "", assignments(text)))
        elif text.status != "absent":
            return text
    return layers


def _environment(root: Root) -> Pairs | Absence:
    text = root.text(_ENVIRONMENT)
    if not isinstance(text, Absence):
        pairs = [part.partition("=") for part in text.split("\0")]
        return [(name, value) for name, equals, value in pairs if equals]
    if root.is_live:
        return [*os.environ.items()]
    return text


def _put(sheet: Sheet, layer: NodeSettingsLayer) -> None:
    values = layer.values()
    for name in dict.fromkeys(name for name, _ in layer.pairs):
        if not _NAME.fullmatch(name):
            continue
        number = sheet.add("variables")
        sheet.put_at("variables", number, "name", name, "each layer")
        sheet.put_at("variables", number, "layer", layer.name, "each layer")
        shown: RawValue = Absence("absent", layer.source, _NOT_SHOWN)
        if is_shown(name):
            shown = values[name][:_MOST_VALUE]
        sheet.put_at("variables", number, "value", shown, "each layer")


def assignments(text: str) -> Pairs:
    """Return pairs as NCCL reads them: blanks and quotes stay, `#` begins a comment."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    pairs = [line.partition("=") for line in lines]
    return [(name, value) for name, equals, value in pairs if equals]


def _home_file(root: Root, environment: Pairs) -> str | None:
    """Return the file in the user's home as the system knows it, not as HOME says."""
    home = _home(root) or dict(environment).get("HOME")
    return f"{home.rstrip('/')}/{_USER_FILE}" if home else None


def _home(root: Root) -> str | None:
    if root.is_live:
        import pwd  # noqa: PLC0415 - there is none for a copy

        try:
            return pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            return None
    status = root.text("/proc/self/status")
    users = root.text("/etc/passwd")
    if isinstance(status, Absence) or isinstance(users, Absence):
        return None
    matched = re.search(r"^Uid:\s+(\d+)", status, re.MULTILINE)
    for line in users.splitlines() if matched else ():
        fields = line.split(":")
        if matched and len(fields) > 5 and fields[2] == matched.group(1):  # noqa: PLR2004
            return fields[5]
    return None
