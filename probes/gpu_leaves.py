"""Which leaves of a GPU come from which call of NVML, one leaf a call."""

from collections.abc import Callable
from typing import Any

from speccheck.probes.management_library import text_of
from speccheck.probes.raw_value import Absence, RawValue

_MILLI = 1000

Convert = Callable[[Any], RawValue]


def flag(result: Any) -> RawValue:  # noqa: ANN401 - what the binding returns
    """Return the zero or one as false or true."""
    return bool(result)


def watts(result: Any) -> RawValue:  # noqa: ANN401
    """Return the milliwatts as watts."""
    return float(result) / _MILLI


def whole(result: Any) -> RawValue:  # noqa: ANN401
    """Return a number of ctypes as one of Python."""
    return int(result)


def text(result: Any) -> RawValue:  # noqa: ANN401
    """Return a text, also where an older binding gives bytes."""
    return str(text_of(result))


def leaf_of(absence: Any, form: Convert) -> RawValue:  # noqa: ANN401 - what the binding returns
    """Return the leaf that an answer makes, or why it makes none."""
    if isinstance(absence, Absence):
        return absence
    try:
        return form(absence)
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        return Absence("failed", "NVML", f"{type(error).__name__}: {error}")


def brand(result: Any) -> RawValue:  # noqa: ANN401
    """Return the name of a brand, or its number where it is a newer one."""
    return _BRANDS.get(int(result), str(int(result)))


# nvml.h, nvmlBrandType_t; the names are those that nvidia-smi prints.
_BRANDS = {
    0: "Unknown",
    1: "Quadro",
    2: "Tesla",
    3: "NVS",
    4: "Grid",
    5: "GeForce",
    6: "Titan",
    12: "Quadro RTX",
    13: "NVIDIA RTX",
    14: "NVIDIA",
    15: "GeForce RTX",
    16: "Titan RTX",
}

# leaf, function, further arguments, form
SIMPLE: tuple[tuple[str, str, tuple[object, ...], Convert], ...] = (
    ("name", "nvmlDeviceGetName", (), text),
    ("brand", "nvmlDeviceGetBrand", (), brand),
    ("uuid", "nvmlDeviceGetUUID", (), text),
    ("serial", "nvmlDeviceGetSerial", (), text),
    ("vbios_version", "nvmlDeviceGetVbiosVersion", (), text),
    ("board_part_number", "nvmlDeviceGetBoardPartNumber", (), text),
    ("gsp_firmware_version", "nvmlDeviceGetGspFirmwareVersion", (), text),
    ("minor_number", "nvmlDeviceGetMinorNumber", (), whole),
    ("module_id", "nvmlDeviceGetModuleId", (), whole),
    ("numa_node", "nvmlDeviceGetNumaNodeId", (), whole),
    ("persistence_is_on", "nvmlDeviceGetPersistenceMode", (), flag),
    ("compute_mode", "nvmlDeviceGetComputeMode", (), whole),
    ("performance_state", "nvmlDeviceGetPerformanceState", (), whole),
    (
        "clock_event_reasons",
        "nvmlDeviceGetCurrentClocksEventReasons",
        (),
        whole,
    ),
    ("sm_clock_mhz", "nvmlDeviceGetClockInfo", (1,), whole),
    ("memory_clock_mhz", "nvmlDeviceGetClockInfo", (2,), whole),
    ("sm_clock_maximum_mhz", "nvmlDeviceGetMaxClockInfo", (1,), whole),
    ("memory_clock_maximum_mhz", "nvmlDeviceGetMaxClockInfo", (2,), whole),
    ("application_sm_clock_mhz", "nvmlDeviceGetApplicationsClock", (1,), whole),
    (
        "application_sm_clock_default_mhz",
        "nvmlDeviceGetDefaultApplicationsClock",
        (1,),
        whole,
    ),
    ("power_watts", "nvmlDeviceGetPowerUsage", (), watts),
    ("power_limit_watts", "nvmlDeviceGetEnforcedPowerLimit", (), watts),
    (
        "power_limit_default_watts",
        "nvmlDeviceGetPowerManagementDefaultLimit",
        (),
        watts,
    ),
    ("temperature_celsius", "nvmlDeviceGetTemperature", (0,), whole),
    ("temperature_margin_celsius", "nvmlDeviceGetMarginTemperature", (), whole),
    (
        "temperature_shutdown_celsius",
        "nvmlDeviceGetTemperatureThreshold",
        (0,),
        whole,
    ),
    (
        "temperature_slowdown_celsius",
        "nvmlDeviceGetTemperatureThreshold",
        (1,),
        whole,
    ),
    (
        "memory_temperature_maximum_celsius",
        "nvmlDeviceGetTemperatureThreshold",
        (2,),
        whole,
    ),
    ("pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration", (), whole),
    ("pcie_generation_maximum", "nvmlDeviceGetMaxPcieLinkGeneration", (), whole),
    (
        "pcie_generation_maximum_of_gpu",
        "nvmlDeviceGetGpuMaxPcieLinkGeneration",
        (),
        whole,
    ),
    ("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", (), whole),
    ("pcie_width_maximum", "nvmlDeviceGetMaxPcieLinkWidth", (), whole),
    ("pcie_replays", "nvmlDeviceGetPcieReplayCounter", (), whole),
    # error type (0 corrected, 1 uncorrected), counter (0 since reset, 1 for ever)
    ("ecc_corrected_volatile", "nvmlDeviceGetTotalEccErrors", (0, 0), whole),
    ("ecc_uncorrected_volatile", "nvmlDeviceGetTotalEccErrors", (1, 0), whole),
    ("ecc_corrected_aggregate", "nvmlDeviceGetTotalEccErrors", (0, 1), whole),
    ("ecc_uncorrected_aggregate", "nvmlDeviceGetTotalEccErrors", (1, 1), whole),
    ("retirement_is_pending", "nvmlDeviceGetRetiredPagesPendingStatus", (), flag),
    (
        "memory_is_unrepairable",
        "nvmlDeviceGetUnrepairableMemoryFlag_v1",
        (),
        flag,
    ),
)
# leaf, number of the field (nvml.h, NVML_FI_DEV_*)
FIELDS: tuple[tuple[str, int], ...] = (
    ("recovery_action", 230),
    ("memory_temperature_celsius", 82),
    ("thermal_slowdown_nanoseconds", 270),
    ("power_brake_nanoseconds", 271),
    ("pcie_correctable_errors", 173),
    ("pcie_non_fatal_errors", 179),
    ("pcie_fatal_errors", 180),
    ("pcie_atomics_from_gpu", 228),
    ("pcie_atomics_to_gpu", 229),
)
