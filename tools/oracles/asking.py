"""Ask a driver about cases: a process that is started again where it ends or hangs."""

import hashlib
import json
import os
import select
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import IO, Any, NamedTuple

TOOLS = Path(__file__).resolve().parents[1]
STARTING_SECONDS = 300.0  # a framework is imported first
_GRACE_SECONDS = 10.0  # for the driver to end a case by itself


class Case(NamedTuple):
    """A configuration: files, the main one first, or keys from which one is written.

    beside: further files, which it may name.
    """

    id: str
    files: Mapping[str, str] = {}
    keys: Mapping[str, Any] = {}
    beside: Mapping[str, str] = {}


class Answer(NamedTuple):
    """What a framework says of a case.

    accepted: None where it could not be asked; the message then says why, and begins
        with `crashed`, `timed out` or `cannot be asked`.
    said: its warnings.
    """

    id: str
    accepted: bool | None
    message: str = ""
    said: tuple[str, ...] = ()


class NoOracle(Exception):  # noqa: N818 - a reason to go without it
    """The driver did not start; the text says why."""


class Driver:
    """The process of a driver."""

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        """Keep how it is started; `seconds` is the limit of a case."""
        self._command = (*command, f"{seconds:g}")
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this

    def start(self) -> str:
        """Start it; returns name and version of what it asks, or raises NoOracle."""
        self._rest = b""
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": str(TOOLS)},
        )
        line = self._line(STARTING_SECONDS)
        if not line:
            self.end()
            self._errors.seek(0)
            errors = self._errors.read().decode(errors="replace")
            raise NoOracle((errors.strip().splitlines() or ["it did not start"])[-1])
        return str(json.loads(line)["ready"])

    def answer(self, case: Case) -> Answer:
        """Ask about a case."""
        if self._process is None:
            self.start()
        if self._process is None:  # pragma: no cover - start() raises
            raise NoOracle
        text = json.dumps({**case._asdict()}, default=str) + "\n"
        sending = _pipe(self._process.stdin)
        try:
            sending.write(text.encode())
            sending.flush()
            line = self._line(self._seconds + _GRACE_SECONDS)
        except BrokenPipeError:
            line = b""
        if line:
            result = json.loads(line)
            said = tuple(result.get("said", ()))
            return Answer(case.id, result["accepted"], result["message"], said)
        message = "crashed: the driver ended" if line == b"" else "timed out"
        self.end()
        return Answer(case.id, None, message)

    def _line(self, seconds: float) -> bytes | None:
        """Return the next line, b"" at the end of output, None where none comes."""
        if self._process is None:
            return b""
        output = _pipe(self._process.stdout).fileno()
        until = monotonic() + seconds
        while b"\n" not in self._rest:
            left = until - monotonic()
            if not select.select([output], [], [], max(0.0, left))[0]:
                return None
            part = os.read(output, 65536)
            if not part:
                return b""
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def close(self) -> None:
        """End the process and forget what it printed."""
        self.end()
        self._errors.close()


def answers(
    command: Sequence[str], cases: Sequence[Case], seconds: float
) -> Iterator[Answer]:
    """Yield an answer to each case; raises NoOracle where the driver does not start."""
    driver = Driver(command, seconds)
    try:
        driver.start()
        for case in cases:
            yield driver.answer(case)
    finally:
        driver.close()


def kept_answers(
    command: Sequence[str],
    cases: Sequence[Case],
    seconds: float,
    kept: Path,
    question: str,
) -> list[Answer]:
    """Return an answer to each case, from a file if that holds it already.

    Args:
        command: starts the driver.
        cases: what is asked.
        seconds: of a case.
        kept: the file, a line for each answer; those of hung cases are not kept.
        question: the text of driver and environment: another one is asked anew.

    """
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    known: dict[str, Answer] = {}
    for digest, case, accepted, message, said in map(json.loads, lines):
        known[digest] = Answer(case, accepted, message, tuple(said))
    digests = [_digest(question, case) for case in cases]
    missing = [
        (digest, case)
        for digest, case in zip(digests, cases, strict=True)
        if digest not in known
    ]
    if missing:
        kept.parent.mkdir(parents=True, exist_ok=True)
        replies = answers(command, [case for _, case in missing], seconds)
        with kept.open("a", encoding="utf-8") as file:
            for (digest, _), answer in zip(missing, replies, strict=True):
                known[digest] = answer
                if not answer.message.startswith("timed out"):
                    file.write(json.dumps([digest, *answer]) + "\n")
    return [
        known[digest]._replace(id=case.id)
        for digest, case in zip(digests, cases, strict=True)
    ]


def _digest(question: str, case: Case) -> str:
    text = question + json.dumps(case._asdict(), default=str, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        message = "the process has no such stream"
        raise NoOracle(message)
    return stream
