"""Changes of JSON and TOML files: exact texts, or the reason why there is no change."""

import pytest

from fixed_texts import Case, at, outcome
from speccheck.validator.evidence.finding import to_add, to_remove, to_rename, to_set

ENGINE = """\
{
  "train_batch_size": 512,
  "zero_optimization": {
    "stage": 3,
    "overlap_comm": false
  },
  "bf16": {"enabled": true}
}
"""
RELAXED = """\
{
  // sizes
  "a": 1,  // one
  /* two */ "b": 2,
  "c": [1, 2,],  # three
}
"""
TABLES = """\
title = "run"  # name
[training]
steps = 100   # short
lr = 3e-4
optimizer.name = "AdamW"
optimizer.betas = [0.9, 0.95]

[parallelism]  # mesh
tp = 8
mesh = {dp = 2, pp = 1}

[[data]]
name = 'a'
[[data]]
name = 'b'
weight = 0.5
"""
STAGE = ("zero_optimization", "stage")
JSON = (
    Case("set", ENGINE, to_set(at(*STAGE), 2), ENGINE.replace(": 3", ": 2")),
    Case(
        "set true",
        ENGINE,
        to_set(at("zero_optimization", "overlap_comm"), value=True),
        ENGINE.replace("false", "true"),
    ),
    Case("set small", '{"lr": 1}', to_set(at("lr"), 2e-5), '{"lr": 2.0e-5}'),
    Case("set text", '{"a": "x"}\n', to_set(at("a"), 'ü"y'), '{"a": "ü\\"y"}\n'),
    Case("set null", '{"a": "x"}\n', to_set(at("a"), None), '{"a": null}\n'),
    Case("set item", '{"a": [1, 2]}', to_set(at("a", 1), 3), '{"a": [1, 3]}'),
    Case(
        "set relaxed", RELAXED, to_set(at("b"), 3), RELAXED.replace('"b": 2', '"b": 3')
    ),
    Case("set CR LF", '{\r\n"a": 1\r\n}', to_set(at("a"), 2), '{\r\n"a": 2\r\n}'),
    Case("rename", ENGINE, to_rename(at(*STAGE), "n"), ENGINE.replace("stage", "n")),
    Case(
        "rename block",
        ENGINE,
        to_rename(at("bf16"), "fp16"),
        ENGINE.replace("bf16", "fp16"),
    ),
    Case(
        "remove line",
        ENGINE,
        to_remove(at("train_batch_size")),
        ENGINE.replace('  "train_batch_size": 512,\n', ""),
    ),
    Case(
        "remove last",
        ENGINE,
        to_remove(at("bf16")),
        ENGINE.replace('},\n  "bf16": {"enabled": true}\n', "}\n"),
    ),
    Case(
        "remove block",
        ENGINE,
        to_remove(at("zero_optimization")),
        '{\n  "train_batch_size": 512,\n  "bf16": {"enabled": true}\n}\n',
    ),
    Case("remove first of line", '{"a": 1, "b": 2}', to_remove(at("a")), '{"b": 2}'),
    Case("remove last of line", '{"a": 1, "b": 2}', to_remove(at("b")), '{"a": 1}'),
    Case(
        "remove only",
        ENGINE,
        to_remove(at("bf16", "enabled")),
        ENGINE.replace('{"enabled": true}', "{}"),
    ),
    Case(
        "remove with comment",
        RELAXED,
        to_remove(at("a")),
        RELAXED.replace('  "a": 1,  // one\n', ""),
    ),
    Case(
        "remove beside comment",
        RELAXED,
        to_remove(at("b")),
        RELAXED.replace('  /* two */ "b": 2,\n', ""),
    ),
    Case(
        "remove before trailing comma",
        RELAXED,
        to_remove(at("c")),
        RELAXED.replace('  "c": [1, 2,],  # three\n', ""),
    ),
    Case("remove item", RELAXED, to_remove(at("c", 1)), RELAXED.replace(", 2,", ",")),
    Case(
        "add",
        ENGINE,
        to_add(at(*STAGE), "n", 4),
        ENGINE.replace('"stage": 3,\n', '"stage": 3,\n    "n": 4,\n'),
    ),
    Case(
        "add last",
        ENGINE,
        to_add(at("zero_optimization", "overlap_comm"), "n", 4),
        ENGINE.replace("false\n", 'false,\n    "n": 4\n'),
    ),
    Case(
        "add in line",
        ENGINE,
        to_add(at("bf16", "enabled"), "n", 4),
        ENGINE.replace("true}", 'true, "n": 4}'),
    ),
    Case(
        "add behind block",
        ENGINE,
        to_add(at("zero_optimization"), "n", "x"),
        ENGINE.replace("  },\n", '  },\n  "n": "x",\n'),
    ),
    Case(
        "add behind comment",
        RELAXED,
        to_add(at("a"), "n", 4),
        RELAXED.replace("// one\n", '// one\n  "n": 4,\n'),
    ),
    Case(
        "add to entries",
        '{"env": [{"name": "A", "value": "1"}]}',
        to_add(at("env", 0, "value", key="A"), "B", 2),
        '{"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}',
    ),
    Case(
        "spacing kept", '{"a":1,"b":2}', to_add(at("b"), "n", 4), '{"a":1,"b":2, "n":4}'
    ),
    Case(
        "taken",
        ENGINE,
        to_add(at("bf16"), "train_batch_size", 4),
        refused="is set there already",
    ),
    Case(
        "not finite",
        ENGINE,
        to_set(at("train_batch_size"), float("nan")),
        refused="no such number",
    ),
    Case("a block", ENGINE, to_set(at("bf16"), 1), refused="a mapping or list"),
    Case("twice", '{"a": 1, "a": 2}', to_remove(at("a")), refused="stands there twice"),
    Case(
        "rename one of two",
        '{"a": 1, "a": 2}',
        to_rename(at("a"), "b"),
        refused="stands there twice",
    ),
)
TOML = (
    Case("set", TABLES, to_set(at("training", "steps"), 9), TABLES.replace("100", "9")),
    Case(
        "set float",
        TABLES,
        to_set(at("training", "lr"), 2e-5),
        TABLES.replace("3e-4", "2e-05"),
    ),
    Case(
        "set dotted",
        TABLES,
        to_set(at("training", "optimizer", "name"), "Adam"),
        TABLES.replace("AdamW", "Adam"),
    ),
    Case(
        "set inline",
        TABLES,
        to_set(at("parallelism", "mesh", "pp"), 4),
        TABLES.replace("pp = 1", "pp = 4"),
    ),
    Case(
        "set item",
        TABLES,
        to_set(at("training", "optimizer", "betas", 1), 0.99),
        TABLES.replace("0.95", "0.99"),
    ),
    Case(
        "set in array of tables",
        TABLES,
        to_set(at("data", 1, "name"), "c"),
        TABLES.replace("'b'", "'c'"),
    ),
    Case(
        "set text with quote",
        TABLES,
        to_set(at("data", 1, "name"), "it's"),
        TABLES.replace("'b'", '"it\'s"'),
    ),
    Case("set bool", "a = false # c\n", to_set(at("a"), value=True), "a = true # c\n"),
    Case(
        "rename",
        TABLES,
        to_rename(at("training", "steps"), "n"),
        TABLES.replace("steps", "n"),
    ),
    Case(
        "rename dotted",
        TABLES,
        to_rename(at("training", "optimizer", "name"), "n"),
        TABLES.replace("optimizer.name", "optimizer.n"),
    ),
    Case("rename needs quotes", "a = 1\n", to_rename(at("a"), "b c"), '"b c" = 1\n'),
    Case(
        "remove",
        TABLES,
        to_remove(at("training", "steps")),
        TABLES.replace("steps = 100   # short\n", ""),
    ),
    Case(
        "remove dotted",
        TABLES,
        to_remove(at("training", "optimizer", "name")),
        TABLES.replace('optimizer.name = "AdamW"\n', ""),
    ),
    Case(
        "remove inline",
        TABLES,
        to_remove(at("parallelism", "mesh", "dp")),
        TABLES.replace("dp = 2, ", ""),
    ),
    Case(
        "remove lines", "a = [\n  1,\n  2,\n]\nb = 1\n", to_remove(at("a")), "b = 1\n"
    ),
    Case(
        "remove item",
        TABLES,
        to_remove(at("training", "optimizer", "betas", 0)),
        TABLES.replace("0.9, ", ""),
    ),
    Case(
        "add",
        TABLES,
        to_add(at("training", "steps"), "n", 4),
        TABLES.replace("# short\n", "# short\nn = 4\n"),
    ),
    Case(
        "add dotted",
        TABLES,
        to_add(at("training", "optimizer", "name"), "n", "x"),
        TABLES.replace('"AdamW"\n', '"AdamW"\noptimizer.n = "x"\n'),
    ),
    Case(
        "add inline",
        TABLES,
        to_add(at("parallelism", "mesh", "pp"), "n", 4),
        TABLES.replace("pp = 1}", "pp = 1, n = 4}"),
    ),
    Case(
        "add at the end",
        TABLES.rstrip("\n"),
        to_add(at("data", 1, "weight"), "n", 4),
        TABLES + "n = 4",
    ),
    Case(
        "CR LF",
        "a = 1\r\nb = 2\r\n",
        to_add(at("a"), "n", 4),
        "a = 1\r\nn = 4\r\nb = 2\r\n",
    ),
    Case(
        "indented",
        "[a]\n  b = 1\n",
        to_add(at("a", "b"), "n", 4),
        "[a]\n  b = 1\n  n = 4\n",
    ),
    Case("spacing kept", "a=1\n", to_add(at("a"), "n", 4), "a=1\nn=4\n"),
    Case("null", TABLES, to_set(at("title"), None), refused="no null"),
    Case("a table", TABLES, to_remove(at("parallelism")), refused="it is a table"),
    Case(
        "rename a table",
        TABLES,
        to_rename(at("parallelism"), "x"),
        TABLES.replace("[parallelism]", "[x]"),
    ),
    Case(
        "rename tables",
        "[[a]]\nx = 1\n[[a]]\nx = 2\n",
        to_rename(at("a"), "b"),
        refused="more or less",
    ),
    Case(
        "a table is not set",
        TABLES,
        to_set(at("parallelism"), 1),
        refused="not one value",
    ),
    Case(
        "taken",
        TABLES,
        to_rename(at("training", "steps"), "lr"),
        refused="is set there already",
    ),
    Case(
        "several lines",
        'a = """\nx\n"""\n',
        to_set(at("a"), "y"),
        refused="not one value",
    ),
)


@pytest.mark.parametrize(
    ("file", "case"),
    [
        pytest.param(file, case, id=f"{file} {case.name}")
        for file, cases in (("ds.json", JSON), ("titan.toml", TOML))
        for case in cases
    ],
)
def test_a_change_of_json_and_toml(file: str, case: Case) -> None:
    found = outcome(file, case.before, case.change)
    if case.refused:
        assert found.startswith("refused: "), found
        assert case.refused in found
    else:
        assert found == case.after
