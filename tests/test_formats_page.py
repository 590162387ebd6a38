"""The page of formats names every format, and says of each what its table says."""

import re
from pathlib import Path

from speccheck.validator.catalogue.frameworks import FRAMEWORK_OF_FORMAT, keys_of_format
from speccheck.validator.sources.registry import Readers

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "formats.md").read_text("utf-8")
WORDS = {"reject": "refused", "ignore": "ignored", "warn": "warned of"}


def rows() -> dict[str, str]:
    """Return the rows of the tables by the formats that they are on."""
    found: dict[str, str] = {}
    for line in PAGE.splitlines():
        if line.startswith("| `"):
            first = line.split("|")[1]
            found.update(dict.fromkeys(re.findall(r"`([^`]+)`", first), line))
    return found


def test_every_format_has_its_row() -> None:
    assert sorted(rows()) == list(Readers().formats())


def test_what_happens_to_an_unknown_key_is_what_the_table_says() -> None:
    wrong = [
        name
        for name in sorted(
            {name for name in FRAMEWORK_OF_FORMAT if not name.startswith("k8s-")}
            - {"hf-model-config", "megatron-cli", "slurm", "torchrun"}
        )
        if (table := keys_of_format(name)) is None
        or WORDS[table.default_policy] not in rows()[name]
    ]
    assert not wrong, "\n".join(wrong)
