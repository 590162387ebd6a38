"""Ask the definitions of Kubernetes objects: their OpenAPI schemas and rules in CEL.

That is what the API server asks before any webhook; what changes an object is left off.
"""

import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from oracles.drivers.serving import NotAskable, serve

celpy = importlib.import_module("celpy")
adapter = importlib.import_module("celpy.adapter")

_RULES = "x-kubernetes-validations"
_EITHER = "x-kubernetes-int-or-string"


class Refusal(Exception):  # noqa: N818 - the words of the API server
    """What the API server says of an object."""


def check(main: Path) -> None:
    """Validate each object of the file."""
    for document in yaml.safe_load_all(main.read_text(encoding="utf-8")):
        schema = _schemas().get((document.get("apiVersion"), document.get("kind")))
        if schema is None:
            message = f"no definition of {document.get('kind')}"
            raise NotAskable(message)
        problems = [*_problems(schema, document)]
        if problems:
            raise Refusal("; ".join(problems[:3]))


def _problems(schema: Mapping[str, Any], document: Any) -> Iterator[str]:  # noqa: ANN401
    faults = jsonschema.Draft7Validator(schema).iter_errors(document)
    for error in sorted(faults, key=lambda error: [*map(str, error.path)]):
        yield f"{'.'.join(map(str, error.path))}: {error.message[:200]}"
    yield from _broken(schema, document, "")


def _broken(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:  # noqa: ANN401
    """Yield the rules that a value breaks, and those of what stands below it."""
    for rule in schema.get(_RULES, ()):
        if (
            "oldSelf" not in rule["rule"]
            and value is not None
            and not _holds(rule["rule"], value)
        ):
            yield f"{path}: {rule.get('message', rule['rule'])}"
    if isinstance(value, dict):
        listed = schema.get("properties", {})
        others = schema.get("additionalProperties")
        for name, item in value.items():
            below = listed.get(name, others if isinstance(others, dict) else None)
            if below:
                yield from _broken(below, item, f"{path}.{name}")
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for number, item in enumerate(value):
            yield from _broken(schema["items"], item, f"{path}[{number}]")


@cache
def _program(rule: str) -> Any:  # noqa: ANN401 - a class of celpy
    environment = celpy.Environment()
    return environment.program(environment.compile(rule))


def _holds(rule: str, value: Any) -> bool:  # noqa: ANN401 - of any object
    try:
        return bool(_program(rule).evaluate({"self": adapter.json_to_cel(value)}))
    except (celpy.CELEvalError, celpy.CELParseError):
        return True  # it speaks of what Kubernetes adds to the language


@cache
def _schemas() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the schema of each kind, made closed, as `kubectl apply` takes objects."""
    result = {}
    for path in sorted(Path(sys.prefix, "files").glob("*.yaml")):
        definition = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)[
            "spec"
        ]
        kind = definition["names"]["kind"]
        for version in definition["versions"]:
            schema = _closed(version["schema"]["openAPIV3Schema"])
            result[f"{definition['group']}/{version['name']}", kind] = schema
    return result


def _closed(schema: Any) -> Any:  # noqa: ANN401 - a schema or a part of one
    """Return a schema of JSON: no further keys, and numbers beside texts."""
    if isinstance(schema, list):
        return [*map(_closed, schema)]
    if not isinstance(schema, dict):
        return schema
    result = {key: _closed(value) for key, value in schema.items()}
    if schema.get(_EITHER) is True:
        result.pop("type", None)
        result.pop("anyOf", None)
        result["type"] = ["integer", "string"]
    if schema.get("nullable") is True and isinstance(result.get("type"), str):
        result["type"] = [result["type"], "null"]
    if isinstance(result.get("pattern"), str):
        result["pattern"] = re.sub(r"\\z", r"\\Z", result["pattern"])
    if (
        isinstance(schema.get("properties"), dict)
        and schema.get("type") == "object"
        and "additionalProperties" not in schema
        and not schema.get("x-kubernetes-preserve-unknown-fields")
        and set(schema["properties"]) - {"apiVersion", "kind", "metadata"}
    ):
        result["additionalProperties"] = False
    return result


if __name__ == "__main__":
    _schemas()
    sys.exit(serve("kubernetes", check))
