"""Loads what GPUs and instance types should have, and the catalogue of Xids."""

from functools import cache
from typing import Any

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.evidence.node.fault_codes import (
    Nvlink5Outcome,
    Sxid,
    Xid,
    XidCatalogue,
    XidTables,
)
from speccheck.validator.evidence.node.profile import (
    GpuProfiles,
    GpuRows,
    InstanceProfile,
    ProfileRow,
)
from speccheck.validator.evidence.value import Value


@cache
def gpu_profiles() -> GpuProfiles:
    """Return the types of GPU, the same ones each time."""
    return GpuProfiles(_gpu_rows)


def instance_profile(instance: Value[str]) -> InstanceProfile:
    """Return the profile of an instance type, by its id in the catalogue."""
    return InstanceProfile(lambda: _instance_row(instance), instance.places)


def _gpu_rows() -> GpuRows:
    document = _catalogue()
    return GpuRows(document["gpus"], document["forms"], document["cooling"])


def _instance_row(instance: Value[str]) -> ProfileRow:
    result = _catalogue()["instances"].get(instance.value)
    if result is None or instance.value is None:
        text = instance.note or "nothing says it"
        return ProfileRow("", {}, f"no profile: the instance type is not known: {text}")
    why = f"the hardware catalogue does not have it for {instance.value}"
    return ProfileRow(instance.value, result, why)


@cache
def _catalogue() -> Any:  # noqa: ANN401 - JSON
    return read_compiled("node_profiles")


@cache
def xid_catalogue() -> XidCatalogue:
    """Return the catalogue, the same one each time."""
    return XidCatalogue(_tables)


def _tables() -> XidTables:
    document = read_compiled("xid")
    return XidTables(
        xids={int(code): Xid(*row) for code, row in document["xids"].items()},
        sxids={int(code): Sxid(*row) for code, row in document["sxids"].items()},
        recovery_texts=document["recovery_texts"],
        nvlink5={
            int(code): [Nvlink5Outcome(*row) for row in rows]
            for code, rows in document["nvlink5"].items()
        },
        new_mask_from_driver=document["new_mask_from_driver"],
    )
