"""Reads the YAML files of an edition and holds them to their form and to each other.

For the compiler and for tests: a run reads the compiled file, without pydantic.
"""

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from speccheck.validator.editions.compiled_form import compile_edition
from speccheck.validator.editions.edition_consistency import problems
from speccheck.validator.editions.edition_models import (
    BaseSource,
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
from speccheck.validator.editions.extends import (
    CHANGES,
    CONDITIONS,
    HEAD,
    PROVENANCE,
    Files,
    extended,
    patch_model,
)
from speccheck.validator.editions.frozen import FROZEN, SCHEMAS, frozen_editions

Model = TypeVar("Model", bound=BaseModel)
# Of an edition that extends another: the base has them.
_MAY_BE_MISSING = (CONDITIONS, PROVENANCE)
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

    An edition that extends another is given whole: the base with what it changes.

    Raises EditionSourceError with one line for each problem: file, clause or profile,
    field, what is wrong.
    """
    return _source(edition_files(folder))


def _source(files: Files) -> EditionSource:
    reader = _Reader(files)
    head = reader.read(HEAD, HeadSource)
    clauses: list[ClauseSource] = []
    for name in sorted(one for one in files if one.startswith("clauses/")):
        file = reader.read(name, ClauseFile)
        if file is not None:
            clauses.extend(file.clauses)
            reader.hold_area(name, file)
    conditions = reader.read_conditions(CONDITIONS)
    profiles: list[ProfileSource] = []
    for name in sorted(one for one in files if one.startswith("profiles/")):
        listed = reader.read(name, ProfileFile)
        profiles.extend(listed.profiles if listed is not None else ())
    changes = reader.read(CHANGES, ChangesSource)
    provenance = reader.read(PROVENANCE, ProvenanceSource)
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


def base_folder(folder: Path, base: str) -> Path:
    """Where the base of an edition lies: beside it, or with speccheck."""
    beside = folder.resolve().parent / base
    return beside if (beside / HEAD).is_file() else Path(SCHEMAS) / base


def edition_files(folder: Path, within: tuple[str, ...] = ()) -> Files:
    """What the files of an edition hold, by name; of one that extends, the whole.

    Args:
        folder: of the edition.
        within: the editions that extend it, for one that comes to extend itself.

    """
    files, found = _loaded(folder)
    head = files.get(HEAD)
    if found or not isinstance(head, dict) or "extends" not in head:
        if found:
            raise EditionSourceError(found)
        return files
    base = _base_of(head)
    if base.id in within:
        raise EditionSourceError([f"{HEAD}: extends: {base.id} comes to extend itself"])
    for name, content in files.items():
        found += _misformed(name, content)
    where = base_folder(folder, base.id)
    if not (where / HEAD).is_file():
        found.append(f"{HEAD}: extends: there is no edition {base.id}")
    if found:
        raise EditionSourceError(found)
    whole_base = edition_files(where, (*within, str(head.get("id"))))
    whole, found = extended(whole_base, files)
    digest, problem = _pinned(base, where, whole_base, str(head.get("stage")))
    found += [problem] if problem else []
    if found:
        raise EditionSourceError(found)
    whole[HEAD]["extends"] = {"id": base.id, "sha256": digest}
    return whole


def _base_of(head: dict[str, Any]) -> BaseSource:
    """What `extends` names: an id, or an id with the sha256 of its content."""
    said = head["extends"]
    try:
        return BaseSource.model_validate(
            {"id": said} if isinstance(said, str) else said
        )
    except ValidationError as error:
        message = f"{HEAD}: extends: {error.errors()[0]['msg']}"
        raise EditionSourceError([message]) from error


def _pinned(base: BaseSource, where: Path, files: Files, stage: str) -> tuple[str, str]:
    """The sha256 of the base as it is, and what is wrong with it: often nothing."""
    digest: str = compile_edition(_source(files))["sha256"]
    frozen = frozen_editions(str(where.parent)).get(base.id)
    for expected, by in (
        (base.sha256, "this edition was written for"),
        (frozen.sha256 if frozen else None, f"{FROZEN} names"),
    ):
        if expected is not None and expected != digest:
            return digest, (
                f"{HEAD}: extends: {base.id} has changed: {by} sha256 {expected[:12]}, "
                f"its files make {digest[:12]}"
            )
    if base.sha256 is None and stage != "draft":
        return digest, (
            f"{HEAD}: extends: names no sha256, as all but a draft must: write "
            f'{{id: "{base.id}", sha256: {digest}}}'
        )
    return digest, ""


def _loaded(folder: Path) -> tuple[Files, list[str]]:
    """All files of a folder as YAML, and what cannot be read."""
    files: Files = {}
    found: list[str] = []
    paths = [
        folder / HEAD,
        *(folder / name for name in (CONDITIONS, CHANGES, PROVENANCE)),
    ]
    for pattern in ("clauses/*.yaml", "profiles/*.yaml"):
        paths += sorted(folder.glob(pattern))
    extends = False
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if extends and name in _MAY_BE_MISSING and not path.exists():
            continue
        try:
            files[name] = yaml.load(path.read_bytes(), _UniqueKeys)  # noqa: S506 - a safe loader
        except OSError as error:
            found.append(f"{name}: cannot be read: {error.strerror}")
        except (yaml.YAMLError, ValueError) as error:
            found.append(f"{name}: no YAML: {' '.join(str(error).split())}")
        if name == HEAD:
            head = files.get(HEAD)
            extends = isinstance(head, dict) and "extends" in head
    return files, found


def _misformed(name: str, content: Any) -> list[str]:  # noqa: ANN401 - YAML
    """What is wrong with the form of one file of an edition that extends another."""
    model = patch_model(name)
    try:
        if model is not None:
            model.model_validate(content)
        elif not isinstance(content, dict):
            return [f"{name}: holds no mapping"]
    except ValidationError as error:
        return _told(name, content, error)
    return []


class _Reader:
    """Holds files one by one to their form and keeps what is wrong with them."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.problems: list[str] = []

    def read(self, name: str, model: type[Model]) -> Model | None:
        """The file as that model; None, with the problems kept, when it breaks it."""
        try:
            return model.model_validate(self.files[name])
        except ValidationError as error:
            self.problems += _told(name, self.files[name], error)
        return None

    def read_conditions(self, name: str) -> dict[str, ConditionSource] | None:
        """The conditions by name; None when the file breaks their form."""
        try:
            return _Conditions.validate_python(self.files[name])
        except ValidationError as error:
            self.problems += _told(name, self.files[name], error)
        return None

    def hold_area(self, name: str, file: ClauseFile) -> None:
        """The file is named for its area, and so are its clauses."""
        if name != f"clauses/{file.area.lower()}.yaml":
            self.problems.append(f"{name}: area: {file.area} belongs in another file")
        self.problems.extend(
            f"{name}: {clause.id}: id: does not belong to area {file.area}"
            for clause in file.clauses
            if clause.area != file.area
        )


def _told(name: str, raw: Any, error: ValidationError) -> list[str]:  # noqa: ANN401
    """One line for each problem of a file: the file, the place, what is wrong."""
    return [
        f"{name}: {_named(raw, one['loc'])}{one['msg'].removeprefix('Value error, ')}"
        for one in error.errors(include_url=False)
    ]


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
