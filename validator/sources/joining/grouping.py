"""Which files belong to one plan, and why.

A training configuration is the heart of a plan. With it go the files that it names
(engine, model), the launch script that names it, and what that script names besides.
A file that several configurations name belongs to each of their plans; two scripts that
start one configuration are two plans. Files that nothing connects are one plan only
where their roles leave no doubt: one of each kind in a folder, or on the command line.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from speccheck.validator.evidence.environment import Opening
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.script_names import SCRIPT_SUFFIXES
from speccheck.validator.sources.chart import TEMPLATES, chart_of
from speccheck.validator.sources.documents.reading import read_text
from speccheck.validator.sources.files import ReadFile, openings_of, read_file
from speccheck.validator.sources.reader import Reference, Source
from speccheck.validator.sources.registry import Readers
from speccheck.validator.sources.repository import find_named

# Parts of one configuration share next to nothing; two variants of one nearly all.
_MOST_SHARED = 0.3


class PlanFiles(Record):
    """The files of one plan, in the order given, and why they are one."""

    files: tuple[ReadFile, ...]
    reasons: tuple[str, ...] = ()


class _Draft:
    """A plan in the making: positions of files, and reasons."""

    def __init__(self, heart: Iterable[int]) -> None:
        self.members = set(heart)
        self.reasons: dict[str, None] = {}


def group(
    files: Sequence[ReadFile],
    *,
    by_folder: bool = False,
    readers: Readers | None = None,
) -> list[PlanFiles]:
    """Return the files in plans; plans in order of their first file.

    by_folder: files that were named together are no more one plan than those of a
        searched folder, and those of two folders are none.
    """
    if len(files) == 1:
        return [PlanFiles((*files,))]
    readers = readers or Readers()
    names = _Names(files)
    drafts: list[_Draft] = []
    for heart in _hearts(files, names):
        drafts.extend(_around(heart, files, names))
    _add_the_rest(drafts, files, names)
    drafts = _joined_by_role(drafts, files, by_folder=by_folder)
    drafts.sort(key=lambda draft: sorted(draft.members))
    return [
        PlanFiles(
            _as_started(
                [files[position] for position in sorted(draft.members)], readers
            ),
            (*draft.reasons,),
        )
        for draft in drafts
    ]


def _as_started(files: Sequence[ReadFile], readers: Readers) -> tuple[ReadFile, ...]:
    """Return the files of a plan, read with what its scripts set and give to them."""
    scripts = [file for file in files if file.source.is_script]
    # What another script takes in is read there, and may be set anew behind it.
    taken = {source.name for file in scripts for source in file.parents}
    exported = {
        variable.name: variable.value
        for file in scripts
        if file.status.path not in taken
        for reading in file.readings
        for variable in reading.variables
        if variable.value is not None and not variable.place.only_if
    }
    again: dict[str, Iterator[ReadFile]] = {}
    result: list[ReadFile] = []
    for file in files:
        name, text = file.status.path, file.source.text
        given = {key: exported[key] for key in exported if f"oc.env:{key}" in text}
        line = None
        if name.endswith(_PROGRAM_SUFFIX) and scripts:
            from speccheck.validator.sources.joining.programs import command_line  # noqa: PLC0415 - seldom

            line = command_line(name, scripts)
        if (given or line is not None) and name not in again:
            _, read = read_file(
                name,
                readers=readers,
                text=text,
                environment=given,
                command_line=line,
            )
            of_plan = sum(item.status.path == name for item in files)
            again[name] = iter(read if len(read) == of_plan else ())
        item = next(again[name], file) if name in again else file
        result.append(item._replace(status=file.status))
    return tuple(result)


def each_alone(files: Sequence[ReadFile]) -> list[PlanFiles]:
    """Return each file as a plan of its own; documents of one file as `group` does."""
    by_path: dict[str, list[ReadFile]] = {}
    for file in files:
        by_path.setdefault(file.status.path, []).append(file)
    return [plan for parts in by_path.values() for plan in group(parts)]


class _Names:
    """Which file names which other one."""

    def __init__(self, files: Sequence[ReadFile]) -> None:
        by_base: dict[str, list[int]] = {}
        for position, file in enumerate(files):
            by_base.setdefault(_base(file.status.path), []).append(position)
        self.down: dict[int, list[int]] = {}
        self.up: dict[int, list[int]] = {}
        for position, file in enumerate(files):
            for reading in file.readings:
                for reference in reading.references:
                    number = _target(reference, files, by_base)
                    if number is not None and number != position:
                        self._add(position, number)
            for program in _programs(file):
                number = _named(program, files, by_base)
                if number is not None:
                    self._add(position, number)

    def _add(self, source: int, target: int) -> None:
        if target not in self.down.setdefault(source, []):
            self.down[source].append(target)
            self.up.setdefault(target, []).append(source)


def _target(
    reference: Reference, files: Sequence[ReadFile], by_base: dict[str, list[int]]
) -> int | None:
    """Return the file that a reference means: the only one of that name or path.

    Where a part of the path is open, the only one that was given with it.
    """
    text = reference.target
    if reference.is_open:
        given = [
            number
            for number, file in enumerate(files)
            if file.status.named and reference.may_mean(file.status.path)
        ]
        return given[0] if len(given) == 1 else None
    return _named(text, files, by_base)


def _named(
    text: str, files: Sequence[ReadFile], by_base: dict[str, list[int]]
) -> int | None:
    """Return the only file of a name, or of that name at that path."""
    numbers = by_base.get(_base(text), [])
    if len(numbers) > 1:
        ending = os.path.normpath(text).lstrip("./")
        numbers = [
            number
            for number in numbers
            if f"/{os.path.normpath(files[number].status.path)}".endswith(f"/{ending}")
        ]
    return numbers[0] if len(numbers) == 1 else None


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _hearts(files: Sequence[ReadFile], names: _Names) -> Iterator[_Draft]:
    """Yield the configurations: each by itself, parts of one and the same together."""
    left: list[int] = []
    for position, file in enumerate(files):
        if file.role != "config" or _starts_another(position, files, names):
            continue
        left.append(position)
    merging: dict[str, list[int]] = {}
    for position in left:
        if files[position].merges:
            merging.setdefault(files[position].format, []).append(position)
    for parts in merging.values():
        if len(parts) > 1 and _complete_each_other(parts, files, names):
            draft = _Draft(parts)
            draft.reasons[f"{files[parts[0]].format} merges its files"] = None
            left = [number for number in left if number not in draft.members]
            yield draft
    for position in left:
        yield _Draft({position})


def _starts_another(position: int, files: Sequence[ReadFile], names: _Names) -> bool:
    """Return whether a script adds settings of its own to those of a file."""
    is_script = files[position].source.is_script
    return is_script and any(
        files[number].role == "config" for number in names.down.get(position, ())
    )


def _complete_each_other(
    parts: Sequence[int], files: Sequence[ReadFile], names: _Names
) -> bool:
    """Return whether files are parts, not variants: by a script, or by unlike keys."""
    if any(
        set(parts) <= set(names.down.get(script, ()))
        for script in names.up.get(parts[0], ())
    ):
        return True
    keys = [_top_keys(files[position]) for position in parts]
    all_named = all(files[position].status.named for position in parts)
    most = _MOST_SHARED if all_named else 0
    return all(
        len(left & right) <= most * min(len(left), len(right))
        for index, left in enumerate(keys)
        for right in keys[:index]
    )


def _top_keys(file: ReadFile) -> set[str]:
    return {
        str(key.path[0]).replace("-", "_")
        for reading in file.readings
        if reading.keyed is not None
        for key in reading.keyed.keys
        if len(key.path) == 1
    }


def _around(heart: _Draft, files: Sequence[ReadFile], names: _Names) -> list[_Draft]:
    """Return the plans of a configuration: one for each script that starts it."""
    scripts = _scripts_of(heart.members, files, names)
    formats = [files[script].format for script in scripts]
    if len(set(formats)) == len(formats):
        return [_complete(heart, scripts, files, names)]
    return [_complete(heart, [script], files, names) for script in scripts]


def _scripts_of(
    members: Iterable[int], files: Sequence[ReadFile], names: _Names
) -> list[int]:
    """Return the files that name one of these and are no configuration of their own."""
    return sorted(
        {
            script
            for position in members
            for script in names.up.get(position, ())
            if files[script].role != "config" or _starts_another(script, files, names)
        }
    )


def _complete(
    heart: _Draft, scripts: Sequence[int], files: Sequence[ReadFile], names: _Names
) -> _Draft:
    draft = _Draft(heart.members)
    draft.reasons.update(heart.reasons)
    for script in scripts:
        _add_script(draft, script, files, names)
    for position in sorted(draft.members):
        _add_named(draft, position, files, names)
    return draft


def _add_script(
    draft: _Draft, script: int, files: Sequence[ReadFile], names: _Names
) -> None:
    """Add a script, and the one that starts it where there is only one."""
    if script in draft.members:
        return
    named = next(number for number in names.down[script] if number in draft.members)
    _say(draft, files, script, named)
    draft.members.add(script)
    above = _scripts_of([script], files, names)
    if len(above) == 1:
        _add_script(draft, above[0], files, names)


def _add_named(
    draft: _Draft, position: int, files: Sequence[ReadFile], names: _Names
) -> None:
    """Add what a file names, and what that names; not another configuration.

    Of a script that names two files of one format nobody knows which is meant.
    """
    named = names.down.get(position, ())
    taken = {source.name for source in files[position].parents}
    formats = [
        files[number].format
        for number in named
        if files[number].status.path not in taken
    ]
    for number in named:
        is_heart = files[number].role == "config"
        if (
            number in draft.members
            or is_heart
            or formats.count(files[number].format) > 1
        ):
            continue
        draft.members.add(number)
        _say(draft, files, position, number)
        _add_named(draft, number, files, names)


def _say(draft: _Draft, files: Sequence[ReadFile], number: int, named: int) -> None:
    reason = (
        f"{_base(files[number].status.path)} names {_base(files[named].status.path)}"
    )
    draft.reasons[reason] = None


def _add_the_rest(
    drafts: list[_Draft], files: Sequence[ReadFile], names: _Names
) -> None:
    """Add files without a configuration: a script with what it names, or alone."""
    taken = {position for draft in drafts for position in draft.members}
    rest = [position for position in range(len(files)) if position not in taken]
    # Those that nobody names come first: they are the ones that name others.
    rest.sort(key=lambda position: (bool(names.up.get(position)), position))
    for position in rest:
        if position in taken:
            continue
        draft = _Draft({position})
        _add_named(draft, position, files, names)
        taken |= draft.members
        drafts.append(draft)


# What one file, or one chart, holds is one plan unless it holds a format twice.
_BY_FORMAT = frozenset({"format", "chart"})


def _joined_by_role(
    drafts: list[_Draft], files: Sequence[ReadFile], *, by_folder: bool
) -> list[_Draft]:
    """Join the plans of a folder, or of the command line, when no role is there twice.

    The documents of one file are one plan when no two are of one format.
    """
    for pool, reason, kind in _pools(files, by_folder=by_folder):
        inside = [draft for draft in drafts if draft.members & pool]
        if len(inside) < 2:  # noqa: PLR2004 - one plan has nothing to join
            continue
        members = {position for draft in inside for position in draft.members}
        if sum(len(draft.members) for draft in inside) > len(members):
            continue  # they share files: nothing is unclear about them
        # Of measurements there may be any number: runs are repeated.
        kinds = [
            item
            for draft in inside
            for item in {
                files[position].format if kind in _BY_FORMAT else _kind(files[position])
                for position in draft.members
                if files[position].role != "measurement"
            }
        ]
        if len(set(kinds)) < len(kinds) or not _one_machine(files, members):
            continue
        if kind == "folder" and _are_apart(files, members):
            continue
        joined = _Draft(members)
        for draft in inside:
            joined.reasons.update(draft.reasons)
        joined.reasons[reason] = None
        drafts = [draft for draft in drafts if draft not in inside] + [joined]
    return drafts


def _are_apart(files: Sequence[ReadFile], members: Iterable[int]) -> bool:
    """Return whether scripts of a folder start programs or name what they take.

    A script that gives a program its settings names the file of its engine as well.
    """
    roles: dict[str, set[str]] = {}
    for position in members:
        file = files[position]
        kind = file.role if file.source.is_script else f"{file.role} file"
        roles.setdefault(kind, set()).add(file.status.path)
    settings = roles.get("config", set())
    starting = settings | roles.get("launcher", set())
    return len(starting) > 1 or bool(settings and "engine file" in roles)


def _one_machine(files: Sequence[ReadFile], members: Iterable[int]) -> bool:
    """Return whether nothing says that snapshots are of several machines."""
    nodes = [
        reading.node
        for position in sorted(members)
        for reading in files[position].readings
        if reading.node is not None
    ]
    if len(nodes) < 2:  # noqa: PLR2004 - one machine is itself
        return True
    from speccheck.validator.sources.joining.one_node import agree  # noqa: PLC0415

    return agree(nodes)


def _kind(file: ReadFile) -> str:
    """Return its role; NCCL reads the system's and user's files beside a script's.

    Several tools may have looked at one machine. Source: NVIDIA/nccl
    src/misc/param.cc (initEnvFunc).
    """
    if file.role == "node":
        return f"node {file.format}"
    if file.format != "nccl-conf":
        return file.role
    return "system" if _base(file.status.path) == "nccl.conf" else "user"


def folder_of(path: str) -> str:
    """Return the folder whose files may be one plan; of a chart's templates its own."""
    folder, name = os.path.split(path)
    if TEMPLATES in folder and name.endswith(_SUFFIXES):
        folder = chart_of(path) or folder
    return folder


def _pools(
    files: Sequence[ReadFile], *, by_folder: bool
) -> list[tuple[set[int], str, str]]:
    """Return the sets of files that may be one plan, with the reason to give."""
    by_path: dict[str, set[int]] = {}
    folders: dict[str, set[int]] = {}
    charts: set[str] = set()
    named: set[int] = set()
    for position, file in enumerate(files):
        by_path.setdefault(file.status.path, set()).add(position)
        if file.status.named and not by_folder:
            named.add(position)
        elif not file.status.followed:
            folder = folder_of(file.status.path)
            folders.setdefault(folder, set()).add(position)
            if folder != os.path.dirname(file.status.path):
                charts.add(folder)
    pools = [
        (pool, f"{_base(path)} holds both", "format") for path, pool in by_path.items()
    ]
    pools += [
        (folders[folder], f"the chart {_base(folder)} starts it", "chart")
        for folder in charts
    ]
    pools += [
        (pool, f"one file of each kind in {folder or '.'}", "folder")
        for folder, pool in folders.items()
    ]
    pools.append((named, "named together, one file of each kind", "role"))
    return [row for row in pools if len(row[0]) > 1]


_SUFFIXES = (".yaml", ".yml", ".json", ".hjson", ".toml")
_MOST_FILES = 100
_PROGRAM_SUFFIX = ".py"


def with_followed(files: Sequence[ReadFile], readers: Readers) -> list[ReadFile]:
    """Return the given files, those that they name, and those that these name in turn.

    A script that one of them starts and that is of no known format sets nothing that
    training reads; what may come through it comes through the script that starts it.
    """
    known = {os.path.normpath(file.status.path) for file in files}
    bases = {os.path.basename(path) for path in known}
    all_files: list[ReadFile] = []
    waiting = list(files)
    budget = _MOST_FILES
    while waiting:
        file = waiting.pop(0)
        inherited: dict[str, tuple[Opening, ...]] = {}
        for target in _targets(file):
            if os.path.basename(target) in bases or budget <= 0:
                continue
            path = find_named(file.status.path, target)
            if path is None or path in known:
                continue
            known.add(path)
            bases.add(os.path.basename(path))
            budget -= 1
            status, read = read_file(path, named=False, readers=readers)
            if path.endswith(_PROGRAM_SUFFIX) and len(read) != 1:
                continue  # which of its configurations runs is not known
            waiting += [
                item._replace(status=item.status._replace(followed=True))
                for item in read
            ]
            if status.state == "unrecognised" and path.endswith(SCRIPT_SUFFIXES):
                inherited[target] = openings_of(Source(path, read_text(path)))
        all_files.append(_with_inherited(file, inherited) if inherited else file)
    return all_files


def _with_inherited(
    file: ReadFile, inherited: Mapping[str, tuple[Opening, ...]]
) -> ReadFile:
    """Return a file with the openings of the scripts that were read in its stead."""
    result: list[Opening] = []
    for opening in file.openings:
        result += inherited.get(opening.target, (opening,))
    return file._replace(openings=tuple(dict.fromkeys(result)))


def _targets(file: ReadFile) -> Iterator[str]:
    taken = {source.name for source in file.parents}
    for reading in file.readings:
        for reference in reading.references:
            target = reference.target
            if reference.is_open or target in taken:
                continue
            if target.endswith((*_SUFFIXES, *SCRIPT_SUFFIXES)):
                yield target
    for opening in file.openings:
        if opening.target.endswith(SCRIPT_SUFFIXES):
            yield opening.target
    yield from _programs(file)


def _programs(file: ReadFile) -> tuple[str, ...]:
    """Return the Python files that a script starts."""
    if _PROGRAM_SUFFIX not in file.source.text or file.source.language != "shell":
        return ()
    from speccheck.validator.sources.joining.programs import programs  # noqa: PLC0415 - dear

    return programs(file)
