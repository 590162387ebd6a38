"""A data set that is not there, or not readable, on this machine.

Why it hurts: the job fails at its start, on the one node of many whose mount is
missing, after all of them were allocated.

What passes: each file and folder of data that the job names exists and may be read by
this user; a name with which the names of data files begin (.bin, .idx) counts as well.

Where it does not apply: a snapshot that was taken without the job; data that is
streamed, or named by a repository, a URL, a relative path or a template. For a job in a
container the data is looked at from inside one: from outside it is undecided.

Source: facebookresearch/gcm, which looks at mounts before a job.

Bad::

    ls /data/tokens      # No such file or directory: /data is not mounted here

Good::

    ls /data/tokens      # shard_000.bin  shard_000.idx ...
"""

from speccheck.validator.evidence.node.host import (
    Host,
    JobPaths,
    local_path,
    seen_by_another,
)
from speccheck.validator.evidence.plan import Data, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown


@rule(clause="DATA-060", about=("data.paths",))
def data_path_missing(data: Data, run: Run, host: Host, paths: JobPaths) -> Verdicts:
    """Judge each local file and folder of data."""
    result = (local_path(text) for text in data.paths.or_else(()))
    local = dict.fromkeys(text for text in result if text is not None)
    if not local or not paths.were_requested:
        return
    shown = {item.name.value: item for item in paths.shown if item.role.value == "data"}
    seen = [shown[path] for path in local if path in shown]
    gone = [item for item in seen if item.exists.value is False]
    closed = [item for item in seen if item.is_readable.value is False]
    problem = "; ".join(
        (
            *(f"{item.name.value} does not exist here" for item in gone),
            *(f"{item.name.value} may not be read by this user" for item in closed),
        )
    )
    is_inside = run.in_container.value is True
    if seen_by_another(run.in_container, host.container) or (is_inside and problem):
        yield unknown(
            "the job runs in a container of its own: what it names as data may lie "
            f"elsewhere there{problem and '; here ' + problem}",
            missing=["job_paths"],
            at=[data.paths, run.in_container],
        )
        return
    if problem:
        yield fail(
            problem,
            at=[
                data.paths,
                *(item.exists for item in gone),
                *(item.is_readable for item in closed),
            ],
            measured=len(gone) + len(closed),
            required=0,
            cost="the job fails at its start on this node",
            action="FIX_CONFIG",
        )
        return
    for path in local:
        job_path = paths.named("data", path)
        job_path.exists.need()
        job_path.is_readable.need()
    yield passed(at=data.paths, measured=len(local))
