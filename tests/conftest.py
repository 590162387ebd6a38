"""Makes every test independent of the terminal and the CI that it runs in."""

import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import Browser, browser
from nvml_stand_in import StandIn, build
from settings_files import DEEPSPEED
from slow_cases import mark_repeats

# Variables that choose the form of the output, or that a probe reads as the launcher's.
_OF_THE_CALLER = {
    *(
        "CI",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "FORCE_COLOR",
        "GITHUB_ACTIONS",
        "NO_COLOR",
        "TERM",
    ),
    "SOURCE_DATE_EPOCH",
    # What a launcher of the tests would tell (validator/node/launcher.py).
    *("RANK", "WORLD_SIZE", "LOCAL_RANK", "NODE_NAME", "JOB_COMPLETION_INDEX"),
}
_PREFIXES_OF_THE_CALLER = (
    *("CUDA_", "NCCL_", "SLURM", "SPECCHECK_", "TORCH"),
    *("KUBERNETES_", "OMPI_", "PET_", "PMI", "RAY_"),
)

house_report = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Start the list of remarks that tests may leave without failing.

    A shell starts what runs in its background with interrupts ignored, and so would all
    programs that tests start: those that test an interrupt would wait for ever.
    """
    config.stash[house_report] = []
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: all that is made then is kept."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave repeats of costly cases to the slow tests."""
    mark_repeats(items)


@pytest.fixture
def remarks(pytestconfig: pytest.Config) -> list[str]:
    """Return the lines for the end of the report: worth reading, no failure."""
    return pytestconfig.stash[house_report]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the remarks of a process of pytest-xdist to the one that reports."""
    result = getattr(session.config, "workeroutput", None)
    if result is not None:
        result["remarks"] = session.config.stash[house_report]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:  # noqa: ANN401 - pytest-xdist has no types
    """Take the remarks of a process that has ended."""
    result = getattr(node, "workeroutput", {})
    node.config.stash[house_report].extend(result.get("remarks", ()))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the remarks above pytest's own last line."""
    lines = config.stash[house_report]
    if lines:
        terminalreporter.section("remarks")
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in tuple(os.environ):
        if name in _OF_THE_CALLER or name.startswith(_PREFIXES_OF_THE_CALLER):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def management_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the stand-in for the management library."""
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Yield a browser for all tests of a file."""
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def stand_in(
    management_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> StandIn:
    """Return eight healthy GPUs, until the test says otherwise."""
    return StandIn(management_library, tmp_path, monkeypatch)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with one configuration, whose batches do not agree."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "ds.json").write_text(DEEPSPEED)
    monkeypatch.chdir(tmp_path)
    return tmp_path
