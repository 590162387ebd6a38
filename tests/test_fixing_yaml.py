"""Changes of YAML files: exact texts before and after, or the reason why not."""

import pytest

from fixed_texts import Case, at, outcome
from speccheck.validator.evidence.finding import to_add, to_remove, to_rename, to_set

PODS = """\
env:
- name: NCCL_DEBUG   # loud
  value: "INFO"
- name: NCCL_IB_HCA
  value: mlx5
"""
FLOW = "opt: {lr: 1.0e-4, wd: 0.1}  # tuned\n"
LINES = "opt: {\n  lr: 1.0e-4,  # tuned\n  wd: 0.1\n}\n"
BLOCK = """\
# all of it
train:
  lr: 1.0e-4   # tuned

  # decay
  wd: 0.1
  steps: 100
"""
ANCHORS = "a: &batch 4\nb: *batch\nbase: &base {lr: 1}\nrun:\n  <<: *base\n  x: 1\n"
ONE = "train:\n  only: 1\nother: 2\n"

SET = (
    Case("number", "a: 8 # c\nb: 1\n", to_set(at("a"), 4), "a: 4 # c\nb: 1\n"),
    Case("nested", BLOCK, to_set(at("train", "wd"), 0), BLOCK.replace("0.1", "0")),
    Case("float needs a point", "a: 1\n", to_set(at("a"), 2e-5), "a: 2.0e-5\n"),
    Case("large float", "a: 1\n", to_set(at("a"), 1e22), "a: 1.0e+22\n"),
    Case("float as text", "a: 'x'\n", to_set(at("a"), "2e-5"), "a: '2e-5'\n"),
    Case("text like a number", "a: x\n", to_set(at("a"), "12"), 'a: "12"\n'),
    Case("text like false", "a: x\n", to_set(at("a"), "no"), 'a: "no"\n'),
    Case("text like octal", "a: x\n", to_set(at("a"), "017"), 'a: "017"\n'),
    Case("0o17 is text", "a: x\n", to_set(at("a"), "0o17"), "a: 0o17\n"),
    Case(
        "text like a date", "a: x\n", to_set(at("a"), "2027-01-31"), "a: 2027-01-31\n"
    ),
    Case(
        "single quotes", "a: 'x'  # c\n", to_set(at("a"), "it's"), "a: 'it''s'  # c\n"
    ),
    Case("double quotes", 'a: "x"\n', to_set(at("a"), 'say "y"'), 'a: "say \\"y\\""\n'),
    Case("colon", "a: x\n", to_set(at("a"), "b: c"), 'a: "b: c"\n'),
    Case("hash", "a: x\n", to_set(at("a"), "b #c"), 'a: "b #c"\n'),
    Case("quoted number", 'a: "8"\n', to_set(at("a"), 4), "a: 4\n"),
    Case("true", "a: false\n", to_set(at("a"), value=True), "a: true\n"),
    Case("yes", "a: no\n", to_set(at("a"), value=True), "a: yes\n"),
    Case("True", "a: False\n", to_set(at("a"), value=True), "a: True\n"),
    Case("true from a number", "a: 0\n", to_set(at("a"), value=True), "a: true\n"),
    Case("null", "a: x\n", to_set(at("a"), None), "a: null\n"),
    Case("empty", "a:\nb: 1\n", to_set(at("a"), 4), "a: 4\nb: 1\n"),
    Case("empty, comment", "a:  # c\nb: 1\n", to_set(at("a"), 4), "a: 4  # c\nb: 1\n"),
    Case("no final newline", "a: 8", to_set(at("a"), 4), "a: 4"),
    Case("CR LF", "a: 8\r\nb: 1\r\n", to_set(at("a"), 4), "a: 4\r\nb: 1\r\n"),
    Case("flow", FLOW, to_set(at("opt", "wd"), 0.2), FLOW.replace("0.1", "0.2")),
    Case("item", "a: [1, 2]\n", to_set(at("a", 1), 3), "a: [1, 3]\n"),
    Case(
        "item of lines",
        "a:\n- 1\n- 2 # c\n",
        to_set(at("a", 1), 3),
        "a:\n- 1\n- 3 # c\n",
    ),
    Case(
        "second document",
        "a: 1\n---\na: 2\n---\na: 3\n",
        to_set(at("a", document=1), 9),
        "a: 1\n---\na: 9\n---\na: 3\n",
    ),
    Case("twice: the last counts", "a: 1\na: 2\n", to_set(at("a"), 3), "a: 1\na: 3\n"),
    Case("own anchor", "a: &x 8\n", to_set(at("a"), 4), "a: &x 4\n"),
    Case("name beside", "é: 'ü'\nk: 1\n", to_set(at("k"), 2), "é: 'ü'\nk: 2\n"),
    Case("number as key", "8: 1\n", to_set(at(8), 2), "8: 2\n"),
    Case(
        "entry",
        PODS,
        to_set(at("env", 1, "value", key="NCCL_IB_HCA"), 7),
        PODS.replace("mlx5", '"7"'),
    ),
    Case("anchor", ANCHORS, to_set(at("a"), 2), refused="an anchor (&) gives"),
    Case("alias", ANCHORS, to_set(at("b"), 2), refused="an anchor (&) gives"),
    Case("in an anchor", ANCHORS, to_set(at("base", "lr"), 2), refused="an anchor (&)"),
    Case("merged", ANCHORS, to_set(at("run", "lr"), 2), refused="by a merge (<<)"),
    Case("tag", "a: !!str 8\n", to_set(at("a"), 4), refused="has a tag"),
    Case("literal", "a: |\n  8\n", to_set(at("a"), 4), refused="several lines"),
    Case("folded", "a: 8\n  9\n", to_set(at("a"), 4), refused="several lines"),
    Case("mapping", BLOCK, to_set(at("train"), 4), refused="a mapping or list stands"),
    Case("gone", "a: 8\n", to_set(at("b"), 4), refused="not there any more"),
    Case("escapes", "a: x\n", to_set(at("a"), "x\x1b"), refused="only an escape"),
)
REMOVE = (
    Case("first", "a: 8\nb: 1\n", to_remove(at("a")), "b: 1\n"),
    Case(
        "comment of its own", "a: 8 # c\n# d\nb: 1\n", to_remove(at("a")), "# d\nb: 1\n"
    ),
    Case(
        "nested",
        BLOCK,
        to_remove(at("train", "lr")),
        "# all of it\ntrain:\n\n  # decay\n  wd: 0.1\n  steps: 100\n",
    ),
    Case("a block", BLOCK + "x: 1\n", to_remove(at("train")), "# all of it\nx: 1\n"),
    Case("literal", "a: |\n  8\n\n  9\n\nb: 1\n", to_remove(at("a")), "\nb: 1\n"),
    Case("last, no newline", "a: 8\nb: 1", to_remove(at("b")), "a: 8\n"),
    Case("CR LF", "a: 8\r\nb: 1\r\n", to_remove(at("a")), "b: 1\r\n"),
    Case("flow, first", FLOW, to_remove(at("opt", "lr")), "opt: {wd: 0.1}  # tuned\n"),
    Case(
        "flow, last", FLOW, to_remove(at("opt", "wd")), "opt: {lr: 1.0e-4}  # tuned\n"
    ),
    Case("lines, first", LINES, to_remove(at("opt", "lr")), "opt: {\n  wd: 0.1\n}\n"),
    Case(
        "lines, last",
        LINES,
        to_remove(at("opt", "wd")),
        "opt: {\n  lr: 1.0e-4  # tuned\n}\n",
    ),
    Case("flow, only", "a: {b: 1}\n", to_remove(at("a", "b")), "a: {}\n"),
    Case("only", ONE, to_remove(at("train", "only")), "train: {}\nother: 2\n"),
    Case("dash", "a:\n- b: 1\n  c: 2\n", to_remove(at("a", 0, "b")), "a:\n- c: 2\n"),
    Case(
        "item", "a:\n  - 1\n  - 2\nb: 1\n", to_remove(at("a", 0)), "a:\n  - 2\nb: 1\n"
    ),
    Case("item, only", "a:\n  - 1\nb: 1\n", to_remove(at("a", 0)), "a: []\nb: 1\n"),
    Case("flow item", "a: [1, 2, 3]\n", to_remove(at("a", 1)), "a: [1, 3]\n"),
    Case(
        "entry",
        PODS,
        to_remove(at("env", 0, "value", key="NCCL_DEBUG")),
        "env:\n- name: NCCL_IB_HCA\n  value: mlx5\n",
    ),
    Case("only of all", "a: 8\n", to_remove(at("a")), refused="all that stands there"),
    Case("dash, only", "a:\n- b: 1\n", to_remove(at("a", 0, "b")), refused="all that"),
    Case("with anchor", ANCHORS, to_remove(at("base")), refused="an anchor (&)"),
    Case(
        "twice", "a: 1\na: 2\nb: 1\n", to_remove(at("a")), refused="stands there twice"
    ),
)
RENAME = (
    Case("key", "a: 8 # c\nb: 1\n", to_rename(at("a"), "new"), "new: 8 # c\nb: 1\n"),
    Case("quoted", "'a': 8\n", to_rename(at("a"), "new"), "'new': 8\n"),
    Case("needs quotes", "a: 8\n", to_rename(at("a"), "on"), '"on": 8\n'),
    Case("of a block", ONE, to_rename(at("train"), "new"), ONE.replace("train", "new")),
    Case(
        "flow", FLOW, to_rename(at("opt", "wd"), "decay"), FLOW.replace("wd", "decay")
    ),
    Case("dash", "a:\n- b: 1\n", to_rename(at("a", 0, "b"), "c"), "a:\n- c: 1\n"),
    Case(
        "entry",
        PODS,
        to_rename(at("env", 0, "value", key="NCCL_DEBUG"), "X"),
        PODS.replace("NCCL_DEBUG", "X"),
    ),
    Case("taken", "a: 8\nb: 1\n", to_rename(at("a"), "b"), refused="b is set there"),
    Case("item", "a: [1]\n", to_rename(at("a", 0), "b"), refused="has no key"),
    Case("merged", ANCHORS, to_rename(at("run", "lr"), "n"), refused="merge (<<)"),
)
ADD = (
    Case(
        "beside", "a: 8 # c\nb: 1\n", to_add(at("a"), "n", 4), "a: 8 # c\nn: 4\nb: 1\n"
    ),
    Case(
        "nested",
        ONE,
        to_add(at("train", "only"), "n", "x y"),
        "train:\n  only: 1\n  n: x y\nother: 2\n",
    ),
    Case(
        "behind a block",
        ONE,
        to_add(at("train"), "n", 4),
        "train:\n  only: 1\nn: 4\nother: 2\n",
    ),
    Case(
        "behind a literal",
        "a: |\n  x\n\nb: 1\n",
        to_add(at("a"), "n", 4),
        "a: |\n  x\nn: 4\n\nb: 1\n",
    ),
    Case("no newline", "a: 8", to_add(at("a"), "n", 4), "a: 8\nn: 4"),
    Case("CR LF", "a: 8\r\n", to_add(at("a"), "n", 4), "a: 8\r\nn: 4\r\n"),
    Case("quotes", "a: 'x'\n", to_add(at("a"), "n", "y"), "a: 'x'\nn: 'y'\n"),
    Case("words", "a: yes\n", to_add(at("a"), "n", value=False), "a: yes\nn: no\n"),
    Case(
        "dash", "a:\n- b: 1\n", to_add(at("a", 0, "b"), "n", 4), "a:\n- b: 1\n  n: 4\n"
    ),
    Case("flow", FLOW, to_add(at("opt", "wd"), "n", 4), FLOW.replace("}", ", n: 4}")),
    Case(
        "lines, first",
        LINES,
        to_add(at("opt", "lr"), "n", 4),
        "opt: {\n  lr: 1.0e-4,  # tuned\n  n: 4,\n  wd: 0.1\n}\n",
    ),
    Case(
        "lines, last",
        LINES,
        to_add(at("opt", "wd"), "n", 4),
        "opt: {\n  lr: 1.0e-4,  # tuned\n  wd: 0.1,\n  n: 4\n}\n",
    ),
    Case(
        "entry",
        PODS,
        to_add(at("env", 1, "value", key="NCCL_IB_HCA"), "X", 1),
        PODS + '- name: X\n  value: "1"\n',
    ),
    Case("taken", "a: 8\nb: 1\n", to_add(at("a"), "b", 4), refused="b is set there"),
    Case(
        "beside an alias",
        ANCHORS,
        to_add(at("b"), "n", 4),
        ANCHORS.replace("*batch\n", "*batch\nn: 4\n"),
    ),
)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{kind} {case.name}")
        for kind, cases in (
            ("set", SET),
            ("remove", REMOVE),
            ("rename", RENAME),
            ("add", ADD),
        )
        for case in cases
    ],
)
def test_a_change_of_yaml(case: Case) -> None:
    found = outcome("train.yaml", case.before, case.change)
    if case.refused:
        assert found.startswith("refused: "), found
        assert case.refused in found
    else:
        assert found == case.after


def test_changes_of_one_fix_are_made_together() -> None:
    changes = (
        to_rename(at("train"), "training"),
        to_remove(at("train", "lr")),
        to_set(at("train", "wd"), 0.2),
        to_add(at("train", "steps"), "warmup", 10),
    )
    assert outcome("train.yaml", BLOCK, *changes) == (
        "# all of it\ntraining:\n\n  # decay\n  wd: 0.2\n  steps: 100\n  warmup: 10\n"
    )


def test_items_of_a_list_are_removed_together() -> None:
    text = "a: [1, 2, 3, 4]\nb:\n- 1\n- 2\n"
    changes = (to_remove(at("a", 1)), to_remove(at("a", 2)), to_remove(at("b", 0)))
    assert outcome("a.yaml", text, *changes) == "a: [1, 4]\nb:\n- 2\n"


def test_all_keys_of_a_mapping_are_removed_together() -> None:
    text = "a:\n  b: 1\n  c: 2\nd: {e: 1, f: 2}\n"
    changes = tuple(to_remove(at(*path)) for path in (("a", "b"), ("a", "c")))
    changes += tuple(to_remove(at(*path)) for path in (("d", "e"), ("d", "f")))
    assert outcome("a.yaml", text, *changes) == "a: {}\nd: {}\n"
