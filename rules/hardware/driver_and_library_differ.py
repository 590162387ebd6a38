"""A driver library of another release than the kernel module.

Why it hurts: programs cannot start on the GPUs; those that run go on until they end.

What passes: the library and the loaded module are of one release.

Where it does not apply: a node on which neither is there.

Source: NVML, return code 18 (library and driver differ); facebookresearch/gcm.

Bad::

    nvidia-smi      # Failed to initialize NVML: Driver/library version mismatch

Good::

    cat /proc/driver/nvidia/version     # the release that nvidia-smi shows
"""

from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Codes(Numbers):
    """The NVML return code for a library that does not match the kernel module."""

    mismatch_code: int


@rule(clause="HW-060")
def driver_and_library_differ(driver: Driver, limit: Codes) -> Verdicts:
    """Judge the answer of the library, then the releases."""
    status, module = driver.management_library_status, driver.kernel_module_version
    library = driver.version
    if module.status == "absent" and status.status == "absent":
        return
    differ = library.is_known and module.is_known and library.value != module.value
    if status.value == limit.mismatch_code or differ:
        yield fail(
            f"the loaded kernel module is {module.or_else('of another release')}, the "
            f"library {library.or_else('refuses it')}",
            at=[module, library, status],
            measured=library.or_else(str(status.value)),
            required=module.value,
            cost="no program can start on the GPUs",
            remedy="Reboot the node, or unload the nvidia modules and load them again.",
            action="REBOOT",
        )
        return
    yield passed(at=[module, library], measured=library.need(), required=module.need())
