"""A board with switches of NVLink 5, without the kernel modules that reach them.

Why it hurts: the fabric manager reaches these switches as InfiniBand devices. Without
the modules it trains nothing, and no GPU registers.

What passes: mlx5_ib and ib_umad loaded, or all GPUs registered without them.

Where it does not apply: other boards, trays of a rack, and guests.

Source: NVIDIA/gpu-operator issue 2781; leptonai/gpud.

Bad::

    lsmod | grep -E 'mlx5_ib|ib_umad'    # nothing, on an HGX B200

Good::

    lsmod | grep -E 'mlx5_ib|ib_umad'    # both
"""

from speccheck.validator.evidence.node.fault_codes import FABRIC_DONE
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Driver, Host
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_BOARD = "sxm"
_MODULES = ("mlx5_ib", "ib_umad")


class Generation(Numbers):
    """From which generation of NVLink on switches are reached so."""

    nvlink_generation: int


@rule(clause="HW-116")
def switch_modules_missing(
    driver: Driver, gpus: Gpus, host: Host, profiles: GpuProfiles, limit: Generation
) -> Verdicts:
    """Look for the modules on boards of that generation."""
    each = gpus.each()
    if not each:
        return
    profile = profiles.shared(gpus)
    if profile.has_nvlink.need() is False or profile.form_factor.need() != _BOARD:
        return
    if profile.nvlink_generation.need() < limit.nvlink_generation:
        return
    if host.virtualisation.need() != "none":
        return
    missing = [name for name in _MODULES if name not in driver.modules.need()]
    if not missing:
        yield passed(at=driver.modules, measured=", ".join(_MODULES))
        return
    profile.nvlink_generation.need_stated()
    if all(gpu.fabric_state.value == FABRIC_DONE for gpu in each):
        return
    yield fail(
        f"{' and '.join(missing)} not loaded; the fabric manager reaches the switches "
        f"of this board through {' and '.join(_MODULES)}",
        at=driver.modules,
        measured=", ".join(missing),
        required=", ".join(_MODULES),
        cost="no GPU registers, and CUDA does not start (error 802)",
        remedy=f"modprobe -a {' '.join(missing)}; list them in /etc/modules-load.d, "
        "then systemctl restart nvidia-fabricmanager.",
        action="FIX_CONFIG",
    )
