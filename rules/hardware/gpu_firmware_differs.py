"""GPUs of one node with different firmware.

Why it hurts: faults and clocks differ with it, and one GPU becomes the straggler.

What passes: one VBIOS on all GPUs of a name, and GSP firmware of the driver's release.

Where it does not apply: nodes without GPU. GPUs without GSP are judged by their VBIOS.

Source: Azure/azurehpc-health-checks (VBIOS); NVIDIA/k8s-test-infra, captures
(GSP and driver are of one release on all).

Bad::

    nvidia-smi --query-gpu=vbios_version --format=csv    # two versions

Good::

    nvidia-smi --query-gpu=vbios_version --format=csv    # one version
"""

from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-062")
def gpu_firmware_differs(gpus: Gpus, driver: Driver) -> Verdicts:
    """Compare the firmware of the GPUs of each name, and GSP with the driver."""
    kinds: dict[str, list[Gpu]] = {}
    for gpu in gpus.each():
        kinds.setdefault(gpu.name.need(), []).append(gpu)
    for name, group in kinds.items():
        yield from _vbios(name, group)
    for gpu in gpus.each():
        gsp = gpu.gsp_firmware_version
        if gsp.status == "not_supported" or gsp.need() == driver.version.need():
            continue
        yield fail(
            f"{gpu.title} runs GSP firmware {gsp.value} under driver "
            f"{driver.version.value}; both should be of one release",
            at=[gsp, driver.version],
            measured=gsp.value,
            required=driver.version.value,
            remedy="Install the driver again with its firmware files.",
            action="FIX_CONFIG",
        )


def _vbios(name: str, group: list[Gpu]) -> Verdicts:
    versions: dict[str, list[Gpu]] = {}
    for gpu in group:
        versions.setdefault(gpu.vbios_version.need(), []).append(gpu)
    common, *others = sorted(versions, key=lambda version: -len(versions[version]))
    odd = [gpu for version in others for gpu in versions[version]]
    if not odd:
        yield passed(at=[gpu.vbios_version for gpu in group], measured=common)
        return
    listed = ", ".join(f"{gpu.title} {gpu.vbios_version.value}" for gpu in odd)
    yield fail(
        f"{len(versions[common])} of {len(group)} GPUs ({name}) have VBIOS {common}, "
        f"{listed}; all should have one",
        at=[gpu.vbios_version for gpu in odd],
        measured=len(versions),
        required=1,
        remedy=f"Bring {', '.join(gpu.title for gpu in odd)} to {common} with the "
        "firmware bundle of the system's vendor.",
        action="SUPPORT",
    )
