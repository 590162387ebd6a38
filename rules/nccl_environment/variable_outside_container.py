"""A communication variable that is set outside the container of the training.

Why it hurts: docker, podman and apptainer --cleanenv give a process the variables of
its image and those that the command names. What the script exports stays outside, and
NCCL runs with its defaults: another interface, another transport, no log.

What passes: each variable named on the command that starts the container.

Where it does not apply: engines that take the environment of the caller; a command with
options, or a file of variables, that were not read.

Source: docker/cli container_run.md (--env); apptainer create.go (--cleanenv).

Bad::

    export NCCL_SOCKET_IFNAME=eth0
    docker run --gpus all --network host image torchrun train.py

Good::

    export NCCL_SOCKET_IFNAME=eth0
    docker run -e NCCL_SOCKET_IFNAME --gpus all --network host image torchrun train.py
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.plan import Container
from speccheck.validator.rule import Verdicts, fail, passed, rule

_FAMILIES = (
    "FI_",
    "GLOO_",
    "NCCL_",
    "NVSHMEM_",
    "RCCL_",
    "SHARP_",
    "TORCH_NCCL_",
    "UCX_",
)
_NAMES = frozenset({"CUDA_DEVICE_MAX_CONNECTIONS", "TP_SOCKET_IFNAME"})
_OPTIONS = {"apptainer": "--env {name}=$" + "{name}"}


@rule(clause="COMM-061", about=("container.takes_environment",))
def variable_outside_container(
    environment: Environment, container: Container
) -> Verdicts:
    """Judge each communication variable that is set outside."""
    for variable in environment.outside:
        name = variable.name
        if not name.startswith(_FAMILIES) and name not in _NAMES:
            continue
        option = _OPTIONS.get(variable.outside, "-e {name}").format(name=name)
        yield fail(
            f"{name} is set outside the container, and {variable.outside} does not "
            f"hand it on",
            at=[variable.place, container.takes_environment],
            measured="outside",
            required=option,
            cost="the ranks run without it, and nothing says so",
            remedy=f"Add {option} to the command that starts the container.",
        )
    for name in container.variables.or_else(()):
        inside = environment.stated(name)
        if inside is not None and name.startswith(_FAMILIES):
            yield passed(at=inside.place, measured=name)
