"""GDRCopy that is asked for on a node without its module.

Why it hurts: NCCL leaves it out without a message, and small messages take longer.

What passes: the module gdrdrv is loaded.

Where it does not apply: NCCL_GDRCOPY_ENABLE is not set, or 0.

Source: awslabs/awsome-distributed-ai; NVIDIA/gdrcopy.

Bad::

    NCCL_GDRCOPY_ENABLE=1       # lsmod shows no gdrdrv

Good::

    modprobe gdrdrv
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="FAB-031", about=("NCCL_GDRCOPY_ENABLE",))
def gdrcopy_without_module(environment: Environment, driver: Driver) -> Verdicts:
    """Judge whether the module is loaded where it is asked for."""
    variable = environment.find("NCCL_GDRCOPY_ENABLE")
    if variable is None or integer_seen(variable.value or "") in {None, 0}:
        return
    if "gdrdrv" in driver.modules.need():
        yield passed(at=[variable.place, driver.modules])
        return
    yield fail(
        f"NCCL_GDRCOPY_ENABLE={variable.value} asks for GDRCopy, and the module gdrdrv "
        "is not loaded",
        at=[variable.place, driver.modules],
        measured="not loaded",
        required="gdrdrv",
        cost="small messages take longer",
        remedy="modprobe gdrdrv, or unset NCCL_GDRCOPY_ENABLE.",
        action="FIX_CONFIG",
    )
