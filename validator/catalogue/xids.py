"""Loads the catalogue of Xids, when a rule first looks into it."""

from functools import cache

from speccheck.validator.catalogue.files import read_compiled
from speccheck.validator.evidence.node.xids import (
    Nvlink5Outcome,
    Sxid,
    Xid,
    XidCatalogue,
    XidTables,
)


@cache
def xid_catalogue() -> XidCatalogue:
    """The catalogue, the same one each time."""
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
