"""Forms that texts of keys must have, and what is counted of values, by their names."""

import itertools
import math
import re
from collections.abc import Callable, Mapping

from speccheck.validator.evidence.lazy_pattern import lazy_pattern

_LONGEST_NUMBER = 40
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def _matches(pattern: str, longest: int = 10_000) -> Callable[[str], bool]:
    compiled = lazy_pattern(pattern)

    def is_of_form(text: str) -> bool:
        return len(text) <= longest and compiled.fullmatch(text) is not None

    return is_of_form


_LAYOUT_LONGEST = 10_000
_LAYOUT_REPEATS = (lazy_pattern(r"\(([^)]+)\)\*(\d+)"), lazy_pattern(r"(.)\*(\d+)"))


def _pipeline_layout(text: str) -> str | None:
    """Return a layout of Megatron-LM's pipeline with its repetitions written out.

    None where the text would grow too long.
    """
    layout = text.replace(",", "")
    for repeat in _LAYOUT_REPEATS:
        parts = [(part[1], part[2]) for part in repeat.finditer(layout)]
        if any(len(times) > len(str(_LAYOUT_LONGEST)) for _, times in parts):
            return None
        grown = len(layout) + sum(len(part) * int(times) for part, times in parts)
        if grown > _LAYOUT_LONGEST:
            return None
        layout = repeat.sub(lambda part: part[1] * int(part[2]), layout)
    return layout


def _is_pipeline_layout(text: str) -> bool:
    """Return whether a text lays out the stages of a pipeline of Megatron-LM.

    A text that would grow too long is let through.
    """
    layout = _pipeline_layout(text)
    return layout is None or re.fullmatch(r"\|*E[t|]*[m|]*L\|*", layout) is not None


_NODES = lazy_pattern(r"\s*(\d*)([kKmM]{0,2})(-(\d+)([kKmM]{0,2}))?\s*")
_NODE_LIST = lazy_pattern(r"[\d,:-]*[,:][\d,:-]*")


def _is_node_count(text: str) -> bool:
    """Return whether sbatch takes a number of nodes, or a range that is none empty."""
    if _NODE_LIST.fullmatch(text):
        return True
    match = _NODES.fullmatch(text)
    if match is None or not (match[1] or match[3]) or len(text) > _LONGEST_NUMBER:
        return False
    if match[3] is None or match[2] or match[5]:
        return True
    return int(match[4]) == 0 or int(match[1] or 1) <= int(match[4])


def _is_node_range(text: str) -> bool:
    """Return whether torchrun takes a number of nodes, or a range of them."""
    least, colon, most = text.partition(":")
    bounds = [least.strip(), most.strip() if colon else least.strip()]
    if not all(bound.isdecimal() for bound in bounds) or len(text) > _LONGEST_NUMBER:
        return False
    return 0 < int(bounds[0]) <= int(bounds[1])


_MAGNITUDES = {"K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_BATCH_STEP = lazy_pattern(r"(\d{1,20}(?:\.\d*)?)\s*([KMBT]?):(\d{1,20})([KMBT]?)")


def _is_batch_schedule(text: str) -> bool:
    """Return whether Megatron-LM takes steps of a batch size: `0:256 1.5B:512`.

    Thresholds begin at 0 and differ, and no batch is empty. What is written in
    another way is let through.
    """
    steps = [
        _BATCH_STEP.fullmatch(step.upper()) for step in text.replace(",", " ").split()
    ]
    known = [step for step in steps if step is not None]
    if len(known) < len(steps):
        return all(":" in step for step in text.replace(",", " ").split())
    thresholds = [int(float(step[1]) * _MAGNITUDES.get(step[2], 1)) for step in known]
    is_rising = len({*thresholds}) == len(thresholds)
    return (
        min(thresholds, default=1) == 0 and is_rising and all(int(s[3]) for s in known)
    )


FORMS: Mapping[str, Callable[[str], bool]] = {
    # Kubernetes: RFC 1123 and 1035 names
    "dns_label": _matches(_DNS_LABEL, 63),
    "dns_subdomain": _matches(rf"{_DNS_LABEL}(\.{_DNS_LABEL})*", 253),
    "label_value": _matches(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?", 63),
    "power_of_two": lambda text: (
        text.isdecimal() and int(text) > 0 and int(text) & (int(text) - 1) == 0
    ),
    # Slurm: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:...]
    "slurm_time": _matches(
        r"(?i)\d+(:\d+){0,2}|\d*-(\d+(:\d+){0,2})?|infinite|unlimited|-1"
    ),
    "slurm_memory": _matches(r"(?i)\+?\d+([kmgt]b?)?"),
    # Slurm: node7, node[1-4,8], a path of a file, {...} that slurmctld fills in
    "slurm_hosts": _matches(r"[^\[\]]*(\[[\w,-]+\][^\[\]]*)*|.*[/{].*"),
    # Slurm: gpu, gpu:8, gpu:a100:8, and others behind commas
    "slurm_gres": _matches(
        r"(?i){0}(,{0})*".format(r"[^:=,]*([:=][^:=,]*)?([:=]\d+[kmgtpe]?(i?b)?)?")
    ),
    # Slurm: 4, 2-8, 1k, a list of sizes
    "slurm_nodes": _is_node_count,
    # torchrun: 4, 2:8
    "torchrun_nodes": _is_node_range,
    "kubernetes_quantity": _matches(
        r"[+-]?(\d+(\.\d*)?|\.\d+)(([KMGTPE]i)|[numkMGTPE]|[eE][+-]?\d+)?"
    ),
    "whole_number": _matches(r"\s*[-+]?\d+\s*"),
    # Megatron-LM: E embedding, t layer, m prediction layer, L loss, | between stages
    "megatron_pipeline_layout": _is_pipeline_layout,
    # Megatron-LM: `0:256 1.5B:512`
    "megatron_batch_schedule": _is_batch_schedule,
    "host_and_port": _matches(r".*:\d{1,5}"),
}


def _length(value: object) -> float | None:
    return len(value) if isinstance(value, list | dict) else None


def _numbers(value: object) -> list[float]:
    """Return the numbers of a list, or of the words of a text; nothing of any other."""
    items = value.split() if isinstance(value, str) else value
    numbers = list(map(_number, items if isinstance(items, list) else [items]))
    return [] if None in numbers else [item for item in numbers if item is not None]


def _number(item: object) -> float | None:
    """Return a number, or what a text says that is not too long for any."""
    if isinstance(item, bool) or not isinstance(item, int | float | str):
        return None
    if isinstance(item, str) and len(item) > _LONGEST_NUMBER:
        return None
    try:
        number = float(item)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _of_numbers(
    reckon: Callable[[list[float]], float],
) -> Callable[[object], float | None]:
    def measure(value: object) -> float | None:
        numbers = _numbers(value)
        return reckon(numbers) if numbers else None

    return measure


def _of_layout(symbol: str, beside: int = 0) -> Callable[[object], float | None]:
    """Return how often a layout of a pipeline has a symbol."""

    def measure(value: object) -> float | None:
        layout = _pipeline_layout(value) if isinstance(value, str) else None
        return None if layout is None else layout.count(symbol) + beside

    return measure


def _least_step(numbers: list[float]) -> float:
    """Return by how much each number is above the one before, at least."""
    steps = [after - before for before, after in itertools.pairwise(numbers)]
    return min(steps, default=math.inf)


def _stages_of_predictions(value: object) -> list[int]:
    """Return the stages of a layout of a pipeline that predict further tokens."""
    layout = _pipeline_layout(value) if isinstance(value, str) else None
    stages = (layout or "").split("|")
    return [number for number, stage in enumerate(stages) if "m" in stage]


_LISTED = lazy_pattern(r"\[[\d,]*\]|\d{1,6}|[()*+]")


def _listed_length(value: object) -> float | None:
    """Return how many items `([0]+[1]*3)*2` stands for; None for what is no list."""
    text = "".join(value.split()) if isinstance(value, str) else ""
    words = _LISTED.findall(text[:_LAYOUT_LONGEST])
    if "[" not in text or "".join(words) != text:
        return None
    lengths = [0.0]  # of the open brackets, the innermost last
    previous = 0.0  # what a repetition repeats
    repeats = False
    for word in words:
        if word == "(":
            lengths.append(0)
        elif word == ")":
            if len(lengths) == 1:
                return None
            previous = lengths.pop()
            lengths[-1] += previous
        elif word == "*":
            repeats = True
        elif word.startswith("["):
            previous = len(word[1:-1].rstrip(",").split(",")) if word != "[]" else 0
            lengths[-1] += previous
        elif word.isdecimal():
            if not repeats:
                return None
            lengths[-1] += previous * (int(word) - 1)
            previous *= int(word)
            repeats = False
    return lengths[0] if len(lengths) == 1 else None


def _main_pattern(value: object) -> str | None:
    """Return the part of a hybrid model's pattern before its predictions of tokens."""
    return value.partition("/")[0] if isinstance(value, str) else None


def _hybrid_layers(value: object) -> float | None:
    pattern = _main_pattern(value)
    return None if pattern is None else len(pattern) - pattern.count("|")


def _hybrid_segments(value: object) -> float | None:
    pattern = _main_pattern(value)
    return None if pattern is None else pattern.count("|") + 1


def _indivisible_steps(numbers: list[float]) -> float:
    """Return how often a number is neither a multiple nor a part of the one before."""
    pairs = [sorted(pair) for pair in itertools.pairwise(numbers)]
    return sum(low == high or low <= 0 or high % low != 0 for low, high in pairs)


def _attention_layers(value: object) -> float | None:
    """Return how many layers GPT-NeoX deals kinds of attention to."""
    if not isinstance(value, list):
        return None
    if all(isinstance(item, str) for item in value):
        return len(value)
    count = 0
    for item in value:
        match item:
            case [list() as kinds, int() as times]:
                count += len(kinds) * times
            case _:
                return None
    return count


def _entries(value: object) -> float | None:
    """Return how many entries a list has, or a text with commas between them."""
    match value:
        case str():
            return value.count(",") + 1
        case list():
            return len(value)
        case bool() | int() | float():
            return 1
        case _:
            return None


# What is counted of a value that is no number; None where it has nothing of the kind.
MEASURES: Mapping[str, Callable[[object], float | None]] = {
    "length": _length,
    "entries": _entries,
    "sum": _of_numbers(math.fsum),
    "product": _of_numbers(math.prod),
    "smallest": _of_numbers(min),
    "largest": _of_numbers(max),
    "first": _of_numbers(lambda numbers: numbers[0]),
    "least_step": _of_numbers(_least_step),
    "indivisible_steps": _of_numbers(_indivisible_steps),
    "different_values": lambda value: (
        len({str(item) for item in value}) if isinstance(value, list) else None
    ),
    # GPT-NeoX: `[[["global", "local"], 12]]`
    "attention_layers": _attention_layers,
    # Megatron-LM: `Ettt|(tt|)*29,m|L`
    "pipeline_stages": _of_layout("|", 1),
    "pipeline_layers": _of_layout("t"),
    "pipeline_prediction_layers": _of_layout("m"),
    "pipeline_stages_with_predictions": lambda value: len(
        _stages_of_predictions(value)
    ),
    "pipeline_stages_before_predictions": lambda value: min(
        _stages_of_predictions(value), default=None
    ),
    # Megatron-LM: `([0]+[1]*3)*2`
    "listed_length": _listed_length,
    # Megatron-LM: `M-M-|M*M-/MM/MM`
    "hybrid_layers": _hybrid_layers,
    "hybrid_segments": _hybrid_segments,
    "hybrid_predictions": lambda value: (
        value.count("/") if isinstance(value, str) else None
    ),
}
