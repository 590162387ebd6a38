"""Plant wrong values in published configurations, and count those that are named.

    python bench/planted_values.py FOLDER [--count 300] [--seed 1] [--missed]

Each fault is one edit of one file that no rule fails as it is: another word for a
number or a switch, a sign, a zero, a list in place of a value, a unit behind a number,
a letter less in a word of a closed list. Keys and kinds are drawn at random, format by
format, from the keys of the framework that stand in the files, not from what the tables
know of their values: whether a text is of a closed list, and whether a number may be
negative or zero, is decided by the name of the key. A fault is named where an error
stands at its key, or at the key of the block around it; or the warning of a relation by
which the framework goes on with the value (no step is taken with 0 epochs).

With `--census` every key of every file is asked for every kind of fault, by its row of
the key table alone: which rows take whatever stands there.

Exit code: 0 where 97 % of the faults are named, else 1.
"""

import argparse
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.accepted_values import value_fault
from speccheck.validator.evidence.framework_keys import FrameworkKeys
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.run.run import run
from speccheck.validator.sources.documents.reading import load_documents
from speccheck.validator.sources.files import read_file

LEAST_NAMED = 0.97
GOES_ON = "settings_warned_about"  # the framework runs on with the value
SUFFIXES = (".yaml", ".yml", ".json", ".toml")
# Counts and sizes: neither zero nor below zero makes sense of them in any framework.
SIZE = re.compile(
    r"^(\w*batch_size|\w*seq_?len\w*|num_layers|n_layers|hidden_size|num_attention_heads|n_heads"
    r"|d_model|vocab_size|lora_r|lora_rank|num_nodes|devices|num_train_epochs|num_epochs)$"
)
# Words of lists that frameworks close.
CLOSED = re.compile(
    r"(lr_scheduler_type|lr_scheduler|optim|optimizer|save_strategy|eval_strategy|"
    r"distributed_type|mixed_precision|adapter|rl|finetuning_type|stage|precision|"
    r"sharding_strategy|fsdp_sharding_strategy|lr_decay_style|dtype|remat_policy|"
    r"position_embedding_type|pos_emb|norm|hub_strategy|logging_strategy)$"
)


class Fault(NamedTuple):
    """One edit of one file."""

    format: str
    file: Path
    key: str
    kind: str
    written: str
    planted: str
    text: str


def keyed_files(path: Path) -> Iterator[tuple[KeyedFile, FrameworkKeys]]:
    """Yield the readings of a file by a framework whose own parser reads it."""
    for file in read_file(str(path))[1]:
        for reading in file.readings:
            keyed = reading.keyed
            if keyed is None or keyed.catalogue is None:
                continue
            if not keyed.looked_up().is_of_another_parser:
                yield keyed, keyed.catalogue


def candidates(path: Path, rng: random.Random) -> Iterator[Fault]:
    """Yield the faults that a file can have, in random order."""
    text = path.read_text("utf-8")
    for keyed, table in keyed_files(path):
        # the number of steps takes the place of the number of epochs
        is_bounded = any(
            key.path[-1] == "max_steps" and _number(key.value) > 0 for key in keyed.keys
        )
        keys = [
            key
            for key in keyed.keys
            if not key.is_block
            and table.is_known(key.path)
            and not (is_bounded and str(key.path[-1]).endswith("epochs"))
        ]
        rng.shuffle(keys)
        for key in keys:
            yield from _faults(path, text, keyed.format, key, rng)


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else 0


def print_census(folder: Path) -> None:
    """Print by format how many faults the rows refuse, and which rows take them."""
    planted: Counter[str] = Counter()
    taken: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES):
        try:
            files = [*keyed_files(path)]
        except (UnicodeDecodeError, ValueError):
            continue
        for keyed, table in files:
            for key in keyed.keys:
                accepted = table.accepted(key.path, keyed.format)
                if key.is_block or accepted is None or not table.is_known(key.path):
                    continue
                for kind, value in wrong_values(key):
                    planted[keyed.format] += 1
                    if value_fault(accepted, value) is None:
                        row = table.lookup(key.path)
                        taken[keyed.format][f"{row.path if row else ''} ({kind})"] += 1
    for format_id, count in sorted(planted.items()):
        misses = taken[format_id]
        share = 1 - sum(misses.values()) / count
        print(f"{format_id:24} {count:7} faults, {share:6.1%} refused by their rows")
        for name, times in misses.most_common(5):
            print(f"{times:10} {name}")


def wrong_values(key: StatedKey) -> list[tuple[str, object]]:
    """Return the wrong values that a key can have in place of its own, by kind."""
    name, value = str(key.path[-1]), key.value
    if isinstance(value, bool):
        return [("word", "ture"), ("type", [1, 2])]
    if isinstance(value, int | float):
        signs = [("sign", -value), ("zero", 0)] if SIZE.search(name) else []
        # 8k is an amount of what a container asks for
        is_quantity = {"limits", "requests"} & {*map(str, key.path)}
        return [
            ("word", "two"),
            *([] if is_quantity else [("unit", f"{value}k")]),
            ("type", [1, 2]),
            *(signs if value > 0 else []),
        ]
    if isinstance(value, str) and CLOSED.search(name) and value.isidentifier():
        slip = value[:-1] if len(value) > 3 else f"{value}x"  # noqa: PLR2004 - letters
        return [("near miss", slip)]
    return []


def _faults(
    path: Path, text: str, format_id: str, key: StatedKey, rng: random.Random
) -> Iterator[Fault]:
    is_quoted = path.suffix in {".json", ".toml"}
    planted = [
        (kind, f'"{new}"' if isinstance(new, str) and is_quoted else str(new))
        for kind, new in wrong_values(key)
    ]
    rng.shuffle(planted)
    for kind, new in planted:
        edited = _edited(path, text, key, new)
        if edited is not None:
            written = str(key.value)
            yield Fault(format_id, path, key.place.key, kind, written, new, edited)


def _edited(path: Path, text: str, key: StatedKey, new: str) -> str | None:
    """Return the text with another value at a key; None where it stands elsewhere."""
    place = key.value_place
    if not place.path:  # a word of a command inside the document
        return None
    documents = load_documents(str(path), text)
    if place.document >= len(documents):
        return None
    span = documents[place.document].span(place.path, part="value")
    if span is None:
        return None
    lines = text.split("\n")
    line = lines[span.line - 1]
    start = span.column - 1
    lines[span.line - 1] = line[:start] + new + line[start + span.length :]
    return "\n".join(lines)


def errors_of(name: str, text: str, folder: Path) -> list[tuple[str, str]]:
    """Return rule and key of each error of a file by itself, and where it goes on."""
    target = folder / name
    target.write_text(text, "utf-8")
    with chdir(folder):
        judged = run(Request(arguments=(name,), each=True, full=True))
    target.unlink()
    return [item for plan in judged.plans for item in _errors(plan)]


def _errors(plan: JudgedPlan) -> Iterator[tuple[str, str]]:
    for located in plan.findings:
        finding = located.finding
        is_counted = finding.level == "error" or finding.rule == GOES_ON
        if finding.outcome == "fail" and is_counted:
            for place in finding.places:
                yield finding.rule, place.key


def is_named(fault: Fault, errors: Sequence[tuple[str, str]]) -> bool:
    """Return whether an error stands at the key of a fault."""
    last = fault.key.rpartition(".")[2]
    return any(
        key == fault.key or key.rpartition(".")[2] == last or fault.key.endswith(key)
        for _, key in errors
        if key
    )


def planted_faults(folder: Path, count: int, seed: int) -> list[Fault]:
    """Return faults spread over formats, kinds and files; two of a kind and format."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    files = sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES)
    rng.shuffle(files)
    chosen: dict[tuple[str, str], list[Fault]] = defaultdict(list)
    each = max(2, count // 60)
    with tempfile.TemporaryDirectory() as scratch:
        for path in files:
            try:
                text = path.read_text("utf-8")
                faults = [*candidates(path, rng)]
            except (UnicodeDecodeError, ValueError):
                continue
            if not faults or errors_of(path.name, text, Path(scratch)):
                continue
            of_file: Counter[str] = Counter()
            for fault in faults:
                kinds = chosen[fault.format, fault.kind]
                if len(kinds) < each and of_file[fault.kind] == 0:
                    kinds.append(fault)
                    of_file[fault.kind] += 1
    faults = [fault for kinds in chosen.values() for fault in kinds]
    rng.shuffle(faults)
    return faults[:count]


def main() -> int:
    """Plant the faults and print what became of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--missed", action="store_true", help="list the missed")
    parser.add_argument("--census", action="store_true", help="ask every row")
    options = parser.parse_args()
    if options.census:
        print_census(options.folder)
        return 0
    faults = planted_faults(options.folder, options.count, options.seed)
    by_format: dict[str, list[bool]] = defaultdict(list)
    by_kind: dict[str, list[bool]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        for fault in faults:
            errors = errors_of(fault.file.name, fault.text, Path(scratch))
            named = is_named(fault, errors)
            by_format[fault.format].append(named)
            by_kind[fault.kind].append(named)
            if options.missed and not named:
                print(
                    f"missed: {fault.format} {fault.file.name} {fault.key}: "
                    f"{fault.written} -> {fault.planted} ({fault.kind}); {errors[:2]}"
                )
    for title, rows in (("format", by_format), ("kind", by_kind)):
        print(f"\n{title:24} planted  named")
        for name, results in sorted(rows.items()):
            print(f"{name:24} {len(results):7} {sum(results):6}")
    named_count = sum(map(sum, by_kind.values()))
    print(f"\n{named_count} of {len(faults)} are named")
    return int(named_count < LEAST_NAMED * len(faults))


if __name__ == "__main__":
    sys.exit(main())
