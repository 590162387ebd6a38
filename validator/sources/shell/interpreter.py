"""Follows a shell script through its branches without running anything in it.

Where the text decides a condition, one branch is read; else all are, each on its own
copy of the variables, and what they leave different is unknown afterwards. Functions,
`eval` and the scripts that a command hands to other shells are followed as well.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from types import MappingProxyType
from typing import ClassVar

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.value import branch_condition
from speccheck.validator.sources.shell.directives import (
    read_directives,
)
from speccheck.validator.sources.shell.expansion import (
    Expander,
    Field,
    Scope,
    ShellVariable,
    join_branches,
)
from speccheck.validator.sources.shell.expressions import holds, matches
from speccheck.validator.sources.shell.intake import (
    Finder,
    Intake,
    options_with_files,
)
from speccheck.validator.sources.shell.parser import Parser
from speccheck.validator.sources.shell.script import (
    MAX_CHARACTERS,
    SOURCING,
    Directive,
    Lines,
    Script,
    ScriptProblem,
    ShellAssignment,
    ShellCommand,
    ShellWord,
    with_unix_lines,
)
from speccheck.validator.sources.shell.syntax import (
    BLANK,
    BLANKS,
    BLANKS_AND_QUOTES,
    AndOr,
    AssignmentSyntax,
    Block,
    Calculation,
    Case,
    CommandGroup,
    For,
    Function,
    If,
    Origins,
    Parameter,
    Pipeline,
    PlacedSpan,
    Simple,
    Statement,
    Test,
    TextSpan,
    While,
    WordSyntax,
    coalesce,
    condition_of,
    cut,
    extent_of,
)

_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
# The flags by which launchers take variables for the program.
_FLAGS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("srun", "sbatch", "salloc"), frozenset({"--export"})),
    **dict.fromkeys(
        ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun"),
        frozenset({"-x", "-env", "-genv"}),
    ),
    **dict.fromkeys(("docker", "podman", "nerdctl"), frozenset({"-e", "--env"})),
    **dict.fromkeys(("singularity", "apptainer", "flux"), frozenset({"--env"})),
    "enroot": frozenset({"-e", "--env"}),
}
# Open MPI's list of variables, parted by semicolons (mca_base_env_list).
_LISTS_OF_MPI = frozenset({"mca_base_env_list", "mca_base_env_list_internal"})
# MPICH and Intel MPI: `-genv NCCL_DEBUG WARN`, which also take `NAME=VALUE`.
_NAME_AND_VALUE = frozenset({"-env", "-genv"})
_WRAPPERS = frozenset({"env", "exec", "nohup", "sudo", "time", "timeout", "numactl"})
# Programs that run a command on other machines, and their options with a value.
_REMOTE = {
    "ssh": frozenset("BbcDEeFIiJLlmOopQRSWw"),
    "pdsh": frozenset("MPRfgltuwx"),
    "clush": frozenset("OXfglotuwx"),
}
_PROGRAMS = ("python", "torchrun", "deepspeed", "accelerate")
_TAKE_VARIABLES = frozenset({"env", "sudo"})
_ENV_OPTIONS = frozenset({"-u", "--unset", "-C", "--chdir", "-g", "--user"})
_RUNS_SCRIPT = lazy_pattern(r"-[A-Za-z]*c[A-Za-z]*")
_TAKES_ARGUMENT = lazy_pattern(r"[-+][A-Za-z]*[oO]")
DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})
# How a branch is left by an exit code of failure.
_REFUSED = "exit with a failure"
_NAME = r"[A-Za-z_][A-Za-z_0-9]*"
_IDENTIFIER = lazy_pattern(_NAME)
_NAMED_VALUE = lazy_pattern(rf"({_NAME})=")
_CALCULATED = lazy_pattern(rf"\s*({_NAME})\s*=(?!=)(.*)", re.DOTALL)
_CHANGED = lazy_pattern(
    rf"({_NAME})\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))|(?:\+\+|--)\s*({_NAME})"
)
_MAX_DEPTH = 8
_SPLITTING = frozenset({"-S", "--split-string"})  # of env(1): a command line
_FILE_TESTS = frozenset({"-e", "-f", "-r", "-s"})
_DEEPSPEED_FILE = ".deepspeed_env"
_ARGUMENT = lazy_pattern(r"\$\{?[0-9@*#]")
_QUESTIONS = frozenset(
    {"grep", "egrep", "fgrep", "diff", "cmp", "command", "which", "type", "hash"}
    | {"pgrep", "pidof", "ping", "nc"}
)


def base_name(text: str) -> str:
    """Return the name of a program without its folder."""
    return text.rpartition("/")[2]


def given_variables(spans: Sequence[TextSpan]) -> list[tuple[str, TextSpan]]:
    """Return the variables that a command line sets for the program that it starts."""
    first = base_name(spans[0].text)
    if first in _REMOTE:
        return _given_remotely(_remote_command(spans))
    if first not in _FLAGS and first not in _WRAPPERS:
        return []
    text_lists = _listed_for_mpi(spans)
    flags: frozenset[str] = frozenset()
    in_env = is_value = takes_two = False
    name_before = ""  # of `-genv NAME VALUE`
    for span in spans:
        text = span.text
        name = base_name(text)
        if name.startswith(_PROGRAMS) or name.endswith(".py") or name in _SHELLS:
            break
        if name_before:
            text_lists.append((name_before, span))
            name_before = ""
        elif name in _FLAGS:
            flags = _FLAGS[name]
        elif is_value:
            name_before = "" if _add(span, text_lists) or not takes_two else text
        elif text.partition("=")[0] in flags:
            _add(cut(span, (text.find("=") + 1) or len(text), len(text)), text_lists)
        elif in_env and not text.startswith("-"):
            in_env = _add(span, text_lists)
        is_value = text in flags or (in_env and text in _ENV_OPTIONS)
        takes_two = text in _NAME_AND_VALUE
        in_env = in_env or name in _TAKE_VARIABLES
    return text_lists


def _remote_command(spans: Sequence[TextSpan]) -> Sequence[TextSpan]:
    """Return the words that `ssh HOST` or `pdsh -w HOSTS` hands to other machines."""
    name = base_name(spans[0].text)
    position = 1
    while position < len(spans) and spans[position].text.startswith("-"):
        option = spans[position].text
        takes_next = option[1:] in _REMOTE[name]
        position += 2 if takes_next else 1
    return spans[position + (name == "ssh") :]


def _given_remotely(spans: Sequence[TextSpan]) -> list[tuple[str, TextSpan]]:
    """Return the variables before a command, which the shell of the host sets."""
    text_lists: list[tuple[str, TextSpan]] = []
    for position, span in enumerate(spans):
        if not _add(span, text_lists, "\0"):
            return text_lists + given_variables(spans[position:])
    return text_lists


def _listed_for_mpi(spans: Sequence[TextSpan]) -> list[tuple[str, TextSpan]]:
    """Return the variables of `--mca mca_base_env_list "A=1;B=2"`."""
    listed: list[tuple[str, TextSpan]] = []
    for before, span in pairwise(spans):
        if before.text in _LISTS_OF_MPI:
            _add(span, listed, ";")
    return listed


def _add(
    span: TextSpan, text_lists: list[tuple[str, TextSpan]], between: str = ","
) -> bool:
    """Add `A=1`, or `ALL,A=1,B=2` as Slurm takes it; tells whether any was there."""
    before = len(text_lists)
    position = 0
    for part in span.text.split(between):
        end = position + len(part)
        match = _NAMED_VALUE.match(part)
        if match is not None:
            text_lists.append((match[1], cut(span, position + match.end(), end)))
        elif len(text_lists) > before and part != "ALL":
            # A comma inside a value: `NCCL_SOCKET_IFNAME=eth0,eth1`.
            name, value = text_lists[-1]
            start = position - 1 - len(value.text)
            text_lists[-1] = (name, cut(span, start, end))
        position = end + 1
    return len(text_lists) > before


def nested_script(
    fields: Sequence[Field], spans: Sequence[TextSpan]
) -> tuple[list[PlacedSpan], tuple[TextSpan, ...] | None] | None:
    """Return the script that a command hands to a shell, and the arguments it gets.

    `bash -c '...'` after any launcher, `sbatch --wrap '...'`, and `ssh host '...'`.
    """
    if base_name(spans[0].text) in _REMOTE and BLANKS.search(spans[-1].text):
        return fields[-1].placed, None
    for position, span in enumerate(spans):
        name = base_name(span.text)
        if name in _SHELLS:
            at = _after_options(spans, position + 1)
            if at is not None:
                return fields[at].placed, tuple(spans[at + 2 :])
        elif span.text in _SPLITTING and base_name(spans[position - 1].text) == "env":
            if position + 1 < len(fields):
                return fields[position + 1].placed, None
        elif span.text.startswith("--wrap") and base_name(spans[0].text) == "sbatch":
            if span.text.startswith("--wrap="):
                return _without(fields[position].placed, len("--wrap=")), None
            if position + 1 < len(fields):
                return fields[position + 1].placed, None
    return None


def _after_options(spans: Sequence[TextSpan], position: int) -> int | None:
    """Return where the script stands among a shell's arguments, if there is one."""
    runs_script = False
    while position < len(spans):
        text = spans[position].text
        if not text.startswith(("-", "+")):
            return position if runs_script else None
        runs_script = runs_script or _RUNS_SCRIPT.fullmatch(text) is not None
        position += 2 if _TAKES_ARGUMENT.fullmatch(text) else 1
    return None


def _without(placed: Sequence[PlacedSpan], length: int) -> list[PlacedSpan]:
    """Return what remains of a word after its first characters."""
    rest: list[PlacedSpan] = []
    for span, start, end in placed:
        skipped = min(length, len(span.text))
        length -= skipped
        if skipped < len(span.text):
            tail = cut(span, skipped, len(span.text))
            written = (span.start, span.end) == (start, end)
            rest.append(PlacedSpan(tail, tail.start if written else start, end))
    return rest


def reads_script(spans: Sequence[TextSpan]) -> bool:
    """Return whether a command takes a script from its standard input."""
    first, last = base_name(spans[0].text), base_name(spans[-1].text)
    if first == "sbatch":
        return all(span.text.startswith("-") for span in spans[1:])
    if first in _REMOTE and not _remote_command(spans):
        return True
    return last in _SHELLS or (last == "-s" and base_name(spans[-2].text) in _SHELLS)


def _parameters(block: Block) -> Iterator[Parameter]:
    """Yield the variables that the tests of a condition name."""
    waiting: list[Statement] = [*block]
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, AndOr):
            waiting += [
                statement.first,
                *(following for _, following in statement.rest),
            ]
        elif isinstance(statement, Pipeline):
            waiting += statement.parts
        elif isinstance(statement, Simple | Test):
            for word in statement.words:
                yield from (part for part in word.parts if isinstance(part, Parameter))


Answer = bool | None  # of a test; None where the text alone does not say


class CommandOutcome(Enum):
    """How a statement ends, as far as the text tells.

    LIKELY: a program that is expected to succeed. UNKNOWN: a question, such as
    `[ -f file ]` or `grep -q`, that may be answered either way.
    """

    HOLDS = 1
    FAILS = 2
    LIKELY = 3
    UNKNOWN = 4


def outcome_of(value: bool | None) -> CommandOutcome:  # noqa: FBT001 - a truth value
    """Return the outcome of a condition."""
    if value is None:
        return CommandOutcome.UNKNOWN
    return CommandOutcome.HOLDS if value else CommandOutcome.FAILS


def _holds_argument(span: TextSpan) -> bool:
    """Return whether it holds `${1}` of the outer script, not of the inner."""
    return not span.resolved and _ARGUMENT.search(span.text) is not None


def given(spans: tuple[TextSpan, ...], start: int, *value: int) -> ShellVariable:
    """Return a variable that a command gives to the program that it starts."""
    variable = ShellVariable(spans, exported=True, start=start)
    return variable._replace(value_start=value[0], value_end=value[1])


class Flow:
    """Reads the statements of a script one after the other.

    Keeps the variables, and what the script has been seen to do.

    Attributes:
        inner_exports: of subshells and of nested scripts, which programs there see.
        conditional: how many branches are being read that may not be taken.
        repeats: how many loops and functions are being read; what a text makes the
            reader do again and again counts against its budget.

    """

    def __init__(
        self,
        text: str,
        known: Mapping[str, str],
        find: Finder | None = None,
        name: str = "",
    ) -> None:
        self.lines = Lines(text, name)
        self.intake = Intake(self, find)
        self.expander = Expander(len(text), known)
        self.expander.assign = self._assign_default
        self.directives: list[Directive] = []
        self.commands: list[ShellCommand] = []
        self.assignments: list[ShellAssignment] = []
        self.problems: dict[ScriptProblem, None] = {}
        self.functions: dict[str, Block] = {}
        self.called: set[str] = set()
        self.inner_exports: dict[str, ShellVariable] = {}
        self.conditional = 0
        self.repeats = 0
        self._exports_all = False
        self._rests_on = ""  # the condition of the tests that were decided
        self._local_names: set[str] | None = None
        self._active: list[str] = []  # functions that are being read
        self._outer: ShellCommand | None = None
        self._depth = 0

    def script(self) -> Script:
        """Read the script whole."""
        text = self.lines.text
        root = self.expander.scope
        self.directives += read_directives(text, self.lines)
        self._given_to_job()
        self.block(self.parser(text).script())
        self._uncalled_functions()
        if self.expander.exhausted:
            self.intake.cut_off("expands to more than is read")
        variables = {
            name: self.assignment(name, variable)
            for name, variable in root.changes.items()
            if variable.is_set
        }
        exports = {
            name: self.assignment(name, variable)
            for name, variable in self.inner_exports.items()
        }
        exports.update(
            {
                name: variable
                for name, variable in variables.items()
                if variable.exported
            }
        )
        return Script(
            tuple(self.directives),
            tuple(self.commands),
            tuple(self.assignments),
            variables,
            exports,
            tuple(self.problems),
            tuple(self.intake.taken.values()),
            tuple(self.intake.unseen),
            tuple(self.intake.outputs),
        )

    def _given_to_job(self) -> None:
        """Set `#SBATCH --export=ALL,A=1` and `--export-file` before the first line."""
        for directive in self.directives:
            if directive.name not in {"--export", "--export-file"}:
                continue
            value = directive.value.strip("\"'")
            start = self.lines.offset(directive.line, directive.column)
            start += self.lines.text[start:].find(value)
            span = TextSpan(value, start, start + len(value), resolved=True)
            given: list[tuple[str, TextSpan]] = []
            if directive.name == "--export":
                _add(span, given)
            else:
                how = f"{self.lines.name} gives the job"
                given += self.intake.file_of_variables(span, how)
            for name, variable in given:
                self.set_value(name, variable, variable.start, exported=True)

    def _uncalled_functions(self) -> None:
        """Read the functions that the script itself never calls: others may."""
        for name, body in list(self.functions.items()):
            if name not in self.called:
                self._branch([body])

    def block(self, block: Block) -> CommandOutcome:
        """Read statements until one leaves the block; the outcome is the last one's."""
        outcome = CommandOutcome.HOLDS
        for statement in block:
            if self.expander.scope.stopped:
                break
            if self.repeats and not self.expander.spend(1):
                break
            outcome = self._statement(statement)
        return outcome

    def _statement(self, statement: Statement) -> CommandOutcome:
        return self._READERS[type(statement)](self, statement)

    def _branch(self, blocks: Sequence[Block], *, conditional: bool = True) -> Scope:
        """Read blocks on their own copy of the variables."""
        outer = self.expander.scope
        self.expander.scope = branch = Scope(outer)
        self.conditional += conditional
        for block in blocks:
            self.block(block)
        self.conditional -= conditional
        self.expander.scope = outer
        return branch

    def _join(self, branches: Sequence[Scope], *, may_skip: bool) -> None:
        join_branches(
            self.expander.scope,
            branches,
            self.expander.spend,
            lambda variable: branch_condition(self.lines.line(variable.start)),
            may_skip=may_skip,
        )

    def _and_or(self, statement: AndOr) -> CommandOutcome:
        self._rests_on = ""
        outcome = self._statement(statement.first)
        for operator, following in statement.rest:
            if self.expander.scope.stopped:
                break
            skipped = CommandOutcome.FAILS if operator == "&&" else CommandOutcome.HOLDS
            if outcome is skipped:
                self._look_into((following,), (statement.first,))
                continue
            decided = outcome in {CommandOutcome.HOLDS, CommandOutcome.FAILS}
            # A program is expected to succeed: `cd folder && torchrun ...`.
            if decided or (operator == "&&" and outcome is CommandOutcome.LIKELY):
                outcome = self._under((following,), self._rests_on)
            else:
                self._join([self._branch([(following,)])], may_skip=True)
        return outcome

    def _pipeline(self, statement: Pipeline) -> CommandOutcome:
        outcome = CommandOutcome.LIKELY
        for part in statement.parts:
            outcome = self._statement(part)
        if not statement.negated:
            return outcome
        opposite = {
            CommandOutcome.HOLDS: CommandOutcome.FAILS,
            CommandOutcome.FAILS: CommandOutcome.HOLDS,
        }
        return opposite.get(outcome, CommandOutcome.UNKNOWN)

    def _group(self, statement: CommandGroup) -> CommandOutcome:
        if not statement.subshell:
            return self.block(statement.body)
        self.keep_exports(self._branch([statement.body], conditional=False))
        return CommandOutcome.LIKELY

    def _if(self, statement: If) -> CommandOutcome:
        branches: list[Scope] = []
        self._rests_on = ""
        for condition, body in statement.arms:
            outcome = self.block(condition)
            if outcome is CommandOutcome.FAILS:
                self._look_into(body, condition)
                continue
            if outcome is CommandOutcome.HOLDS and not branches:
                outcome = self._under(body, self._rests_on)
                return self._unless_refused(outcome, condition)
            branches.append(self._branch([body]))
            if outcome is CommandOutcome.HOLDS:
                self._join(branches, may_skip=False)
                return CommandOutcome.LIKELY
        if not branches:
            return self._under(statement.otherwise, self._rests_on)
        branches.append(self._branch([statement.otherwise]))
        self._join(branches, may_skip=False)
        return CommandOutcome.LIKELY

    def _look_into(self, block: Block, tested: Block) -> None:
        """Note what a branch takes in that is skipped while a variable stays empty.

        `CFG=""`, a loop over the arguments that may set it, and
        `if [ -n "$CFG" ]; then source "$CFG"; fi`: what whoever starts the script
        names there is not seen; nor is what a branch sources that a fallback skips
        (`if [ "${DEBUG:-0}" = 1 ]`). Nothing else of the branch is kept.
        """
        outer = self.expander.scope
        self.expander.scope = inner = Scope(outer)
        for part in _parameters(tested):
            variable = outer.get(part.name)
            if variable is not None and variable.conditional and not variable.text():
                self.forget_value(part.name, (part.start, part.end))
        if inner.changes or self._rests_on:
            marks, taken = self._marks(), self.intake.marks()
            exports, functions = dict(self.inner_exports), dict(self.functions)
            exports_all, positional = self._exports_all, self.expander.positional
            rests_on = self._rests_on
            self._branch([block])
            self._return_to(marks)
            self.intake.return_to(taken)
            self.inner_exports, self.functions = exports, functions
            self._exports_all, self.expander.positional = exports_all, positional
            self._rests_on = rests_on
        self.expander.scope = outer

    def _unless_refused(
        self, outcome: CommandOutcome, condition: Block
    ) -> CommandOutcome:
        """Go on behind a check that fails: what it asks for is filled in by hand.

        `if [ -z "$IMAGE" ]; then exit 1; fi` below `IMAGE=""`. What it is then is not
        known.
        """
        scope = self.expander.scope
        if scope.stopped == _REFUSED:
            scope.stopped = ""
            for part in _parameters(condition):
                variable = scope.get(part.name)
                if variable is not None and variable.is_set and not variable.text():
                    self.forget_value(part.name, (part.start, part.end))
        return outcome

    def _for(self, statement: For) -> CommandOutcome:
        words: list[TextSpan] = []
        for word in statement.words or ():
            words += [field.span() for field in self.expander.fields(word)]
        if statement.words is not None and not words:
            return CommandOutcome.LIKELY
        start, end = statement.place
        if len(words) == 1 and words[0].resolved:
            self.set_value(statement.name, words[0], start)
        else:
            self.forget_value(statement.name, (start, end))
        self._loop([statement.body], certain=statement.words is not None)
        return CommandOutcome.LIKELY

    def _while(self, statement: While) -> CommandOutcome:
        before = self._marks()
        outcome = self._statement_outcome(statement.condition)
        self._return_to(before)
        ends = CommandOutcome.HOLDS if statement.until else CommandOutcome.FAILS
        if outcome is ends:
            return CommandOutcome.LIKELY
        certain = outcome in {CommandOutcome.HOLDS, CommandOutcome.FAILS}
        self._loop([statement.condition, statement.body], certain=certain)
        return CommandOutcome.LIKELY

    def _statement_outcome(self, block: Block) -> CommandOutcome:
        """Return the outcome of a condition, without what reading it changes."""
        outer = self.expander.scope
        self.expander.scope = Scope(outer)
        outcome = self.block(block)
        self.expander.scope = outer
        return outcome

    def _marks(self) -> tuple[int, int]:
        return len(self.commands), len(self.assignments)

    def _return_to(self, marks: tuple[int, int]) -> None:
        """Forget what was recorded since the marks were taken."""
        del self.commands[marks[0] :]
        del self.assignments[marks[1] :]

    def _loop(self, blocks: Sequence[Block], *, certain: bool) -> None:
        """Read a body twice: first to see which variables change from turn to turn."""
        outer = self.expander.scope
        self.repeats += 1
        marks = self._marks()
        first = self._branch(blocks)
        self._return_to(marks)
        first.stopped = ""
        head = Scope(outer)
        self.expander.scope = head
        self._join([first], may_skip=True)
        last = self._branch(blocks, conditional=not certain)
        self.expander.scope = outer
        self.repeats -= 1
        last.changes = {**head.changes, **last.changes}
        last.stopped = ""
        if certain:
            outer.changes.update(last.changes)
        else:
            self._join([last], may_skip=True)

    def _case(self, statement: Case) -> CommandOutcome:
        subject = self.expander.span(statement.subject)
        branches: list[Scope] = []
        for patterns, body in statement.arms:
            fits = self._fits(subject, patterns)
            if fits is False:
                self._rests_on = subject.only_if
                self._look_into(body, ())
                continue
            if fits and not branches:
                return self._under(body, subject.only_if)
            branches.append(self._branch([body]))
            if fits:
                self._join(branches, may_skip=False)
                return CommandOutcome.LIKELY
        if branches:
            self._join(branches, may_skip=True)
        return CommandOutcome.LIKELY

    def _fits(self, subject: TextSpan, patterns: Sequence[WordSyntax]) -> bool | None:
        """Return whether a text fits one of the patterns of a case."""
        answers: list[bool | None] = []
        for pattern in patterns:
            span = self.expander.span(pattern)
            known = subject.resolved and span.resolved
            if span.text == "*":
                return True
            answers.append(matches(subject.text, span.text) if known else None)
        return True if True in answers else None if None in answers else False

    def _function(self, statement: Function) -> CommandOutcome:
        self.functions[statement.name] = statement.body
        self.called.discard(statement.name)
        return CommandOutcome.LIKELY

    def _double_test(self, statement: Test) -> CommandOutcome:
        terms = [self.expander.span(word) for word in statement.words]
        return self._decided(terms, self._is_here(terms, patterns=True))

    def _decided(self, terms: Sequence[TextSpan], answer: Answer) -> CommandOutcome:
        """Return the outcome of a test; remembers the condition that it rests on."""
        self._rests_on = self._rests_on or condition_of(terms)
        return outcome_of(answer)

    def _under(self, block: Block, condition: str) -> CommandOutcome:
        """Read a block that runs under a condition; what it leaves set has it too."""
        changes = self.expander.scope.changes
        before = dict(changes) if condition else changes
        outcome = self.block(block)
        if condition and self.expander.spend(len(before)):
            for name, variable in changes.items():
                if before.get(name) is not variable:
                    changes[name] = variable.given(condition)
        return outcome

    def _calculation(self, statement: Calculation) -> CommandOutcome:
        return self.calculate(self.expander.span(statement.expression))

    def parser(self, text: str, origins: Origins | None = None) -> Parser:
        """Make the parser of the script, and of each script inside it."""
        return Parser(text, self.report, origins)

    def keep_exports(self, scope: Scope) -> None:
        """Keep what a subshell exports: programs are started there too."""
        for name, variable in scope.changes.items():
            if variable.exported and variable.is_set:
                self.inner_exports[name] = variable

    def simple(self, simple: Simple) -> CommandOutcome:
        """Read a command with its words, assignments and redirections."""
        if simple.words and simple.words[0].text in DECLARATIONS:
            self.declare(simple)
            return CommandOutcome.HOLDS
        fields = [
            field for word in simple.words for field in self.expander.fields(word)
        ]
        if not fields:
            known = [
                self.assign(assignment, exported=False)
                for assignment in simple.assignments
            ]
            # Only a command that gives the value can fail.
            return CommandOutcome.HOLDS if all(known) else CommandOutcome.LIKELY
        if fields[0].span().text == "read" and self._read_document(simple, fields):
            return CommandOutcome.LIKELY
        outcome = self.builtin(fields)
        if outcome is None:
            outcome = self._run(simple, fields)
        return outcome

    def _run(self, simple: Simple, fields: list[Field]) -> CommandOutcome:
        """Run a function, a script of its own, or a program."""
        spans = [field.span() for field in fields]
        name = spans[0].text
        if self.repeats:
            self.expander.spend(len(spans))
        body = self.functions.get(name)
        if body is not None or name == "eval":
            for syntax in simple.assignments:
                self.assign(syntax, exported=True)
        if body is not None:
            self._call(name, body, tuple(spans[1:]))
            return CommandOutcome.LIKELY
        if name == "eval":
            self._evaluate(simple, fields[1:])
            return CommandOutcome.LIKELY
        if name.startswith("--") and simple.words[0].text == name:
            message = f"{name} is read as a command: the line before has ended it"
            self.report(message, simple.start)
        self._keep_written(simple, fields, spans)
        command = self._command(simple, spans)
        self.commands.append(command)
        if name in SOURCING:
            self.intake.source(simple, spans)
            return CommandOutcome.LIKELY
        self.intake.loads(spans)
        self._nested_scripts(simple, fields, spans, command)
        if name == "exec" and len(spans) > 1:
            self.expander.scope.stopped = "exit"
        question = base_name(name) in _QUESTIONS
        return CommandOutcome.UNKNOWN if question else CommandOutcome.LIKELY

    def _command(self, simple: Simple, spans: Sequence[TextSpan]) -> ShellCommand:
        environment: list[ShellAssignment] = []
        for syntax in simple.assignments:
            value = syntax.value
            placed = self.expander.value(value)
            place = (value.start, value.end)
            variable = given(coalesce(placed), syntax.start, *place)
            environment.append(self.assignment(syntax.name, variable))
        for name, span in (*given_variables(spans), *self._given_by_files(spans)):
            variable = given((span,), span.start, span.start, span.end)
            environment.append(self.assignment(name, variable))
        line = self.lines.line(simple.start)
        if self.conditional > 0:
            end = max((word.end for word in simple.words), default=simple.start)
            spans = [
                span._replace(only_if=branch_condition(line))
                if not span.only_if and simple.start <= span.start < end
                else span
                for span in spans
            ]
        return ShellCommand(
            tuple([self.word(span) for span in spans]),
            tuple(environment),
            line,
            self.conditional > 0,
            self._outer,
        )

    def _call(self, name: str, body: Block, arguments: tuple[TextSpan, ...]) -> None:
        """Read the body of a function with the arguments of a call."""
        self.called.add(name)
        scope = self.expander.scope
        allowed = self.expander.spend(len(scope.changes))
        if not allowed or self._depth >= _MAX_DEPTH or name in self._active:
            return
        kept = (self.expander.positional, self._local_names)
        before = dict(scope.changes)
        self.expander.positional, self._local_names = arguments, set()
        self._active.append(name)
        self._depth += 1
        self.repeats += 1
        self.block(body)
        self.repeats -= 1
        self._depth -= 1
        self._active.pop()
        for local in self._local_names or ():
            scope.changes.pop(local, None)
            if local in before:
                scope.changes[local] = before[local]
        self.expander.positional, self._local_names = kept
        if scope.stopped not in {"exit", _REFUSED}:
            scope.stopped = ""

    def _given_by_files(self, spans: Sequence[TextSpan]) -> list[tuple[str, TextSpan]]:
        """Return what the files set that a command names, or reads of itself."""
        result: list[tuple[str, TextSpan]] = []
        for flag, span in options_with_files(spans):
            how = f"{base_name(spans[0].text)} takes by {flag}"
            result += self.intake.file_of_variables(span, how)
        in_env = False
        for span in spans:
            if in_env and span.text.startswith("$("):
                result += self.intake.lines_of(span)
            in_env = in_env or base_name(span.text) == "env"
            if base_name(span.text).startswith(_PROGRAMS):
                break
        if any(base_name(span.text) == "deepspeed" for span in spans[:_MAX_DEPTH]):
            result += self.intake.beside(_DEEPSPEED_FILE)
        return result

    def _keep_written(
        self, simple: Simple, fields: Sequence[Field], spans: Sequence[TextSpan]
    ) -> None:
        """Keep what goes to a file: `cat > run.sh <<EOF`, `echo "$SCRIPT" > run.sh`."""
        names = [self.expander.span(word).text for word in simple.outputs]
        self.intake.outputs.update(dict.fromkeys(names))
        if not simple.documents:
            is_script = len(spans) == 2 and "\n" in spans[1].text  # noqa: PLR2004 - echo and its text
            if spans[0].text == "echo" and is_script:
                for name in names:
                    self.intake.write(name, fields[1].placed)
            return
        if base_name(spans[0].text) == "tee":
            names += [span.text for span in spans[1:] if span.text[:1] != "-"]
        for name in names:
            self.intake.write(name, self.expander.value(simple.documents[0]))

    def taken_in(self, text: str, origins: Origins) -> None:
        """Read the statements of a file in this place of the script."""
        if self._depth >= _MAX_DEPTH:
            return
        self._depth += 1
        self.block(self.parser(text, origins).script())
        self._depth -= 1
        if self.expander.scope.stopped == "return":
            self.expander.scope.stopped = ""

    def written_value(self, name: str) -> str | None:
        """Return the text that a variable was assigned, as it is written."""
        variable = self.expander.scope.get(name)
        if variable is None or not variable.is_set:
            return None
        return self.lines.written(variable.value_start, variable.value_end)

    def _evaluate(self, simple: Simple, fields: Sequence[Field]) -> None:
        """Read the arguments of `eval`, joined by blanks, as a script."""
        if len(fields) == 1 and fields[0].span().text.startswith("$("):
            word = simple.words[1]
            raw = self.lines.written(word.start, word.end).strip('"')
            offset = raw.find("(") + 1 if raw.startswith("$(") else 1
            self.intake.printed(raw[offset:-1], fields[0].span(), offset)
            return
        if fields and not fields[0].placed[0].span.resolved:
            self.intake.evaluates(fields[0].span())
        placed: list[PlacedSpan] = []
        for field in fields:
            if placed:
                placed.append(PlacedSpan(BLANK, field.start, field.start))
            placed += field.placed
        self.nested(placed)

    def _nested_scripts(
        self,
        simple: Simple,
        fields: Sequence[Field],
        spans: Sequence[TextSpan],
        command: ShellCommand,
    ) -> None:
        """Read the scripts that a command hands to other shells."""
        nested = nested_script(fields, spans)
        if nested is None:
            nested = self._written_script(spans)
        if nested is not None:
            self._inner_shell(*nested, command)
        elif simple.documents and reads_script(spans):
            for document in simple.documents:
                self._inner_shell(self.expander.value(document), None, command)

    def _written_script(
        self, spans: Sequence[TextSpan]
    ) -> tuple[list[PlacedSpan], None] | None:
        """Return a script that a command runs and this one has written."""
        for span in spans:
            document = self.intake.written(span.text) if span.resolved else None
            if document is not None:
                return document, None
        return None

    def _inner_shell(
        self,
        placed: Sequence[PlacedSpan],
        arguments: tuple[TextSpan, ...] | None,
        command: ShellCommand,
    ) -> None:
        scope, outer = self.expander.scope, self._outer
        positional = self.expander.positional
        self.expander.scope = inner = Scope(scope, exported_only=True)
        self.expander.positional, self._outer = arguments, command
        self.nested(placed)
        self.expander.positional, self._outer = positional, outer
        self.expander.scope = scope
        self.keep_exports(inner)

    def nested(self, placed: Sequence[PlacedSpan]) -> None:
        """Read a text that expansions have made."""
        if self._depth >= _MAX_DEPTH:
            return
        spans = [span for span in coalesce(placed, BLANKS_AND_QUOTES) if span.text]
        text = "".join([span.text for span in spans])
        if not self.expander.spend(len(text) // 8):
            return
        origins = Origins(spans)
        positional = self.expander.positional
        if any(_holds_argument(span) for span in spans):
            self.expander.positional = None
        self._depth += 1
        if "#SBATCH" in text:
            self.directives += read_directives(text, self.lines, origins)
        self.block(self.parser(text, origins).script())
        self._depth -= 1
        self.expander.positional = positional

    def report(self, message: str, offset: int) -> None:
        """Note a problem at an offset in the file; of other files they say it."""
        if not self.lines.is_own(offset):
            return
        self.problems[ScriptProblem(message, self.lines.line(offset))] = None

    def word(self, span: TextSpan) -> ShellWord:
        """Return the word that a span makes."""
        return self.lines.word(span)

    def assignment(self, name: str, variable: ShellVariable) -> ShellAssignment:
        """Return what a variable was last assigned."""
        place = (variable.value_start, variable.value_end)
        spans = variable.spans
        if spans is None:
            span = TextSpan(f"${{{name}}}", *place, resolved=False)
        elif len(spans) == 1 and not variable.array:
            span = spans[0]
        else:
            text = (" " if variable.array else "").join([span.text for span in spans])
            resolved = all(span.resolved for span in spans)
            span = TextSpan(text, *place, resolved, condition_of(spans))
        return ShellAssignment(
            name,
            self.word(span),
            variable.exported,
            *self.lines.position(variable.start),
            variable.conditional,
        )

    def _set(self, name: str, variable: ShellVariable) -> None:
        if self._exports_all and not variable.exported:
            variable = variable._replace(exported=True)
        self.expander.scope.changes[name] = variable
        self.assignments.append(self.assignment(name, variable))

    def assign(self, syntax: AssignmentSyntax, *, exported: bool) -> bool:
        """Do an assignment; tells whether the value is known."""
        previous = self.expander.scope.get(syntax.name)
        spans: tuple[TextSpan, ...] | None = None
        array = syntax.elements is not None
        if syntax.elements is not None:
            spans = tuple(
                [
                    field.span()
                    for element in syntax.elements
                    for field in self.expander.fields(element)
                ]
            )
        elif syntax.subscript is None:
            spans = coalesce(self.expander.value(syntax.value))
        if syntax.append and spans is not None and previous is not None:
            spans = self._appended(syntax, previous, spans)
            array = array or previous.array
        if previous is not None:
            exported = exported or previous.exported
        value = syntax.value
        variable = ShellVariable(
            spans,
            array or syntax.subscript is not None,
            exported,
            self.conditional > 0,
            syntax.start,
            value.start,
            value.end,
        )
        text = variable.text()
        if text and not array and self.lines.is_template(syntax.start):
            variable = variable.given(f"{syntax.name} is left at {text}")
        self._set(syntax.name, variable)
        return spans is not None and all(span.resolved for span in spans)

    def _appended(
        self,
        syntax: AssignmentSyntax,
        previous: ShellVariable,
        spans: tuple[TextSpan, ...],
    ) -> tuple[TextSpan, ...] | None:
        if not previous.is_set:
            return spans
        start, end = syntax.start, syntax.start + len(syntax.name)
        before = previous.spans
        if before is None:
            text = f"${{{syntax.name}[@]}}" if previous.array else f"${{{syntax.name}}}"
            before = (TextSpan(text, start, end, resolved=False),)
        allowed = self.expander.spend(len(before))
        if not allowed or (syntax.elements is None and previous.array):
            return None
        if syntax.elements is not None:
            return before + spans
        placed = [PlacedSpan(text_span, start, end) for text_span in before]
        placed += [PlacedSpan(span, span.start, span.end) for span in spans]
        return coalesce(placed)

    def _assign_default(
        self, name: str, value: Sequence[PlacedSpan], part: Parameter
    ) -> None:
        """Assign the default of `${NAME:=value}`."""
        previous = self.expander.scope.get(name)
        start, end = extent_of(value) if value else (part.end, part.end)
        self._set(
            name,
            ShellVariable(
                coalesce(value),
                exported=previous is not None and previous.exported,
                conditional=self.conditional > 0,
                start=part.start,
                value_start=start,
                value_end=end,
            ),
        )

    def declare(self, simple: Simple) -> None:
        """Declare by `export`, `declare`, `local` and the like."""
        command = simple.words[0].text
        fields = [
            field.span()
            for word in simple.words[1:]
            for field in self.expander.fields(word)
        ]
        flags = "".join(
            field.text for field in fields if field.text.startswith(("-", "+"))
        )
        exported = (command == "export" and "n" not in flags) or "x" in flags
        if "f" in flags:
            return
        for syntax in simple.assignments:
            self._remember_local(command, syntax.name)
            self.assign(syntax, exported=exported)
        for span in fields:
            if match := _NAMED_VALUE.match(span.text):
                value = cut(span, match.end(), len(span.text))
                self.set_value(match[1], value, span.start, exported=exported)
            elif exported and span.text.startswith("$"):
                for entry, value in self.intake.lines_of(span):
                    self.set_value(entry, value, value.start, exported=True)
            elif _IDENTIFIER.fullmatch(span.text):
                self._remember_local(command, span.text)
                if exported or "n" in flags:
                    self._export(span.text, exported=exported)

    def _remember_local(self, command: str, name: str) -> None:
        if command == "local" and self._local_names is not None:
            self._local_names.add(name)

    def _export(self, name: str, *, exported: bool) -> None:
        """Mark a variable that the script sets elsewhere, or that it was given."""
        variable = self.expander.scope.get(name) or ShellVariable(None)
        variable = variable._replace(exported=exported)
        if variable.is_set:
            self._set(name, variable)
        else:
            self.expander.scope.changes[name] = variable

    def set_value(
        self, name: str, value: TextSpan, start: int, *, exported: bool = False
    ) -> None:
        """Give a variable a value that a command other than an assignment gives it."""
        self._set(
            name,
            ShellVariable(
                (value,),
                exported=exported,
                conditional=self.conditional > 0,
                start=start,
                value_start=value.start,
                value_end=value.end,
            ),
        )

    def forget_value(self, name: str, place: tuple[int, int]) -> None:
        """Give a variable a value that only the running script would know."""
        previous = self.expander.scope.get(name)
        exported = previous is not None and previous.exported
        start, end = place
        self.expander.scope.changes[name] = ShellVariable(
            None,
            exported=exported,
            conditional=self.conditional > 0,
            start=start,
            value_start=start,
            value_end=end,
        )

    def builtin(self, fields: Sequence[Field]) -> CommandOutcome | None:
        """Do what a command of the shell itself does; None for any other command."""
        name = fields[0].span().text
        act = self._BUILTINS.get(name)
        if act is None:
            return None
        spans = [field.span() for field in fields]
        return act(self, spans)

    def _test(self, spans: list[TextSpan]) -> CommandOutcome:
        terms = spans[1:]
        if spans[0].text == "[" and terms and terms[-1].text == "]":
            terms.pop()
        return self._decided(terms, self._is_here(terms, patterns=False))

    def _is_here(self, terms: list[TextSpan], *, patterns: bool) -> Answer:
        """Return whether a condition holds; a file that is here will be there."""
        texts = [term.text for term in terms]
        negated = texts[:1] == ["!"]
        operator, *names = texts[negated:] or [""]
        if operator in _FILE_TESTS and len(names) == 1 and terms[-1].resolved:
            return not negated if self.intake.has(names[0]) else None
        return holds(terms, patterns=patterns)

    def _unset(self, spans: list[TextSpan]) -> CommandOutcome:
        for span in spans[1:]:
            if _IDENTIFIER.fullmatch(span.text):
                self.expander.scope.changes[span.text] = ShellVariable(())
        return CommandOutcome.LIKELY

    def _read(self, spans: list[TextSpan]) -> CommandOutcome:
        """Run `read`, `mapfile` or `getopts`: any word may name what they set."""
        for span in spans[1:]:
            if _IDENTIFIER.fullmatch(span.text):
                self.forget_value(span.text, (span.start, span.end))
        return CommandOutcome.UNKNOWN

    def _read_document(self, simple: Simple, fields: Sequence[Field]) -> bool:
        """`read -d '' ARGS <<EOF`, `IFS=, read A B <<< "$PAIR"`: tells if it is known.

        Without an empty delimiter only the first line is read, here where the document
        has no other.
        """
        words = [field.span().text for field in fields[1:]]
        takes_all = False
        while words[:1] in (["-r"], ["-rd"], ["-d"]):
            option = words.pop(0)
            if "d" in option and words[:1] != [""]:
                return False
            takes_all = takes_all or "d" in option
            del words[: "d" in option]
        names = [word for word in words if _IDENTIFIER.fullmatch(word)]
        if not names or len(names) < len(words) or len(simple.documents) != 1:
            return False
        document = simple.documents[0]
        place = fields[-1].span()
        value = self.expander.span(document)
        if not takes_all and "\n" in value.text.rstrip("\n"):
            return False
        if len(names) == 1 and not simple.assignments:
            spans = coalesce(self.expander.value(document))
            variable = given(spans, place.start, document.start, document.end)
            self._set(names[0], variable._replace(exported=False))
            return True
        separators = [
            self.expander.span(assignment.value).text
            for assignment in simple.assignments
            if assignment.name == "IFS"
        ]
        if not value.resolved or len(separators) != 1 or len(separators[0]) != 1:
            return False
        parts = value.text.split(separators[0], len(names) - 1)
        first = 0
        for name, part in zip(names, (*parts, *[""] * len(names)), strict=False):
            span = cut(value, first, first + len(part))
            first += len(part) + 1
            self.set_value(name, span, place.start)
        return True

    def _printf(self, spans: list[TextSpan]) -> CommandOutcome:
        if len(spans) > 1 and spans[1].text == "-v":
            self._read(spans[1:3])
        return CommandOutcome.LIKELY

    def _let(self, spans: list[TextSpan]) -> CommandOutcome:
        for span in spans[1:]:
            self.calculate(span)
        return CommandOutcome.UNKNOWN

    def calculate(self, expression: TextSpan) -> CommandOutcome:
        """Run `(( ... ))`: set what it sets, and return whether it is other than 0."""
        match = _CALCULATED.fullmatch(expression.text)
        value: TextSpan | None = None
        if match is not None:
            value = self.expander.calculate(expression._replace(text=match[2]))
        if match is not None and value is not None:
            self.set_value(match[1], value, expression.start)
            return self._decided([value], value.text != "0")
        names = [match[1] or match[2] for match in _CHANGED.finditer(expression.text)]
        for name in names:
            self.forget_value(name, (expression.start, expression.end))
        if names:
            return CommandOutcome.UNKNOWN
        value = self.expander.calculate(expression)
        if value is None:
            return CommandOutcome.UNKNOWN
        return self._decided([value], value.text != "0")

    def _setenv(self, spans: list[TextSpan]) -> CommandOutcome:
        """Run `setenv NAME value` of csh."""
        if len(spans) > 1 and _IDENTIFIER.fullmatch(spans[1].text):
            end = TextSpan("", spans[1].end, spans[1].end, resolved=True)
            value = spans[2] if len(spans) > len("AB") else end
            self.set_value(spans[1].text, value, spans[1].start, exported=True)
        return CommandOutcome.LIKELY

    def _set_options(self, spans: list[TextSpan]) -> CommandOutcome:
        """Run `set`: `-a` exports later assignments, `--` sets arguments."""
        texts = [span.text for span in spans[1:]]
        for position, text in enumerate(texts):
            named = text in {"-o", "+o"} and texts[position + 1 : position + 2]
            if (text[:1] in {"-", "+"} and "a" in text[1:]) or named == ["allexport"]:
                self._exports_all = text[0] == "-"
            if text in {"--", "-"}:
                arguments = tuple(spans[position + 2 :])
                known = all(argument.resolved for argument in arguments)
                self.expander.positional = arguments if known else None
                break
        return CommandOutcome.LIKELY

    def _shift(self, spans: list[TextSpan]) -> CommandOutcome:
        count = spans[1].text if len(spans) > 1 else "1"
        arguments = self.expander.positional
        if arguments is not None:
            known = count.isdecimal() and len(count) < len("1000")
            self.expander.positional = arguments[int(count) :] if known else None
        return CommandOutcome.LIKELY

    def _stop(self, spans: list[TextSpan]) -> CommandOutcome:
        name, *values = [span.text for span in spans]
        is_refusal = name == "exit" and values[:1] not in ([], ["0"])
        self.expander.scope.stopped = _REFUSED if is_refusal else name
        return CommandOutcome.LIKELY

    def _nothing(self, spans: list[TextSpan]) -> CommandOutcome:
        return (
            CommandOutcome.FAILS if spans[0].text == "false" else CommandOutcome.HOLDS
        )

    _READERS: ClassVar[Mapping[type, Callable[..., CommandOutcome]]] = {
        Simple: simple,
        AndOr: _and_or,
        Pipeline: _pipeline,
        CommandGroup: _group,
        If: _if,
        For: _for,
        While: _while,
        Case: _case,
        Function: _function,
        Test: _double_test,
        Calculation: _calculation,
    }

    _BUILTINS: ClassVar[Mapping[str, Callable[..., CommandOutcome]]] = {
        "[": _test,
        "test": _test,
        "unset": _unset,
        "read": _read,
        "mapfile": _read,
        "readarray": _read,
        "getopts": _read,
        "printf": _printf,
        "let": _let,
        "setenv": _setenv,
        "set": _set_options,
        "shift": _shift,
        "exit": _stop,
        "return": _stop,
        "break": _stop,
        "continue": _stop,
        ":": _nothing,
        "true": _nothing,
        "false": _nothing,
    }


_NOTHING_KNOWN: Mapping[str, str] = MappingProxyType({})


def parse_script(
    text: str,
    known: Mapping[str, str] = _NOTHING_KNOWN,
    find: Finder | None = None,
    name: str = "",
) -> Script:
    """Read a script, with the files that it takes in.

    Never raises on what a shell would refuse: what can be read is kept, and the rest
    is noted in `Script.problems`.

    Args:
        text: the script; what is beyond MAX_CHARACTERS is not read.
        known: values of variables that come from outside, such as `SLURM_NNODES`.
        find: returns a file that the script names, by its path.
        name: what messages call the script.
    """
    flow = Flow(with_unix_lines(text[:MAX_CHARACTERS]), known, find, name)
    if len(text) > MAX_CHARACTERS:
        flow.intake.cut_off(f"is read up to character {MAX_CHARACTERS:,} alone")
    if "\r\n" in text:
        flow.report("lines end with a carriage return, which a shell does not skip", 0)
    return flow.script()
