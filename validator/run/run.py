"""One run: files in, judged plans out, positions worked out only for findings."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from speccheck.validator.editions.edition import Edition
from speccheck.validator.engine.request import Excluded, Request, own_files
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.script_names import SCRIPT_SUFFIXES
from speccheck.validator.run.judging import (
    JudgedPlan,
    RunState,
    ShadowEdition,
    judge_plan,
    names_of,
)
from speccheck.validator.sources.files import (
    FileStatus,
    PassedOver,
    PassedOverCounts,
    ReadFile,
    excluded_file,
    find_files,
    read_file,
)
from speccheck.validator.sources.joining.grouping import (
    PlanFiles,
    each_alone,
    folder_of,
    group,
    with_followed,
)
from speccheck.validator.sources.registry import Readers

if TYPE_CHECKING:
    from speccheck.validator.run.shadow_edition import ShadowJudging

# No file has so long a name: what matches it matches all that lies in the folder.
_ANY_NAME = "\0" * 300


class RunResult(Record):
    """The outcome of a run.

    Attributes:
        edition: that counts.
        use: ci, preflight or certify.
        files: all that were looked at.
        plans: those that the files make, judged.
        unsought: plans for whose failures no change was sought.
        warnings: what settings and command line say in vain.
        settings: the files that hold for all of it, the closest first.
        is_isolated: settings were not read.
        second: a shadow edition, which only warns.
        passed_over: what lies below folders that were given and was not read.

    """

    edition: Edition
    use: str
    files: tuple[FileStatus, ...]
    plans: tuple[JudgedPlan, ...]
    unsought: int = 0
    warnings: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    is_isolated: bool = False
    second: ShadowEdition | None = None
    passed_over: tuple[PassedOver, ...] = ()


def all_readers(request: Request) -> Readers:
    """Return the readers of the run; raises PluginFault."""
    if not request.plugins:
        return Readers()
    from speccheck.validator.engine.rule_index import plugin_readers  # noqa: PLC0415 - seldom

    return Readers(plugin_readers())


def read_all(
    request: Request, readers: Readers, passed_over: PassedOverCounts | None = None
) -> Iterator[tuple[list[FileStatus], list[ReadFile]]]:
    """Read the files in batches: the named ones together, each folder by itself.

    Folders with scripts come first: what these start in other folders is known then.
    """
    excluded = _exclusion(request)
    own = own_files(request.judging.policy, request.tailoring)
    batches: list[tuple[str | None, list[str]]] = []
    for path, named in find_files(request.arguments, excluded, passed_over):
        if path in own and not named:
            continue
        folder = None if named else folder_of(path)
        if not batches or batches[-1][0] != folder:
            batches.append((folder, []))
        batches[-1][1].append(path)
    batches.sort(key=lambda batch: batch[0] is not None and not _holds_script(batch[1]))
    for folder, paths in batches or [(None, [])]:
        named = folder is None
        statuses: list[FileStatus] = []
        files: list[ReadFile] = []
        for path in paths:
            if named and request.force_exclude and excluded and path != "-":
                pattern = excluded(path)
                if pattern is not None:
                    statuses.append(excluded_file(path, pattern.place))
                    continue
            status, read_files = read_file(
                path,
                named=named and not request.skip_unknown,
                format_id=request.format,
                stdin_name=request.stdin_name,
                readers=readers,
            )
            statuses.append(status)
            files.extend(read_files)
        yield statuses, files


def _holds_script(paths: Iterable[str]) -> bool:
    return any(path.endswith(SCRIPT_SUFFIXES) for path in paths)


def _exclusion(request: Request) -> Callable[[str], Excluded | None] | None:
    """Return what tells by which pattern a file or folder is excluded, if by any.

    A pattern means what it matches and, of a folder, all that lies in it.
    """
    if not request.excluded:
        return None
    from speccheck.validator.engine.paths import matches, path_within  # noqa: PLC0415 - seldom

    def excluded_by(path: str) -> Excluded | None:
        for excluded in request.excluded:
            inside = path_within(path, excluded.folder)
            if inside is None:
                continue
            parts = inside.split("/")
            names = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
            names.append(f"{inside}/{_ANY_NAME}")
            if any(matches(excluded.pattern, name) for name in names):
                return excluded
        return None

    return excluded_by


class NoSnapshot(Exception):  # noqa: N818 - a usage error with its own message
    """The file of `--node` is none, or cannot be read."""


def read_node(
    path: str, readers: Readers, text: str | None = None
) -> tuple[FileStatus, ReadFile]:
    """Return the snapshot of a machine, or its text just taken; raises NoSnapshot.

    What was just taken may be a measurement alone.
    """
    status, files = read_file(path, readers=readers, text=text)
    roles = {"node"} if text is None else {"node", "measurement"}
    if len(files) == 1 and files[0].role in roles:
        return status, files[0]
    result = status.message or f"it is {status.format or 'of no known format'}"
    message = f"--node {path}: no snapshot: {result}; take one with speccheck probe"
    raise NoSnapshot(message)


def read_plans(
    request: Request, passed_over: PassedOverCounts | None = None
) -> Iterator[tuple[list[FileStatus], list[PlanFiles]]]:
    """Read the files in batches and say which of them make one plan.

    A machine without files is judged by itself. What a search passes over is counted.
    """
    readers = all_readers(request)
    if request.node is None:
        yield from _read_plans(request, readers, passed_over)
        return
    status, node = read_node(request.node, readers, request.snapshot)
    if not request.arguments:
        yield [status], [PlanFiles((node,))]
        return
    reason = f"judged on the machine of {status.path}"
    for statuses, groups in _read_plans(request, readers, passed_over):
        plans = [
            PlanFiles((*plan_files.files, node), (*plan_files.reasons, reason))
            for plan_files in groups
            if all(file.role != "node" for file in plan_files.files)
        ]
        yield [status, *statuses], plans


def _read_plans(
    request: Request, readers: Readers, passed_over: PassedOverCounts | None
) -> Iterator[tuple[list[FileStatus], list[PlanFiles]]]:
    """Yield the plans of each batch; what a script of another folder starts is its."""
    launched: set[str] = set()
    for statuses, files in read_all(request, readers, passed_over):
        if request.each:
            yield statuses, each_alone(files)
        else:
            files[:] = [
                file
                for file in files
                if file.status.named
                or os.path.abspath(file.status.path) not in launched
            ]
            files_and_named = with_followed(files, readers)
            named = [file.status for file in files_and_named[len(files) :]]
            groups = group(
                files_and_named, by_folder=request.by_folder, readers=readers
            )
            launched |= {
                os.path.abspath(file.status.path)
                for plan_files in groups
                for file in plan_files.files
                if file.status.followed
            }
            yield (
                [*statuses, *named],
                [_with_reason(request, plan_files) for plan_files in groups],
            )
        del files[:]


def _with_reason(request: Request, group: PlanFiles) -> PlanFiles:
    """Return a plan that says whose settings count, where its files have several."""
    if request.for_files is None or len(group.files) == 1:
        return group
    reason = request.for_files.reason(names_of(group))
    return group._replace(reasons=(*group.reasons, reason)) if reason else group


def _shadow_judging(request: Request, state: RunState) -> "ShadowJudging | None":
    """Return what judges each plan by the shadow edition as well, as its last step."""
    if request.warned is None:
        return None
    from speccheck.validator.run.shadow_edition import ShadowJudging  # noqa: PLC0415 - seldom

    shadow = ShadowJudging(request)
    state.steps = (*state.steps, shadow)
    return shadow


def run(request: Request, state: RunState | None = None) -> RunResult:
    """Read, group and judge files, by a state of the request where there is one.

    Raises UnknownName, UnknownFormat, UnknownProfile, UnknownEdition, UnknownSelection
    or PluginFault for names that nobody knows and plugins that hold nothing, and
    WaiverFault for files of waivers.
    """
    state = state or RunState(request)
    shadow = _shadow_judging(request, state)
    statuses: dict[str, FileStatus] = {}
    plans: list[JudgedPlan] = []
    passed_over: PassedOverCounts = Counter()
    for file_statuses, groups in read_plans(request, passed_over):
        for status in file_statuses:
            # A file that another one names may lie in a folder of its own turn.
            if not status.followed or status.path not in statuses:
                statuses[status.path] = status
        while groups:
            plans.append(judge_plan(groups.pop(0), state))
    for waived in state.waived_plans():
        from speccheck.validator.run.waivers.judged import (  # noqa: PLC0415 - seldom
            with_waivers_judged,
        )

        plans = with_waivers_judged(waived, plans, statuses)
    return RunResult(
        state.judges.edition,
        request.use,
        tuple(statuses.values()),
        tuple(plans),
        state.unsought,
        state.warnings,
        request.judging.settings,
        request.is_isolated,
        None if shadow is None else shadow.summary,
        tuple(
            PassedOver(reason, name, count)
            for (reason, name), count in passed_over.most_common()
        ),
    )
