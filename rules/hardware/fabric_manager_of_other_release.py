"""A fabric manager of another release than the driver.

Why it hurts: it refuses to work with a driver of another release at its next start, and
then no GPU has NVLink.

What passes: both of one release.

Where it does not apply: nodes on which it does not run.

Source: NVIDIA Fabric Manager user guide; leptonai/gpud.

Bad::

    nv-fabricmanager --version    # 550.54.15, under driver 570.133.20

Good::

    nv-fabricmanager --version    # 570.133.20, under driver 570.133.20
"""

from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-115")
def fabric_manager_of_other_release(driver: Driver) -> Verdicts:
    """Compare the two, where the fabric manager runs."""
    running, version = driver.fabric_manager_is_running, driver.fabric_manager_version
    if running.status == "absent" or running.value is False:
        return
    module = driver.kernel_module_version
    of_driver = module if module.is_known else driver.version
    if running.need() and version.need() == of_driver.need():
        yield passed(at=[version, of_driver], measured=version.value)
        return
    yield fail(
        f"the fabric manager is {version.value}, the driver {of_driver.value}; both "
        "should be of one release",
        at=[version, of_driver],
        measured=version.value,
        required=of_driver.value,
        remedy=f"Install nvidia-fabricmanager {of_driver.value} on the idle node, and "
        "start it again: systemctl restart nvidia-fabricmanager.",
        action="FIX_CONFIG",
    )
