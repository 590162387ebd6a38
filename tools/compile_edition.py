"""Compiles editions: `python tools/compile_edition.py [FOLDER]`.

The YAML files of a folder are the truth; a run reads only the compiled.json made of
them here. A test holds the two equal.
"""

import json
import os
import sys
from pathlib import Path

from speccheck.validator.editions.difference import refusals
from speccheck.validator.editions.edition import COMPILED, edition_of, editions_in
from speccheck.validator.editions.edition_models import EditionSource
from speccheck.validator.editions.source import (
    HEAD,
    SCHEMAS,
    EditionSourceError,
    base_folder,
    compiled_text,
    frozen_editions,
    load_edition_source,
)


def compiled_edition(folder: Path) -> str:
    """Return the text of the compiled.json of a folder.

    Raises EditionSourceError for files that break their form, and for an edition that
    claims less than it changes, or is frozen and has changed.
    """
    source = load_edition_source(folder)
    text = compiled_text(source)
    texts = [*_refused(folder, source, text), *_thawed(folder, source, text)]
    if texts:
        raise EditionSourceError(texts)
    return text


def _refused(folder: Path, source: EditionSource, text: str) -> list[str]:
    """Return what the id of an edition does not allow it to change of its base."""
    if source.head.extends is None:
        return []
    base = load_edition_source(base_folder(folder, source.head.extends.id))
    before = edition_of(json.loads(compiled_text(base)))
    named = {name for change in source.changes.changes for name in change.clauses}
    return list(refusals(before, edition_of(json.loads(text)), named))


def _thawed(folder: Path, source: EditionSource, text: str) -> list[str]:
    """Return that an edition is frozen, and no longer what it was."""
    frozen = frozen_editions(str(folder.resolve().parent)).get(source.head.id)
    digest = json.loads(text)["sha256"]
    if frozen is None or frozen.sha256 == digest:
        return []
    message = (
        f"edition.yaml: {source.head.id} is frozen since {frozen.date} with sha256 "
        f"{frozen.sha256[:12]}, its files make {digest[:12]}: take the change back, or "
        f"write it in an edition that extends it"
    )
    return [message]


def main(arguments: list[str]) -> int:
    """Compile the edition of a folder, or all that come with speccheck."""
    known = [Path(SCHEMAS) / name for name in editions_in(SCHEMAS, HEAD)]
    for folder in [Path(argument) for argument in arguments] or known:
        try:
            text = compiled_edition(folder)
        except EditionSourceError as error:
            lines = "\n".join(f"{folder.name}: {problem}" for problem in error.problems)
            sys.stderr.write(f"{lines}\n")
            return 1
        written = folder / f"{COMPILED}.new"
        written.write_text(text, encoding="utf-8")
        os.replace(written, folder / COMPILED)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
