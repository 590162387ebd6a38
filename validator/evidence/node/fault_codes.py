"""Codes in which drivers of NVIDIA report states and faults, and what each asks for.

Codes of NVML (clocks, recovery actions, links, fabric), of the start of CUDA (cuInit),
and Xids and SXids of the kernel log.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Literal

from speccheck.validator.evidence.finding import Action
from speccheck.validator.evidence.record import Record

# Of NVML.

# Bits of the reasons for which the clocks are not at their highest.
IDLE = 0x1
HARDWARE_SLOWDOWN = 0x8  # set beside one of the next two, which say why
SOFTWARE_THERMAL_SLOWDOWN = 0x20  # by the driver, to stay below a temperature
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
# Links between two GPUs of boards without switches since generation 3: A100 has 4.
FEWEST_LINKS_OF_A_PEER = 4
NVLINK_3 = 3
SHARED_SWITCH = 20  # common ancestors in nvml.h: PIX is 10, PXB 20
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
    """Return what is wrong with the fabric of a GPU, by its health mask."""
    return tuple(text for at, text in _FABRIC_FAULTS if mask >> at & 0b11 == _TRUE)


def fabric_misconfiguration(mask: int) -> str:
    """Return how the fabric of a GPU is misconfigured; empty where it is not."""
    code = mask >> _CONFIGURATION_AT & _CONFIGURATION_MASK
    return _MISCONFIGURATIONS.get(code, "")


def bit_error_rate(coded: int) -> float:
    """Return the errors for each bit."""
    mantissa = coded >> _MANTISSA_AT & _MANTISSA_MASK
    return mantissa * 10.0 ** -(coded & _EXPONENT_MASK)


def states_fabric_health(mask: int) -> bool:
    """Return whether the driver states of each of these faults if it is there."""
    return all(mask >> at & 0b11 for at, _ in _FABRIC_FAULTS)


def reduced_bandwidth(mode: int) -> str | None:
    """Return how a GPU's mode reduces its NVLinks' bandwidth.

    None for unknown codes.
    """
    if mode in BANDWIDTH_MODES:
        return BANDWIDTH_MODES[mode]
    if mode & _MODE_MASK == _LINK_COUNT_MODE:
        return f"{mode >> _LINK_COUNT_AT} links"
    return None


def seconds(nanoseconds: int) -> float:
    """Convert nanoseconds, the unit of times in NVML."""
    return nanoseconds / _NANO


def is_one_node_fabric(cluster: str) -> bool:
    """Return whether the NVLinks end within the node.

    HGX boards have no cluster UUID.
    """
    return not cluster.strip("0-")


# Of the start of CUDA: what cuInit returns (cuda.h).

STARTED = 0
NO_DEVICE = 100


class StartFailure(Record):
    """Why CUDA does not start: the name in cuda.h, the reason, and the remedy."""

    name: str
    reason: str
    remedy: str
    action: Action


_LOG = "Look for NVRM in dmesg"
_UNKNOWN = StartFailure(
    "an error",
    "cuda.h says what it means",
    f"{_LOG}; reset the GPUs (nvidia-smi -r on the idle node), then reboot.",
    "RESET_GPU",
)
_FAILURES: dict[int, StartFailure] = {
    2: StartFailure(
        "OUT_OF_MEMORY",
        "memory for the start cannot be had",
        "Free memory of host and GPUs: nvidia-smi names the processes.",
        "FIX_CONFIG",
    ),
    3: StartFailure(
        "NOT_INITIALIZED",
        "the driver is not started, or cannot be",
        f"{_LOG}; load the nvidia modules again, or reboot.",
        "REBOOT",
    ),
    34: StartFailure(
        "STUB_LIBRARY",
        "the library is the stub that programs are linked with, and no driver",
        "Take the folder lib64/stubs out of LD_LIBRARY_PATH.",
        "FIX_CONFIG",
    ),
    46: StartFailure(
        "DEVICE_UNAVAILABLE",
        "a GPU is in exclusive or prohibited mode, or kept by another process",
        "nvidia-smi -c DEFAULT, and end the process that nvidia-smi shows.",
        "FIX_CONFIG",
    ),
    NO_DEVICE: StartFailure(
        "NO_DEVICE",
        "it finds no GPU that it can use",
        f"{_LOG}; nvidia-smi shows whether the driver has lost them: then reboot.",
        "REBOOT",
    ),
    101: StartFailure(
        "INVALID_DEVICE",
        "a GPU is not valid for what is asked of it",
        f"{_LOG}; nvidia-smi -q tells the state of each GPU.",
        "RESET_GPU",
    ),
    102: StartFailure(
        "DEVICE_NOT_LICENSED",
        "a virtual GPU has no licence",
        "nvidia-smi -q tells the state of the licence; mend the licence service.",
        "FIX_CONFIG",
    ),
    214: StartFailure(
        "ECC_UNCORRECTABLE",
        "an uncorrectable memory error came up",
        "Reset that GPU: nvidia-smi -i N -r on the idle node.",
        "RESET_GPU",
    ),
    304: StartFailure(
        "OPERATING_SYSTEM",
        "a call of the operating system failed",
        "Look at the rights on /dev/nvidia* and at the limits of memory and files.",
        "FIX_CONFIG",
    ),
    802: StartFailure(
        "SYSTEM_NOT_READY",
        "the fabric of the GPUs is not ready: the fabric manager does not run, is of "
        "another release, or has not registered all GPUs",
        "systemctl restart nvidia-fabricmanager, of the driver's release; nvidia-smi "
        "-q must show Fabric State Completed; else reset all GPUs: nvidia-smi -r.",
        "RESET_GPU",
    ),
    803: StartFailure(
        "SYSTEM_DRIVER_MISMATCH",
        "the kernel module and the library of CUDA are of different releases",
        "Reboot the node, or unload the nvidia modules and load them again.",
        "REBOOT",
    ),
    804: StartFailure(
        "COMPAT_NOT_SUPPORTED_ON_DEVICE",
        "a library for forward compatibility is loaded, and these GPUs do not run it",
        "Take the folder cuda/compat out of LD_LIBRARY_PATH, or update the driver.",
        "FIX_CONFIG",
    ),
    999: StartFailure(
        "UNKNOWN",
        "an internal error of the driver",
        f"{_LOG}; load nvidia_uvm again (modprobe -r, modprobe), reset the GPUs, then "
        "reboot.",
        "RESET_GPU",
    ),
}


def start_failure(code: int) -> StartFailure:
    """Return what a code of cuInit other than 0 says."""
    return _FAILURES.get(code, _UNKNOWN)


# Of the kernel log: Xids of GPUs, SXids of switches.

Kind = Literal["hardware", "driver", "application", "information"]
Blocks = Literal["yes", "no", "depends"]
Nvlink5Recovery = Literal["none", "reset", "as_xid_154"]

# Xid 154 says which recovery the driver recommends from now on.
RECOVERY_CHANGED = 154
_WORDS = re.compile(r"\((0x[0-9a-fA-F]+) (0x[0-9a-fA-F]+)[ )]")
_BITS = 32


class Xid(Record):
    """One error of a GPU; action_on: by a part of the name of a board."""

    name: str
    meaning: str
    kind: Kind
    blocks_node: Blocks
    action: Action
    escalate: str
    action_on: Mapping[str, Action]

    def action_of(self, board: str) -> Action:
        """Return what is to be done with a board of that name."""
        for part, action in self.action_on.items():
            if part in board:
                return action
        return self.action


class Sxid(Record):
    """One error of a switch."""

    name: str
    meaning: str
    group: Literal["always_fatal", "fatal", "non_fatal", "notable"]
    blocks_node: Blocks
    action: Action
    escalate: str


class Nvlink5Outcome(Record):
    """What an Xid of NVLink 5 with these words asks for."""

    unit: str
    old_mask: str
    new_mask: str
    error_status: str
    recovery: Nvlink5Recovery


class XidTables(Record):
    """The rows, by code."""

    xids: Mapping[int, Xid]
    sxids: Mapping[int, Sxid]
    recovery_texts: Mapping[str, int]
    nvlink5: Mapping[int, Sequence[Nvlink5Outcome]]
    new_mask_from_driver: int


class XidCatalogue:
    """The catalogue, read when a rule first looks into it."""

    def __init__(self, read: Callable[[], XidTables]) -> None:
        """Take what reads it."""
        self._read = read

    @cached_property
    def _tables(self) -> XidTables:
        return self._read()

    def xid(self, code: int) -> Xid | None:
        """Return the error of that code; None for one that nobody has described."""
        return self._tables.xids.get(code)

    def sxid(self, code: int) -> Sxid | None:
        """Return the error of a switch of that code."""
        return self._tables.sxids.get(code)

    def recovery(self, text: str) -> int | None:
        """Return which recovery a line of Xid 154 recommends; None if it does not say.

        The line names what was recommended before, and then what is from now on.
        """
        texts = self._tables.recovery_texts
        last = max(texts, key=text.rfind)
        return texts[last] if last in text else None

    def is_of_nvlink5(self, code: int) -> bool:
        """Return whether the words of its line tell what the error asks for."""
        return code in self._tables.nvlink5

    def nvlink5(
        self, code: int, text: str, driver: str | None
    ) -> Nvlink5Recovery | None:
        """Return what a line recommends: none, reset or as_xid_154; None if nothing.

        Args:
            code: of the Xid.
            text: the line of the log.
            driver: its release, which says how the first word is read.

        """
        matched = _WORDS.search(text)
        if matched is None:
            return None
        bits = f"{int(matched[1], 16):0{_BITS}b}"
        status = int(matched[2], 16)
        tables = self._tables
        branch = (driver or "").partition(".")[0]
        is_new = (
            int(branch) >= tables.new_mask_from_driver if branch.isdecimal() else None
        )
        # Drivers between two branches wrote either form: the other is the second try.
        for mask_is_new in (is_new,) if is_new is None else (is_new, not is_new):
            texts: set[Nvlink5Recovery] = {
                nvlink5_outcome.recovery
                for nvlink5_outcome in tables.nvlink5.get(code, ())
                if _fits(nvlink5_outcome, bits, status, is_new=mask_is_new)
            }
            if texts:
                return texts.pop() if len(texts) == 1 else None
        return None


def _fits(
    nvlink5_outcome: Nvlink5Outcome, bits: str, status: int, *, is_new: bool | None
) -> bool:
    if (
        nvlink5_outcome.error_status != "any"
        and int(nvlink5_outcome.error_status, 16) != status
    ):
        return False
    masks = {
        None: (nvlink5_outcome.old_mask, nvlink5_outcome.new_mask),
        False: (nvlink5_outcome.old_mask,),
        True: (nvlink5_outcome.new_mask,),
    }[is_new]
    return any(
        all(wanted in {"-", bit} for wanted, bit in zip(mask, bits, strict=True))
        for mask in masks
    )
