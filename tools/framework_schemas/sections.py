"""Which sections of a file are closed: a key that the table lacks is surely wrong."""

from collections.abc import Sequence

from framework_schemas.key_tree import Node, Row

_UNSURE = ("derived", "secondary", "unverified")


class Sections:
    """The policies of one table on keys that it does not know."""

    def __init__(self, table: Row) -> None:
        """Take the policies as the table has them."""
        policy = table["unknown_key_policy"]
        self._default = policy["default"]
        self._is_open = policy.get("open", False) or bool(policy.get("opened_by"))
        self._rows: Sequence[Row] = policy["sections"]

    def is_closed(self, node: Node) -> bool:
        """Return whether every tabulated version refuses an unknown key below it."""
        if node.is_free or node.any_name is not None or not node.below:
            return False
        rows = self._innermost(node.path)
        if not rows:
            return self._default == "reject" and not self._is_open
        return all(
            row["policy"] == "reject" and row.get("confidence") not in _UNSURE
            for row in rows
        ) and all(_is_declared(child) for child in node.below.values())

    def _innermost(self, path: str) -> list[Row]:
        """Return policies of the innermost section around what stands below `path`."""
        parts = path.split(".") if path else []
        for length in range(len(parts), -1, -1):
            section = ".".join(parts[:length]) or "*"
            result = [row for row in self._rows if row["path"] == section]
            if result:
                return result
        return []


def _is_declared(node: Node) -> bool:
    """Return whether a declaration has the key, and not only published files."""
    row = node.row
    return row is None or "seen" not in row or row.get("confidence") not in _UNSURE
