"""What codes of NVIDIA's management library mean.

Source of all: the constants of nvidia-ml-py 13.615.71, which are those of nvml.h.
"""

from speccheck.validator.evidence.finding import Action

# Bits of the reasons for which the clocks are not at their highest.
IDLE = 0x1
HARDWARE_SLOWDOWN = 0x8  # set beside one of the next two, which say why
THERMAL_SLOWDOWN = 0x40
POWER_BRAKE = 0x80

# What the driver asks for to bring a GPU back (field 230): in words, and as an action.
NO_RECOVERY = 0
RECOVERY_ACTIONS: dict[int, tuple[str, Action]] = {
    1: ("a reset of the GPU", "RESET_GPU"),
    2: ("a reboot of the node", "REBOOT"),
    3: ("its peers to be drained", "RESET_GPU"),
    4: ("a drain of the node and a reset of the GPU", "RESET_GPU"),
    5: ("the IMEX domain to be brought back", "FIX_CONFIG"),
    6: ("a reset of the bus", "REBOOT"),
    7: ("a reboot of the system", "REBOOT"),
}

# Banks of memory by their spare rows, in the order of the counts.
BANKS = ("maximal", "high", "partial", "low", "none")
COMPUTE_MODES = {1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}
BANDWIDTH_MODES = {1: "off", 2: "least", 3: "half", 4: "three quarters"}

# Generation by the code of a link's version: 2.2 is of generation 2, 3.1 of 3.
LINK_GENERATIONS = {1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 5, 8: 6}
NVLINK_5 = 5  # it corrects errors, and counts and tells otherwise than those before
# nvmlDeviceGetNvlinkBwMode: the mode in bits 0 to 2; mode 5 counts links above them.
# Source: open-gpu-kernel-modules, GPU_NVLINK_BW_MODE.
_MODE_MASK, _LINK_COUNT_MODE, _LINK_COUNT_AT = 0b111, 5, 3

LINK_TO_SWITCH = 2
UNKNOWN_LINK_END = 255

PEER_OK = 0
PEER_SWITCHED_OFF = 4  # by a key of the driver
PEER_STATUSES = {
    1: "the chipset does not support it",
    2: "the GPU does not support it",
    3: "the path between them does not support it",
    4: "it is switched off in the driver",
    5: "it is not supported",
}

FABRIC_UNSUPPORTED = 0
FABRIC_DONE = 3
FABRIC_STATES = {1: "not started", 2: "in progress"}
FABRIC_HEALTHY = 1
FABRIC_UNHEALTHY = {2: "unhealthy", 3: "of limited capacity"}
_TRUE = 1
# Two bits each, from this bit on: 1 is true, 2 is false, 0 is not supported.
_FABRIC_FAULTS = (
    (0, "degraded bandwidth"),
    (2, "recovery of a route"),
    (4, "an unhealthy route"),
    (6, "recovery of an access time-out"),
)
_CONFIGURATION_AT, _CONFIGURATION_MASK = 8, 0xF
_MISCONFIGURATIONS = {
    2: "wrong system GUID",
    3: "wrong chassis serial number",
    4: "no partition",
    5: "too few NVLinks",
    6: "incompatible GPU firmware",
    7: "invalid location",
    8: "invalid state of the GPU",
}

_NANO = 1e9
# A bit error rate is a mantissa in bits 8 to 11 and a negative power of ten below.
_MANTISSA_AT, _MANTISSA_MASK, _EXPONENT_MASK = 8, 0xF, 0xFF


def fabric_faults(mask: int) -> tuple[str, ...]:
    """What is wrong with the fabric of a GPU, by its health mask."""
    return tuple(text for at, text in _FABRIC_FAULTS if mask >> at & 0b11 == _TRUE)


def fabric_misconfiguration(mask: int) -> str:
    """How the fabric of a GPU is misconfigured; empty where it is not."""
    code = mask >> _CONFIGURATION_AT & _CONFIGURATION_MASK
    return _MISCONFIGURATIONS.get(code, "")


def bit_error_rate(coded: int) -> float:
    """Errors for each bit."""
    mantissa = coded >> _MANTISSA_AT & _MANTISSA_MASK
    return mantissa * 10.0 ** -(coded & _EXPONENT_MASK)


def is_fabric_health_told(mask: int) -> bool:
    """Whether the driver says of each of these faults that it is there or not."""
    return all(mask >> at & 0b11 for at, _ in _FABRIC_FAULTS)


def reduced_bandwidth(mode: int) -> str | None:
    """How a GPU's mode reduces the bandwidth of its NVLinks; None for codes unknown."""
    if mode in BANDWIDTH_MODES:
        return BANDWIDTH_MODES[mode]
    if mode & _MODE_MASK == _LINK_COUNT_MODE:
        return f"{mode >> _LINK_COUNT_AT} links"
    return None


def seconds(nanoseconds: int) -> float:
    """The unit of times, for people."""
    return nanoseconds / _NANO


def is_one_node_fabric(cluster: str) -> bool:
    """Whether the NVLinks end within the node: HGX boards have no cluster UUID."""
    return not cluster.strip("0-")
