"""Freezes an approved edition: `python tools/freeze.py ID [DATE]`.

Writes its sha256, the date and its stage into schemas/FROZEN.yaml. From then on the
compiler refuses other content under the id, and a test holds the two equal.
"""

import os
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path

from compile_edition import compiled_edition
from speccheck.validator.editions.edition import COMPILED, edition_of
from speccheck.validator.editions.source import (
    FROZEN,
    SCHEMAS,
    EditionSourceError,
    FrozenEdition,
    frozen_editions,
)

_HEAD = """\
# The editions that no longer change, each with the sha256 of its content, the day on
# which it was frozen and its stage of then. Written by `make freeze EDITION=ID`; the
# compiler refuses other content under these ids. What is wrong with a frozen edition is
# put right by the next one.
"""


class CannotFreeze(Exception):  # noqa: N818 - a usage error with its own message
    """The edition is not approved, not compiled, or frozen already as another."""


def freeze(edition_id: str, day: str, schemas: Path) -> FrozenEdition:
    """Write the entry of an edition; raises CannotFreeze, EditionSourceError."""
    import json  # noqa: PLC0415 - once in the life of an edition

    folder = schemas / edition_id
    if not (folder / "edition.yaml").is_file():
        message = f"{edition_id}: no such edition in {schemas}"
        raise CannotFreeze(message)
    text = compiled_edition(folder)
    path = folder / COMPILED
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        message = f"{edition_id}: its {COMPILED} is not that of its files: compile it"
        raise CannotFreeze(message)
    edition = edition_of(json.loads(text))
    if edition.stage != "approved":
        message = (
            f"{edition_id}: its stage is {edition.stage}: only an approved edition is "
            f"frozen; set `stage: approved` in its edition.yaml, and compile it"
        )
        raise CannotFreeze(message)
    frozen = dict(frozen_editions(str(schemas)))
    frozen_edition = frozen.setdefault(
        edition_id, FrozenEdition(edition.sha256, day, edition.stage)
    )
    _write(schemas / FROZEN, frozen)
    return frozen_edition


def _write(path: Path, frozen: Mapping[str, FrozenEdition]) -> None:
    rows = [
        f'"{name}":\n  sha256: {frozen_edition.sha256}\n  date: '
        f"{frozen_edition.date}\n  stage: {frozen_edition.stage}\n"
        for name, frozen_edition in sorted(frozen.items())
    ]
    written = path.with_name(f"{FROZEN}.new")
    written.write_text(_HEAD + "".join(rows), encoding="utf-8")
    os.replace(written, path)


def main(arguments: list[str]) -> int:
    """Freeze an edition of this repository, as of today or of a day that is named."""
    if not 1 <= len(arguments) <= 2:  # noqa: PLR2004 - an edition, and a day
        sys.stderr.write("usage: python tools/freeze.py ID [DATE]\n")
        return 2
    today = datetime.now(UTC).date()
    try:
        day = date.fromisoformat(arguments[1]) if arguments[1:] else today
        frozen_edition = freeze(arguments[0], day.isoformat(), Path(SCHEMAS))
    except (CannotFreeze, EditionSourceError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{arguments[0]} {frozen_edition.sha256} {frozen_edition.date}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
