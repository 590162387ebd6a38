"""Checkpoints of several nodes in a folder that each node has for itself.

Why it hurts: every node writes its shards to its own disk. When one node is replaced,
its shards are gone, and the others cannot load the rest.

What passes: a folder outside the temporary ones of the node.

Where it does not apply: one node; nothing is saved; a path that is not known. A folder
under /tmp may be a mount, hence advice.

Source: torchtune recipes, whose examples save below /tmp; Filesystem Hierarchy Standard
3.0 (/tmp, /var/tmp); Linux tmpfs at /dev/shm.

Bad::

    output_dir: /tmp/llama3/checkpoints

Good::

    output_dir: /shared/llama3/checkpoints
"""

from speccheck.validator.evidence.plan import Checkpoint, Run, TrainingPlan
from speccheck.validator.forecast.bounds import several_nodes
from speccheck.validator.rule import Verdicts, fail, passed, rule

_OF_A_NODE = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - compared with, not opened


@rule(clause="CKPT-001", confidence="advisory", about=("checkpoint.directory",))
def checkpoints_on_node_storage(
    plan: TrainingPlan, checkpoint: Checkpoint, run: Run
) -> Verdicts:
    """Judge the folder of the checkpoints of a job on several nodes."""
    folder = checkpoint.directory
    if checkpoint.enabled.value is False or run.is_trial:
        return
    nodes = several_nodes(plan)
    if nodes is None or not folder.is_known:
        return
    path = folder.need().removeprefix("file://")
    own = [text for text in _OF_A_NODE if path == text or path.startswith(f"{text}/")]
    if not own:
        yield passed(at=folder)
        return
    yield fail(
        f"checkpoints of {nodes.in_words} go to {path}; {own[0]} is storage "
        f"of the node",
        at=[folder, *nodes.places],
        measured=own[0],
        required="storage that all nodes share",
        cost="a lost node takes its shards with it, and no other node can load them",
        remedy="Save to a file system or bucket that every node reaches.",
    )
