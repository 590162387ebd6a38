"""Count which statements of launch scripts and manifests stand in their plans.

    python bench/launch_statements.py FILE_OR_FOLDER ... [--list FILE] [--show KIND]
    python bench/launch_statements.py FOLDER --draw 300 [--seed 1]

A plain search of the text, independent of the readers, finds what a file states of
nodes, GPUs a node, degrees of parallelism, batches and sequence length: literals, and
variables that the file sets once to a literal. Each is then looked up in the plan that
speccheck makes of the file: read right, read wrong, unknown with a reason, or silently
missing. With `--draw`, each folder in FOLDER is a repository: files that hold a launch
are drawn from them in turn, and their paths printed.

Exit code: 0 where all bars hold, else 1.
"""

import argparse
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Request
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.run.run import read_plans
from speccheck.validator.sources.context import Context

BARS = {"recognised": 0.98, "right": 0.95, "wrong": 0.003, "missing": 0.02}
SUFFIXES = (".sh", ".bash", ".sbatch", ".slurm", ".sub", ".pbs", ".job", "")
MANIFESTS = (".yaml", ".yml")
MOST_BYTES = 100_000
_NUMBER = (
    r"[\"']?(?P<value>\d{1,7}|\$\{?\w+(?::?[-=]\d{1,7})?\}?)[\"']?(?![\w.$({:,+*/-])"
)


def _flags(*names: str) -> str:
    """Return a pattern of options, with dashes or underscores."""
    joined = "|".join(name.replace("-", "[-_]") for name in names)
    return rf"(?<![\w-])--(?:{joined})(?:=|[ \t]+){_NUMBER}"


def _settings(*names: str) -> str:
    """Return a pattern of dotted settings: `model.tensor_model_parallel_size=4`."""
    return rf"(?<![\w.-])(?:{'|'.join(names)})={_NUMBER}"


def _directives(*names: str) -> str:
    return rf"(?m)^#SBATCH[ \t]+(?:{'|'.join(names)}){_NUMBER}"


def _exports(*names: str) -> str:
    """Return a pattern of variables that programs read: `export DGXNNODES=64`."""
    return rf"(?m)^[ \t]*(?:export[ \t]+)?(?:{'|'.join(names)})={_NUMBER}"


_OF_MODEL = r"(?:\+{0,2}(?:model|actor\.megatron|trainer\.strategy)\.)"
PATTERNS: dict[str, tuple[str, ...]] = {
    "cluster.nodes": (
        _flags("nnodes", "num-nodes", "num-machines"),
        _directives("--nodes=", "--nodes[ ]+", "-N[ ]*"),
        _settings(r"trainer\.nnodes", r"\+{0,2}trainer\.num_nodes"),
        _exports("DGXNNODES"),
    ),
    "cluster.gpus_per_node": (
        _flags("nproc-per-node", "gpus-per-node"),
        _directives("--gpus-per-node=(?:\\w+:)*", "--gres=gpu:(?:[a-zA-Z]\\w*:)*"),
        _settings(r"trainer\.n_gpus_per_node", r"\+{0,2}trainer\.devices"),
        _exports("DGXNGPU"),
        rf"(?m)^[ \t]*nvidia\.com/gpu:[ \t]*{_NUMBER}",
    ),
    "parallelism.tensor_parallel_size": (
        _flags("tensor-model-parallel-size"),
        _settings(rf"{_OF_MODEL}tensor_model_parallel_size"),
        _exports("TENSOR_MODEL_PARALLEL"),
    ),
    "parallelism.pipeline_parallel_size": (
        _flags("pipeline-model-parallel-size"),
        _settings(rf"{_OF_MODEL}pipeline_model_parallel_size"),
        _exports("PIPELINE_MODEL_PARALLEL"),
    ),
    "parallelism.context_parallel_size": (
        _flags("context-parallel-size"),
        _settings(rf"{_OF_MODEL}context_parallel_size"),
        _exports("CONTEXT_PARALLEL"),
    ),
    "parallelism.expert_parallel_size": (
        _flags("expert-model-parallel-size"),
        _settings(rf"{_OF_MODEL}expert_model_parallel_size"),
        _exports("EXPERT_MODEL_PARALLEL"),
    ),
    "batch.micro_batch_size": (
        _flags("micro-batch-size", "micro-train-batch-size")
        + "|"
        + _flags("per-device-train-batch-size").replace("<value>", "<other>"),
        _settings(
            rf"{_OF_MODEL}micro_batch_size",
            r"train\.micro_batch_size",
            r"actor_rollout_ref\.actor\.ppo_micro_batch_size_per_gpu",
        ),
    ),
    "batch.global_batch_size": (
        _flags("global-batch-size"),
        _settings(rf"{_OF_MODEL}global_batch_size", r"train\.global_batch_size"),
    ),
    "batch.sequence_length": (
        _flags("seq-length", "max-seq-length", "model-max-length", "cutoff-len"),
        _settings(rf"{_OF_MODEL}encoder_seq_length", r"dataset\.seq_length"),
    ),
}
_LAUNCH = re.compile(
    r"(?:^|[\s\"'&;|(])(?:torchrun|deepspeed|accelerate[ ]+launch|srun|mpirun|mpiexec"
    r"|ray[ ]+job[ ]+submit|swift[ ]+(?:sft|pt|rlhf)|megatron[ ]+(?:sft|pt|rlhf)"
    r"|llamafactory-cli[ ]+train|torch\.distributed\.(?:run|launch)|composer"
    r"|python3?[ ]+[^\n|;]*(?:train|pretrain|finetune|sft|dpo|grpo|main_ppo)\w*)"
    r"(?=[\s\"'\\.]|$)",
    re.MULTILINE,
)
_MANIFEST = re.compile(
    r"(?m)^kind:[ ]*(?:PyTorchJob|MPIJob|TrainJob|JobSet|RayJob|LeaderWorkerSet|Job)\b"
)
_NO_TRAINING = re.compile(
    r"(?i)convert|eval|infer|preprocess|tokeniz|export|merge|generat|serve|prepare"
    r"|checkpoint_util|download|ckpt2|2hf|hf2|unit_test|benchmark_nccl|/tests?/"
)
_TRAINS = re.compile(r"(?i)train|finetun|sft|dpo|grpo|ppo|tuning|recipe")
_COMMENT = re.compile(r"(?m)^[ \t]*#(?!SBATCH).*$")
_SHOWN_ONLY = re.compile(r"(?m)^[ \t]*(?:echo|printf|usage)\b.*$")
_VARIABLE = re.compile(r"\$\{?(\w+)(?::?[-=](\d+))?\}?$")
_SET = re.compile(
    r"(?m)^[ \t]*(?:export[ \t]+|readonly[ \t]+|local[ \t]+)?(\w+)=(?!=)(\S*)"
)


class Statement(NamedTuple):
    """What a file states of a leaf, and what became of it.

    Attributes:
        file: where it stands.
        leaf: of the plan.
        written: all numbers that the file gives it.
        outcome: right, wrong, unknown or missing.
        read: the value in the plan, or the reason why it has none.

    """

    file: str
    leaf: str
    written: tuple[int, ...]
    outcome: str
    read: str


def searched(text: str) -> dict[str, set[int]]:
    """Return the numbers that a plain search finds, by leaf."""
    bare = _SHOWN_ONLY.sub("", _COMMENT.sub("", text))
    sets: dict[str, list[str]] = defaultdict(list)
    for name, value in _SET.findall(bare):
        sets[name].append(value.strip("\"';"))
    result: dict[str, set[int]] = {}
    for leaf, patterns in PATTERNS.items():
        numbers: set[int] = set()
        for pattern in patterns:
            for match in re.finditer(pattern, bare):
                groups = match.groupdict()
                written = groups["value"] or groups.get("other") or ""
                numbers.add(_resolved(written, sets))
        if numbers and -1 not in numbers:
            result[leaf] = numbers
    return result


def _resolved(written: str, sets: dict[str, list[str]], depth: int = 0) -> int:
    """Return the number that a word means; -1 for one that the file does not tell."""
    if written.isdecimal():
        return int(written)
    match = _VARIABLE.match(written)
    if match is None or depth > 3:  # noqa: PLR2004 - a variable of a variable of one
        return -1
    values = [value for value in sets.get(match[1], ()) if match[1] not in value]
    own = [value for value in sets.get(match[1], ()) if match[1] in value]
    if len(values) + len(own) > 1:
        return -1
    if values:
        return _resolved(values[0], sets, depth + 1)
    fallback = _VARIABLE.match(own[0]) if own else match
    if fallback is None or fallback[2] is None:
        return -1
    return int(fallback[2])


def holds_launch(text: str) -> bool:
    """Return whether a text starts a training."""
    bare = _SHOWN_ONLY.sub("", _COMMENT.sub("", text))
    return bool(_LAUNCH.search(bare) or _MANIFEST.search(bare))


def counted(path: Path) -> tuple[bool, list[Statement]]:
    """Return whether a file is recognised as a launch, and its statements."""
    text = path.read_text("utf-8", errors="replace")
    name = str(path)
    plans: list[TrainingPlan] = []
    is_recognised = False
    for statuses, groups in read_plans(Request(arguments=(name,))):
        state = next((s for s in statuses if s.path == name), None)
        is_recognised |= (
            state is not None
            and state.state == "judged"
            and not {*state.format.split("+")} <= {"env"}
        )
        plans += [assemble(g.files, Context()).plan for g in groups]
    return is_recognised, [
        _judged(name, leaf, numbers, plans) for leaf, numbers in searched(text).items()
    ]


def _judged(
    name: str, leaf: str, numbers: set[int], plans: Sequence[TrainingPlan]
) -> Statement:
    """Return what became of a statement in the first plan that speaks of its leaf."""
    outcome, read = "missing", ""
    for plan in plans:
        value = plan.value(leaf)
        if value.value in numbers:
            outcome, read = "right", str(value.value)
        elif value.status == "conflict":
            outcome, read = "unknown", "conflict"
        elif value.value is not None:
            is_default = value.status == "default"
            outcome = "missing" if is_default else "wrong"
            read = "default" if is_default else str(value.value)
        elif value.note:
            outcome, read = "unknown", value.note
        else:
            continue
        break
    return Statement(name, leaf, (*sorted(numbers),), outcome, read)


def launch_files(folder: Path) -> Iterator[Path]:
    """Yield the scripts and manifests of a folder that state something of a launch."""
    for path in sorted(folder.rglob("*")):
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES + MANIFESTS or not path.is_file():
            continue
        if _NO_TRAINING.search(str(path.relative_to(folder))):
            continue
        if path.stat().st_size > MOST_BYTES:
            continue
        text = path.read_text("utf-8", errors="replace")
        if suffix in MANIFESTS and not _MANIFEST.search(text):
            continue
        if suffix == "" and not text.startswith("#!"):
            continue
        is_launch = holds_launch(text) and _TRAINS.search(text)
        if (is_launch or "DGXNNODES=" in text) and searched(text):
            yield path


def drawn(folder: Path, count: int, seed: int, skip: frozenset[str]) -> list[Path]:
    """Return files of all repositories in turn, in random order."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    piles: list[list[Path]] = []
    for repository in sorted(path for path in folder.iterdir() if path.is_dir()):
        pile = [path for path in launch_files(repository) if str(path) not in skip]
        rng.shuffle(pile)
        if pile:
            piles.append(pile)
    result: list[Path] = []
    while piles and len(result) < count:
        result.extend(pile.pop() for pile in piles)
        piles = [pile for pile in piles if pile]
    return result[:count]


def main() -> int:
    """Count, and print the shares beside the bars."""
    parser = argparse.ArgumentParser()
    parser.add_argument("paths", type=Path, nargs="*")
    parser.add_argument("--list", type=Path, help="a file with one path a line")
    parser.add_argument("--draw", type=int, help="print so many drawn paths")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", type=Path, help="paths that are not to be drawn")
    parser.add_argument("--show", nargs="*", default=(), help="outcomes to list")
    options = parser.parse_args()
    if options.draw:
        skip = frozenset(options.skip.read_text().split("\n") if options.skip else ())
        print(*drawn(options.paths[0], options.draw, options.seed, skip), sep="\n")
        return 0
    paths = [
        file
        for path in options.paths
        for file in (launch_files(path) if path.is_dir() else [path])
    ]
    if options.list:
        paths += [Path(row) for row in options.list.read_text().split("\n") if row]
    return _report(paths, options.show)


def _report(paths: Sequence[Path], shown: Sequence[str]) -> int:
    launches = recognised = 0
    statements: list[Statement] = []
    for path in paths:
        is_recognised, of_file = counted(path)
        statements += of_file
        if holds_launch(path.read_text("utf-8", errors="replace")):
            launches += 1
            recognised += is_recognised
            if not is_recognised and "unrecognised" in shown:
                print(f"unrecognised\t{path}")
    for statement in statements:
        if statement.outcome in shown:
            print(*statement[::-1], sep="\t")
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for statement in statements:
        table[statement.leaf][statement.outcome] += 1
        table["all"][statement.outcome] += 1
    kinds = ("right", "wrong", "unknown", "missing")
    print(f"{'':36}{'stated':>8}" + "".join(f"{kind:>9}" for kind in kinds))
    for leaf, row in table.items():
        print(f"{leaf:36}{row.total():8}" + "".join(f"{row[kind]:9}" for kind in kinds))
    total = max(1, len(statements))
    shares = {kind: table["all"][kind] / total for kind in kinds}
    shares["recognised"] = recognised / max(1, launches)
    print(f"recognised {recognised} of {launches} launches")
    for kind in ("recognised", *kinds):
        bar = f"{BARS[kind]:.1%}" if kind in BARS else "-"
        print(f"{kind:12}{shares[kind]:8.1%}  bar {bar}")
    least = all(shares[kind] >= BARS[kind] for kind in ("recognised", "right"))
    most = all(shares[kind] <= BARS[kind] for kind in ("wrong", "missing"))
    return 0 if least and most else 1


if __name__ == "__main__":
    raise SystemExit(main())
