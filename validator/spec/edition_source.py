"""Reads the YAML files of an edition and holds them to their form and to each other.

For the compiler and for tests: a run reads the compiled file, without pydantic.
"""

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from speccheck.validator.spec.edition_consistency import problems
from speccheck.validator.spec.edition_models import (
    ChangesSource,
    ClauseFile,
    ClauseSource,
    ConditionSource,
    EditionSource,
    HeadSource,
    ProfileFile,
    ProfileSource,
    ProvenanceSource,
)

Model = TypeVar("Model", bound=BaseModel)
_Conditions = TypeAdapter(dict[str, ConditionSource])


class EditionSourceError(Exception):
    """The files of an edition break their form; each line names file and field."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class _UniqueKeys(yaml.CSafeLoader):
    """Refuses a key that stands twice; PyYAML would keep the last silently."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - the signature of PyYAML
        """Make a dict of a mapping node."""
        keys = [key.value for key, _ in node.value]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            problem = f"key {twice[0]} stands twice"
            raise yaml.constructor.ConstructorError(
                None, None, problem, node.start_mark
            )
        return super().construct_mapping(node, deep)


def load_edition_source(folder: Path) -> EditionSource:
    """Read all files of an edition and hold them to their form and to each other.

    Raises EditionSourceError with one line for each problem: file, clause or profile,
    field, what is wrong.
    """
    reader = _Reader(folder)
    head = reader.read("edition.yaml", HeadSource)
    clauses: list[ClauseSource] = []
    for path in sorted(folder.glob("clauses/*.yaml")):
        name = f"clauses/{path.name}"
        file = reader.read(name, ClauseFile)
        if file is not None:
            clauses.extend(file.clauses)
            reader.hold_area(name, path.stem, file)
    conditions = reader.read_conditions("conditions.yaml")
    profiles: list[ProfileSource] = []
    for path in sorted(folder.glob("profiles/*.yaml")):
        listed = reader.read(f"profiles/{path.name}", ProfileFile)
        profiles.extend(listed.profiles if listed is not None else ())
    changes = reader.read("CHANGES.yaml", ChangesSource)
    provenance = reader.read("provenance.yaml", ProvenanceSource)
    if head is None or conditions is None or changes is None or provenance is None:
        raise EditionSourceError(reader.problems)
    source = EditionSource(
        head=head,
        clauses=tuple(clauses),
        conditions=conditions,
        profiles=tuple(profiles),
        changes=changes,
        provenance=provenance,
    )
    found = reader.problems or list(problems(source))
    if found:
        raise EditionSourceError(found)
    return source


class _Reader:
    """Reads files one by one and keeps what is wrong with them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []

    def read(self, name: str, model: type[Model]) -> Model | None:
        """The file as that model; None, with the problems kept, when it breaks it."""
        raw = self._load(name)
        try:
            return None if raw is None else model.model_validate(raw)
        except ValidationError as error:
            self._keep(name, raw, error)
        return None

    def read_conditions(self, name: str) -> dict[str, ConditionSource] | None:
        """The conditions by name; None when the file breaks their form."""
        raw = self._load(name)
        try:
            return None if raw is None else _Conditions.validate_python(raw)
        except ValidationError as error:
            self._keep(name, raw, error)
        return None

    def hold_area(self, name: str, stem: str, file: ClauseFile) -> None:
        """The file is named for its area, and so are its clauses."""
        if stem != file.area.lower():
            self.problems.append(f"{name}: area: {file.area} belongs in another file")
        self.problems.extend(
            f"{name}: {clause.id}: id: does not belong to area {file.area}"
            for clause in file.clauses
            if clause.area != file.area
        )

    def _load(self, name: str) -> Any:  # noqa: ANN401 - YAML, validated next
        try:
            return yaml.load((self.folder / name).read_bytes(), _UniqueKeys)  # noqa: S506 - a safe loader
        except OSError as error:
            self.problems.append(f"{name}: cannot be read: {error.strerror}")
        except yaml.YAMLError as error:
            self.problems.append(f"{name}: no YAML: {' '.join(str(error).split())}")
        return None

    def _keep(self, name: str, raw: Any, error: ValidationError) -> None:  # noqa: ANN401
        for one in error.errors(include_url=False):
            place = _named(raw, one["loc"])
            message = one["msg"].removeprefix("Value error, ")
            self.problems.append(f"{name}: {place}{message}")


def _named(raw: Any, location: tuple[int | str, ...]) -> str:  # noqa: ANN401 - YAML
    """A pydantic location with list positions replaced by the ids that stand there.

    Steps below a scalar are dropped: they name members of a union, not parts of a file.
    """
    words: list[str] = []
    here = raw
    for step in location:
        if isinstance(here, dict):
            here = here.get(step)
        elif isinstance(here, list) and isinstance(step, int):
            here = here[step]
        else:
            break
        if isinstance(here, dict) and "id" in here:
            words = [f"{here['id']}: "]
        else:
            words.append(f"{step}.")
    text = "".join(words)
    return text[:-1] + ": " if text.endswith(".") else text
