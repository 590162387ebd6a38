"""A node with GPUs on which the libraries of the driver do not load.

Why it hurts: programs find no GPU. In a container the mount of the library has failed;
files of no size are what is left of it.

What passes: the libraries of the clause load.

Where it does not apply: a node without GPUs of NVIDIA.

Source: nebius/soperator issue 2684; NVIDIA container toolkit documentation.

Bad::

    ldconfig -p | grep libcuda.so.1     # nothing

Good::

    ldconfig -p | grep libcuda.so.1     # /usr/lib/x86_64-linux-gnu/libcuda.so.1
"""

from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Needed(Numbers):
    """The libraries that programs on GPUs load."""

    libraries: tuple[str, ...]


@rule(clause="HW-064")
def driver_library_missing(driver: Driver, limit: Needed) -> Verdicts:
    """Compare what loads with what is needed."""
    if driver.kernel_module_version.status == "absent":
        return
    driver.kernel_module_version.need()
    texts = driver.libraries.need()
    missing = [library for library in limit.libraries if library not in texts]
    if not missing:
        yield passed(at=driver.libraries)
        return
    yield fail(
        f"{', '.join(missing)}: not found, or does not load",
        at=driver.libraries,
        measured=", ".join(missing),
        required=", ".join(limit.libraries),
        cost="programs find no GPU",
        remedy="Install the driver's libraries, or mend the container runtime: "
        "nvidia-ctk runtime configure.",
        action="FIX_CONFIG",
    )
