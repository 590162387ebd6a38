"""A list of visible devices that names a GPU which the node does not have.

Why it hurts: CUDA stops reading CUDA_VISIBLE_DEVICES at the first entry that is no
device, and shows only those before it. Ranks beyond find no GPU; a list that was made
for a larger node, or before a GPU was lost, ends the launch on this node alone.

What passes: each number in the list is below the number of GPUs, and each UUID is that
of one of them.

Where it does not apply: the variable is not set, hides all devices on purpose (empty,
-1, NoDevFiles), or names parts of partitioned GPUs. UUIDs are digests in a snapshot
that does not keep identifiers: then a list of them is undecided.

Source: NVIDIA CUDA C++ Programming Guide, CUDA environment variables; Slurm gres
documentation (NoDevFiles).

Bad::

    export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7    # on a node with 4 GPUs

Good::

    export CUDA_VISIBLE_DEVICES=0,1,2,3            # or leave it to the launcher
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Verdicts, fail, passed, rule

_NAME = "CUDA_VISIBLE_DEVICES"
_HIDDEN = ("", "-1", "NoDevFiles")
_GPU, _PARTITION, _DIGEST = "GPU-", "MIG-", "hashed:"


@rule(clause="TOPO-060", about=(_NAME,))
def visible_device_missing(environment: Environment, gpus: Gpus) -> Verdicts:
    """Judge each entry of the list against the GPUs that there are."""
    variable = environment.find(_NAME)
    if variable is None:
        return
    if variable.value is None:
        raise MissingEvidence(_NAME, "its value could not be worked out")
    entries = [part.strip() for part in variable.value.split(",")]
    if entries[0] in _HIDDEN or any(entry.startswith(_PARTITION) for entry in entries):
        return
    there = gpus.each()
    missing = [entry for entry in entries if not _is_there(entry, there)]
    at = [variable.place, *gpus.count.places]
    if not missing:
        yield passed(at=at, measured=len(entries), required=len(there))
        return
    shown = entries.index(missing[0])
    yield fail(
        f"{_NAME} names {', '.join(missing)}; the node has {len(there)} GPUs: "
        f"CUDA shows the {shown} before it and no more",
        at=at,
        measured=variable.value,
        required=f"devices of {len(there)} GPUs",
        cost="ranks beyond find no device, and the launch fails on this node",
        remedy=f"Unset {_NAME}, or list GPUs of this node only; where one has gone, "
        "take the node out of service.",
        action="FIX_CONFIG",
    )


def _is_there(entry: str, there: tuple[Gpu, ...]) -> bool:
    """Return whether a number, or a UUID or the beginning of one, is that of a GPU."""
    if not entry.startswith(_GPU):
        return entry.isdecimal() and int(entry) < len(there)
    for gpu in there:
        if gpu.uuid.need().startswith(_DIGEST):
            raise MissingEvidence(gpu.uuid.name, "a digest; see --keep-identifiers")
    return any(gpu.uuid.need().startswith(entry) for gpu in there)
