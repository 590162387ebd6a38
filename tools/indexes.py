"""Write the generated indexes, which spare a run the import of what does not apply.

`rules/index.json` says what each rule judges; `formats/index.json` which readers may
know a file.
"""

from pathlib import Path

from speccheck.validator.engine import rule_index
from speccheck.validator.sources import registry


def main() -> None:
    """Write both."""
    Path(rule_index.INDEX).write_text(rule_index.index_text(), "utf-8")
    Path(registry.INDEX).write_text(registry.index_text(), "utf-8")


if __name__ == "__main__":
    main()
