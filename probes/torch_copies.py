"""Copies by PyTorch: between host and GPUs, or within the memory of the host.

On GPUs, the clock is that of the stream that copies (CUDA events), and the host waits
for it. Memory of the host is pinned, and touched first by a processor near the GPU, so
that it lies there. Nothing of the machine is changed but by this process for itself.
"""

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import Any

from speccheck.probes.memory_copies import CopyFailed
from speccheck.probes.torch_library import failing_as

_WORD_BYTES = 4
_LOCAL_PROCESSORS = "/sys/bus/pci/devices/{}/local_cpulist"


class TorchGpus:
    """GPUs through PyTorch's CUDA, those that CUDA_VISIBLE_DEVICES shows."""

    def __init__(self, torch: Any) -> None:  # noqa: ANN401 - its types are not ours
        """Take the module; no GPU is queried yet."""
        self._torch = torch
        self._registered: list[Any] = []
        torch.set_num_threads(1)  # so that this thread touches what it allocates

    @property
    def gpus(self) -> Sequence[int]:
        """As CUDA numbers them."""
        return range(self._torch.cuda.device_count())

    def name_of(self, gpu: int | None) -> str:
        """Return what CUDA calls it."""
        return "" if gpu is None else str(self._torch.cuda.get_device_name(gpu))

    def can_reach(self, source: int, target: int) -> bool:
        """Return whether the driver allows peer access."""
        return bool(self._torch.cuda.can_device_access_peer(source, target))

    def host_memory(self, gpu: int | None, size: int) -> Any:  # noqa: ANN401
        """Return the pinned memory that lies near the GPU; raises CopyFailed."""
        with self._near(gpu), failing_as(CopyFailed, self._torch):
            memory = self._torch.empty(size // _WORD_BYTES, dtype=self._torch.int32)
            memory.fill_(0)
            # Not by PyTorch's own cache of pinned memory: it would hand on memory that
            # lies near another GPU.
            code = self._torch.cuda.cudart().cudaHostRegister(
                memory.data_ptr(), size // _WORD_BYTES * _WORD_BYTES, 0
            )
            if int(code):
                return memory.pin_memory()
            self._forget()
            self._registered.append(memory)
            return memory

    def _forget(self) -> None:
        """Give back what was pinned for the step before."""
        while self._registered:
            memory = self._registered.pop()
            self._torch.cuda.synchronize()
            self._torch.cuda.cudart().cudaHostUnregister(memory.data_ptr())

    def device_memory(self, gpu: int | None, size: int) -> Any:  # noqa: ANN401
        """Return the memory of the GPU; raises CopyFailed where there is none."""
        with failing_as(CopyFailed, self._torch):
            return self._torch.zeros(
                size // _WORD_BYTES, dtype=self._torch.int32, device=f"cuda:{gpu}"
            )

    def seconds(self, target: Any, source: Any, times: int, batch: int) -> list[float]:  # noqa: ANN401
        """Return the seconds of copies on the stream of the sending GPU."""
        device = source.device if source.is_cuda else target.device
        cuda = self._torch.cuda
        with failing_as(CopyFailed, self._torch), cuda.device(device):
            stream = cuda.current_stream(device)
            events = [
                tuple(cuda.Event(enable_timing=True) for _ in range(2))
                for _ in range(times)
            ]
            for before, after in events:
                before.record(stream)
                for _ in range(batch):
                    target.copy_(source, non_blocking=True)
                after.record(stream)
            cuda.synchronize(device)
            return [
                before.elapsed_time(after) / 1000 / batch for before, after in events
            ]

    def fill(self, memory: Any, seed: int) -> None:  # noqa: ANN401
        """Write consecutive numbers from one that depends on the seed."""
        with failing_as(CopyFailed, self._torch):
            fill(self._torch, memory, seed)

    def are_equal(self, target: Any, source: Any) -> bool:  # noqa: ANN401
        """Compare on the side of the target."""
        with failing_as(CopyFailed, self._torch):
            return bool(self._torch.equal(target, source.to(target.device)))

    @contextmanager
    def _near(self, gpu: int | None) -> Generator[None]:
        """Run this thread for a while on processors near the GPU, if they are known."""
        try:
            before = os.sched_getaffinity(0)
            near = before & self._processors(gpu)
            os.sched_setaffinity(0, near or before)
        except (AttributeError, OSError):
            yield
            return
        try:
            yield
        finally:
            with suppress(OSError):
                os.sched_setaffinity(0, before)

    def _processors(self, gpu: int | None) -> set[int]:
        result = self._torch.cuda.get_device_properties(gpu)
        parts = (result.pci_domain_id, result.pci_bus_id, result.pci_device_id)
        address = "{:04x}:{:02x}:{:02x}.0".format(*parts)
        with open(_LOCAL_PROCESSORS.format(address), encoding="ascii") as file:
            return processors_of(file.read())


class TorchHost:
    """The memory of the host: copies within it, without any GPU."""

    gpus: Sequence[None] = (None,)

    def __init__(self, torch: Any, clock: Callable[[], float] = perf_counter) -> None:  # noqa: ANN401
        """Take the module and the clock."""
        self._torch = torch
        self._clock = clock

    def name_of(self, gpu: int | None) -> str:  # noqa: ARG002
        """Return a name that says that no GPU has a part in it."""
        return ""

    def can_reach(self, source: int, target: int) -> bool:  # noqa: ARG002
        """Return False: there are no peers."""
        return False

    def host_memory(self, gpu: int | None, size: int) -> Any:  # noqa: ANN401
        """Return the same as the other."""
        return self.device_memory(gpu, size)

    def device_memory(self, gpu: int | None, size: int) -> Any:  # noqa: ANN401, ARG002
        """Return the memory of the host; raises CopyFailed where there is none."""
        with failing_as(CopyFailed, self._torch):
            return self._torch.zeros(size // _WORD_BYTES, dtype=self._torch.int32)

    def seconds(self, target: Any, source: Any, times: int, batch: int) -> list[float]:  # noqa: ANN401
        """Return the seconds of copies by the clock."""
        result: list[float] = []
        for _ in range(times):
            before = self._clock()
            for _ in range(batch):
                target.copy_(source)
            result.append((self._clock() - before) / batch)
        return result

    def fill(self, memory: Any, seed: int) -> None:  # noqa: ANN401
        """Write consecutive numbers from one that depends on the seed."""
        fill(self._torch, memory, seed)

    def are_equal(self, target: Any, source: Any) -> bool:  # noqa: ANN401
        """Compare both."""
        return bool(self._torch.equal(target, source))


def fill(torch: Any, memory: Any, seed: int) -> None:  # noqa: ANN401
    """Write consecutive numbers, of which no two steps share the first."""
    count = memory.numel()
    torch.arange(seed + 1, seed + 1 + count, out=memory)


def processors_of(text: str) -> set[int]:
    """Return the processors of `0-23,48-71`.

    Raises OSError for what is no such list.
    """
    result: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            message = f"no list of processors: {text!r}"
            raise OSError(message)
        result.update(range(int(first), int(last or first) + 1))
    return result
