"""Where the corpus of published files lies, for the tests that run against it.

The corpus is not part of the project: it lies beside the checkout where there is one.
"""

from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[2] / "shared"

SHARED: Path | None = _BESIDE if (_BESIDE / "corpus").is_dir() else None

needs_corpus = pytest.mark.skipif(
    SHARED is None, reason="no corpus beside the checkout"
)


def corpus_folder(name: str) -> Path:
    """Return a folder of the corpus, such as `configs/deepspeed`.

    Skips the test that asks where there is no corpus; a folder that is missing from a
    corpus is a failure.
    """
    if SHARED is None:
        pytest.skip("no corpus beside the checkout")
    folder = SHARED / "corpus" / name
    if not folder.is_dir():
        pytest.fail(f"the corpus has no folder {name}")
    return folder
