"""The oracles: what each is asked about, and the environment that it runs in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class Environment(NamedTuple):
    """Where a driver runs.

    base: other environments whose packages it sees as well, as one copy of torch is
    enough for all. python: the minor version of the interpreter. files: by name, each
    with its url and sha256, for what no package holds.
    """

    name: str
    base: tuple[str, ...] = ()
    python: str = "3.11"
    files: Mapping[str, Mapping[str, str]] = {}

    @property
    def requirements(self) -> Path:
        """The file of its pinned packages."""
        return HERE / "requirements" / f"{self.name}.txt"


class Oracle(NamedTuple):
    """A framework that is asked.

    Attributes:
        name: of the oracle.
        asks: the name of its driver.
        environment: its name.
        release: as `speccheck --framework-version` takes it.
        table: file of relations without its suffix.
        counted_by: the release that its rows count by, where that is another.
        format: of its files, as speccheck names it.
        base: a small configuration that it accepts, merged below each example.
        where: further keys of the base, by a key of the example that asks for them.
        items: what items of a list need beside the example, by the name of the list.
        rows: further keys of the base, by relation; null takes one off.
        files: that lie beside each example.
        elsewhere: why it is not asked about a relation, by a pattern of id and source:
            what refuses it is no part of what is asked, or is not in its release.
        counts_processes: whether its driver reads how many the job has.
        processes: of the job, by relation, where its example does not state them.
        argued: why it says another thing of a relation, by relation.
        later: the same, by a pattern of the source that relations name: what refuses
            them runs after it.

    """

    name: str
    asks: str
    environment: str
    release: str
    table: str
    format: str
    counted_by: str = ""
    base: Mapping[str, Any] = {}
    where: Mapping[str, Mapping[str, Any]] = {}
    items: Mapping[str, Mapping[str, Any]] = {}
    rows: Mapping[str, Mapping[str, Any]] = {}
    files: Mapping[str, str] = {}
    elsewhere: Mapping[str, str] = {}
    counts_processes: bool = False
    processes: Mapping[str, int] = {}
    argued: Mapping[str, str] = {}
    later: Mapping[str, str] = {}

    @property
    def driver(self) -> Path:
        """The script that runs inside the environment."""
        return HERE / "drivers" / f"ask_{self.asks}.py"


class Registry(NamedTuple):
    """All of them."""

    environments: Mapping[str, Environment]
    oracles: tuple[Oracle, ...]


def registry(path: Path = HERE / "oracles.yaml") -> Registry:
    """Read the file that lists the oracles."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    environments = {
        name: Environment(name, tuple(row.pop("base", ())), **row)
        for name, row in document["environments"].items()
    }
    oracles = tuple(Oracle(**row) for row in document["oracles"])
    return Registry(environments, oracles)
