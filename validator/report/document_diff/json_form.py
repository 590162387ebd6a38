"""The comparison of two certificates or reports as JSON, `speccheck-document-diff/1`.

Fields are only ever added.
"""

import json
from typing import Any

from speccheck.validator import VERSION
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.document_diff.compared import Compared, Difference

SCHEMA = "speccheck-document-diff/1"


def document_diff_json(found: Compared, exit_code: int) -> str:
    """The whole document."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "speccheck", "version": VERSION},
        "kind": found.kind,
        "verdict": found.verdict,
        "exit_code": exit_code,
        "signatures_verified": False,
        "a": found.a._asdict(),
        "b": found.b._asdict(),
        "compared": found.compared,
        "differences": [_difference(one) for one in found.notable],
        "varying": [_difference(one) for one in found.varying],
        "not_compared": [*found.not_compared],
    }
    return json.dumps(document, indent=1) + "\n"


def _difference(one: Difference) -> dict[str, Any]:
    told = one._asdict()
    hidden_ones = {
        name: hidden(value) for name, value in told.items() if isinstance(value, str)
    }
    return told | hidden_ones | {"unit": one.unit or None}
