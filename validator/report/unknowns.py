"""What could not run, by what would let it run."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from speccheck.validator.evidence.record import Record
from speccheck.validator.report.style import Style, counted, printable, wrap
from speccheck.validator.report.summary import LEVEL_WORDS
from speccheck.validator.rule import by_clause
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.run.run import RunResult
from speccheck.validator.sources.context import FLAGS

_SCALE = "--nodes and --gpus-per-node"
_GPU = "--gpu or --instance"
_EXACT_GPU = "--gpu by its full name (H100-SXM5-80GB) or --instance"
# Leaves that follow from others: the options that let them follow.
_OPTIONS = {
    **FLAGS,
    "cluster.nodes": _SCALE,
    "cluster.world_size": _SCALE,
    "cluster.size_class": _SCALE,
    "parallelism.data_parallel_size": _SCALE,
    "cluster.accelerator_memory_bytes": _GPU,
    "cluster.compute_capability": _GPU,
    "cluster.has_nvlink": _GPU,
    "cluster.accelerator_family": _GPU,
    # GPUs of one name differ in these.
    "cluster.peak_bf16_flops_per_second": _EXACT_GPU,
    "cluster.memory_bytes_per_second": _EXACT_GPU,
    "cluster.power_watts": _EXACT_GPU,
    "cluster.nvlink_bytes_per_second": _EXACT_GPU,
    "cluster.nic_bits_per_second_per_gpu": "--instance",
    "cluster.nvlink_domain_size": "--nvlink-domain or --instance",
    "model.adapter": "model.adapter",  # no file says what a program trains
}
# What a type of machine has: of one that is known, the catalogue may lack it.
_OF_TYPE = {
    f"profile.{name}"
    for name in ("gpu", "gpus", "network_adapters", "network_kind", "network_names")
}
_FILES = {
    "environment": "the launch script or environment file",
    "parallelism": "the file that states the parallel sizes",
    "model": "the model's config.json or its dimensions",
    "recovery": "the launch script",
    "checkpoint": "the file that states how checkpoints are saved",
}
_MEASURED = {"collective_runs", "copy_tests", "matrix_products", "rdma_transfers"}
_MOST_NEEDS = 8  # of required checks, a row each
_MOST_OTHERS = 5  # of recommended ones, all in a sentence
_WIDEST_NEED = 32
_NUMBER = re.compile(r"\[\d+\]")  # of a part among several: gpus[3].name
_VERB = re.compile(r"^(?:add|pass|needs) ")
_BETWEEN = re.compile(r", (?=(?:add|pass|needs) )")


class MissingFact(Record):
    """What checks wait for: an option, a file, a value, or why there is none.

    Attributes:
        need: in words.
        waiting: how many wait for it, by level and clause; each counts in each plan.

    """

    need: str
    waiting: Mapping[tuple[str, str], int]

    def number_of(self, *levels: str) -> int:
        """Return how many checks of these levels wait for it."""
        return sum(
            number for (level, _), number in self.waiting.items() if level in levels
        )

    def clauses(self, *levels: str) -> list[str]:
        """Return the clauses of these levels that wait for it."""
        return sorted(clause for level, clause in self.waiting if level in levels)


class NotRun(Record):
    """The checks of a run that apply and did not run.

    Attributes:
        gaps: what would let them run, that of most required checks first.
        counts: of checks, by level; one that waits for two things counts once.
        unwritten: checks that no rule judges yet, by level.
        doubtful: required checks that only an estimate speaks against.

    """

    gaps: tuple[MissingFact, ...]
    counts: Mapping[str, int]
    unwritten: Mapping[str, Sequence[str]]
    doubtful: tuple[str, ...] = ()

    @property
    def required(self) -> int:
        """How many of them are required, and a fact would let them run."""
        return self.counts["must"]

    @property
    def others(self) -> int:
        """How many of them are recommended or optional."""
        return self.counts["should"] + self.counts["may"]


def not_run(plans: Iterable[JudgedPlan]) -> NotRun:
    """Return what could not run in the plans, by what it waits for."""
    gaps: dict[str, Counter[tuple[str, str]]] = {}
    counts: Counter[str] = Counter()
    unwritten: dict[str, list[str]] = {"must": [], "should": [], "may": []}
    doubtful: list[str] = []
    for plan in plans:
        needs = _needs(plan)
        for clause in by_clause(
            located.finding for located in plan.findings if not located.finding.edition
        ):
            if clause.outcome != "unknown":
                continue
            if clause.clause not in needs:
                doubtful.append(clause.clause)
            elif None in needs[clause.clause]:
                unwritten[clause.clause_level].append(clause.clause)
            else:
                counts[clause.clause_level] += 1
                for need in filter(None, needs[clause.clause]):
                    key = clause.clause_level, clause.clause
                    gaps.setdefault(need, Counter())[key] += 1
    facts = (MissingFact(need, waiting) for need, waiting in gaps.items())
    ranked = sorted(facts, key=_rank)
    return NotRun(tuple(ranked), counts, unwritten, tuple(doubtful))


def _rank(fact: MissingFact) -> tuple[int, int, str]:
    return -fact.number_of("must"), -fact.number_of("should", "may"), fact.need


def _needs(plan: JudgedPlan) -> dict[str, dict[str | None, None]]:
    """Return what each clause of a plan waits for; None for a rule not written."""
    knows_scale = plan.plan.value("cluster.world_size").value is not None
    knows_type = plan.plan.value("cluster.instance_type").value is not None
    knows_gpu = plan.plan.value("cluster.compute_capability").value is not None
    needs: dict[str, dict[str | None, None]] = {}
    for located in plan.findings:
        finding = located.finding
        if finding.outcome != "unknown":
            continue
        way = ways_to_know(
            finding.missing,
            finding.message,
            knows_scale=knows_scale,
            knows_type=knows_type,
            knows_gpu=knows_gpu,
        )
        is_unwritten = not finding.rule and not finding.missing
        need = None if is_unwritten else supplier(way)
        needs.setdefault(finding.clause, {})[need] = None
    return needs


def supplier(way: str) -> str:
    """Return what would supply a fact, without the verb: `--gpu or --instance`."""
    parts = (_VERB.sub("", part) for part in _BETWEEN.split(way))
    return " and ".join(part.removesuffix(" as well") for part in parts).removesuffix(
        "."
    )


def unknown_lines(run: RunResult, style: Style, *, full: bool) -> Iterator[str]:
    """Yield what could not run, by what would let it; required checks first."""
    result = not_run(run.plans)
    areas = run.edition.areas
    if result.required:
        yield wrap(not_run_head(result), style.width, "")
        gaps = [gap for gap in result.gaps if gap.number_of("must")]
        shown = gaps if full else gaps[:_MOST_NEEDS]
        yield from _rows(shown, ("must",), areas, style, full=full)
        if len(shown) < len(gaps):
            yield f"  and {counted(len(gaps) - len(shown), 'other fact')} (--full)"
    if result.doubtful:
        yield _in_doubt(result.doubtful, style)
    if result.others:
        yield from _others(result, areas, style, full=full)
    for level, clauses in result.unwritten.items():
        if clauses and (full or level == "must"):
            yield _unwritten(clauses, level, style, full=full)


def not_run_head(result: NotRun) -> str:
    """Return how many required checks could not run."""
    tail = "Tell me more and they will:" if result.required > 1 else "It needs:"
    return f"{counted(result.required, 'required check')} could not run. {tail}"


def _rows(
    gaps: Sequence[MissingFact],
    levels: tuple[str, ...],
    areas: Mapping[str, str],
    style: Style,
    *,
    full: bool,
) -> Iterator[str]:
    """Yield each fact with the areas of the checks that it lets run."""
    short = [len(gap.need) for gap in gaps if len(gap.need) <= _WIDEST_NEED]
    column = max(short, default=0)
    for gap in gaps:
        lets = _lets(gap, levels, areas, full=full)
        if len(gap.need) <= column:
            indent = " " * (column + 5)
            lines = wrap(lets, style.width, indent).lstrip()
            yield f"  {printable(gap.need):<{column}}   {lines}"
        else:
            yield _hanging(f"{gap.need}: {lets}", style)


def _hanging(text: str, style: Style) -> str:
    first, *rest = wrap(printable(text), style.width - 2, "  ").splitlines()
    return "\n".join((first, *(f"  {line}" for line in rest)))


def _lets(
    gap: MissingFact, levels: tuple[str, ...], areas: Mapping[str, str], *, full: bool
) -> str:
    """Return `memory (2), kernels (1)`, with the clauses where all is shown."""
    numbers: Counter[str] = Counter()
    for (level, clause), number in gap.waiting.items():
        if level in levels:
            numbers[clause.partition("-")[0]] += number
    text = ", ".join(
        f"{_lower(areas.get(area, area))} ({number:,})"
        for area, number in numbers.most_common()
    )
    return f"{text}: {', '.join(gap.clauses(*levels))}" if full else text


def _lower(title: str) -> str:
    """Return the title of an area inside a sentence: names keep their capitals."""
    return title if title[1:] != title[1:].lower() else title.lower()


def _in_doubt(clauses: Sequence[str], style: Style) -> str:
    names = ", ".join(dict.fromkeys(clauses))
    verb, them = ("is", "it") if len(clauses) == 1 else ("are", "them")
    number = f"{counted(len(clauses), 'required check')} {verb} in doubt"
    text = f"{number}: only an estimate speaks against {them} ({names})."
    return wrap(text, style.width, "")


def _unwritten(clauses: Sequence[str], level: str, style: Style, *, full: bool) -> str:
    """Return that checks apply which no rule judges: no evidence lets them run."""
    number = counted(len(clauses), f"{LEVEL_WORDS[level]} check")
    names = f": {', '.join(dict.fromkeys(clauses))}" if full else ""
    return wrap(f"{number} without a rule yet{names}.", style.width, "")


def _others(
    result: NotRun, areas: Mapping[str, str], style: Style, *, full: bool
) -> Iterator[str]:
    """Yield the recommended checks: in a sentence, with rows where all is shown."""
    levels = ("should", "may")
    gaps = sorted(
        (gap for gap in result.gaps if gap.number_of(*levels)),
        key=lambda gap: (-gap.number_of(*levels), gap.need),
    )
    number = counted(result.others, "recommended check")
    also = " either" if result.required else ""
    if full:
        yield f"{number} could not run{also}:"
        yield from _rows(gaps, levels, areas, style, full=True)
        return
    named = [gap for gap in gaps if len(gap.need) <= _WIDEST_NEED][:_MOST_OTHERS]
    needs = [f"{printable(gap.need)} ({gap.number_of(*levels):,})" for gap in named]
    rest = len(gaps) - len(named)
    if rest:
        needs.append(counted(rest, "other fact") if needs else counted(rest, "fact"))
    words = ", ".join(needs[:-1]) + (" and " if needs[1:] else "") + needs[-1]
    they = "It needs" if result.others == 1 else "They need"
    yield wrap(f"{number} could not run{also}. {they} {words}.", style.width, "")


def ways_to_know(
    missing: tuple[str, ...],
    message: str,
    *,
    knows_scale: bool,
    knows_type: bool = True,
    knows_gpu: bool = False,
) -> str:
    """Return what would give missing leaves: options, files, or the leaves.

    Args:
        missing: names of leaves.
        message: why they are missing, for those that nothing can supply.
        knows_scale: the number of GPUs is known.
        knows_type: the type of the machine is known.
        knows_gpu: the GPU has a name; what still lacks differs among GPUs of the name.

    """
    wanted: dict[str, None] = {}
    for name in missing:
        option = _OPTIONS.get(name)
        if name in _OF_TYPE and not knows_type:
            option = "--instance"
        if option == _GPU and knows_gpu:
            option = _EXACT_GPU
        if option == _SCALE and knows_scale:
            option = "--nodes" if name == "cluster.nodes" else None
        section = name.partition(".")[0]
        if option:
            wanted[f"add {option}"] = None
        elif section in _FILES:
            wanted[f"pass {_FILES[section]} as well"] = None
        elif len(missing) == 1 and (_is_whole_list(name) or _is_measured(name)):
            return _NUMBER.sub("", message)  # it says why there is none
        else:
            wanted[f"needs {_NUMBER.sub('', name)}"] = None
    return ", ".join(wanted) or message


def _is_measured(name: str) -> bool:
    """Return whether a leaf is of a measurement, whose reason says how to measure."""
    return name.partition("[")[0] in _MEASURED


def _is_whole_list(name: str) -> bool:
    """Return whether it is no leaf of the plan or of a part: `gpus` of a machine."""
    return "." not in name and name.islower()
