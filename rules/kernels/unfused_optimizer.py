"""An optimizer that steps parameter by parameter in a large job.

Why it hurts: without fusion the step launches several kernels for each tensor,
thousands in all, while every GPU of the job waits for the slowest host thread.

What passes: a fused or foreach optimizer, stated or by the framework's default.

Where it does not apply: small jobs (the profiles of size class M and above add the
clause); models that are compiled or whose optimizer has no fused form; debugging.

Source: pytorch torch/optim/adamw.py (foreach is the default where neither fused nor
foreach is given; fused false without foreach is a loop); DeepSpeed ops/adam.

Bad::

    [optimizer]
    implementation = "for-loop"

Good::

    [optimizer]
    implementation = "fused"
"""

from speccheck.validator.evidence.plan import Cluster, Kernels, Memory, Optimizer, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule

_FUSED_FORMS = ("adam", "adagrad", "sgd")  # torch.optim classes that take fused


@rule(clause="KERN-005", confidence="advisory", about=("kernels.fused_optimizer",))
def unfused_optimizer(
    kernels: Kernels,
    optimizer: Optimizer,
    memory: Memory,
    cluster: Cluster,
    run: Run,
) -> Verdicts:
    """Judge the implementation of the optimizer."""
    fused = kernels.fused_optimizer
    if run.role.value == "debug" or not fused.is_known:
        return
    if memory.optimizer_offload_device.or_else("none") != "none":
        return
    if fused.need():
        yield passed(at=fused)
        return
    name = optimizer.name_of_optimizer.or_else("adam").lower()
    if not any(form in name for form in _FUSED_FORMS) or "8bit" in name:
        return
    yield fail(
        f"the optimizer steps parameter by parameter on "
        f"{cluster.world_size.need():,} GPUs",
        at=[fused, cluster.world_size],
        measured="a loop",
        required="fused or foreach",
        cost="thousands of small kernels at the end of every step",
    )
