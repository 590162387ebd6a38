"""The editions that no longer change: schemas/FROZEN.yaml, written by `freeze`.

An approved edition is what certificates and reports name by its sha256. It never
changes again: what is wrong with it is put right by the next edition.
"""

import os
from collections.abc import Mapping

import speccheck.schemas
from speccheck.validator.evidence.record import Record

FROZEN = "FROZEN.yaml"
SCHEMAS = os.path.dirname(speccheck.schemas.__file__)


class FrozenEdition(Record):
    """An edition as it was frozen; date: of that day, YYYY-MM-DD."""

    sha256: str
    date: str
    stage: str


def frozen_editions(folder: str = SCHEMAS) -> Mapping[str, FrozenEdition]:
    """The frozen editions of a folder by id; none where it names none.

    Raises ValueError for a file of another form.
    """
    import yaml  # noqa: PLC0415 - no run without a certificate asks

    path = os.path.join(folder, FROZEN)
    try:
        with open(path, encoding="utf-8") as file:
            rows = yaml.load(file, yaml.CSafeLoader) or {}
        return {
            str(name): FrozenEdition(row["sha256"], str(row["date"]), row["stage"])
            for name, row in rows.items()
        }
    except FileNotFoundError:
        return {}
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        message = f"{path}: not a list of frozen editions: {error}"
        raise ValueError(message) from error
