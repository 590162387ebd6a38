"""What makes machines one type, and each of them a specimen of it."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from speccheck.validator.evidence.node.node import SPECIMENS
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.shared_values import Unseen, shared_values

Content = Mapping[str, Any]
# Settings of a host are judged; they do not make it another type of machine.
_SETTINGS = frozenset(
    {
        "host.kernel_arguments",
        "host.transparent_hugepages",
        "host.numa_balancing",
        "host.governors",
        "host.clock_source",
        "host.memory_total_bytes",  # firmware keeps more or less of it for itself
        "network_interfaces.mtu_bytes",
    }
)
# When one of these changes, what was measured before says nothing any more.
INVALIDATORS = (
    "host.instance_type",
    "host.kernel_release",
    "driver.version",
    "driver.cuda_version",
    "driver.nccl_version",
    "driver.nccl_plugins",
    "driver.ofed_version",
    "driver.fabric_manager_version",
    "gpus.vbios_version",
    "gpus.gsp_firmware_version",
    "rdma_devices.firmware_version",
)
_MOST_TEXT = 4_000
_DIGEST, _DIGITS = "hashed:", 16  # as snapshots have them


class Differing(Record):
    """A field in which machines are not of one type, with the machines of each text."""

    field: str
    values: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def words(self) -> str:
        """The texts, each with its machines."""
        told = (f"{text} on {', '.join(names)}" for text, names in self.values)
        return f"{self.field}: {'; '.join(told)}"


def type_fields(content: Content) -> dict[str, str]:
    """What a snapshot tells of the type of its machine; nothing that is not known."""
    found = {
        name: str(text)
        for name, text in shared_values(content)
        if name not in _SETTINGS and not isinstance(text, Unseen)
    }
    found.update(_nvlinks(content))
    return {name: text[:_MOST_TEXT] for name, text in sorted(found.items())}


def _nvlinks(content: Content) -> Iterator[tuple[str, str]]:
    """How many NVLinks of each GPU are up, what they end at, and where each GPU is."""
    gpus = content.get("gpus")
    if not isinstance(gpus, list) or not all(isinstance(one, dict) for one in gpus):
        return
    for name, told in (
        ("gpus.nvlinks_up", [_up(one.get("nvlink_is_active")) for one in gpus]),
        ("gpus.nvlink_ends", [_ends(one.get("nvlink_remote_type")) for one in gpus]),
        ("gpus.numa_nodes", [_number(one.get("numa_node")) for one in gpus]),
    ):
        if told and all(told):
            yield name, " ".join(told)


def _up(flags: object) -> str:
    return str(sum(one is True for one in flags)) if isinstance(flags, list) else ""


def _ends(kinds: object) -> str:
    """The kinds of what links end at: 0 a GPU, 2 a switch (nvml.h)."""
    if not isinstance(kinds, list):
        return ""
    return "+".join(sorted({str(one) for one in kinds if isinstance(one, int)}))


def _number(found: object) -> str:
    return str(found) if isinstance(found, int) else ""


def common(
    machines: Sequence[tuple[str, Mapping[str, str]]],
) -> tuple[dict[str, str], list[Differing]]:
    """The fields that all machines share, and those in which some differ.

    A field that some do not tell is no field of the type.
    """
    names = dict.fromkeys(name for _, fields in machines for name in fields)
    shared: dict[str, str] = {}
    differing: list[Differing] = []
    for name in names:
        by_text: dict[str, list[str]] = {}
        for machine, fields in machines:
            if name in fields:
                by_text.setdefault(fields[name], []).append(machine)
        if len(by_text) > 1:
            values = ((text, tuple(found)) for text, found in by_text.items())
            differing.append(Differing(name, tuple(values)))
        elif sum(map(len, by_text.values())) == len(machines):
            shared[name] = next(iter(by_text))
    return shared, differing


def type_digest(fields: Mapping[str, str]) -> str:
    """SHA-256 of the fields in the order of their names, without blanks."""
    text = json.dumps(
        dict(fields), sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def specimen_fields(content: Content, salt: str) -> dict[str, str]:
    """What names this machine and no other, as digests.

    salt: for names that the snapshot tells in the clear: no certificate does.
    """
    found: dict[str, str] = {}
    for leaf in sorted(SPECIMENS):
        kind, _, field = leaf.partition(".")
        part = content.get(kind)
        parts = part if isinstance(part, list) else [part]
        told = [one.get(field) if isinstance(one, dict) else None for one in parts]
        texts = [_hidden(one, salt) for one in told if isinstance(one, str)]
        if texts:
            found[leaf] = " ".join(texts)[:_MOST_TEXT]
    return found


def _hidden(text: str, salt: str) -> str:
    if text.startswith(_DIGEST):
        return text
    salted = f"{salt}\0{text}".encode("utf-8", "replace")
    return f"{_DIGEST}{hashlib.sha256(salted).hexdigest()[:_DIGITS]}"
