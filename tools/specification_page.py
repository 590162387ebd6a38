"""Writes docs/specification-1.1.md: the edition as a document.

Run `python tools/specification_page.py`; a test holds it equal.
"""

from pathlib import Path

from speccheck.validator.editions.edition import DEFAULT_EDITION
from speccheck.validator.report.specification.document import document_of, markdown

EDITION = DEFAULT_EDITION
PAGE = Path(__file__).resolve().parents[1] / "docs" / f"specification-{EDITION}.md"


def page() -> str:
    """Return the text of the page."""
    return markdown(document_of(EDITION))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
