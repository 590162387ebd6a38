"""Serve a framework's own validator: cases as JSON lines in, answers out.

A driver runs inside the environment of its framework and calls `serve` with a validate.
Each case is checked in a process of its own, forked once the framework is imported, so
that neither what a case leaves behind nor its end reaches the next.

A case is {id, files: {name: text}, keys: {...}, beside: {name: text}}: files, the main
one first, or keys of which one is written, and files that it may name. An answer is
{id, accepted, message, said}. `accepted` is null where the framework could not be
asked: `message` then begins with `crashed`, `timed out` or `cannot be asked`. `said`
holds its warnings.
"""

import contextlib
import importlib.metadata
import json
import os
import select
import signal
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

Validate = Callable[[Path], object]

_MOST_CHARACTERS = 400
_MOST_LINES = 20
_QUIET = {
    "CUDA_VISIBLE_DEVICES": "",
    "DS_ACCELERATOR": "cpu",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_OFFLINE": "1",
    "JAX_PLATFORMS": "cpu",
    "NO_COLOR": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_OFFLINE": "1",
    "WANDB_DISABLED": "true",
}
# Before a driver imports its framework: what that prints is no answer.
os.environ.update(_QUIET)
_ANSWERS = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


class NotAskable(Exception):  # noqa: N818 - no error of the configuration
    """The framework cannot judge this case here."""


# What a machine lacks, or a file beside the configuration, is no fault of it.
_NOT_OF_THE_FILE = (NotAskable, ImportError, ConnectionError, FileNotFoundError)


def serve(package: str, validate: Validate, language: str = "yaml") -> int:
    """Answer the cases of standard input until it ends.

    Args:
        package: the distribution whose version is stated first.
        validate: takes the main file of a case, in a folder of its own; what it raises
            is the refusal.
        language: `yaml`, `json` or `toml`, in which the keys of a case are written.

    Returns:
        the exit code.

    """
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        package = f"{package} {importlib.metadata.version(package)}"
    print(json.dumps({"ready": package}), file=_ANSWERS, flush=True)
    for line in sys.stdin:
        case = json.loads(line)
        answer = {"id": case["id"], **_answered(case, validate, language, seconds)}
        print(json.dumps(answer), file=_ANSWERS, flush=True)
    return 0


def _answered(
    case: Mapping[str, Any], validate: Validate, language: str, seconds: float
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        main = _written(case, folder / "case", language)
        ending, result = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ending)
            _judge(validate, main, folder / "said", result)
        os.close(result)
        written = _read(ending, child, seconds)
        os.close(ending)
        _, status = os.waitpid(child, 0)
        if written is None:
            return _without_answer(f"timed out after {seconds:g} s")
        if not written:
            return _without_answer(f"crashed: exit {os.waitstatus_to_exitcode(status)}")
        answer: dict[str, Any] = json.loads(written)
        answer["said"] = _said(folder / "said")
        return answer


def _without_answer(message: str) -> dict[str, Any]:
    return {"accepted": None, "message": message, "said": []}


def _read(descriptor: int, child: int, seconds: float) -> bytes | None:
    """Return what a child wrote; None where it was ended for its time."""
    parts: list[bytes] = []
    while select.select([descriptor], [], [], seconds)[0]:
        part = os.read(descriptor, 65536)
        if not part:
            return b"".join(parts)
        parts.append(part)
    os.kill(child, signal.SIGKILL)
    return None


def _written(case: Mapping[str, Any], folder: Path, language: str) -> Path:
    """Write the files of a case, or its keys as one; returns the main file."""
    folder.mkdir()
    files: dict[str, str] = dict(case.get("files") or {})
    if not files:
        files[f"config.{language}"] = _dumped(case.get("keys") or {}, language)
    for name, text in {**files, **(case.get("beside") or {})}.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return folder / next(iter(files))


def _dumped(keys: Mapping[str, Any], language: str) -> str:
    """Return keys as a document; JSON is YAML, too."""
    if language != "toml":
        return json.dumps(keys, indent=1)
    return "\n".join(_toml(keys, ()))


def _toml(table: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[str]:
    if above:
        yield f"[{'.'.join(map(json.dumps, above))}]"
    for name, value in table.items():
        if not isinstance(value, dict) and value is not None:
            yield f"{json.dumps(name)} = {json.dumps(value)}"
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _toml(value, (*above, name))


def _judge(validate: Validate, main: Path, said: Path, result: int) -> NoReturn:
    """Validate one case in this process, write the answer and end."""
    with said.open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.chdir(main.parent)
    _forbid_network()
    warnings.simplefilter("default")
    sys.argv = sys.argv[:1]
    accepted: bool | None = True
    message = ""
    try:
        validate(main)
    except SystemExit as ended:
        sys.stderr.flush()
        accepted = not ended.code
        message = _tail(said) if ended.code else ""
    except _NOT_OF_THE_FILE as reason:
        accepted, message = None, f"cannot be asked: {reason}"
    except BaseException as refusal:  # noqa: BLE001 - whatever a framework raises
        accepted, message = False, f"{type(refusal).__name__}: {refusal}"
    sys.stdout.flush()
    sys.stderr.flush()
    answer = {"accepted": accepted, "message": message[:_MOST_CHARACTERS]}
    os.write(result, json.dumps(answer).encode())
    os._exit(0)


def _forbid_network() -> None:
    def refuse(*_: object) -> NoReturn:
        message = "no network for a validator"
        raise ConnectionError(message)

    socket.socket.connect = refuse  # type: ignore[method-assign]
    socket.getaddrinfo = refuse  # type: ignore[assignment]


def _tail(said: Path) -> str:
    lines = said.read_text(errors="replace").strip().splitlines()
    return " ".join(lines[-3:])[-_MOST_CHARACTERS:]


def _said(path: Path) -> list[str]:
    """Return the warnings of a case."""
    if not path.exists():
        return []
    lines = path.read_text(errors="replace").splitlines()
    return [
        line.strip()[:_MOST_CHARACTERS]
        for line in lines
        if "warn" in line.lower() or "deprecat" in line.lower()
    ][:_MOST_LINES]
