"""What is known of the errors that NVIDIA's drivers write into the kernel log."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from speccheck.validator.evidence.finding import Action
from speccheck.validator.evidence.record import Record

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
        """What is to be done with a board of that name."""
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

    __slots__ = ("_read", "_tables")

    def __init__(self, read: Callable[[], XidTables]) -> None:
        """Take what reads it."""
        self._read = read
        self._tables: XidTables | None = None

    def _all(self) -> XidTables:
        if self._tables is None:
            self._tables = self._read()
        return self._tables

    def xid(self, code: int) -> Xid | None:
        """The error of that code; None for one that nobody has described."""
        return self._all().xids.get(code)

    def sxid(self, code: int) -> Sxid | None:
        """The error of a switch of that code."""
        return self._all().sxids.get(code)

    def recovery(self, text: str) -> int | None:
        """Which recovery a line of Xid 154 recommends; None where it does not say.

        The line names what was recommended before, and then what is from now on.
        """
        texts = self._all().recovery_texts
        last = max(texts, key=text.rfind)
        return texts[last] if last in text else None

    def is_of_nvlink5(self, code: int) -> bool:
        """Whether the words of its line tell what the error asks for."""
        return code in self._all().nvlink5

    def nvlink5(
        self, code: int, text: str, driver: str | None
    ) -> Nvlink5Recovery | None:
        """What a line asks for: none, reset or as_xid_154; None where it does not say.

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
        tables = self._all()
        branch = (driver or "").partition(".")[0]
        is_new = (
            int(branch) >= tables.new_mask_from_driver if branch.isdecimal() else None
        )
        found: set[Nvlink5Recovery] = {
            one.recovery
            for one in tables.nvlink5.get(code, ())
            if _fits(one, bits, status, is_new=is_new)
        }
        return found.pop() if len(found) == 1 else None


def _fits(one: Nvlink5Outcome, bits: str, status: int, *, is_new: bool | None) -> bool:
    if one.error_status != "any" and int(one.error_status, 16) != status:
        return False
    masks = {
        None: (one.old_mask, one.new_mask),
        False: (one.old_mask,),
        True: (one.new_mask,),
    }[is_new]
    return any(
        all(wanted in {"-", bit} for wanted, bit in zip(mask, bits, strict=True))
        for mask in masks
    )
