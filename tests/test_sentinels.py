"""Values that are no amounts: nothing is calculated by them, in any format."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from framework_documents import RIGHT
from speccheck.validator.catalogue.frameworks import keys_of_format
from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.evidence.framework_keys import WORKED_OUT, KeyRow
from speccheck.validator.run.judging import RunState, judge_plan
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.joining.grouping import group

_FLAGS = {
    "--num-layers": 32,
    "--hidden-size": 4096,
    "--ffn-hidden-size": 16384,
    "--num-attention-heads": 32,
    "--seq-length": 4096,
    "--max-position-embeddings": 4096,
    "--tensor-model-parallel-size": 4,
    "--pipeline-model-parallel-size": 2,
    "--micro-batch-size": 1,
    "--global-batch-size": 64,
    "--train-iters": 1000,
    "--save-interval": 100,
}
# What stands beside a sentinel, and is not in the right files.
_BESIDE: dict[str, Any] = {
    "gpt-neox": {"flops_profiler.enabled": False},
    "nanotron": {"model.model_config.vocab_size": 50000},
    "maxtext": {"steps": 1000, "learning_rate_schedule_steps": 1000},
}
# A size of nothing, or less: `-1 heads`, `the last of 0 GPUs`.
_NO_SIZE = re.compile(r"(?<![\w.^-])-\d|(?<![\d.,\w-])0 (?:GPU|node|head|layer|step)s")


def _sentinels(format_id: str) -> Iterator[tuple[KeyRow, Any]]:
    """Yield each row of a format's table with a value that is no amount."""
    table = keys_of_format(format_id)
    assert table is not None
    for path in table.rows:
        row = table.rows[path]
        if "*" in path or "[]" in path:
            continue
        values = [value for value, _ in row.sentinels]
        values += [step[1] for step in row.defaults if len(step) > 1]
        yield from ((row, value) for value in values if row.meaning_of(value))


def _placed(tree: Any, path: str, value: object) -> bool:  # noqa: ANN401 - a document
    *above, last = path.split(".")
    for name in above:
        tree = tree.setdefault(name, {})
        if not isinstance(tree, dict):
            return False
    tree[last] = value
    return True


def _document(format_id: str, path: str, value: object) -> tuple[str, str] | None:
    """Return a right file of a format with a value at a key, by its name."""
    if format_id == "megatron-cli":
        flags = {**_FLAGS, path: value} if path else _FLAGS
        words = " ".join(f"{flag} {number}" for flag, number in flags.items())
        text = f"torchrun --nproc-per-node 8 pretrain_gpt.py {words} --bf16\n"
        return "train.sh", "#!/bin/bash\n" + text
    right = RIGHT[format_id]
    if format_id == "torchtitan":
        import tomllib  # noqa: PLC0415 - of one format

        tree = tomllib.loads(right)
    else:
        tree = yaml.safe_load(right)
    for name, number in _BESIDE.get(format_id, {}).items():
        _placed(tree, name, number)
    if path and not _placed(tree, path, value):
        return None
    if format_id == "torchtitan":
        lines = []
        for name, block in tree.items():
            lines.append(f"[{name}]")
            lines += [f"{key} = {json.dumps(item)}" for key, item in block.items()]
        return "train.toml", "\n".join(lines) + "\n"
    return "train.yaml", yaml.safe_dump(tree, sort_keys=False)


def _said(format_id: str, written: tuple[str, str]) -> Counter[tuple[str, str]]:
    """Return the rules that find errors in a file, or amounts that are none."""
    name, text = written
    context = Context(nodes=4, gpus_per_node=8, gpu="H100-80GB")
    state = RunState(Request((), judging=Judging(context=context), full=True))
    chosen = None if format_id == "megatron-cli" else format_id
    _, files = read_file(name, text=text, format_id=chosen)
    assert files
    found: Counter[tuple[str, str]] = Counter()
    for plan in group(files):
        for located in judge_plan(plan, state).findings:
            finding = located.finding
            is_error = finding.level == "error" or finding.outcome == "error"
            if finding.outcome in {"fail", "error"} and (
                is_error or _NO_SIZE.search(finding.message)
            ):
                found[finding.rule, finding.message] += 1
    return found


_FORMATS = sorted({*RIGHT, "megatron-cli"} - {"hf-fsdp-json", "megatron-model-config"})


@pytest.mark.parametrize("format_id", _FORMATS)
def test_nothing_is_calculated_by_a_sentinel(format_id: str) -> None:
    plain = _document(format_id, "", None)
    assert plain is not None
    before = _said(format_id, plain)
    for row, value in _sentinels(format_id):
        written = _document(format_id, row.path, value)
        if written is not None:
            new = _said(format_id, written) - before
            assert not new, (row.path, value)


@pytest.mark.parametrize(
    ("format_id", "path", "value", "meaning"),
    [
        ("megatron-cli", "--hidden-size", "-1", "is replaced by what the checkpoint"),
        (
            "nanotron",
            "model.model_config.vocab_size",
            -1,
            "is taken from the tokenizer",
        ),
        ("torchtitan", "training.global_batch_size", -1, WORKED_OUT),
        ("nemo1", "trainer.gradient_clip_val", -1, "is off"),
    ],
)
def test_a_table_says_what_a_sentinel_means(
    format_id: str, path: str, value: object, meaning: str
) -> None:
    table = keys_of_format(format_id)
    assert table is not None
    row = table.lookup(tuple(path.split(".")))
    assert row is not None
    assert row.meaning_of(value).startswith(meaning)
    assert row.meaning_of(8) == ""


def test_a_field_says_why_it_is_unknown() -> None:
    written = _document("megatron-cli", "--hidden-size", -1)
    assert written is not None
    _, (file, *_) = read_file(written[0], text=written[1])
    facts = {
        fact.name: fact
        for reading in file.readings
        for fact in reading.facts.facts
        if fact.name == "model.hidden_size"
    }
    fact = facts["model.hidden_size"]
    assert (fact.value, fact.status) == (None, "unknown")
    assert fact.note == "-1 is replaced by what the checkpoint holds"


def test_a_number_below_one_without_a_meaning_is_refused() -> None:
    key = "parallelism.tensor_parallel_degree"
    written = _document("torchtitan", key, -1)
    assert written is not None
    assert [key in message for _, message in _said("torchtitan", written)] == [True]
