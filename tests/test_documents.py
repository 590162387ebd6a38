"""Documents: what the loaders mean, where things stand, which keys come twice."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from loaded_documents import load, marked, paths
from speccheck.validator.sources.documents.document import (
    Duplicate,
    KeyPath,
    Language,
    RawScalar,
    Span,
)
from speccheck.validator.sources.documents.reading import load_documents

DEEPSPEED = """\
{
  // ZeRO for the 8-GPU nodes
  "train_batch_size": 256, # global
  "zero_optimization": {
    "stage": 3, /* the
    whole model */
    "offload_param": {"device": "none"},
  },
  "fp16": {"enabled": false}
}
"""
TRAINING = """\
# trainer
model: &model
  hidden_size: 4096
  "name": 'llama'   # quoted
training:
  <<: *model
  lr: 2e-5
  resume:
  layers:
    - size: 1
      kind: first
    - 2
    - [3, {deep: "x y"}]
  notes: |
    two
    lines
tail: !path &tail data/tokens
copy: *tail
"""
TITAN = """\
title = "run" # comment
[model]
name = 'llama3'
"flavor.of" = "8B"
[training]
steps = 10_000
batch.local = 2
seeds = [1, [2, 3], { a.b = 4 }]
started = 2025-01-01 07:30:00
note = \"\"\"
first "quoted" line
\"\"\"

[[stage]]
name = "a"
[stage.data]
path = "/x#y"
[[stage]]
name = "b"
"""


@pytest.mark.parametrize(
    "text",
    [
        *("no", "Yes", "on", "OFF", "true", "y", "~", "null", "NULL", '""', "''"),
        *("2e-5", "2.e-5", "2.0e-5", "2.0e5", "1e+3", ".5", "5.", "-.5", ".inf"),
        *("010", "0o10", "08", "0x1F", "0b101", "1_000", "+12", "-0", "1:30", "1:30.5"),
        *("190:20:30", "text", "a b", "'no'", '"2.0"', "!!str 1", "!!int '7'"),
        *("!!float 2e-5", "!!float 3", "!!bool 'yes'", "!!null x", "! 12", "[1, no]"),
        *("|\n  12", ">\n  a\n  b", "'it''s'", '"\\u00e9"', "1\n  2", "x" * 100),
        "1" * 100,
    ],
)
def test_yaml_scalars_mean_what_the_safe_loader_means(text: str) -> None:
    expected = yaml.safe_load(f"key: {text}\n")
    data = load(f"key: {text}\n").data
    assert data == expected
    assert type(data["key"]) is type(expected["key"])  # type: ignore[index]


@pytest.mark.parametrize(
    "text",
    [
        "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n",
        "a: &a {x: 1}\nb: &b {x: 2, z: 4}\nc: {k: 0, <<: [*a, *b]}\n",
        "a: &a {x: 1}\nb: &b {x: 2}\nc:\n  <<: *a\n  <<: *b\n",
        "a: &a {x: 1}\nb: &b {<<: *a, y: 1}\nc: {<<: *b}\n",
        "a: {<<: {x: 1}, '<<': 2}\n",
        "a: &s 5\nb: *s\n*s : key\n",
        "1: a\n1.5: b\ntrue: c\n~: d\n'1': e\n",
        "- - 1\n  - 2\n-\n  - 3\n",
        "? key\n: value\n? alone\n",
        "{a: 1, b: [x, {c: d}],}\n",
        "a: 1\na: 2\n",
        '{"json": [1, 2.5, null, true], # comment\n "x": 1}\n',
    ],
)
def test_yaml_trees_mean_what_the_safe_loader_means(text: str) -> None:
    expected = yaml.safe_load(text)
    data = load(text).data
    assert data == expected
    assert json.dumps(list(paths(data))) == json.dumps(list(paths(expected)))


def test_what_yaml_cannot_construct_safely_stays_plain() -> None:
    text = (
        "day: 2025-01-01\nenv: !ENV ${HOME}\nobject: !!python/object:os.x {a: 1}\n"
        "pair: !!python/tuple [1, 2]\nset: !!set {a, b}\nequal: =\nmerge: [<<]\n"
        "omap: !!omap [{a: 1}]\nbinary: !!binary aGk=\n"
    )
    assert load(text).data == {
        "day": "2025-01-01",
        "env": "${HOME}",
        "object": {"a": 1},
        "pair": [1, 2],
        "set": {"a": None, "b": None},
        "equal": "=",
        "merge": ["<<"],
        "omap": [{"a": 1}],
        "binary": "aGk=",
    }


def test_aliases_share_one_object() -> None:
    data = load("a: &a {x: [1]}\nb: *a\n").data
    assert isinstance(data, dict)
    assert data["a"] is data["b"]


def test_each_yaml_document_keeps_its_number_and_empty_ones_are_left_out() -> None:
    text = "---\n---\nkind: Job\n---\n# nothing\n---\nkind: Service\n"
    documents = load_documents("jobs.yaml", text)
    assert [(found.index, found.data) for found in documents] == [
        (1, {"kind": "Job"}),
        (3, {"kind": "Service"}),
    ]
    assert [found.span(("kind",)) for found in documents] == [
        Span(3, 7, 3),
        Span(7, 7, 7),
    ]


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        (("model",), "model", "model"),
        (("model", "hidden_size"), "hidden_size", "4096"),
        (("model", "name"), '"name"', "'llama'"),
        (("training", "hidden_size"), "hidden_size", "4096"),  # where it is defined
        (("training", "lr"), "lr", "2e-5"),
        (("training", "resume"), "resume", "resume"),
        (("training", "layers"), "layers", "layers"),
        (("training", "layers", 0), "size: 1", "size: 1"),
        (("training", "layers", 0, "kind"), "kind", "first"),
        (("training", "layers", 1), "2", "2"),
        (("training", "layers", 2), '[3, {deep: "x y"}]', '[3, {deep: "x y"}]'),
        (("training", "layers", 2, 1, "deep"), "deep", '"x y"'),
        (("training", "notes"), "notes", "|"),
        (("tail",), "tail", "data/tokens"),
        (("copy",), "copy", "data/tokens"),
        ((), "model: &model", "model: &model"),
        (("missing",), None, None),
        (("training", "layers", 3), None, None),
        (("training", "layers", "0"), None, None),
        (("training", "lr", "x"), None, None),
    ],
)
def test_yaml_spans(path: KeyPath, key: str | None, value: str | None) -> None:
    document = load(TRAINING)
    assert (marked(document, path, "key"), marked(document, path)) == (key, value)


def test_spans_count_code_points_and_any_line_end() -> None:
    for end in ("\n", "\r\n", "\r"):
        document = load(end.join(["# é", "naïve😀: {ß: 😀😀 }", "last: 1", ""]))
        assert document.span(("naïve😀", "ß")) == Span(2, 13, 2)
        assert document.span(("last",), part="key") == Span(3, 1, 4)


def test_keys_that_are_no_text_are_named_by_their_text_but_integers() -> None:
    document = load("true: a\n~: b\n1.5: c\n7: d\n")
    assert [path for path, _ in paths(document.data)][1:] == [
        ("True",),
        ("None",),
        ("1.5",),
        (7,),
    ]
    assert marked(document, ("True",)) == "a"
    assert marked(document, ("None",), "key") == "~"
    assert marked(document, (7,)) == "d"


def test_yaml_raw_scalars() -> None:
    document = load(TRAINING)
    assert document.raw(("training", "lr")) == RawScalar("2e-5", quoted=False)
    assert document.raw(("model", "name")) == RawScalar("llama", quoted=True)
    assert document.raw(("tail",)) == RawScalar("data/tokens", quoted=False)
    assert document.raw(("training", "resume")) == RawScalar("", quoted=False)
    assert document.raw(("training", "notes")) == RawScalar("two\nlines\n", quoted=True)
    assert document.raw(("training",)) is None
    assert document.raw(("missing",)) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "a:\n  lr: 1\n  x: 2\n  lr: 3\n  'lr': 4\n"),
        ("a.json", '{"a": {\n  "lr": 1,\n  "x": 2,\n  "lr": 3,\n  "\\u006cr": 4}}'),
    ],
)
def test_a_key_given_again_is_shown_with_its_first_place(name: str, text: str) -> None:
    document = load(text, name)
    assert document.data == {"a": {"lr": 4, "x": 2}}
    first, second, third = (
        (Span(2, 3, 2), Span(4, 3, 2), Span(5, 3, 4))
        if name == "a.yaml"
        else (Span(2, 3, 4), Span(4, 3, 4), Span(5, 3, 9))
    )
    assert document.duplicates == (
        Duplicate(("a", "lr"), first, second),
        Duplicate(("a", "lr"), first, third),
    )
    assert document.span(("a", "lr"), part="key") == third


def test_a_key_that_overrides_a_merged_one_is_no_duplicate() -> None:
    text = "a: &a {x: 1}\nb: {<<: *a, x: 2}\nc: {x: 1}\n"
    assert load(text).duplicates == ()


def test_equal_keys_of_two_mappings_are_no_duplicates() -> None:
    text = '{"a": {"x": 1}, "b": [{"x": 1}, {"x": 1}], "x": 1}'
    assert load(text, "a.json").duplicates == ()


def test_json_with_comments_and_trailing_commas() -> None:
    document = load(DEEPSPEED, "ds.json")
    assert document.relaxed
    assert document.data == {
        "train_batch_size": 256,
        "zero_optimization": {"stage": 3, "offload_param": {"device": "none"}},
        "fp16": {"enabled": False},
    }
    assert document.span(("train_batch_size",)) == Span(3, 23, 3)
    assert document.span(("zero_optimization", "stage")) == Span(5, 14, 1)
    assert document.span(("zero_optimization",)) == Span(4, 3, 19)
    device = ("zero_optimization", "offload_param", "device")
    assert document.raw(device) == RawScalar("none", quoted=True)
    assert marked(document, device) == '"none"'


def test_json_texts_keep_what_looks_like_a_comment() -> None:
    text = '{"url": "https://x#y", "glob": "/*", "comma": ",]", /**/ "q": "\\"//"}'
    assert load(text, "a.json").data == {
        "url": "https://x#y",
        "glob": "/*",
        "comma": ",]",
        "q": '"//',
    }


def test_plain_json_is_not_relaxed_and_keeps_its_own_meaning() -> None:
    text = '[1, 2.5e-3, "a\\tb", NaN, Infinity, -Infinity, {"k": []}]'
    document = load(text, "a.json")
    assert not document.relaxed
    assert repr(document.data) == repr(json.loads(text))
    assert marked(document, (1,)) == "2.5e-3"
    assert marked(document, (2,)) == '"a\\tb"'
    assert marked(document, (6, "k")) == '"k"'
    assert document.span((7,)) is None


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        (("title",), "title", '"run"'),
        (("model",), "model", "model"),
        (("model", "flavor.of"), '"flavor.of"', '"8B"'),
        (("training", "steps"), "steps", "10_000"),
        (("training", "batch"), "batch", "batch"),
        (("training", "batch", "local"), "local", "2"),
        (("training", "seeds", 0), "1", "1"),
        (("training", "seeds", 1, 1), "3", "3"),
        (("training", "seeds", 2, "a", "b"), "b", "4"),
        (("training", "started"), "started", "2025-01-01 07:30:00"),
        (("training", "note"), "note", '"""'),
        (("stage",), "stage", "stage"),
        (("stage", 0), "[[stage]]", "[[stage]]"),
        (("stage", 0, "data", "path"), "path", '"/x#y"'),
        (("stage", 1, "name"), "name", '"b"'),
        (("stage", 2), None, None),
        (("model", "absent"), None, None),
    ],
)
def test_toml_spans(path: KeyPath, key: str | None, value: str | None) -> None:
    document = load(TITAN, "train.toml")
    assert (marked(document, path, "key"), marked(document, path)) == (key, value)


def test_toml_means_what_tomllib_means_and_every_part_has_a_place() -> None:
    for text in (TITAN, TITAN.replace("\n", "\r\n")):
        document = load(text, "train.toml")
        assert document.data == tomllib.loads(text)
        assert all(document.span(path) for path, _ in paths(document.data))
    note = document.raw(("training", "note"))
    assert note == RawScalar('\r\nfirst "quoted" line\r\n', quoted=True)
    assert document.raw(("training", "steps")) == RawScalar("10_000", quoted=False)


@pytest.mark.parametrize(
    ("name", "text", "language"),
    [
        ("a.yml", "{}", "yaml"),
        ("a.JSON", "[]", "json"),
        ("a.hjson", "{}", "json"),
        ("a.toml", "a = 1", "toml"),
        ("config", '\n// DeepSpeed\n{"a": 1}', "json"),
        ("config", "[1, 2]", "json"),
        ("config", "# torchtitan\n[model]\nname = 'x'", "toml"),
        ("config", "[[stage]]\na = 1", "toml"),
        ("config", "lr = 1", "toml"),
        ("config", "lr: 1", "yaml"),
        ("config", "url: a=b", "yaml"),
    ],
)
def test_the_language_of_a_text(name: str, text: str, language: Language) -> None:
    assert load(text, name).language == language


def test_a_stated_language_wins_over_the_suffix() -> None:
    (document,) = load_documents("a.txt", '{"a": 1, "a": 2}', "json")
    assert (document.language, len(document.duplicates)) == ("json", 1)


WITHOUT_LIBYAML = """
import sys, yaml
del yaml.CSafeLoader
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.reading import load_documents
(document,) = load_documents("a.yaml", sys.argv[1])
print(document.data, document.span(("training", "lr")), document.raw(("tail",)))
for text in ("[" * 10_000, "- " * 10_000, "a: {{ x }}", "a: [1"):
    try:
        load_documents("a.yaml", text)
    except ReadError as error:
        print(error.kind)
"""


def test_without_libyaml_the_python_loader_gives_the_same() -> None:
    imports = Path(__file__).resolve().parents[1] / ".imports"
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_LIBYAML, TRAINING],
        env={"PYTHONPATH": str(imports), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    document = load(TRAINING)
    lr, tail = document.span(("training", "lr")), document.raw(("tail",))
    assert run.stdout.splitlines() == [
        f"{document.data} {lr} {tail}",
        *("too_deep", "too_deep", "template", "syntax"),
    ]
