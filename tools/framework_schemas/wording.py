"""What an editor shows of a key: what it does, its default, and what replaced it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from compile_key_relations import compile_file, relation_files
from framework_schemas.key_tree import Row

_LONGEST_DEFAULT = 80  # characters; longer ones are of no help in a tooltip
_COMPUTED = "computed"
_MOST_OTHERS = 3  # keys of a relation that a tooltip can hold
_MOST_SENTENCES = 3


class Wording:
    """Describes the keys of one table."""

    def __init__(self, table: Row) -> None:
        """Gather which keys the table sets against each other."""
        self._oldest = str(table["versions"][0]["version"])
        self._in_every_version = {
            name
            for row in table["keys"]
            if str(row.get("since", "")).startswith("<=") and not row.get("removed_in")
            for name in (row["path"], *row.get("aliases", ()))
        }
        self._together = {
            key: (*lines,)
            for key, lines in _sentences_by_key(table["framework"]).items()
        }

    def of(self, row: Row) -> dict[str, Any]:
        """Return the annotations of a key: description, default, deprecation."""
        result: dict[str, Any] = {}
        outdated = self._outdated(row)
        default = self._default(row)
        sentences = [
            *([outdated] if outdated else []),
            *_sentence(row.get("note", "")),
            *_sentence(f"type: {row['type'].replace('|', ' or ')}"),
            *_sentence(_default_text(row, default)),
            *_sentence(f"unit: {row['unit']}" if row.get("unit") else ""),
            *_sentence(_since_text(row)),
            *_sentence(_group_text(row)),
            *self._together.get(row["path"], ()),
        ]
        text = " ".join(sentences)
        result["description"] = text.replace("`", "")
        if "`" in text:
            result["markdownDescription"] = text
        if default is not None and not outdated:
            result["default"] = default
        if outdated and self._is_wrong_in_every_version(row):
            result["deprecated"] = True
            result["deprecationMessage"] = outdated.replace("`", "")
        return result

    def of_free_block(self, row: Row) -> dict[str, Any]:
        """Return the annotations of a block whose row says only what may stand in it.

        The row is that of `block.**`.
        """
        note = _sentence(row.get("note", ""))
        return {"description": " ".join([*note, "Other keys may stand below."])}

    def _is_wrong_in_every_version(self, row: Row) -> bool:
        """Return whether the key is out of place whichever release is in use.

        Editors underline such a key; another one may be the right one of a release.
        """
        if row.get("removed_in"):
            return bool(row["removed_in"] == self._oldest)
        successors = row.get("deprecated_by", ())
        return any(name in self._in_every_version for name in successors)

    def _outdated(self, row: Row) -> str:
        """Return that a key is deprecated or gone, and what to write instead."""
        instead = " or ".join(f"`{name}`" for name in row.get("deprecated_by", ()))
        remedy = f"; write {instead} instead" if instead else ""
        if row.get("removed_in"):
            gone = row["removed_in"]
            when = "" if gone == "HEAD" else f" in {gone}"
            return f"Removed{when}{remedy} (speccheck explain removed_key)."
        if row.get("deprecated"):
            return f"Deprecated{remedy} (speccheck explain deprecated_key)."
        return ""

    def _default(self, row: Row) -> Any:  # noqa: ANN401 - a value of YAML
        """Return the default in the newest version.

        None where it is not known, or null.
        """
        if row.get("confidence") == "unverified" or row["type"] == "flag":
            return None  # of a flag the table has what it sets, not what it is
        history = row.get("default_history")
        value = history[-1]["value"] if history else row.get("default")
        if history and value == _COMPUTED:
            return None
        if isinstance(value, float) and value.is_integer():
            return int(value) if row["type"].startswith("int") else value
        return value


def _default_text(row: Row, default: Any) -> str:  # noqa: ANN401 - a value of YAML
    """Return the default, and what it was before; nothing for null."""
    history: Sequence[Row] = row.get("default_history", ())
    steps = [
        f"{_written(before['value'])} before {after['from']}"
        for before, after in pairwise(history)
    ]
    now = _written(default) if default is not None else ""
    if not now and not steps:
        return ""
    text = f"default: {now or _written(history[-1]['value'])}"
    return ", ".join([text, *steps[::-1]]) if len(text) < _LONGEST_DEFAULT else ""


def _written(value: Any) -> str:  # noqa: ANN401 - a value of YAML
    return "computed" if value == _COMPUTED else json.dumps(value, ensure_ascii=False)


def _since_text(row: Row) -> str:
    since = str(row.get("since", ""))
    return f"since {since}" if since and "<=" not in since and since != "HEAD" else ""


def _group_text(row: Row) -> str:
    """Return the plugin or experiment that reads the key, where the core does not."""
    group = row.get("group", "")
    if isinstance(group, str) and group.startswith(("plugin:", "experiment:")):
        return f"read by {group.replace(':', ' ')}"
    return ""


def _sentence(text: str) -> list[str]:
    """Return the text as a sentence: capital letter, full stop."""
    text = text.strip()
    if not text:
        return []
    return [text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")]


def _sentences_by_key(framework: str) -> Mapping[str, Sequence[str]]:
    """Return for each key what it does together with others, in a few sentences."""
    result: dict[str, list[str]] = {}
    for file in relation_files():
        if file.framework != framework:
            continue
        prefix = f"{file.section}:" if file.section else ""
        for row, compiled in zip(file.rows, compile_file(file), strict=True):
            for key in compiled["names"]:
                others = [name for name in compiled["names"] if name != key]
                lines = result.setdefault(prefix + key, [])
                if 0 < len(others) <= _MOST_OTHERS and len(lines) < _MOST_SENTENCES:
                    lines.append(_relation_text(row, others))
    return {key: (*dict.fromkeys(lines),) for key, lines in result.items()}


def _relation_text(row: Row, others: Sequence[str]) -> str:
    """Return a relation in a sentence, with the rule that judges it."""
    beside = "May need" if row.get("needs") else "Beside"
    rule = {"overridden": "setting_overridden", "refused": "settings_refused"}.get(
        row["kind"], "settings_warned_about"
    )
    effect = f"{row['kind']}, " if not row.get("needs") else ""
    return (
        f"{beside} {_listed(others)}: {effect}{row['reason']} "
        f"(speccheck explain {rule})."
    )


def _listed(names: Iterable[str]) -> str:
    *most, last = [f"`{name}`" for name in dict.fromkeys(names)]
    return f"{', '.join(most)} or {last}" if most else last
