"""Products of matrices by PyTorch: on GPUs, or by the processors of the host."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from speccheck.probes.matrix_products import GemmProblem, ProductFailed
from speccheck.probes.raw_value import Absence
from speccheck.probes.torch_library import failing_as

_FLOAT8_CAPABILITY = (8, 9)
_BFLOAT16_CAPABILITY = (8, 0)
_COMPARED_ROWS = 16
_SUMMED = 1024  # values of a row of whole numbers that may not be zero
_SEED = 1
_HOST_BYTES = 2**32  # a bound for the host: there, sizes are a user's own
_MILLI = 1000


class TorchMultiplier:
    """GPUs through PyTorch's CUDA, those that CUDA_VISIBLE_DEVICES shows."""

    def __init__(self, torch: Any) -> None:  # noqa: ANN401 - its types are not ours
        """Take the module; no GPU is queried yet."""
        self._torch = torch

    @property
    def gpus(self) -> Sequence[int]:
        """As CUDA numbers them."""
        return range(self._torch.cuda.device_count())

    def name_of(self, gpu: int | None) -> str:
        """Return what CUDA calls it."""
        return "" if gpu is None else str(self._torch.cuda.get_device_name(gpu))

    def free_bytes(self, gpu: int | None) -> int:
        """Return what CUDA has free, with what this process has and does not use."""
        with failing_as(ProductFailed, self._torch):
            self._torch.cuda.empty_cache()
            return int(self._torch.cuda.mem_get_info(gpu)[0])

    def multiplies(self, gpu: int | None, data_type: str) -> bool:
        """Return whether its matrix units do, by the compute capability."""
        capability = tuple(self._torch.cuda.get_device_capability(gpu))
        if data_type == "float8_e4m3":
            has_function = hasattr(self._torch, "_scaled_mm")
            return has_function and capability >= _FLOAT8_CAPABILITY
        return data_type != "bfloat16" or capability >= _BFLOAT16_CAPABILITY

    def problem(self, gpu: int | None, data_type: str, size: int) -> GemmProblem:
        """Return the matrices in the memory of the GPU."""
        with failing_as(ProductFailed, self._torch):
            return TorchProblem(self._torch, f"cuda:{gpu}", data_type, size)

    def power_limits(self, gpu: int | None) -> tuple[float | None, float | None]:
        """Return the power limits that NVML has for the GPU with that UUID."""
        if gpu is None:
            return None, None
        return power_limits(self._torch.cuda.get_device_properties(gpu))


class TorchProcessors:
    """The processors of the host."""

    gpus: Sequence[None] = (None,)

    def __init__(self, torch: Any) -> None:  # noqa: ANN401 - its types are not ours
        """Take the module."""
        self._torch = torch

    def name_of(self, gpu: int | None) -> str:  # noqa: ARG002
        """Return a name that says that no GPU has a part in it."""
        return ""

    def free_bytes(self, gpu: int | None) -> int:  # noqa: ARG002
        """Return a share that no host lacks."""
        return _HOST_BYTES

    def multiplies(self, gpu: int | None, data_type: str) -> bool:  # noqa: ARG002
        """Return whether it is other than float8, which processors do not have."""
        return data_type != "float8_e4m3"

    def problem(self, gpu: int | None, data_type: str, size: int) -> GemmProblem:  # noqa: ARG002
        """Return the matrices in the memory of the host."""
        with failing_as(ProductFailed, self._torch):
            return TorchProblem(self._torch, "cpu", data_type, size)

    def power_limits(self, gpu: int | None) -> tuple[float | None, float | None]:  # noqa: ARG002
        """Return no limits, since there is no GPU."""
        return None, None


class TorchProblem:
    """Square matrices of one type on one device."""

    def __init__(self, torch: Any, device: str, data_type: str, size: int) -> None:  # noqa: ANN401
        """Make random matrices, and two of small whole numbers."""
        self._torch = torch
        self._device = torch.device(device)
        kinds = {"float8_e4m3": "float8_e4m3fn"}
        self._kind = getattr(torch, kinds.get(data_type, data_type))
        source = torch.Generator(device=self._device).manual_seed(_SEED)
        shape = (size, size)
        made = {"device": self._device, "generator": source}
        self._left = torch.randn(shape, **made).to(self._kind)
        self._right = self._as_right(torch.randn(shape, **made))
        # Few of the left ones are not zero, so that no sum leaves the whole numbers
        # that bfloat16 holds, in whatever order and precision it is formed.
        of_left = torch.randint(-1, 2, shape, dtype=torch.int8, **made)
        of_left *= torch.randint(0, max(1, size // _SUMMED), shape, **made) == 0
        of_right = torch.randint(-2, 3, shape, dtype=torch.int8, **made)
        self._whole = (of_left, of_right)
        self._unit = torch.ones((), device=self._device)
        self._first: Any = None
        self._last: Any = None

    def _as_right(self, matrix: Any) -> Any:  # noqa: ANN401
        """Return a right matrix, column by column where float8 asks for it."""
        matrix = matrix.to(self._kind)
        return matrix.t().contiguous().t() if self._is_float8 else matrix

    @property
    def _is_float8(self) -> bool:
        return bool(self._kind.itemsize == 1)

    def _product(self, left: Any, right: Any) -> Any:  # noqa: ANN401
        """Return the product; float8 by the function that all its users call."""
        torch, outcome = self._torch, self._unit
        if not self._is_float8:
            return torch.mm(left, right)
        result = torch._scaled_mm(  # noqa: SLF001 - PyTorch has no public one
            left,
            right,
            scale_a=outcome,
            scale_b=outcome,
            out_dtype=torch.bfloat16,
            use_fast_accum=True,
        )
        return result[0] if isinstance(result, tuple) else result  # before torch 2.5

    def seconds(self, times: int) -> list[float]:
        """Return the seconds of products; the first and the last of all are kept."""
        with failing_as(ProductFailed, self._torch):
            if self._device.type != "cuda":
                return self._by_clock(times)
            return self._by_events(times)

    def _keep(self, product: Any) -> None:  # noqa: ANN401
        if self._first is None:
            self._first = product
        self._last = product

    def _by_events(self, times: int) -> list[float]:
        cuda = self._torch.cuda
        with cuda.device(self._device):
            events = [
                tuple(cuda.Event(enable_timing=True) for _ in range(2))
                for _ in range(times)
            ]
            for before, after in events:
                before.record()
                product = self._product(self._left, self._right)
                after.record()
                self._keep(product)
            cuda.synchronize(self._device)
            return [before.elapsed_time(after) / _MILLI for before, after in events]

    def _by_clock(self, times: int) -> list[float]:
        result: list[float] = []
        for _ in range(times):
            before = perf_counter()
            product = self._product(self._left, self._right)
            result.append(perf_counter() - before)
            self._keep(product)
        return result

    def wrong_values(self) -> int:
        """Return how many values differ from the first product, or the right ones."""
        with failing_as(ProductFailed, self._torch):
            wrong = 0
            if self._first is not None and self._first is not self._last:
                wrong += _differing(self._torch, self._first, self._last)
            left, right = self._whole
            result = self._product(left.to(self._kind), self._as_right(right))
            return wrong + self._wrong_rows(result)

    def _wrong_rows(self, result: Any) -> int:  # noqa: ANN401
        """Return how many values of some rows are not those of double precision."""
        torch = self._torch
        count = min(_COMPARED_ROWS, result.shape[0])
        rows = torch.linspace(0, result.shape[0] - 1, count).long()
        left, right = (item.cpu().double() for item in self._whole)
        right_ones = (left[rows] @ right).to(result.dtype)
        of_device = result[rows.to(result.device)].cpu()
        return _differing(torch, of_device, right_ones)


def _differing(torch: Any, item: Any, other: Any) -> int:  # noqa: ANN401
    """Return how many values differ, by their bits; zeros of both signs are equal."""
    bits = [(each + 0.0).view(torch.int16) for each in (item, other)]
    return int((bits[0] != bits[1]).sum())


def power_limits(properties: Any) -> tuple[float | None, float | None]:  # noqa: ANN401
    """Return watts in force and by default of the GPU with these properties of CUDA.

    CUDA and NVML number GPUs differently: they are matched by their UUID.
    """
    from speccheck.probes.management_library import (  # noqa: PLC0415 - imports pynvml
        Library,
    )

    uuid = getattr(properties, "uuid", None)
    if uuid is None:
        return None, None
    library = Library(lambda _: None)
    if isinstance(library.ask("nvmlInitWithFlags", 0), Absence):
        return None, None
    handle = library.ask("nvmlDeviceGetHandleByUUID", f"GPU-{uuid}")
    if isinstance(handle, Absence):
        return None, None
    limits = (
        library.ask("nvmlDeviceGetEnforcedPowerLimit", handle),
        library.ask("nvmlDeviceGetPowerManagementDefaultLimit", handle),
    )
    in_force, default = (
        None if isinstance(limit, Absence) else limit / _MILLI for limit in limits
    )
    return in_force, default
