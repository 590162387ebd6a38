"""Which package releases container images and requirement files pin.

The tag of an image may name the release of a package. Of requirement and lock files
only exact pins count: `==` in requirements, environments and `pyproject.toml`, and
what lock files have resolved. The files are read line by line: none of them is loaded
as what it is, so that a lock file of a megabyte costs milliseconds.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from speccheck.validator.evidence.framework_keys import StatedVersion
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.sources.documents.document import LineTable, ReadError
from speccheck.validator.sources.documents.reading import read_text

# Repositories whose tag begins with the release of one package. mosaicml/llm-foundry
# names the PyTorch release there (llm-foundry README, "Docker"), not its own.
_PACKAGES = {
    "axolotlai/axolotl": "axolotl",
    "axolotlai/axolotl-cloud": "axolotl",
    "hiyouga/llamafactory": "llamafactory",
    "huggingface/transformers-pytorch-gpu": "transformers",
    "huggingface/transformers-pytorch-deepspeed-latest-gpu": "transformers",
    "huggingface/trl": "trl",
    "mosaicml/composer": "mosaicml",
    "mosaicml/llm-foundry": "torch",
    "mosaicml/pytorch": "torch",
    "nvidia/nemo-rl": "nemo-rl",
    "pytorch/pytorch": "torch",
    "winglian/axolotl": "axolotl",
    "winglian/axolotl-cloud": "axolotl",
}
# Deep learning containers of AWS, under any account:
# `763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.3.0-gpu-py311-...`
_NAMES = {
    "huggingface-pytorch-training": "torch",
    "huggingface-pytorch-trcomp-training": "torch",
    "pytorch-training": "torch",
}
# Parts of a tag that name a package: `-torch2.7.0-`, `th2.6.0`, `transformers4.55.4`.
_SPELLINGS = {
    "accelerate": "accelerate",
    "axolotl": "axolotl",
    "deepspeed": "deepspeed",
    "mcore": "megatron-core",
    "nccl": "nccl",
    "pt": "torch",
    "pytorch": "torch",
    "th": "torch",
    "torch": "torch",
    "transformers": "transformers",
    "trl": "trl",
}
# A release is told by at least two numbers: `py3`, `torch2` and `cu121` are none.
_RELEASE = lazy_pattern(r"v?(\d+\.\d+(?:\.\d+)*)(?=$|[-_+])")
_NAMED = lazy_pattern(
    r"(?:^|(?<=[-_.]))([a-z]+?)[-_]?v?(\d+\.\d+(?:\.\d+)?)(?=$|[-_+.](?!\d))"
)
# The end of axolotl's tags is the release of PyTorch: `0.9.2-py3.11-cu124-2.6.0`.
_TORCH_AT_END = lazy_pattern(r"-cu\d+-(\d+\.\d+\.\d+)$")
_FIRST_CALENDAR_NUMBER = 20  # 24.05 is a month, and no release of these packages


def versions_of_image(image: str) -> tuple[tuple[str, str], ...]:
    """Return the package and release for each package that an image's name states.

    Args:
        image: `[registry/]repository[:tag][@digest]`; anything else gives nothing.

    Returns:
        packages as PyPI writes them (NCCL as `nccl`), each once, with their release.
    """
    repository, tag = _parts(image)
    result: dict[str, str] = {}
    for package, release in _pins(repository, tag):
        if int(release.partition(".")[0]) < _FIRST_CALENDAR_NUMBER:
            result.setdefault(package, release)
    return tuple(result.items())


def _parts(image: str) -> tuple[str, str]:
    """Return the repository and tag, the registry left on the repository."""
    name = image.strip().partition("@")[0].lower()
    head, colon, tag = name.rpartition(":")
    if not colon or "/" in tag or "$" in tag or "{" in tag:
        return name, ""
    return head, tag


def _pins(repository: str, tag: str) -> Iterator[tuple[str, str]]:
    parts = repository.split("/")
    package = _PACKAGES.get("/".join(parts[-2:])) or _NAMES.get(parts[-1])
    start = _RELEASE.match(tag)
    if package is not None and start is not None:
        yield package, start[1]
    for match in _NAMED.finditer(tag):
        if (named := _SPELLINGS.get(match[1])) is not None:
            yield named, match[2]
    if package == "axolotl" and (end := _TORCH_AT_END.search(tag)) is not None:
        yield "torch", end[1]


# Packages whose release says which keys a file may have, and what NCCL comes in.
PACKAGES = frozenset(
    {
        "accelerate",
        "ai2-olmo",
        "axolotl",
        "deepspeed",
        "litgpt",
        "llamafactory",
        "llm-foundry",
        "maxtext",
        "megatron-core",
        "nanotron",
        "nemo-automodel",
        "nemo-toolkit",
        "nvidia-nccl-cu11",
        "nvidia-nccl-cu12",
        "nvidia-nccl-cu13",
        "torch",
        "torchtitan",
        "torchtune",
        "transformers",
        "trl",
        "verl",
    }
)
_CONDA_NAMES = {"pytorch": "torch", "nccl": "nvidia-nccl-cu12"}
_ENVIRONMENTS = frozenset(
    {"conda.yaml", "conda.yml", "environment.yaml", "environment.yml"}
)
_MAXIMUM_BYTES = 5_000_000  # a lock file of a thousand packages has one megabyte
_OF_DEVELOPERS = frozenset({"dev", "doc", "docs", "lint", "test", "tests", "testing"})
_MAXIMUM_FILES = 20  # of a folder; requirements-*.txt may be many

_NAME = r"(?P<package>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]\n]*\])?"
_PINNED = rf"{_NAME}[ \t]*={{2,3}}[ \t]*v?(?P<release>[0-9][A-Za-z0-9.+!-]*)[ \t]*"
_REQUIREMENT = lazy_pattern(
    rf"^[ \t]*{_PINNED}(?=[;#\\\r\n]|--|$)(?P<marker>.*)$", re.MULTILINE
)
# `[[package]]`, then name and version: uv.lock, poetry.lock and pdm.lock.
_LOCKED = lazy_pattern(
    r'^\[\[package\]\]\r?\nname = "(?P<package>[^"\n]+)"\r?\n'
    r'version = "(?P<release>[^"\n]+)"',
    re.MULTILINE,
)
_PIPFILE = lazy_pattern(
    r'"(?P<package>[A-Za-z0-9._-]+)": \{[^{}]*"version": "==(?P<release>[0-9][^"\n]*)"'
)
# `- pytorch=2.3.0=py3.11_cuda12.1`, `- conda-forge::nccl==2.21.5`; `=` of fewer than
# three numbers leaves the rest open.
_CONDA = lazy_pattern(
    rf"^[ \t]*-[ \t]*[\"']?(?:[\w./-]+::)?{_NAME}[ \t]*={{1,3}}[ \t]*"
    r"(?P<release>[0-9]+\.[0-9]+\.[A-Za-z0-9.+]+)(?:=[\w*.]+)?[\"']?[ \t]*(?:#.*)?$",
    re.MULTILINE,
)
_QUOTED = lazy_pattern(
    rf"(?P<quote>[\"']){_PINNED}(?P<marker>;(?:(?!(?P=quote)).)*)?(?P=quote)"
)
_TABLE = lazy_pattern(r"^\[(?P<name>[^\[\]\n]+)\][ \t]*(?:#.*)?$", re.MULTILINE)
_POETRY_TABLE = "tool.poetry.dependencies"
_POETRY = lazy_pattern(
    rf"^{_NAME}[ \t]*=[ \t]*(?:\{{[^}}\n]*?version[ \t]*=[ \t]*)?\"(?:==)?"
    r"(?P<release>[0-9][A-Za-z0-9.+]*)\"",
    re.MULTILINE,
)
_DEPENDENCIES = lazy_pattern(r"^dependencies[ \t]*=[ \t]*\[", re.MULTILINE)
_SEPARATORS = lazy_pattern(r"[-_.]+")

Match = re.Match[str]


class _Pin(Record):
    """A pin: the package as PyPI normalizes its name, the release, and where it is."""

    package: str
    release: str
    start: int
    end: int


def normalized(name: str) -> str:
    """Return the name of a package as PyPI compares it (PEP 503)."""
    return _SEPARATORS.sub("-", name).lower()


def is_requirement_file(name: str) -> bool:
    """Return whether a file of this name holds requirements, no configuration."""
    return _pins_of(name) is not None


def pinned_versions(folder: str) -> tuple[StatedVersion, ...]:
    """Return the exact pins in a folder of the packages that speccheck knows.

    Package names are normalized. A package that one file pins to several releases is
    omitted; files that differ are all told. Never raises: what cannot be read pins
    nothing.
    """
    try:
        changed = os.stat(folder or ".").st_mtime_ns
        names = _requirement_files(folder or ".", changed)
        stated_versions: list[StatedVersion] = []
        for name in names:
            path = os.path.join(folder, name)
            status = os.stat(path)
            if status.st_size <= _MAXIMUM_BYTES:
                stated_versions.extend(
                    _pins_in(path, status.st_size, status.st_mtime_ns)
                )
    except (OSError, ValueError):  # a folder that went away, a NUL in its name
        return ()
    return tuple(stated_versions)


@lru_cache(maxsize=64)
def _requirement_files(folder: str, changed: int) -> tuple[str, ...]:
    """Return the names in the folder, as of its last change."""
    del changed
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if is_requirement_file(entry.name)]
    of_the_job = [name for name in names if not _is_of_developers(name)]
    return tuple(sorted(of_the_job)[:_MAXIMUM_FILES])


def _is_of_developers(name: str) -> bool:
    """Return whether requirements are those of tests or documentation by their name."""
    words = _SEPARATORS.sub("-", name.lower()).replace("_", "-").partition(".")[0]
    return not _OF_DEVELOPERS.isdisjoint(words.split("-"))


@lru_cache(maxsize=256)
def _pins_in(path: str, size: int, changed: int) -> tuple[StatedVersion, ...]:
    """Return the pins of one file, as it was when it last changed."""
    del size, changed
    pins_of = _pins_of(os.path.basename(path))
    if pins_of is None:
        return ()
    try:
        text = read_text(path)
    except ReadError:
        return ()
    by_package: dict[str, set[str]] = {}
    pins: dict[str, _Pin] = {}
    for pin in pins_of(text):
        if pin.package in PACKAGES and _is_release(pin.release):
            by_package.setdefault(pin.package, set()).add(pin.release)
            pins.setdefault(pin.package, pin)
    lines = LineTable(text)
    return tuple(
        _stated(path, pin, lines)
        for package, pin in pins.items()
        if len(by_package[package]) == 1
    )


def _is_release(text: str) -> bool:
    """Return whether it is a release, not `2.4.*` nor a state between releases."""
    return ".dev" not in text and "*" not in text and text != "0.0.0"


def _stated(path: str, pin: _Pin, lines: LineTable) -> StatedVersion:
    line, column = lines.place(pin.start)
    span = Span(line, column, pin.end - pin.start)
    return StatedVersion(pin.package, pin.release, Place(path, pin.package, span=span))


def _pin(match: Match) -> _Pin:
    release = match["release"].partition("+")[0]
    name = normalized(match["package"])
    return _Pin(name, release, match.start("package"), match.end("release"))


PinsOf = Callable[[str], Iterable[_Pin]]


def _pins_of(name: str) -> PinsOf | None:
    """Return what reads the pins of a file of this name; None for other files."""
    lower = name.lower()
    if lower.endswith(".txt"):
        is_one = "requirements" in lower or lower.startswith("constraints")
        return _requirements if is_one else None
    if lower in _ENVIRONMENTS:
        return _environment
    return _BY_NAME.get(lower)


def _requirements(text: str) -> Iterator[_Pin]:
    for match in _REQUIREMENT.finditer(text):
        if _holds_on_linux(match["marker"]):
            yield _pin(match)


def _holds_on_linux(rest: str) -> bool:
    """Return whether a pin holds for training: without a marker, or for Linux."""
    if not rest.startswith(";"):
        return True
    marker = rest.partition("#")[0].partition("--")[0].lower()
    return "linux" in marker and "!=" not in marker


def _locked(text: str) -> Iterator[_Pin]:
    return map(_pin, _LOCKED.finditer(text))


def _pipfile(text: str) -> Iterator[_Pin]:
    return map(_pin, _PIPFILE.finditer(text))


def _environment(text: str) -> Iterator[_Pin]:
    """Yield Conda's pins with `=`, and its pins for pip with `==`."""
    for match in _CONDA.finditer(text):
        pin = _pin(match)
        yield pin._replace(package=_CONDA_NAMES.get(pin.package, pin.package))


def _project(text: str) -> Iterator[_Pin]:
    """Yield `dependencies` of the project, as PEP 621 and as Poetry write them."""
    tables = [(match["name"].strip(), match.end()) for match in _TABLE.finditer(text)]
    ends = [*(start for _, start in tables[1:]), len(text)]
    for (name, start), end in zip(tables, ends, strict=True):
        if name == "project":
            yield from _project_dependencies(text, start, end)
        elif name == _POETRY_TABLE:
            for match in _POETRY.finditer(text, start, end):
                yield _pin(match)


def _project_dependencies(text: str, start: int, end: int) -> Iterator[_Pin]:
    begin = _DEPENDENCIES.search(text, start, end)
    if begin is None:
        return
    closing = text.find("\n]", begin.end(), end)
    first_line = text.find("\n", begin.end(), end)
    if closing < 0 or "]" in text[begin.end() : first_line]:
        closing = first_line if first_line >= 0 else end
    for match in _QUOTED.finditer(text, begin.end(), closing):
        if _holds_on_linux(match["marker"] or ""):
            yield _pin(match)


_BY_NAME: dict[str, PinsOf] = {
    "pdm.lock": _locked,
    "pipfile.lock": _pipfile,
    "poetry.lock": _locked,
    "pyproject.toml": _project,
    "uv.lock": _locked,
}
