"""What the probes of files find below a folder, without processes of their own."""

from importlib import import_module
from pathlib import Path
from typing import Any

from machine_files import Files, build, healthy
from speccheck.probes.collect import SCHEMA
from speccheck.probes.raw_value import Sheet
from speccheck.probes.root import Root
from speccheck.validator.evidence.node.node import Node
from speccheck.validator.sources.formats.snapshot import node_of

FILE_PROBES = (
    "host",
    "rdma",
    "pci",
    "driver",
    "kernel_log",
    "settings",
    "instance",
)


def content(folder: Path | str, *probes: str) -> dict[str, Any]:
    """Return the parts of a snapshot."""
    root, sheet = Root(str(folder)), Sheet()
    for name in probes or FILE_PROBES:
        import_module(f"speccheck.probes.{name}").probe(root, sheet)
    return sheet.content()


def node(folder: Path | str, *probes: str) -> Node:
    """Return the same as rules see it."""
    return node_of({"schema": SCHEMA, **content(folder, *probes)}, "node.json")


def healthy_but(
    folder: Path,
    files: Files | None = None,
    *,
    without: tuple[str, ...] = (),
    links: dict[str, str] | None = None,
) -> Path:
    """Return a healthy machine with other files, and without those below some paths."""
    kept, leads = healthy()
    kept = {p: c for p, c in kept.items() if not p.startswith(without or ("//",))}
    leads = {p: t for p, t in leads.items() if not p.startswith(without or ("//",))}
    return build(folder, kept | (files or {}), leads | (links or {}))
