"""Documents of published files: the same data as their own loaders, true places."""

import json
import random
import tomllib
from pathlib import Path

import pytest
import yaml

from corpus import corpus_folder, needs_corpus
from loaded_documents import marked, paths
from speccheck.validator.sources.documents.document import Document, KeyPath, ReadError
from speccheck.validator.sources.documents.reading import load_documents, read_text


def loaded_by_others(path: Path) -> list[object]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return [json.loads(text)]
    if path.suffix == ".toml":
        return [tomllib.loads(text)]
    found = list(
        yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    )
    return [data for data in found if data is not None]


def assert_placed(document: Document, path: KeyPath, value: object) -> None:
    """Assert that the text at a span is that key or value."""
    where = f"{document.name} {path}"
    raw = document.raw(path)
    key = marked(document, path, "key")
    assert key, where
    if path and isinstance(path[-1], str):
        assert key.strip("\"'") in {path[-1], path[-1].lower(), "~"}, where
    if raw is None or raw.quoted or not raw.text or "\n" in raw.text:
        return
    assert marked(document, path) == raw.text, where
    if document.language == "toml":
        meant: object = tomllib.loads(f"x = {raw.text}")["x"]
    else:
        load_text = json.loads if document.language == "json" else yaml.safe_load
        meant = load_text(raw.text)
    assert meant == value, where


@needs_corpus
def test_published_files_load_as_their_own_loaders_load_them() -> None:
    randomness = random.Random(7)  # noqa: S311 - picks keys to look at
    templates = 0
    for path in sorted(corpus_folder("configs").rglob("*.*")):
        if path.suffix not in {".yaml", ".yml", ".json", ".toml"}:
            continue
        if path.stem.endswith("TEMPLATE") or "_fixed_linear" in path.stem:
            with pytest.raises(ReadError, match=r":[0-9]+:[0-9]+: a template, "):
                load_documents(str(path), read_text(str(path)))
            templates += 1
            continue
        documents = load_documents(str(path), read_text(str(path)))
        assert [found.data for found in documents] == loaded_by_others(path), path
        for document in documents:
            places = list(paths(document.data))
            for place, value in randomness.sample(places, min(20, len(places))):
                assert_placed(document, place, value)
    assert templates == 8  # the ds_config_*_TEMPLATE.json of DeepSpeed and one more
