"""Lets a process end with the one that started it."""

import ctypes
import os
import signal

PARENT = "SPECCHECK_PARENT"  # the number of the process with which this one ends
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of linux/prctl.h


def end_with_parent(parent: int | None = None) -> None:
    """Let nothing hang on when whoever waits for us is killed: a prolog, timed out.

    With the number of the parent, also when that is gone already.
    """
    control = getattr(ctypes.CDLL(None), "prctl", None)  # of Linux only
    if control is not None:
        control(_PARENT_DEATH_SIGNAL, int(signal.SIGKILL))
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def end_with_named_parent() -> None:
    """End with the parent where the variable of one that started us says so."""
    parent = os.environ.get(PARENT, "")
    if parent.isdecimal():
        end_with_parent(int(parent))
