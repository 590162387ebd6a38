"""More checkpoints are kept than the file system of their folder has room for.

Why it hurts: the file system is full late in the run. The save that finds it so is
lost, and often the job with it.

What passes: the checkpoints that are kept, and one in the making, fit what is free now.
In a folder that is not empty older ones may make room, so that it fails only where not
one more fits. Of a file system of the node, each node fills it with its own share.

Where it does not apply: nothing is saved; a snapshot that was taken without the job; a
path that is no local one. Quotas of users and projects are not seen.

Source: public issues open_lm 154 and ms-swift 6392; bytes of a checkpoint from below.

Bad::

    save_total_limit: 10     # of 141 GB each, where df shows 1 TB

Good::

    save_total_limit: 2
"""

from speccheck.validator.evidence.node.host import (
    Host,
    JobPath,
    JobPaths,
    local_path,
    seen_by_another,
)
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.forecast.saving import kept_checkpoints, sections, size
from speccheck.validator.models.units import gigabytes
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

# Kinds of file systems that lie on drives or in memory of one node.
_OF_A_NODE = frozenset(
    {"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"}
)


class FolderLimit(Numbers):
    """What else lies in the folder while a checkpoint is written."""

    in_the_making: int


@rule(clause="CKPT-061", confidence="lower_bound", about=("checkpoint.directory",))
def checkpoints_outgrow_folder(
    plan: TrainingPlan, host: Host, paths: JobPaths, limit: FolderLimit
) -> Verdicts:
    """Judge (kept + in the making) x size / nodes that share it <= free."""
    checkpoint, run = sections(plan)
    folder = checkpoint.directory
    path = local_path(folder.value)
    if checkpoint.enabled.value is False or path is None or not paths.were_requested:
        return
    job_path = paths.named("checkpoint", path)
    at = [folder, job_path.free_bytes, checkpoint.keep_last, checkpoint.size_bytes]
    if seen_by_another(run.in_container, host.container):
        yield unknown(
            f"the job runs in a container of its own: {path} may lie elsewhere",
            missing=["job_paths"],
            at=[folder, run.in_container],
        )
        return
    free = job_path.free_bytes.need()
    each, count = (
        size(plan).need(),
        kept_checkpoints(checkpoint, run, limit.in_the_making),
    )
    nodes, text = _nodes(plan, job_path)
    at_least, words = count, f"{count} checkpoints"
    if _may_hold_some(job_path):
        at_least = limit.in_the_making
        words = f"{at_least} more"
    if at_least * each.lower / nodes > free:
        total = job_path.total_bytes.or_else(free)
        yield fail(
            f"{words} x {gigabytes(each.lower)}{text} = "
            f"{gigabytes(at_least * each.lower / nodes)} at least; {gigabytes(free)} "
            f"of {gigabytes(total)} are free at {job_path.mount_point.or_else(path)}",
            at=at,
            measured=at_least * each.lower / nodes,
            required=free,
            cost="a save finds the file system full, and the run ends",
            action="FIX_CONFIG",
        )
        return
    if count * each.upper > free:
        yield unknown(
            f"{count} checkpoints need {gigabytes(count * each.lower / nodes)} or "
            f"more; how much more, or how much of it is there already, is not known",
            missing=["checkpoint.size_bytes"],
            at=at,
        )
        return
    yield passed(at=at, measured=count * each.upper, required=free)


def _nodes(plan: TrainingPlan, job_path: JobPath) -> tuple[float, str]:
    """Return how many nodes share the bytes at most, and words for it."""
    if job_path.file_system.is_known and job_path.file_system.value not in _OF_A_NODE:
        return 1, ""
    is_whole = plan.value("checkpoint.format").value == "full"
    nodes = plan.value("cluster.nodes").need()
    if is_whole or nodes <= 1:
        return 1, ""
    return nodes, f" / {nodes} nodes"


def _may_hold_some(job_path: JobPath) -> bool:
    return job_path.exists.value is not False and job_path.is_empty.value is not True
