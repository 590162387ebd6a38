"""What `dcgmi diag -j` writes: what each test of the diagnosis says of each GPU.

Until DCGM 3 a result names its GPU by `gpu_id` or `gpu_ids`, since DCGM 4 by the group
and the number of an entity, with a summary beside them. Source: NVIDIA/DCGM
dcgmi/Diag.cpp of both, testing/python3/dcgm_diag_schema.json.
"""

from collections.abc import Iterator, Mapping

from speccheck.validator.evidence.measurement.device import DiagnosticResult
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.sources.capture import (
    Capture,
    CapturedValue,
    measurement_reading,
)
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.reader import FactSheet, Reader, Reading

FORMAT = "dcgm-diagnosis"
_KIND = DiagnosticResult.kind
_TOP = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
_RESULTS = {"pass", "warn", "fail", "skip", "not_run"}
_MOST_TEXT = 400
Json = Mapping[str, object]


class _Result(Record):
    """One result, where it stands, and of which GPU; None for the machine."""

    result: Json
    path: KeyPath
    gpu: int | None = None


def _detect(document: Document) -> float:
    data = document.data
    tops = [key for key in _TOP if isinstance(data, dict) and key in data]
    return 1.0 if tops and isinstance(data, dict) and _object(data, tops[0]) else 0.0


def _read(document: Document) -> Reading:
    capture = Capture(document.name, "dcgmi diag -j")
    data = document.data if isinstance(document.data, dict) else {}
    top = next((key for key in _TOP if key in data), _TOP[0])
    diagnosis = _object(data, top)
    capture.listed(_KIND, document.place((top,)))
    shared: dict[str, CapturedValue] = {"tool": "dcgm"}
    for holder in (_object(data, "metadata"), data, diagnosis):
        version = holder.get("version")
        if isinstance(version, str) and "tool_version" not in shared:
            shared["tool_version"] = version
    for path, category in _objects(diagnosis, "test_categories", (top,)):
        name = str(category.get("category", ""))
        for test_path, test in _objects(category, "tests", path):
            of_test = {**shared, "category": name, "name": str(test.get("name", ""))}
            for result in _said(test, test_path):
                _put(capture, document, of_test, result)
    for holder, path in ((diagnosis, (top,)), (data, ())):
        error = holder.get("runtime_error")
        if isinstance(error, str) and error:
            at = (*path, "runtime_error")
            lost: Json = {"status": "Not Run", "warnings": error}
            _put(capture, document, {**shared, "name": "diagnosis"}, _Result(lost, at))
    return measurement_reading(capture.node(), FactSheet.of(document))


def _said(test: Json, path: KeyPath) -> Iterator[_Result]:
    """Return the results of a test; its summary where it says what no result says."""
    known: set[str] = set()
    for at, result in _objects(test, "results", path):
        known.add(_word(result))
        for gpu in _gpus(result):
            yield _Result(result, at, gpu)
    summary = _object(test, "test_summary")
    if summary and _word(summary) not in known:
        yield _Result(summary, (*path, "test_summary"))


def _gpus(result: Json) -> list[int | None]:
    if result.get("entity_group") == "GPU":
        shown = str(result.get("entity_id", ""))
    else:
        shown = str(result.get("gpu_id", result.get("gpu_ids", "")))
    words = [word.strip() for word in shown.split(",")]
    numbers: list[int | None] = [int(word[:6]) for word in words if word.isdecimal()]
    return numbers or [None]


def _put(
    capture: Capture,
    document: Document,
    leaves: Mapping[str, CapturedValue],
    result: _Result,
) -> None:
    at = document.place(result.path)
    part = _KIND, capture.add(_KIND, at)
    shown = dict(leaves)
    if result.gpu is not None:
        shown["gpu_index"] = result.gpu
    word = _word(result.result)
    shown["result"] = word if word in _RESULTS else _unknown(word)
    message, code = _warning(result.result)
    if message:
        shown["message"] = message[:_MOST_TEXT]
    if code is not None:
        shown["error_code"] = code
    for leaf, item in shown.items():
        capture.put_at(part, leaf, item, at)


def _unknown(word: str) -> Mapping[str, str]:
    return {"status": "failed", "message": f"says {word[:40]!r}"}


def _word(result: Json) -> str:
    """Return Pass, Warn, Fail, Skip, Not Run, in the words of the evidence."""
    return str(result.get("status", "")).strip().lower().replace(" ", "_")


def _warning(result: Json) -> tuple[str, int | None]:
    """Return what went wrong: the first number, all texts; else the test's result."""
    outcome = result.get("warnings")
    listed = outcome if isinstance(outcome, list) else [outcome]
    texts: list[str] = []
    code: int | None = None
    for item in listed:
        if isinstance(item, dict):
            number = item.get("error_id")
            code = number if code is None and type(number) is int else code
            texts.append(str(item.get("warning", item.get("warnings", ""))))
        elif isinstance(item, str):
            texts.append(item)
    texts = [text for text in texts if text]
    info = result.get("info")
    if not texts and isinstance(info, str):
        texts.append(info)
    return "; ".join(texts), code


def _object(data: Json, key: str) -> Json:
    result = data.get(key)
    return result if isinstance(result, dict) else {}


def _objects(data: Json, key: str, path: KeyPath) -> Iterator[tuple[KeyPath, Json]]:
    result = data.get(key)
    for number, item in enumerate(result if isinstance(result, list) else []):
        if isinstance(item, dict):
            yield (*path, key, number), item


READER = Reader(FORMAT, "measurement", _detect, _read, keys=_TOP)
