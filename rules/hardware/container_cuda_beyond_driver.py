"""A container whose CUDA is of a newer generation than the driver runs.

Why it hurts: the first call of CUDA fails with `driver version is insufficient`, on
every rank.

What passes: CUDA_VERSION, which images of NVIDIA set, is of the generation (the first
number) that the driver runs, or of an older one. Within a generation newer releases run
on older drivers, from the generation of the clause on; before that each release needs
its own.

Where it does not apply: CUDA_VERSION is not set; nodes without a driver of NVIDIA.
Where libraries for a newer CUDA are installed, what they make of it is unknown.

Source: NVIDIA, CUDA compatibility; GoogleCloudPlatform/cluster-health-scanner.

Bad::

    CUDA_VERSION=13.0.1     # nvidia-smi: CUDA Version: 12.4

Good::

    CUDA_VERSION=12.8.1     # nvidia-smi: CUDA Version: 12.4
"""

import re

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.node.host import Driver, NodeVariables
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_NAME = "CUDA_VERSION"


class Generation(Numbers):
    """The first generation within which newer releases run on older drivers."""

    compatible_from: int


@rule(clause="HW-126", about=(_NAME,))
def container_cuda_beyond_driver(
    environment: Environment,
    variables: NodeVariables,
    driver: Driver,
    limit: Generation,
) -> Verdicts:
    """Compare the release that the image has with the one that the driver runs."""
    variable = environment.find(_NAME)
    if variable is None:
        variables.each()
    if variable is None or driver.kernel_module_version.status == "absent":
        return
    runs = driver.cuda_version
    wanted, most = _release(variable.value or "", _NAME), _release(runs.need(), runs)
    at = [variable.place, *runs.places]
    is_compatible = wanted[0] == most[0] >= limit.compatible_from
    if is_compatible or wanted <= most:
        yield passed(at=at, measured=runs.value, required=variable.value)
        return
    if driver.cuda_compatibility_is_installed.need():
        yield unknown(
            f"CUDA {variable.value} is beyond the {runs.value} of the driver, and "
            "libraries of cuda-compat are installed: whether they serve this driver "
            "is not known",
            missing=["a program of CUDA that has run"],
            at=at,
        )
        return
    newest = runs.value if wanted[0] == most[0] else f"generation {most[0]}"
    yield fail(
        f"the container has CUDA {variable.value}, the driver runs {runs.value}; it "
        f"must be of {newest} or older",
        at=at,
        measured=runs.value,
        required=variable.value,
        cost="the first call of CUDA fails on every rank",
        remedy="Update the driver, install the package cuda-compat of the image's "
        f"CUDA, or take an image of CUDA {runs.value} or older.",
        action="FIX_CONFIG",
    )


def _release(text: str, of: object) -> tuple[int, int]:
    matched = re.match(r"(\d{1,3})\.(\d{1,3})(?=\.|$)", text)
    if matched is None:
        name, reason = str(getattr(of, "name", of)), f"{text!r} is no release"
        raise MissingEvidence(name, reason)
    return int(matched.group(1)), int(matched.group(2))
