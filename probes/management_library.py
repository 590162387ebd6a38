"""NVML, call by call: a value, or why there is none.

Every call is guarded by itself: a lost GPU, a function that the driver lacks or a call
that this user may not make costs one leaf, not the rest (codes: nvml.h, nvmlReturn_t).
`doing` is told before each call, so that a hang or a crash has a name.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from speccheck.probes.raw_value import Absence, Reason

LOST, RESET_REQUIRED, UNKNOWN = 15, 16, 999
_MISSING_FUNCTION = 13
_REASONS: dict[int, Reason] = {
    3: "not_supported",
    4: "not_permitted",
    6: "absent",  # not found
    9: "absent",  # driver not loaded
    12: "absent",  # library not found
    _MISSING_FUNCTION: "not_supported",
    21: "absent",  # no data
    25: "not_supported",  # a newer structure than the driver knows
    26: "not_supported",  # deprecated
}
# Drivers before release 535 know it by its first name.
_OLDER = {
    "nvmlDeviceGetCurrentClocksEventReasons": (
        "nvmlDeviceGetCurrentClocksThrottleReasons"
    )
}


class Library:
    """The binding of NVML, and who is told what it is asked."""

    __slots__ = ("_binding", "_doing", "_errors", "codes")

    def __init__(self, doing: Callable[[str], None], stands_in: Any = None) -> None:  # noqa: ANN401
        """Import the binding: only a probe of GPUs pays for it.

        stands_in: what it is to call in place of the library that it would load.
        """
        self._binding: Any = import_module("pynvml")
        if stands_in is not None:
            self._binding.__dict__["nvmlLib"] = stands_in
        self._errors = self._binding.NVMLError
        self._doing = doing
        self.codes: set[int] = set()  # that calls ended with since `forget`

    def ask(self, function: str, *arguments: object, of: str = "") -> Any:  # noqa: ANN401
        """Return what a function of the binding returns, or an Absence."""
        called = getattr(self._binding, function, None)
        if called is None:
            message = "the installed nvidia-ml-py does not know it"
            return Absence("not_supported", function, message)
        self._doing(f"{function} of {of}" if of else function)
        try:
            return called(*arguments)
        except self._errors as error:
            older = _OLDER.get(function)
            if older and error.value == _MISSING_FUNCTION:
                return self.ask(older, *arguments, of=of)
            return self._absence(function, error)
        except Exception as error:  # noqa: BLE001 - bindings and drivers of any release
            return Absence("failed", function, f"{type(error).__name__}: {error}")

    def constant(self, name: str) -> Any:  # noqa: ANN401 - of any type
        """Return a constant or a structure of the binding; None where it has none."""
        return getattr(self._binding, name, None)

    def fields(self, handle: object, ids: list[Any], of: str) -> list[Any]:
        """Return the field values by ids: (field, scope), or the field alone."""
        function = "nvmlDeviceGetFieldValues"
        absence = self.ask(function, handle, ids, of=of)
        if isinstance(absence, Absence):
            return [absence] * len(ids)
        return [self._field(item) for item in absence]

    def _field(self, result: Any) -> Any:  # noqa: ANN401 - a structure of the binding
        source = f"nvmlDeviceGetFieldValues {result.fieldId}"
        if result.nvmlReturn:
            self.codes.add(result.nvmlReturn)
            reason = _REASONS.get(result.nvmlReturn, "failed")
            return Absence(reason, source, code=str(result.nvmlReturn))
        # The member of the union: nvml.h, nvmlValueType_t.
        members = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
        if result.valueType >= len(members):
            return Absence("failed", source, f"value of type {result.valueType}")
        return getattr(result.value, members[result.valueType])

    def _absence(self, function: str, error: Any) -> Absence:  # noqa: ANN401
        code = int(error.value)
        self.codes.add(code)
        if code == _MISSING_FUNCTION:
            return Absence("not_supported", function, "the driver lacks it", str(code))
        reason = _REASONS.get(code, "failed")
        return Absence(reason, function, str(error), str(code))


def text_of(data: Any) -> Any:  # noqa: ANN401 - a leaf
    """Return the bytes of older bindings as text."""
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else data
