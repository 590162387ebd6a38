"""From a path to text, and from text to documents, of any file at all."""

import os
import stat
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, BinaryIO

from speccheck.validator.evidence.lazy_pattern import importing_lazily, lazy_pattern
from speccheck.validator.sources.documents.document import Document, Language, ReadError

if TYPE_CHECKING:
    from speccheck.validator.sources.python.command_line import ProgramArguments
    from speccheck.validator.sources.python.modules import FindModule

# The largest published training configuration has 52 kB; a tokenizer has 10 MB. NCCL
# writes 14 MB of 800 communicators.
MAXIMUM_BYTES = 20_000_000

_LANGUAGES: dict[str, Language] = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".jsonc": "json",
    ".json5": "json",
    ".hjson": "json",
    ".toml": "toml",
    ".py": "python",
}
# UTF-32 first: its little-endian mark begins with that of UTF-16.
_FOREIGN_MARKS = (
    (BOM_UTF32_LE, "UTF-32"),
    (BOM_UTF32_BE, "UTF-32"),
    (BOM_UTF16_LE, "UTF-16"),
    (BOM_UTF16_BE, "UTF-16"),
)
_TOML_LINE = lazy_pattern(r"\[\[?[\w.\"' -]+\]\]?\s*(?:#.*)?$|[\w.\"'-]+\s*=")


# By name, the texts that are read in place of files while somebody keeps them.
_KEPT: list[dict[str, str]] = []


@contextmanager
def keeping(texts: dict[str, str]) -> Generator[None]:
    """Keep files that are read within it: `texts` takes what was read, and is read.

    So files are judged as they were read, or as they would be with another text.
    """
    _KEPT.append(texts)
    try:
        yield
    finally:
        _KEPT.pop()


def _kept(name: str, read: Callable[[], str]) -> str:
    if not _KEPT:
        return read()
    texts = _KEPT[-1]
    if name not in texts:
        texts[name] = read()
    return texts[name]


def read_text(path: str) -> str:
    """Return the text of a regular file, or what is kept for it (see `read_file_text`).

    Raises:
        ReadError: as of `read_file_text`.
    """
    return _kept(path, lambda: read_file_text(path))


def read_file_text(path: str) -> str:
    """Return the text of a regular file, UTF-8, without byte order mark.

    Raises:
        ReadError: there is no such file, it may not be read, it is a directory, a pipe
            or a device, larger than MAXIMUM_BYTES, not UTF-8 text, or empty.
    """
    try:
        # Looked at before it is opened (a device may act on that), and again after.
        _demand_regular(path, os.stat(path))
        with open(path, "rb", opener=_open_without_waiting) as stream:
            status = os.fstat(stream.fileno())
            _demand_regular(path, status)
            content = stream.read(status.st_size + 1)
            if len(content) > status.st_size:  # it grew, or its size is not known
                content += stream.read(MAXIMUM_BYTES + 1 - len(content))
    except FileNotFoundError as error:
        raise ReadError(path, "missing", "no such file", "correct the path") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        remedy = "make the file readable, or give another one"
        problem = f"cannot be read: {reason}"
        raise ReadError(path, "unreadable", problem, remedy) from error
    return decode(path, content)


def read_stream(name: str, stream: BinaryIO) -> str:
    """Return the text of an open binary stream, such as standard input."""
    return _kept(name, lambda: decode(name, stream.read(MAXIMUM_BYTES + 1)))


def decode(name: str, content: bytes) -> str:
    """Return the text of a file's bytes.

    Raises:
        ReadError: the bytes are too many, not UTF-8 text, or only white space.
    """
    if len(content) > MAXIMUM_BYTES:
        raise _too_large(name, f"more than {MAXIMUM_BYTES:,}")
    for mark, encoding in _FOREIGN_MARKS:
        if content.startswith(mark):
            problem = f"the byte order mark of {encoding}"
            raise ReadError(name, "encoding", problem, "save the file as UTF-8", (1, 1))
    content = content.removeprefix(BOM_UTF8)
    if b"\0" in content:
        raise _binary(name, content.index(b"\0"))
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line = before.count(b"\n") + 1
        column = len(before.rpartition(b"\n")[2].decode()) + 1
        raise ReadError(
            name,
            "encoding",
            f"byte 0x{content[error.start]:02x} at offset {error.start} is not UTF-8",
            "save the file as UTF-8",
            (line, column),
        ) from error
    _demand_content(name, text)
    return text


def load_documents(
    name: str,
    text: str,
    language: str | None = None,
    find_module: "FindModule | None" = None,
    command_line: "ProgramArguments | None" = None,
) -> list[Document]:
    """Return the documents of a text; more than one only in YAML.

    Args:
        name: the file's name, for messages and, by its suffix, for the language.
        text: the whole text.
        language: yaml, json, toml or python; guessed when None.
        find_module: how a Python file finds the modules of its repository.
        command_line: what a Python file is started with.

    Raises:
        ReadError: the text cannot be read as that language.
    """
    text = text.removeprefix("\ufeff")
    _demand_content(name, text)
    if "\0" in text:
        raise _binary(name, text.index("\0"))
    if language is None:
        language = guess_language(name, text)
    if language == "python":
        with importing_lazily():
            from speccheck.validator.sources.documents.python_document import (  # noqa: PLC0415
                load_python,
            )
        return load_python(name, text, find_module, command_line)
    return _loader(language)(name, text)


@cache
def _loader(language: str) -> Callable[[str, str], list[Document]]:
    """Return the loader of a language, imported when a file first needs it.

    PyYAML compiles for 5 ms, half of its import, patterns of which libyaml needs none;
    tomllib for 1 ms those of dates and numbers.
    """
    with importing_lazily():
        if language == "json":
            from speccheck.validator.sources.documents.json_document import (  # noqa: PLC0415
                load_json,
            )

            return lambda name, text: [load_json(name, text)]
        if language == "toml":
            from speccheck.validator.sources.documents.toml_document import (  # noqa: PLC0415
                load_toml,
            )

            return lambda name, text: [load_toml(name, text)]
        from speccheck.validator.sources.documents.yaml_document import (  # noqa: PLC0415
            load_yaml,
        )

        return load_yaml


def guess_language(name: str, text: str) -> Language:
    """Return the language of a text by its name's suffix, else by how it begins."""
    suffix = os.path.splitext(name)[1].lower()
    known = _LANGUAGES.get(suffix)
    if known is not None:
        return known
    for line in text.split("\n"):
        begin = line.strip()
        if begin and not begin.startswith(("#", "//")):
            if _TOML_LINE.match(begin):
                return "toml"
            return "json" if begin[0] in "[{" else "yaml"
    return "yaml"


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe that took its place would wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _demand_regular(path: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ReadError(path, "directory", "a directory", "give a file in it")
    if not stat.S_ISREG(status.st_mode):
        problem = "a pipe, socket or device"
        raise ReadError(path, "unreadable", problem, "give a regular file, or -")
    if status.st_size > MAXIMUM_BYTES:
        raise _too_large(path, f"{status.st_size:,}")


def _demand_content(name: str, text: str) -> None:
    if not text or text.isspace():
        raise ReadError(name, "empty", "nothing in it", "give a file with content")


def _too_large(name: str, size: str) -> ReadError:
    return ReadError(
        name,
        "too_large",
        f"{size} bytes; a file may have {MAXIMUM_BYTES:,}",
        "give the configuration itself; of a log, the part around its start",
    )


def _binary(name: str, offset: int) -> ReadError:
    return ReadError(
        name,
        "binary",
        f"a NUL byte at offset {offset}: not a text file",
        "give a text file",
    )
