"""A mode of a GPU that keeps processes out, slows the first use or lowers the clocks.

Why it hurts: without persistence mode the driver unloads its state between jobs, and
each start waits for it; an exclusive compute mode refuses the second process of a
launcher; clocks that somebody lowered stay low for everyone after.

What passes: persistence mode on, compute mode default, application clocks at or above
their default. The default is below the maximum on sound boards, so the maximum is not
what they are compared with.

Where it does not apply: a GPU that has none of these modes.

Source: NVIDIA/DCGM error 29; nvidia-smi -q of an A100 (default 1,095 of 1,410 MHz) in
NVIDIA/k8s-test-infra.

Bad::

    nvidia-smi -q   # Persistence Mode: Disabled, Compute Mode: Exclusive_Process

Good::

    nvidia-smi -q   # Persistence Mode: Enabled, Compute Mode: Default
"""

from speccheck.rules.hardware._leaves import needed, supported
from speccheck.validator.evidence.node.fault_codes import COMPUTE_MODES
from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.rule import Verdicts, fail, passed, rule

# Parts of names of boards whose driver a desktop keeps loaded.
_OF_DESKTOPS = ("GeForce", "Quadro", "TITAN")


@rule(clause="HW-004")
def mode_unfit_for_training(gpu: Gpu) -> Verdicts:
    """Judge each mode that the GPU has."""
    persistence, compute = gpu.persistence_is_on, gpu.compute_mode
    clock, default = gpu.application_sm_clock_mhz, gpu.application_sm_clock_default_mhz
    is_unfit = False
    is_of_desktop = any(part in gpu.name.or_else("") for part in _OF_DESKTOPS)
    if persistence.value is False and not is_of_desktop:
        is_unfit = True
        yield fail(
            "persistence mode is off; it should be on",
            at=persistence,
            measured="off",
            required="on",
            cost="each job waits for the driver to load its state again",
            remedy="systemctl enable --now nvidia-persistenced, or nvidia-smi -pm 1.",
            action="FIX_CONFIG",
        )
    if compute.or_else(0):
        is_unfit = True
        mode = COMPUTE_MODES.get(compute.need(), str(compute.value))
        yield fail(
            f"compute mode is {mode}; it should be default",
            at=compute,
            measured=mode,
            required="default",
            remedy="nvidia-smi -i N -c DEFAULT.",
            action="FIX_CONFIG",
        )
    if clock.is_known and default.is_known and clock.need() < default.need():
        is_unfit = True
        yield fail(
            f"application clock {clock.value:,} MHz is below its default of "
            f"{default.value:,} MHz",
            at=[clock, default],
            measured=clock.value,
            required=default.value,
            cost="each step takes longer on this GPU, and all others wait for it",
            remedy="nvidia-smi -i N -rac and nvidia-smi -i N -rgc.",
            action="FIX_CONFIG",
        )
    at = persistence, compute, clock, default
    if supported(*at) and not is_unfit:
        yield passed(at=list(needed(*at)))
