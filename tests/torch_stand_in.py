"""A module `torch` of GPUs that are not there, for processes that measure.

Copies move nothing but a mark, and take the time that the rates of a healthy H100 give.
Everything else of torch is missing: what needs it fails, or hangs where it is told to.
"""

from pathlib import Path

import pytest

from nvml_stand_in import ROOT

_SOURCE = '''
import os
import subprocess
import time

__version__ = "2.9.0"
int32 = "int32"
_GIGA = 1e9
_now = [0.0]
_COUNT = int(os.environ.get("TORCH_STAND_IN_GPUS", "8"))


class Memory:
    def __init__(self, count, gpu):
        self.count, self.gpu, self.mark = count, gpu, 0

    is_cuda = property(lambda self: self.gpu is not None)
    device = property(lambda self: self)

    def numel(self):
        return self.count

    def fill_(self, value):
        self.mark = value

    def data_ptr(self):
        return 0

    def pin_memory(self):
        return self

    def to(self, device):
        return self

    def copy_(self, other, non_blocking=False):
        self.mark = other.mark
        ends = {self.gpu, other.gpu}
        rate = 55.4 if None in ends else 1519.0 if len(ends) == 1 else 395.7
        _now[0] += 4 * self.count / (rate * _GIGA)


def empty(count, dtype):
    return Memory(count, None)


def zeros(count, dtype, device="cpu"):
    return Memory(count, int(device.partition(":")[2]) if ":" in device else None)


def arange(first, last, out):
    out.mark = first


def equal(one, other):
    return one.mark == other.mark


def set_num_threads(number):
    pass


class _Runtime:
    cudaHostRegister = cudaHostUnregister = staticmethod(lambda *_: 0)


class _Entered:
    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class _Event:
    def __init__(self, enable_timing):
        self.at = 0.0

    def record(self, stream):
        self.at = _now[0]

    def elapsed_time(self, other):
        return (other.at - self.at) * 1000


class cuda:
    class OutOfMemoryError(Exception):
        pass

    Event = _Event
    device = _Entered
    is_available = staticmethod(lambda: _COUNT > 0)
    device_count = staticmethod(lambda: _COUNT)
    get_device_name = staticmethod(lambda gpu: "NVIDIA H100 80GB HBM3")
    can_device_access_peer = staticmethod(lambda one, other: True)
    cudart = staticmethod(lambda: _Runtime)
    current_stream = staticmethod(lambda device: None)
    synchronize = staticmethod(lambda device=None: None)

    @staticmethod
    def get_device_properties(gpu):
        raise OSError("nobody knows")

    @staticmethod
    def get_device_capability(gpu):
        """Asked before products: here a driver may hang, with what it started."""
        path = os.environ.get("TORCH_STAND_IN_HANGS")
        if path:
            started = subprocess.Popen(["sleep", "1000"])
            with open(path + ".part", "w") as file:
                file.write(f"{os.getpid()} {started.pid}")
            os.rename(path + ".part", path)
            time.sleep(1000)
        return (9, 0)
'''
_MISSING = "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"


def _install(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    folder.mkdir()
    (folder / "torch.py").write_text(text, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{ROOT / '.imports'}")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


def torch_of_gpus(folder: Path, monkeypatch: pytest.MonkeyPatch, gpus: int = 8) -> None:
    """Let processes that are started import it, with so many GPUs."""
    _install(folder / "with_torch", monkeypatch, _SOURCE)
    monkeypatch.setenv("TORCH_STAND_IN_GPUS", str(gpus))


def without_torch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no process find any."""
    _install(folder / "without_torch", monkeypatch, _MISSING)
