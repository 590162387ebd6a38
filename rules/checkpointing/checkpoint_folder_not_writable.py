"""A folder for checkpoints that cannot be written on this machine.

Why it hurts: the job trains until the first save, and ends there with all that it had
done. Mostly a mount is missing or read-only, or the folder belongs to somebody else.

What passes: the folder, or the nearest one above it that exists, is mounted read-write
and this user may write there. Nothing is written to find out.

Where it does not apply: nothing is saved; a snapshot that was taken without the job; a
path that is relative, of an object store, or left open. For a job in a container the
folder is looked at from inside one: from outside it is undecided.

Source: facebookresearch/gcm and mej/nhc, which look at mounts before a job.

Bad::

    mount | grep /checkpoints      # ... type nfs4 (ro,...)

Good::

    mount | grep /checkpoints      # ... type nfs4 (rw,...)
"""

from speccheck.validator.evidence.node.host import (
    Host,
    JobPath,
    JobPaths,
    local_path,
    seen_by_another,
)
from speccheck.validator.evidence.plan import Checkpoint, Run
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown


@rule(clause="CKPT-060", about=("checkpoint.directory",))
def checkpoint_folder_not_writable(
    checkpoint: Checkpoint, run: Run, host: Host, paths: JobPaths
) -> Verdicts:
    """Judge the folder, or the nearest one above it that exists."""
    folder = checkpoint.directory
    path = local_path(folder.value)
    if checkpoint.enabled.value is False or path is None or not paths.were_requested:
        return
    job_path = paths.named("checkpoint", path)
    problem, leaf = _problem(job_path)
    at = [folder, leaf]
    is_inside = run.in_container.value is True
    if seen_by_another(run.in_container, host.container) or (is_inside and problem):
        yield unknown(
            f"the job runs in a container of its own: {path} is another folder there "
            f"unless it is mounted at the same place{problem and '; here ' + problem}",
            missing=["job_paths"],
            at=[folder, run.in_container],
        )
        return
    if problem:
        yield fail(
            problem,
            at=at,
            measured=problem,
            required="a folder that this user may write",
            cost="the job ends at its first save",
            action="FIX_CONFIG",
        )
        return
    for each in (
        job_path.exists,
        job_path.is_read_only,
        job_path.is_writable,
        job_path.nearest_folder,
    ):
        each.need()
    if job_path.exists.value:
        job_path.is_folder.need()
    if job_path.nearest_folder.value == "/" and path != "/":
        yield unknown(
            f"nothing of {path} exists: a mount may be missing, and the job would fill "
            "the root file system; make the folder, or mount it",
            missing=["job_paths"],
            at=[folder, job_path.nearest_folder],
        )
        return
    yield passed(
        at=[folder, job_path.is_writable], measured=job_path.nearest_folder.value
    )


def _problem(job_path: JobPath) -> tuple[str, Value[bool]]:
    """Return what is wrong with it, and the leaf that says so."""
    folder = job_path.nearest_folder.or_else("its folder")
    above = (
        ""
        if folder == job_path.name.value
        else f" (all that exists of {job_path.name.value})"
    )
    if job_path.exists.value and job_path.is_folder.value is False:
        return f"{job_path.name.value} is a file and no folder", job_path.is_folder
    if job_path.is_read_only.value:
        mount = job_path.mount_point.or_else("its file system")
        kind = job_path.file_system.or_else("unknown type")
        text = f"{folder}{above} lies on {mount} ({kind}), which is mounted read-only"
        return text, job_path.is_read_only
    if job_path.is_writable.value is False:
        return f"{folder}{above} may not be written by this user", job_path.is_writable
    return "", job_path.is_writable
