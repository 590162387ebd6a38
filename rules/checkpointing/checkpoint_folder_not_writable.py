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
    if checkpoint.enabled.value is False or path is None or not paths.were_asked_for:
        return
    one = paths.named("checkpoint", path)
    problem, leaf = _problem(one)
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
    for each in (one.exists, one.is_read_only, one.is_writable, one.nearest_folder):
        each.need()
    if one.exists.value:
        one.is_folder.need()
    if one.nearest_folder.value == "/" and path != "/":
        yield unknown(
            f"nothing of {path} exists: a mount may be missing, and the job would fill "
            "the root file system; make the folder, or mount it",
            missing=["job_paths"],
            at=[folder, one.nearest_folder],
        )
        return
    yield passed(at=[folder, one.is_writable], measured=one.nearest_folder.value)


def _problem(one: JobPath) -> tuple[str, Value[bool]]:
    """What is wrong with it, and the leaf that says so."""
    folder = one.nearest_folder.or_else("its folder")
    above = (
        "" if folder == one.name.value else f" (all that exists of {one.name.value})"
    )
    if one.exists.value and one.is_folder.value is False:
        return f"{one.name.value} is a file and no folder", one.is_folder
    if one.is_read_only.value:
        mount = one.mount_point.or_else("its file system")
        kind = one.file_system.or_else("unknown type")
        text = f"{folder}{above} lies on {mount} ({kind}), which is mounted read-only"
        return text, one.is_read_only
    if one.is_writable.value is False:
        return f"{folder}{above} may not be written by this user", one.is_writable
    return "", one.is_writable
