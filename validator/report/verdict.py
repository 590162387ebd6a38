"""The verdict on a run: its exit code, and the first line that every report says.

A word of approval carries the count of required checks that could run: what was not
seen is never a pass.
"""

from collections.abc import Iterable, Iterator

from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.references import NAMED_INPUT
from speccheck.validator.report.style import counted, joined, wrap
from speccheck.validator.report.summary import Summary
from speccheck.validator.rule import by_clause
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.run.run import RunResult

_CERTIFY, _MADE_UP = "certify", "synthetic machines certify nothing"
_GPUS = "gpus"  # of a machine, as a list
_SNAPSHOT = "snapshot"
_WEIGHTS = {"info": 1, "warning": 2, "error": 3}
_DEFAULT_FAIL_ON = "error"
# The verdict as the operator of a machine says it.
_BENCHMARKS = frozenset({"nccl-tests", "nccl-tests-json", "nvbandwidth", "osu"})
_WORDS = {0: "go", 1: "no-go", 3: "inconclusive"}
_INCOMPLETE = "not complete"
_NO_PROBLEMS = "no problems: "


class Demands(Record):
    """What a user wants of a run beside that nothing fails.

    Attributes:
        require: ids of clauses, each of which must be judged and hold.
        min_coverage: the least share of required checks that must run, in percent.
        allows_nothing: files of which none is to be judged are no fault (hooks).

    """

    require: tuple[str, ...] = ()
    min_coverage: float | None = None
    allows_nothing: bool = False


class Exit(Record):
    """The exit code with the reason that every report prints.

    Attributes:
        code: the exit code.
        verdict: as documents for programs name it.
        parts: the reason, one statement each, what decides first.
        word: go or no-go where an operator decides on a machine; else empty.
        because: the option that made the code what it is; empty for the usual way.

    """

    code: int
    verdict: str
    parts: tuple[str, ...]
    word: str = ""
    because: str = ""

    @property
    def reason(self) -> str:
        """The statements in one line."""
        return "; ".join(self.parts)

    @property
    def title(self) -> str:
        """The statement that decides, after the word for an operator."""
        return f"{self.word}: {self.parts[0]}" if self.word else self.parts[0]

    @property
    def details(self) -> tuple[str, ...]:
        """What follows the title."""
        return self.parts[1:]

    @property
    def why(self) -> str:
        """The exit code with the option that made it what it is, if one did."""
        return f"exit {self.code} because of {self.because}" if self.because else ""

    def line(self, dot: str) -> str:
        """Return the whole of it in one line, without the code."""
        return f" {dot} ".join((self.title, *self.details))


def exit_of(
    run: RunResult,
    summary: Summary,
    fail_on: str,
    demands: Demands | None = None,
) -> Exit:
    """Return the exit code, and a reason that names what was waived or made up.

    Args:
        run: what was judged.
        summary: what it comes to.
        fail_on: the level from which on a failure counts.
        demands: what the user wants beside; None for nothing.

    """
    ending = _exit_of(run, summary, fail_on, demands or Demands())
    parts = [*(_lacking_inputs(run) if not ending.code else ()), *ending.parts]
    if summary.waived:
        parts.append(f"{summary.waived:,} waived")
    if summary.loosened:
        parts.append(f"{summary.loosened:,} loosened by tailoring")
    if any(plan.synthetic for plan in run.plans) and _MADE_UP not in parts:
        parts.append("synthetic")
    word = _WORDS.get(ending.code, _INCOMPLETE) if _is_of_machine(run.plans) else ""
    if word:
        parts[0] = parts[0].removeprefix(_NO_PROBLEMS)
    return ending._replace(parts=tuple(parts), word=word)


def _is_of_machine(plans: Iterable[JudgedPlan]) -> bool:
    """Return whether a machine was judged: its operator decides by a word."""
    return any(file.format == _SNAPSHOT for plan in plans for file in plan.files)


def _exit_of(run: RunResult, summary: Summary, fail_on: str, demands: Demands) -> Exit:
    """Return the exit: our bug, bad input, findings, inconclusive, nothing wrong.

    The first that is true counts, in the order 4, 2, 1, 3, 0: a file that could not be
    read must never hide behind the findings of another.
    """
    broken = sum(row["error"] for row in summary.clauses.values())
    if broken:
        text = f"{counted(broken, 'check')} hit a bug of speccheck"
        return Exit(4, "error", (text, *_seen(summary)))
    return (
        _bad_input(run, summary)
        or _findings(summary, fail_on)
        or _unmet(run, summary, demands)
        or _inconclusive(run, summary, demands)
        or _nothing_wrong(run, summary, fail_on)
    )


def _bad_input(run: RunResult, summary: Summary) -> Exit | None:
    bad = [file for file in run.files if is_bad_input(file.state, named=file.named)]
    if bad and (run.plans or any(file.state == "unreadable" for file in bad)):
        text = f"{counted(len(bad), 'file')} could not be judged"
        return Exit(2, "error", (text, *(_seen(summary) if run.plans else ())))
    return None


def _lacking_inputs(run: RunResult) -> tuple[str, ...]:
    """Return which files that others name are not here, as far as one line holds."""
    lacking = {
        finding.finding.message
        for plan in run.plans
        for finding in plan.findings
        if NAMED_INPUT in finding.finding.missing
    }
    if len(lacking) > 1:
        return (f"{len(lacking):,} named files are not here",)
    return tuple(lacking)


def _seen(summary: Summary) -> tuple[str, ...]:
    """Return what is wrong, if anything, and how much could be seen."""
    return tuple(filter(None, (counts(summary), ran(summary))))


def counts(summary: Summary) -> str:
    """Return what is wrong: `2 errors, 1 warning`; empty for nothing."""
    return ", ".join(
        counted(number, level) for level, number in summary.failed.items() if number
    )


def ran(summary: Summary) -> str:
    """Return how many of the required checks could run, or that all of them passed."""
    required = summary.required
    if not required:
        return "no required check applies"
    count = f"{summary.judged_musts:,} of {required:,} required checks"
    has_passed = summary.clauses["must"]["pass"] == required
    return f"{count} passed" if has_passed else f"{count} could run"


def _findings(summary: Summary, fail_on: str) -> Exit | None:
    threshold = _WEIGHTS.get(fail_on)
    if threshold is None or not any(
        number and _WEIGHTS[level] >= threshold
        for level, number in summary.failed.items()
    ):
        return None
    because = "" if summary.failed["error"] else f"--fail-on {fail_on}"
    return Exit(1, "fail", _seen(summary), because=because)


def _unmet(run: RunResult, summary: Summary, demands: Demands) -> Exit | None:
    """Return what the user demands and is not so; more is wrong without any plan."""
    if not run.plans:
        return None
    outcomes = _outcomes(run.plans) if demands.require else {}
    lacking = {
        clause: text
        for clause in demands.require
        if (text := _lacking(outcomes.get(clause, {})))
    }
    texts = [f"{clause} {text}" for clause, text in lacking.items()]
    options = [f"--require {','.join(lacking)}"] if lacking else []
    wanted = demands.min_coverage
    details = _seen(summary)
    if wanted is not None and 100 * (summary.coverage or 0) < wanted:
        texts.append(f"{ran(summary)}, fewer than {wanted:g}%")
        options.append(f"--min-coverage {wanted:g}")
        details = tuple(filter(None, [counts(summary)]))
    if not texts:
        return None
    parts = (", ".join(texts), *details)
    return Exit(3, "inconclusive", parts, because=" and ".join(options))


def _outcomes(plans: Iterable[JudgedPlan]) -> dict[str, dict[str, int]]:
    """Return how many plans each clause came out how in."""
    result: dict[str, dict[str, int]] = {}
    for plan in plans:
        findings = (located.finding for located in plan.findings)
        for clause in by_clause([item for item in findings if not item.edition]):
            counts = result.setdefault(clause.clause, {})
            counts[clause.outcome] = counts.get(clause.outcome, 0) + 1
    return result


# What stands in the way of a clause that must hold, the gravest first.
_IN_THE_WAY = {
    "fail": "failed",
    "waived": "is waived",
    "unknown": "could not run",
}


def _lacking(outcomes: dict[str, int]) -> str:
    """Return why a clause is not seen to hold, in words; empty where it is."""
    for outcome, words in _IN_THE_WAY.items():
        if outcomes.get(outcome):
            return words
    if outcomes.get("pass"):
        return ""
    return "does not apply here" if outcomes else "was not judged"


def _inconclusive(run: RunResult, summary: Summary, demands: Demands) -> Exit | None:
    if not run.plans:
        return _nothing_judged(run, demands)
    if run.use == _CERTIFY and any(plan.synthetic for plan in run.plans):
        return Exit(3, "inconclusive", (_MADE_UP, *_seen(summary)))
    missing = summary.clauses["must"]["unknown"]
    text = ""
    if any(map(has_unlisted_gpus, run.plans)):
        text = "the GPUs of the machine could not be listed"
    elif summary.judged_musts and missing and all(map(_is_measured_alone, run.plans)):
        text = "what was measured has nothing to be held to"
    if text:
        return Exit(3, "inconclusive", (text, *_seen(summary)))
    failed = sum(summary.failed.values()) - summary.warned
    if not summary.judged_musts and (missing or not failed):
        return Exit(3, "inconclusive", tuple(_none_ran(summary)))
    if run.use == "preflight":
        missing -= summary.unwritten
    if run.use != "ci" and missing:
        noun = "required check lacks" if missing == 1 else "required checks lack"
        text = f"{missing:,} {noun} the evidence that {run.use} needs"
        return Exit(3, "inconclusive", (text, *_seen(summary)))
    return None


def _is_measured_alone(plan: JudgedPlan) -> bool:
    """Return whether a plan is a benchmark: its speed is what is to be judged."""
    return all(file.format in _BENCHMARKS for file in plan.files)


def _none_ran(summary: Summary) -> Iterator[str]:
    """Yield that no required check could run, beside what else is wrong."""
    if summary.required == 1:
        yield "the only required check could not run"
    elif summary.required:
        yield f"none of {summary.required:,} required checks could run"
    else:
        yield ran(summary)
    failures = counts(summary)
    if failures:
        yield failures


# What a file is that was not judged, and reads well for all files of a run.
_UNJUDGED = {
    frozenset({"excluded"}): "settings exclude every file",
    frozenset({"template"}): "templates only, which are not rendered yet",
}


def _nothing_judged(run: RunResult, demands: Demands) -> Exit:
    """Return exit 3 for no plan, unless a hook said that this is right."""
    states = frozenset(file.state for file in run.files)
    why = _UNJUDGED.get(states, "no file is a training configuration")
    text = f"nothing was judged: {why}"
    is_right = states and states <= {"excluded", "unrecognised", "template"}
    if demands.allows_nothing and is_right and run.use == "ci":
        return Exit(0, "pass", (text,), because="--allow-nothing")
    return Exit(3, "inconclusive", (text,))


def has_unlisted_gpus(plan: JudgedPlan) -> bool:
    """Return whether a probe looked for GPUs and could not say which there are.

    A capture of another tool need not show them: it is judged by what it shows.
    """
    return any(file.format == _SNAPSHOT for file in plan.files) and any(
        finding.finding.missing == (_GPUS,) and finding.finding.clause_level == "must"
        for finding in plan.findings
    )


def _nothing_wrong(run: RunResult, summary: Summary, fail_on: str) -> Exit:
    """Return that nothing counts against the run: what was seen, never more."""
    parts = [*_praise(summary)]
    if run.use == "preflight" and summary.unwritten:
        number = counted(summary.unwritten, "required check")
        parts.append(f"{number} without a rule yet")
    is_strict = fail_on == _DEFAULT_FAIL_ON or not summary.failed["error"]
    because = "" if is_strict else f"--fail-on {fail_on}"
    return Exit(0, "pass", tuple(parts), because=because)


def _praise(summary: Summary) -> Iterator[str]:
    failures, seen = counts(summary), ran(summary)
    must = summary.clauses["must"]
    if failures:
        yield failures
        yield seen
    elif not summary.required:
        yield f"nothing wrong found; {seen}"
    elif must["pass"] == summary.required:
        yield f"{_NO_PROBLEMS}{seen}"
    else:
        other = " else" if must["waived"] else ""
        yield f"nothing{other} wrong found in {seen.removesuffix(' could run')}"


def is_bad_input(state: str, *, named: bool) -> bool:
    """Return whether input is bad; a folder may hold templates, a named file not."""
    return state == "unreadable" or (named and state not in {"judged", "excluded"})


def first_lines(ending: Exit, dot: str, width: int) -> list[str]:
    """Return the verdict with the exit code at the right, and an option behind it."""
    code = f"exit {ending.code}"
    room = width - len(code) - 2
    parts = (ending.title, *ending.details)
    lines = [
        line
        for text in joined(parts, f" {dot} ", room).splitlines()
        for line in wrap(text, room, "").splitlines()
    ]
    lines[0] = lines[0].ljust(width - len(code)) + code
    return [*lines, *wrap(ending.why, width, "").splitlines()]
