"""A compute process on a GPU before the job begins.

Why it hurts: memory and time that an old job still holds are missing to the new one,
which runs out of memory on one GPU or waits for it at each step.

What passes: no compute process. Inside a container the processes of others cannot be
seen, so that none is no proof there.

Where it does not apply: a look at a node that is at work; the clause is for the gate
before a job.

Source: facebookresearch/gcm, oracle-quickstart/oci-hpc, awslabs/awsome-distributed-ai.

Bad::

    nvidia-smi --query-compute-apps=pid,name --format=csv   # 4711, python

Good::

    nvidia-smi --query-compute-apps=pid,name --format=csv   # nothing
"""

from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.evidence.node.host import Host
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown


@rule(clause="HW-033")
def process_left_on_gpu(gpu: Gpu, host: Host) -> Verdicts:
    """Judge how many compute processes the driver lists."""
    processes = gpu.compute_processes
    count = processes.need()
    if count:
        noun = "process holds" if count == 1 else "processes hold"
        yield fail(
            f"{count:,} compute {noun} the GPU; none may before a job begins",
            at=processes,
            measured=count,
            required=0,
            action="FIX_CONFIG",
        )
        return
    container = host.container
    if container.need() != "none":
        yield unknown(
            f"no process is seen, but from within {container.value} those of others "
            "cannot be",
            missing=["gpus.compute_processes of the host"],
            at=processes,
        )
        return
    yield passed(at=processes, measured=0, required=0)
