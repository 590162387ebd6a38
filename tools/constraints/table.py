"""The key table and the relations that a tree is compared with."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from compile_catalogues import read_source
from compile_key_relations import FOLDER, RelationFile
from speccheck.validator.catalogue.frameworks import load_framework
from speccheck.validator.evidence.framework_keys import FrameworkKeys
from speccheck.validator.evidence.key_relations import KeyRelation

Row = Mapping[str, Any]

# What validators know of the plan without a key that states it.
FIELDS_OF_PLAN = {
    "world_size": "plan.cluster.world_size",
    "data_parallel_size": "plan.parallelism.data_parallel_size",
}
# Attributes that hold a configuration: what is below them are the keys.
_HOLDERS = ("config", "cfg", "args")
_FILE = re.compile(r"([\w.-]+/[\w.-]+) ([\w/.-]+\.(?:py|go|c|h))")


class KnownRelation(NamedTuple):
    """A tabulated relation with where it was read."""

    relation: KeyRelation
    source: str


class Name(NamedTuple):
    """What a path in the source is in the table.

    is_inverted: a flag that stores false; the source has the opposite of the flag.
    is_flag: it is stated as true only.
    """

    text: str
    is_known: bool = True
    is_inverted: bool = False
    is_flag: bool = False


class KeyTable(NamedTuple):
    """The rows of a framework, or of a section without its prefix."""

    framework: str
    section: str
    rows: Mapping[str, Row]
    relations: Sequence[KnownRelation]
    catalogue: FrameworkKeys

    @property
    def has_flags(self) -> bool:
        """Whether the keys are flags: attributes stand for them in the source."""
        return all(path.startswith("-") for path in self.rows)

    def places(self) -> dict[str, str]:
        """Return the files that rows and relations name: repository by path."""
        texts = [known.source for known in self.relations]
        texts += [str(row.get("source", "")) for row in self.rows.values()]
        matches = (_FILE.match(text) for text in texts)
        return {match[2]: match[1] for match in matches if match}


class Names:
    """Finds the row of a path as the source writes it."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Order the rows; those that a release removed come last."""
        self._by_name: dict[str, list[Row]] = {}
        self._blocks: set[str] = set()
        for row in sorted(rows, key=lambda row: "removed_in" in row):
            bare = str(row["path"]).removesuffix("[]")
            names = {bare, *(str(name) for name in row.get("aliases", ()))}
            names.add(str(row.get("dest", "")))
            names |= {plain(name) for name in names}
            parts = bare.split(".")
            above = (".".join(parts[:end]) for end in range(1, len(parts)))
            self._blocks |= {name.removesuffix("[]") for name in above}
            names |= {".".join(parts[start:]) for start in range(len(parts))}
            for name in names - {""}:
                self._by_name.setdefault(name, []).append(row)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def has(self, name: str) -> bool:
        """Return whether a row has exactly this path."""
        return any(row["path"] == name for row in self._by_name.get(name, ()))

    def is_ambiguous(self, name: str) -> bool:
        """Return whether a name ends the paths of several rows."""
        return len(self._by_name.get(name.rpartition(".")[2], ())) > 1

    def is_any(self, path: Sequence[str]) -> bool:
        """Return whether a row has this path, stands below it, or ends with it."""
        whole = ".".join(path)
        return whole in self._blocks or whole in self or path[-1] in self

    def resolve(self, path: Sequence[str]) -> Name:
        """Return the row's name: by the whole path, else by its unique ending."""
        steps = [*path]
        while len(steps) > 1 and steps[0].endswith(_HOLDERS) and steps[0] not in self:
            steps.pop(0)
        name = ".".join(steps)
        rows = self._by_name.get(name, [])
        exact = [row for row in rows if name in {row["path"], row.get("dest")}]
        alive = [row for row in rows if "removed_in" not in row]
        for chosen in (exact[:1], alive, rows):
            if len(chosen) == 1:
                row = chosen[0]
                is_inverted = row.get("action") == "store_false"
                is_flag = row.get("type") == "flag"
                return Name(str(row["path"]), is_inverted=is_inverted, is_flag=is_flag)
        last = path[-1]
        if last in FIELDS_OF_PLAN:
            return Name(FIELDS_OF_PLAN[last])
        return Name(".".join(path), is_known=False)


def plain(flag: str) -> str:
    """Return the attribute that a flag is stored in, where none is named."""
    return flag.lstrip("-").replace("-", "_") if flag.startswith("-") else flag


def read_table(framework: str, section: str = "") -> KeyTable:
    """Read the table of a framework and all its relations."""
    document = read_source(f"frameworks/{framework}")
    prefix = f"{section}:" if section else ""
    rows = {
        path.removeprefix(prefix): {**row, "path": path.removeprefix(prefix)}
        for row in document["keys"]
        if (path := str(row["path"])).startswith(prefix)
        and (section or not re.match(r"[\w ]+:", path))
    }
    catalogue = load_framework(framework, section)
    sources: dict[str, str] = {}
    for place in sorted(FOLDER.glob(f"{framework}*.yaml")):
        file = RelationFile(place)
        if (file.framework, file.section) == (framework, section):
            sources |= {row["id"]: str(row["source"]) for row in file.rows}
    relations = [
        KnownRelation(relation, sources.get(relation.id, ""))
        for relation in catalogue.relations().all()
    ]
    return KeyTable(framework, section, rows, relations, catalogue)
