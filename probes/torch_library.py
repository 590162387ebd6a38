"""PyTorch, where it is installed: an extra that only measuring needs.

It is imported by name and its types are not known here, so that everything else works,
and types are verified alike, with and without it.
"""

from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

NEEDED = "needs torch: pip install 'speccheck[bench]'"


class NoTorch(Exception):  # noqa: N818 - a usage error with its own message
    """PyTorch, or what it needs, is not installed; the message says what to do."""


def load(module: str = "torch") -> Any:  # noqa: ANN401 - its types are not ours
    """Return PyTorch, or one of its modules; raises NoTorch."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "torch":
            raise NoTorch(NEEDED) from error
        message = f"torch cannot be loaded: {error}; {NEEDED}"
        raise NoTorch(message) from error
    except (ImportError, OSError) as error:
        # A library of CUDA or of the system that it was built for and is not here.
        message = f"torch is installed and cannot be loaded: {error}"
        raise NoTorch(message) from error


@contextmanager
def failing_as(kind: type[Exception], torch: Any) -> Generator[None]:  # noqa: ANN401
    """Make a failure of CUDA, or a lack of memory, one of what was measured."""
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        message = "the GPU has too little memory free"
        raise kind(message) from error
    except RuntimeError as error:
        first = str(error).partition("\n")[0]
        raise kind(first) from error
