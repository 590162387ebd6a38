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

LINK_TO_SWITCH = 2
UNKNOWN_LINK_END = 255

PEER_OK = 0
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


def is_one_node_fabric(cluster: str) -> bool:
    """Whether the NVLinks end within the node: HGX boards have no cluster UUID."""
    return not cluster.strip("0-")
