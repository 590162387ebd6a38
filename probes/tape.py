"""A tape of NVML: what a library answered, call by call, and the same again from it.

Recorder and replayer stand where the binding expects the loaded library, and see what
passes between Python and C: a code, and the bytes of every buffer. A tape is text, one
JSON object a line, written as the calls return: one that hangs or crashes ends it. A
call is found by its name and what went into it; a call that was made several times
answers in the order of the recording, and then as it did last.
"""

import base64
import ctypes
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Iterable
from typing import Any

from speccheck.probes.raw_value import Absence
from speccheck.probes.root import Root

TAPE = "nvml.tape.jsonl"
SCHEMA = "speccheck-nvml-tape/1"
_LIBRARY = "libnvidia-ml.so.1"
_NOT_FOUND = 12  # nvml.h, NVML_ERROR_LIBRARY_NOT_FOUND
_ERROR_STRING = "nvmlErrorString"
_SERIAL_TEXTS = ("nvmlDeviceGetUUID", "nvmlDeviceGetSerial")
_FABRIC = "nvmlDeviceGetGpuFabricInfoV"
_CLUSTER = slice(4, 20)  # nvml.h: the UUID stands after the version
_DIGITS = 16
_FIRST_ADDRESS = 0x1000  # of handles that are replayed: numbers, never followed


class Handles:
    """Pointers that the library gives, by number: their addresses differ each time."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        """Start without any."""
        self._numbers: dict[int, int] = {}

    def number(self, pointer: Any) -> int:  # noqa: ANN401 - of ctypes
        """Return the number of a pointer, a new one if it was not seen before."""
        address = ctypes.cast(pointer, ctypes.c_void_p).value or 0
        return self._numbers.setdefault(address, len(self._numbers))

    def put(self, pointer: Any, number: int) -> None:  # noqa: ANN401
        """Let a pointer be the handle of that number."""
        address = _FIRST_ADDRESS * (number + 1)
        self._numbers[address] = number
        ctypes.c_void_p.from_buffer(pointer).value = address


class Recorder:
    """The library, with a tape that runs."""

    def __init__(self, library: Any, write: Callable[[str], object]) -> None:  # noqa: ANN401
        """Take the loaded library and what takes the lines."""
        self._library = library
        self._write = write
        self._handles = Handles()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a function of ctypes
        """Return a function that is recorded.

        Raises AttributeError as the library does.
        """
        function = getattr(self._library, name)
        if name == _ERROR_STRING:
            function.restype = ctypes.c_char_p

        def called(*arguments: Any) -> Any:  # noqa: ANN401
            entered = _entered(arguments, self._handles)
            answer = function(*arguments)
            line: dict[str, Any] = {"call": name, "in": entered}
            if isinstance(answer, bytes):
                line["text"] = answer.decode("utf-8", "replace")
            else:
                line["code"] = answer
                line["out"] = _left(arguments, self._handles)
            self._write(json.dumps(line, separators=(",", ":")) + "\n")
            return answer

        return called


class Replayer:
    """A library that answers from a tape."""

    def __init__(self, text: str) -> None:
        """Take the content of a tape; raises ValueError for what is none."""
        self._answers: dict[str, dict[str, list[dict[str, Any]]]] = {}
        self._handles = Handles()
        for line in _lines(text):
            calls = self._answers.setdefault(line["call"], {})
            calls.setdefault(json.dumps(line["in"]), []).append(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a function
        """Return a function of the tape.

        Raises AttributeError for one that it lacks.
        """
        calls = self.__dict__["_answers"].get(name)
        if calls is None:
            raise AttributeError(name)

        def called(*arguments: Any) -> Any:  # noqa: ANN401
            answers = calls.get(json.dumps(_entered(arguments, self._handles)))
            if answers is None:
                message = f"{name} stands on the tape with other arguments only"
                raise LookupError(message)
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if "text" in answer:
                return answer["text"].encode()
            _put(arguments, answer.get("out", []), self._handles)
            return answer["code"]

        return called


def recording(folder: str, *, keep_identifiers: bool) -> Any:  # noqa: ANN401
    """Return the library with a tape in a folder; None where there is no library.

    Serial numbers and UUIDs become digests on the tape unless they are to be kept.
    """
    file = open(f"{folder}/{TAPE}", "w", encoding="utf-8", buffering=1)  # noqa: SIM115 - until the process ends
    file.write(json.dumps({"schema": SCHEMA}) + "\n")
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        line = {"call": "nvmlInitWithFlags", "in": [0], "code": _NOT_FOUND, "out": []}
        file.write(json.dumps(line) + "\n")
        return None
    if keep_identifiers:
        return Recorder(library, file.write)
    salt = secrets.token_bytes(_DIGITS)
    return Recorder(library, lambda line: file.write(without_serials(line, salt)))


def tape_below(root: Root) -> str:
    """Return the tape beside a copy of a machine's files; empty where there is none."""
    text = root.text(f"/{TAPE}")
    return "" if isinstance(text, Absence) else text


def without_serials(text: str, salt: bytes) -> str:
    """Return a line of a tape with digests for what names one GPU or one fabric."""
    line = json.loads(text)
    name = line["call"]
    if name in _SERIAL_TEXTS:
        digest = hmac.new(salt, line["out"][0].encode(), hashlib.sha256).hexdigest()
        line["out"] = [_text(f"hashed:{digest[:_DIGITS]}".encode())]
    elif name == _FABRIC and not line["code"]:
        held = bytearray(base64.b64decode(line["out"][0]))
        cluster = bytes(held[_CLUSTER])
        if any(cluster):
            hashed = hmac.new(salt, cluster, hashlib.sha256).digest()
            held[_CLUSTER] = hashed[: len(cluster)]
        line["out"] = [_text(bytes(held))]
    else:
        return text
    return json.dumps(line, separators=(",", ":")) + "\n"


def _lines(text: str) -> list[dict[str, Any]]:
    """Return the calls on a tape, without a last one that was cut off."""
    first, *rest = text.splitlines() or [""]
    problem = f"no tape of {SCHEMA}"
    try:
        if json.loads(first).get("schema") != SCHEMA:
            raise ValueError(problem)
    except (AttributeError, json.JSONDecodeError):
        raise ValueError(problem) from None
    result: list[dict[str, Any]] = []
    for number, text_of_line in enumerate(rest, 2):
        line = _line(text_of_line)
        if line is not None:
            result.append(line)
        elif number <= len(rest):
            message = f"line {number} of the tape is damaged"
            raise ValueError(message)
    return result


def _line(text: str) -> dict[str, Any] | None:
    """Return a call of a tape; None for what is none."""
    try:
        line = json.loads(text)
        is_text = isinstance(line["call"], str) and isinstance(
            line.get("text", ""), str
        )
        is_code = "text" in line or isinstance(line["code"], int)
        lists = line["in"], line.get("out", [])
    except (AttributeError, TypeError, KeyError, json.JSONDecodeError):
        return None
    is_whole = is_text and is_code and all(isinstance(list_, list) for list_ in lists)
    return line if is_whole else None


def _buffers(arguments: Iterable[Any]) -> list[Any]:
    """Return what the library may write into: all that is passed by reference."""
    result: list[Any] = []
    for argument in arguments:
        if isinstance(argument, ctypes.Array):
            result.append(argument)
        elif hasattr(argument, "_obj"):
            result.append(argument._obj)  # noqa: SLF001 - of ctypes.byref, which has no other
    return result


def _entered(arguments: Iterable[Any], handles: Handles) -> list[Any]:
    """Return what goes into a call, as JSON."""
    result: list[Any] = []
    for argument in arguments:
        if isinstance(argument, ctypes.Array) or hasattr(argument, "_obj"):
            (buffer,) = _buffers([argument])
            result.append("" if _is_pointer(buffer) else _text(bytes(buffer)))
        elif _is_pointer(argument):
            result.append({"handle": handles.number(argument)})
        else:
            result.append(getattr(argument, "value", argument))
    return result


def _left(arguments: Iterable[Any], handles: Handles) -> list[Any]:
    """Return what a call has left in its buffers."""
    return [
        {"handle": handles.number(buffer)}
        if _is_pointer(buffer)
        else _text(bytes(buffer))
        for buffer in _buffers(arguments)
    ]


def _put(arguments: Iterable[Any], left: list[Any], handles: Handles) -> None:
    for buffer, content in zip(_buffers(arguments), left, strict=True):
        if isinstance(content, dict):
            handles.put(buffer, content["handle"])
            continue
        held = base64.b64decode(content, validate=True)
        size = ctypes.sizeof(buffer)
        ctypes.memmove(ctypes.addressof(buffer), held.ljust(size, b"\0"), size)


def _is_pointer(item: Any) -> bool:  # noqa: ANN401
    return hasattr(type(item), "contents")  # which a null pointer has, and refuses


def _text(content: bytes) -> str:
    """Return the bytes as text, without the zeros that fill the rest of a buffer."""
    return base64.b64encode(content.rstrip(b"\0")).decode()
