"""Writes the compiled catalogues.

Run it as `python tools/compile_catalogues.py`.

The YAML files under schemas/catalogues are the truth, with a source for each fact; a
run reads only the JSON made from them here. A test holds the two equal.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

import yaml

from compile_bandwidth import compile_bandwidth
from compile_containers import compile_containers
from compile_frameworks import (
    FAMILIES,
    compile_forks,
    compile_framework,
)
from compile_hardware import compile_hardware
from compile_metrics import compile_metrics
from compile_models import compile_models
from compile_node_profiles import compile_node_profiles
from compile_published import compile_published
from compile_xids import compile_xids
from speccheck.validator.catalogue.files import CATALOGUES, compiled_path
from speccheck.validator.catalogue.frameworks import (
    COMPILED,
    compile_synonyms,
    forks_name,
)

# Levels of maps that stand one entry a line, so that a change can be read.
FRAMEWORK_LEVELS = 4
HARDWARE_LEVELS = 2
SYNONYM_LEVELS = 1
_METRIC_FILES = ("training", "accelerator", "network")
_XID_FILES = ("xids", "sxids", "nvlink5")


def compiled_catalogues() -> Iterator[tuple[str, str]]:
    """Yield each compiled file with the text that it must have."""
    tables = {name: read_source(f"frameworks/{name}") for name in framework_names()}
    for name, table in tables.items():
        compiled = _rendered(compile_framework(table, tables), FRAMEWORK_LEVELS)
        yield compiled_path(name), compiled + "\n"
    forks = compile_forks(read_source("forks/megatron-lm"))
    yield compiled_path(forks_name("megatron-lm")), _rendered(forks, 0) + "\n"
    synonyms = _rendered(
        compile_synonyms(
            {FAMILIES.get(name, name): table for name, table in tables.items()}
        ),
        SYNONYM_LEVELS,
    )
    yield compiled_path(COMPILED), synonyms + "\n"
    accelerators = read_source("hardware/accelerators")
    instances = read_source("hardware/instances")
    aliases = read_source("hardware/aliases")
    hardware = compile_hardware(accelerators, instances, aliases)
    yield compiled_path("hardware"), _rendered(hardware, HARDWARE_LEVELS) + "\n"
    profiles = compile_node_profiles(
        accelerators, instances, aliases, read_source("hardware/conflicts")
    )
    yield compiled_path("node_profiles"), _rendered(profiles, HARDWARE_LEVELS) + "\n"
    bandwidth = compile_bandwidth(read_source("bandwidth/collectives"), accelerators)
    yield compiled_path("bandwidth"), _rendered(bandwidth, HARDWARE_LEVELS) + "\n"
    engines = compile_containers(read_source("containers/engines"))
    yield compiled_path("containers"), _listed(engines) + "\n"
    published = compile_published(read_source("bandwidth/published"), instances)
    yield compiled_path("published"), _rendered(published, HARDWARE_LEVELS) + "\n"
    xids = compile_xids(*(read_source(f"xid/{name}") for name in _XID_FILES))
    yield compiled_path("xid"), _rendered(xids, HARDWARE_LEVELS) + "\n"
    metrics = compile_metrics(
        read_source("metrics/dialects"),
        [
            row
            for name in _METRIC_FILES
            for row in read_source(f"metrics/{name}")["metrics"]
        ],
        read_source("metrics/events"),
    )
    yield compiled_path("metrics"), _rendered(metrics, HARDWARE_LEVELS) + "\n"
    calls = compile_python_calls(read_source("python/calls"))
    yield compiled_path("python_calls"), _rendered(calls, 1) + "\n"
    with open(
        os.path.join(CATALOGUES, "models", "models.tsv"), encoding="ascii"
    ) as file:
        models = compile_models(file)
    yield compiled_path("models"), _listed(models) + "\n"


def compile_python_calls(table: Any) -> Any:  # noqa: ANN401 - YAML to JSON
    """Return the calls of Python without their sources; ValueError where one lacks."""
    for row in (*table["calls"], *table["modules"]):
        if not row.get("source"):
            message = f"{row['names']}: no source"
            raise ValueError(message)
    return {
        key: [
            {field: row[field] for field in row if field != "source"} for row in value
        ]
        if key in {"calls", "modules"}
        else value
        for key, value in table.items()
    }


def framework_names() -> list[str]:
    """Return the frameworks that have a key table."""
    names = os.listdir(os.path.join(CATALOGUES, "frameworks"))
    return sorted(name.removesuffix(".yaml") for name in names)


def read_source(name: str) -> Any:  # noqa: ANN401 - YAML; the compilers type it
    """Return the YAML catalogue of that name."""
    with open(os.path.join(CATALOGUES, f"{name}.yaml"), "rb") as file:
        return yaml.load(file, yaml.CSafeLoader)


def _listed(rows: list[Any]) -> str:
    return "[\n" + ",\n".join(_rendered(row, 0) for row in rows) + "\n]"


def _rendered(value: Any, levels: int) -> str:  # noqa: ANN401 - JSON
    if levels and isinstance(value, dict) and value:
        entries = (
            f"{json.dumps(key, ensure_ascii=False)}:{_rendered(entry, levels - 1)}"
            for key, entry in value.items()
        )
        return "{\n" + ",\n".join(entries) + "\n}"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main() -> None:
    """Write every compiled catalogue."""
    for path, text in compiled_catalogues():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
