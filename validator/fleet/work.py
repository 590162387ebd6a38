"""Judges the evidence of a fleet portion by portion, on one core or on several."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.fleet.fleet import FleetNode, Unread
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.listing import Chunk
from speccheck.validator.fleet.node_judge import NodeJudge
from speccheck.validator.fleet.own_result import own_result
from speccheck.validator.fleet.portion import Portion
from speccheck.validator.fleet.reading import Report, reports
from speccheck.validator.run.judging import RunState
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.files import ReadFile

if TYPE_CHECKING:
    from concurrent.futures import Future

    from speccheck.validator.fleet.node_judge import VerdictOf

# Below it a second process costs more than it saves: half a second to load the rules.
FEWEST_FOR_SEVERAL = 1000
_MOST_PROCESSES = 32
_USUAL_BYTES = 80_000  # of the snapshot of a node with eight GPUs
_MOST_NAME = 255


class Work(Record):
    """How the nodes of a fleet are judged.

    job: the files of the job that is to run on them. verdict_of: what the findings of
    a node come to. progress: told how many nodes more are done. counts: whether
    counters are kept.
    """

    request: Request
    job: tuple[ReadFile, ...]
    verdict_of: "VerdictOf"
    progress: Callable[[int], None] = lambda _: None
    counts: bool = False


def judged(work: Work, chunks: Sequence[Chunk], nodes: int, cores: int = 0) -> Portion:
    """All nodes as one portion.

    Args:
        work: how.
        chunks: what there is to read.
        nodes: how many files of one node there are.
        cores: to judge on; 0 for all that there are.

    """
    nodes += sum(one.size for one in chunks if one.is_lines) // _USUAL_BYTES
    cores = min(cores or _cores(), _MOST_PROCESSES, len(chunks))
    whole = Portion(counts=work.counts)
    if cores < 2 or nodes < FEWEST_FOR_SEVERAL:  # noqa: PLR2004 - one core
        worker = _Worker(work)
        for chunk in chunks:
            worker.add(chunk, whole, work.progress)
        return whole
    for portion in _by_several(work, chunks, cores):
        whole.take(portion)
        work.progress(len(portion.nodes) + len(portion.unread))
    return whole


class _Worker:
    """Judges chunk after chunk; what was judged once is known for the next."""

    def __init__(self, work: Work) -> None:
        judges = RunState(work.request).judges
        self._judge = NodeJudge(judges, work.verdict_of, work.job)
        self.counts = work.counts

    def add(
        self, chunk: Chunk, portion: Portion, progress: Callable[[int], None]
    ) -> None:
        """Judge a chunk into a portion."""
        for report in reports(chunk):
            progress(1)
            if isinstance(report, Unread):
                portion.unread.append(report)
            elif report.is_result:
                portion.add_launch(report.content)
                portion.results.append(own_result(report))
            else:
                self._add_snapshot(report, portion)

    def _add_snapshot(self, report: Report, portion: Portion) -> None:
        try:
            found = self._judge(report.content)
        except ReadError as error:
            portion.unread.append(Unread(report.file, error.problem, report.name))
            return
        node = _node(report, found.verdict)
        number = portion.add(node, report.content, found.profile)
        portion.of_job.add(found.job)
        for finding in found.findings:
            portion.found.note(finding, number)


def _node(report: Report, verdict: str) -> FleetNode:
    content = report.content
    tool = content.get("tool")
    version = tool.get("version") if isinstance(tool, dict) else None
    return FleetNode(
        name=report.name[:_MOST_NAME],
        file=report.file,
        taken=report.taken,
        verdict=verdict,
        is_synthetic="synthetic" in content,
        release=version if isinstance(version, str) else "",
    )


# Of a process that judges chunks for another one.
_WORKER: list[_Worker] = []


def _begin(work: Work) -> None:
    import gc  # noqa: PLC0415 - of the processes alone

    gc.disable()
    _WORKER[:] = [_Worker(work)]


def _portion(chunk: Chunk) -> Portion:
    portion = Portion(counts=_WORKER[0].counts)
    _WORKER[0].add(chunk, portion, lambda _: None)
    return portion


def _by_several(work: Work, chunks: Sequence[Chunk], cores: int) -> Iterator[Portion]:
    """Portions in the order of the chunks, a few of them waiting at most."""
    from concurrent.futures import (  # noqa: PLC0415 - for large fleets alone
        ProcessPoolExecutor,
    )
    from multiprocessing import get_context  # noqa: PLC0415

    alone = work._replace(progress=_silent)
    with ProcessPoolExecutor(
        cores, get_context(), initializer=_begin, initargs=(alone,)
    ) as pool:
        waiting: list[Future[Portion]] = []
        for chunk in chunks:
            waiting.append(pool.submit(_portion, chunk))
            if len(waiting) > 2 * cores:
                yield waiting.pop(0).result()
        for one in waiting:
            yield one.result()


def _silent(_: int) -> None:
    """Tell nobody."""


def _cores() -> int:
    return len(os.sched_getaffinity(0))
