"""Which library NCCL loads for a plugin's name."""

from collections.abc import Iterable

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.evidence.value import MissingEvidence

_FOLDERS = "LD_LIBRARY_PATH"


def has_library(wanted: str, part: str, texts: Iterable[str | None]) -> bool:
    """Return whether one of the libraries is what NCCL looks for.

    It tries the value as a file, and as the ending of libnccl-PART-VALUE.so
    (NVIDIA/nccl src/plugin/plugin_open.cc).
    """
    name = wanted.strip().rpartition("/")[2]
    names = {name, f"libnccl-{part}-{name}.so"}
    return any((text or "").rpartition("/")[2] in names for text in texts)


def need_folders_of_job(environment: Environment, driver: Driver) -> None:
    """Raise MissingEvidence where a file lets the job look in folders of its own.

    A probe looks where its own process would: a plugin that it did not find may lie
    in one of those.
    """
    variable, value = environment.find(_FOLDERS), driver.nccl_plugins
    if variable is None or any(at.file == variable.place.file for at in value.places):
        return
    reason = f"the job sets {_FOLDERS}, and the snapshot was taken without it"
    raise MissingEvidence(value.name, reason)
