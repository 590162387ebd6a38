"""What `dcgmi diag` and gpu-burn print for people: what each test says of each GPU.

    | Page Retirement/Row Remap | Fail                                           |
    | GPU Memory                | Fail - GPU: 2, 5                               |
    | Warning                   | GPU 2 ...                                      |

    Tested 8 GPUs:
            GPU 0: OK

Source: NVIDIA/DCGM dcgmi/Diag.cpp; wilicc/gpu-burn gpu_burn-drv.cpp.
"""

from collections.abc import Iterator

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.measurement.device import DiagnosticResult
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import Capture, line_span, measurement_reading
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

_KIND = DiagnosticResult.kind
_HEAD = lazy_pattern(r"\|\s*Diagnostic\s*\|\s*Result\s*\|")
_SECTION = lazy_pattern(r"[|+]-{5}\s+(\w[\w ]*?)\s+-+[|+]-+[|+]$")
_ROW = lazy_pattern(r"\|\s*(.*?)\s*\|\s*(.*?)\s*\|$")
_RESULT = lazy_pattern(
    r"(?:GPU\s*(\d+): )?(Pass|Warn|Fail|Skip|Not Run)\b(?: - (?:All|GPUs?: ([\d, ]+)))?"
)
_TROUBLES = {"error": "fail", "warning": "warn", "info": ""}
_NAMES = {"page_retirement/row_remap": "page_retirement", "gpu_memory": "memory"}
_NO_RESULTS = frozenset({"Metadata"})
_BURN_HEAD = lazy_pattern(r"Tested (\d+) GPUs:$")
_BURN = lazy_pattern(r"GPU (\d+): (OK|FAULTY|DIED)\b")
_BURNT = {"OK": "pass", "FAULTY": "fail", "DIED": "fail"}
_MOST_TEXT = 400


class _Result(Record):
    """What a test says of a GPU, or of the machine."""

    category: str
    name: str
    result: str
    span: Span
    gpu: int | None = None
    message: str = ""


def _detect(source: Source) -> float:
    lines = [line.strip() for line in source.text.splitlines()]
    return (
        1.0
        if any(_HEAD.match(line) or _BURN_HEAD.match(line) for line in lines)
        else 0.0
    )


def _read(source: Source) -> Reading:
    is_of_dcgm = _HEAD.search(source.text) is not None
    tool = "dcgm" if is_of_dcgm else "gpu-burn"
    capture = Capture(source.name, "dcgmi diag" if is_of_dcgm else tool)
    capture.listed(_KIND, Span(1, 1, 1))
    for result in _of_table(source) if is_of_dcgm else _of_burn(source):
        part = _KIND, capture.add(_KIND, result.span)
        leaves = {
            "tool": tool,
            "category": result.category,
            "name": result.name,
            "result": result.result,
            "message": result.message[:_MOST_TEXT],
        }
        for leaf, value in leaves.items():
            if value:
                capture.put_at(part, leaf, value, result.span)
        if result.gpu is not None:
            capture.put_at(part, "gpu_index", result.gpu, result.span)
    return measurement_reading(capture.node(), FactSheet(source.name))


def _of_table(source: Source) -> Iterator[_Result]:
    """Yield each result; what stands below it in its own words goes with it."""
    category = ""
    waiting: list[_Result] = []
    goes_on = False  # whether the row above has words of a trouble
    for number, line in enumerate(source.text.splitlines(), 1):
        span, text = line_span(number, line), line.strip()
        if match := _SECTION.match(text):
            yield from waiting
            waiting, category, goes_on = [], match[1], False
            continue
        row = _ROW.match(text)
        if row is None or category in _NO_RESULTS or _HEAD.match(text):
            continue
        label, said = row[1], row[2]
        if label.lower() in _TROUBLES:
            if not waiting:
                outcome = _TROUBLES[label.lower()]
                waiting = [_Result(category, category.lower(), outcome, span)]
            waiting = [_with(item, said) for item in waiting]
            goes_on = True
        elif not label and goes_on:
            waiting = [_with(item, said) for item in waiting]
        elif match := _RESULT.match(said):
            if label:
                yield from waiting
                waiting, name = [], _name(label)
            elif waiting:
                name = waiting[0].name
            else:
                continue
            outcome = match[2].lower().replace(" ", "_")
            numbers = [match[1]] if match[1] else (match[3] or "").split(",")
            gpus: list[int | None] = [
                int(item) for item in numbers if item.strip().isdecimal()
            ]
            waiting += [
                _Result(category, name, outcome, span, gpu) for gpu in (gpus or [None])
            ]
            goes_on = False
    yield from (item for item in waiting if item.result)


def _name(label: str) -> str:
    name = label.lower().replace(" ", "_")
    return _NAMES.get(name, name)


def _with(result: _Result, said: str) -> _Result:
    return result._replace(message=f"{result.message} {said}".strip())


def _of_burn(source: Source) -> Iterator[_Result]:
    """Yield the last word on each GPU."""
    is_result = False
    for number, line in enumerate(source.text.splitlines(), 1):
        text = line.strip()
        if _BURN_HEAD.match(text):
            is_result = True
        elif is_result and (match := _BURN.match(text)):
            span = line_span(number, line)
            yield _Result("stress", "burn", _BURNT[match[2]], span, int(match[1]))


READER = CaptureReader(
    "dcgm-diagnosis-text",
    ("| Diagnostic ", "Tested "),
    _detect,
    _read,
    role="measurement",
)
