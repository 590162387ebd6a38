"""Files that inherit from others: one tree, each value where it is stated."""

from pathlib import Path

from speccheck.validator.sources.composition import Composition, compose
from speccheck.validator.sources.documents.document import Document
from speccheck.validator.sources.joining.merge import merge
from speccheck.validator.sources.mapping import Fields, apply, integer, items, section
from speccheck.validator.sources.reader import (
    FactSheet,
    Parent,
    Reader,
    Reading,
    Source,
)

FIELDS: Fields = {
    "nodes": ("cluster.nodes", integer),
    "model": {"layers": ("model.layers", integer), "tp": ("model.experts", integer)},
}


def parents(document: Document) -> tuple[Parent, ...]:
    """Return the parents of `base: [a.yaml]`; a name with `!` wins, `?` is optional."""
    return tuple(
        Parent(
            str(item).strip("!?"),
            ("base", index),
            under=("model",) if "dims" in str(item) else (),
            folders=(".", "shared"),
            wins=str(item).endswith("!"),
            is_optional=str(item).endswith("?"),
        )
        for index, item in enumerate(items(section(document.data).get("base")))
    )


def detect(document: Document) -> float:
    """Return that it is sure of everything."""
    del document
    return 1.0


def read(document: Document) -> Reading:
    """Return the facts of the fields."""
    sheet = FactSheet.of(document)
    apply(sheet, document.data, FIELDS)
    return Reading(sheet)


READER = Reader(
    "tested",
    "config",
    detect,
    read,
    ("nodes",),
    interpolates=True,
    parents=parents,
)


def composed(folder: Path, **files: str) -> Composition:
    """Return the composition of `run.yaml` with the other files beside it."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    path = folder / "run.yaml"
    (document,) = Source(str(path), path.read_text(encoding="utf-8")).documents
    return compose(document, READER)


def places(found: Composition, leaf: str) -> list[str]:
    """Return `file:line` of the places of a leaf."""
    value = merge(READER.read(found.document).facts.facts)[leaf]
    sources = {item.name: item.documents[0] for item in found.parents}
    seen: list[str] = []
    for place in value.places:
        document = sources.get(place.file, found.document)
        span = document.span(place.path)
        assert span is not None
        seen.append(f"{Path(place.file).name}:{span.line}")
    return seen


def test_own_values_win_and_inherited_ones_are_placed_in_their_file(
    tmp_path: Path,
) -> None:
    found = composed(
        tmp_path,
        run="base: [a.yaml]\nmodel:\n  layers: 8\n",
        a="nodes: 4\nmodel:\n  layers: 2\n  tp: 16\n",
    )
    data = found.document.data
    assert data == {"base": ["a.yaml"], "nodes": 4, "model": {"layers": 8, "tp": 16}}
    assert places(found, "cluster.nodes") == ["a.yaml:1"]
    assert places(found, "model.layers") == ["run.yaml:3"]
    assert places(found, "model.experts") == ["a.yaml:4"]


def test_parents_have_parents_and_some_win(tmp_path: Path) -> None:
    found = composed(
        tmp_path,
        run="base: [a.yaml, last.yaml!]\nnodes: 1\n",
        a="base: [b.yaml]\nmodel: {layers: 3}\n",
        shared__b="model: {layers: 2, tp: 4}\n",
        last="nodes: 64\n",
    )
    leaves = merge(READER.read(found.document).facts.facts)
    assert {name: leaf.value for name, leaf in leaves.items()} == {
        "cluster.nodes": 64,
        "model.layers": 3,
        "model.experts": 4,
    }
    assert places(found, "cluster.nodes") == ["last.yaml:1"]
    assert places(found, "model.experts") == ["b.yaml:1"]


def test_a_parent_may_lie_below_a_key(tmp_path: Path) -> None:
    found = composed(
        tmp_path,
        run="base: [dims.yaml]\nnodes: 2\nmodel: {tp: 2}\n",
        dims="layers: 12\ntp: 1\n",
    )
    assert section(found.document.data, "model") == {"layers": 12, "tp": 2}
    assert places(found, "model.layers") == ["dims.yaml:1"]


def test_references_reach_into_parents(tmp_path: Path) -> None:
    found = composed(
        tmp_path,
        run="base: [a.yaml]\nmodel: {layers: '${multiply:${nodes},2}'}\n",
        a="nodes: 4\n",
    )
    leaf = merge(READER.read(found.document).facts.facts)["model.layers"]
    assert (leaf.value, leaf.status) == (8, "derived")
    assert leaf.note == "${multiply:${nodes},2} = 8"
    assert places(found, "model.layers") == ["run.yaml:2", "a.yaml:1"]


def test_a_value_that_stands_at_another_key_is_stated(tmp_path: Path) -> None:
    text = "nodes: ${x}\nx: 4\nmodel: {layers: '${y}'}\ny: '${mul:${x},2}'\n"
    leaves = merge(READER.read(composed(tmp_path, run=text).document).facts.facts)
    assert leaves["cluster.nodes"].status == "stated"
    assert leaves["cluster.nodes"].note == "${x} = 4"
    assert leaves["model.layers"].status == "derived"


def test_only_the_own_part_is_own_data(tmp_path: Path) -> None:
    found = composed(
        tmp_path, run="base: [a.yaml]\nmodel: {layers: '${nodes}'}\n", a="nodes: 4\n"
    )
    assert found.document.own_data == {"base": ["a.yaml"], "model": {"layers": 4}}


def test_a_reference_to_null_is_null(tmp_path: Path) -> None:
    found = composed(tmp_path, run="nodes: ${model.layers}\nmodel: {layers: null}\n")
    assert found.document.own_data == {"nodes": None, "model": {"layers": None}}


def test_what_is_missing_is_said_once(tmp_path: Path) -> None:
    found = composed(tmp_path, run="base: [gone.yaml, perhaps.yaml?]\nnodes: 4\n")
    assert [gap.reason for gap in found.gaps] == [
        "it inherits values, and gone.yaml was not found"
    ]
    assert [gap.place.key for gap in found.gaps] == ["base[0]"]
    assert section(found.document.data)["nodes"] == 4


def test_only_the_value_that_is_left_open_is_a_placeholder(tmp_path: Path) -> None:
    text = "nodes: ${model.layers}\nmodel: {layers: '???', tp: '${nodes}'}\n"
    found = composed(tmp_path, run=text)
    assert found.document.own_data == {
        "nodes": None,
        "model": {"layers": "???", "tp": None},
    }


def test_a_text_that_may_refer_to_a_missing_file_is_no_placeholder(
    tmp_path: Path,
) -> None:
    found = composed(tmp_path, run="base: [gone.yaml]\nnodes: ${gone.nodes}\n")
    assert section(found.document.own_data)["nodes"] is None
    leaf = merge(READER.read(found.document).facts.facts)["cluster.nodes"]
    assert leaf.status == "unknown"
    assert "gone.nodes is not in this file or what it inherits" in leaf.note


def test_files_that_inherit_from_themselves_end(tmp_path: Path) -> None:
    found = composed(
        tmp_path, run="base: [a.yaml]\nnodes: 4\n", a="base: [run.yaml]\nnodes: 2\n"
    )
    assert section(found.document.data)["nodes"] == 4
    assert [gap.reason for gap in found.gaps] == [
        "it inherits values, and run.yaml inherits from itself"
    ]


def test_only_configuration_files_beside_the_file_are_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("nodes: 9\n", encoding="utf-8")
    absolute = tmp_path / "a.yaml"
    found = composed(
        tmp_path, run=f"base: [secret, {absolute}]\nnodes: 4\n", a="nodes: 8\n"
    )
    assert found.parents == ()
    assert len(found.gaps) == 2


def test_a_broken_parent_is_a_gap(tmp_path: Path) -> None:
    found = composed(tmp_path, run="base: [a.yaml]\nnodes: 4\n", a="nodes: [4\n")
    (gap,) = found.gaps
    assert "a.yaml:2:1: not YAML" in gap.reason
    assert section(found.document.data)["nodes"] == 4
