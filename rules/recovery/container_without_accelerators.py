"""A container that starts ranks and gets no GPU.

Why it hurts: the processes inside see no device: torch.cuda.is_available() is false,
and every rank stops as it picks its GPU.

What passes: an option that gives GPUs, or an engine that shows those of the node. ROCm
needs no more than their device files, CUDA the libraries of the driver as well.

Where it does not apply: pods, which get what their resources say; jobs of which no file
says that they use GPUs. A site may have made the runtime of NVIDIA the default, or
have `always use nv` in its configuration: hence advice.

Source: docker/cli container_run.md (--gpus); apptainer action_flags.go (--nv).

Bad::

    docker run --ipc=host image torchrun --nproc-per-node=8 train.py

Good::

    docker run --gpus all --ipc=host image torchrun --nproc-per-node=8 train.py
"""

from speccheck.validator.evidence.plan import Cluster, Container, Recovery
from speccheck.validator.rule import Verdicts, fail, passed, rule

_NONE, _POD = "none", "kubernetes"
_NO_LIBRARIES = "devices"  # enough for ROCm, whose libraries are those of the image
_OPTIONS = {
    "nvidia": "--gpus all",
    "amd": "--device=/dev/kfd --device=/dev/dri",
}


@rule(clause="COMM-017", confidence="advisory", about=("container.accelerators",))
def container_without_accelerators(
    container: Container, cluster: Cluster, recovery: Recovery
) -> Verdicts:
    """Judge the devices that a container is started with."""
    given = container.accelerators
    family = cluster.accelerator_family.or_else("")
    if container.engine.value == _POD or family not in _OPTIONS:
        return
    launched = recovery.processes_per_node.is_known or cluster.gpus_per_node.is_known
    if not launched or (not given.is_known and not given.places):
        return
    lacks_libraries = given.need() == _NO_LIBRARIES and family == "nvidia"
    if given.need() != _NONE and not lacks_libraries:
        yield passed(at=given, measured=given.need())
        return
    engine = container.engine.need()
    yield fail(
        "the container is started without "
        + ("the libraries of the GPU driver" if lacks_libraries else "GPUs"),
        at=given,
        measured=_NONE,
        required="GPUs of the node",
        cost="every rank stops as it picks its GPU, unless the site gives them to all",
        remedy=_remedy(engine, family),
    )


def _remedy(engine: str, family: str) -> str:
    if engine == "apptainer":
        return "Add --nv."
    if engine == "compose":
        return "Set gpus: all for the service."
    return f"Add {_OPTIONS[family]}."
