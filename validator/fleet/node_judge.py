"""Judges node after node, and asks each rule only about what is new to it.

A rule is a pure function of what it reads. Of one node it is noted what each rule reads
of its snapshot; of the next like it, only rules are asked again that read a leaf which
differs. What comes out is what asking all rules about each node would give
(tests/test_fleet_judge.py holds it to that), in a tenth of the time.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from speccheck.validator.engine.assemble import PlanEvidence, assemble
from speccheck.validator.engine.judge import RuleCall
from speccheck.validator.engine.judges import Judges
from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.evidence.node.node import ALL, Node
from speccheck.validator.evidence.node.part import Frame
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.fleet.differences import Reference, shape
from speccheck.validator.fleet.node_evidence import NodeEvidence
from speccheck.validator.fleet.passing import Passing
from speccheck.validator.fleet.shared_values import (
    SHARED_LEAVES,
    Profile,
    shared_profile,
)
from speccheck.validator.rule import OF_FILES
from speccheck.validator.sources.facts import FactSheet
from speccheck.validator.sources.files import FileStatus, ReadFile
from speccheck.validator.sources.formats.snapshot import (
    FORMAT,
    node_of,
    node_reading,
)
from speccheck.validator.sources.reader import Reading
from speccheck.validator.sources.source import Source

Content = Mapping[str, Any]
VerdictOf = Callable[[Sequence[Finding]], str]
# Where one node is called in findings that many have: each has a file of its own.
ANY_NODE = "node"
_WHOLE = -1  # all pieces of an answer
_MOST_KINDS = 32  # of nodes that are kept to compare with; 0.5 MB each
# Of the questions; a node that needs more of them asked again is one of a new kind.
_MOST_ASKED = 0.3
_SILENT = frozenset({"pass", "not_applicable"})


class JudgedNode(Record):
    """A node: the word of its verdict, and what neither passes nor does not apply.

    profile: what it says of what all nodes should share. job: the word of the verdict
    on the files of the job, which no node is to blame for.
    """

    verdict: str
    findings: tuple[Finding, ...]
    profile: Profile
    job: str = ""


class _Answer(Record):
    """What a rule says of a node, piece by piece."""

    call: RuleCall
    pieces: tuple[tuple[Finding, ...], ...]
    rest: tuple[Finding, ...]

    @property
    def findings(self) -> list[Finding]:
        found = [one for piece in self.pieces for one in piece]
        found += self.rest
        return self.call.counting(found or self.call.rule.silent)


class _Kind:
    """A node in full: its content, who read what of it, and what was found."""

    def __init__(self, content: Content, facts: object) -> None:
        self.reference = Reference(content)
        self.facts = facts
        self.evidence: PlanEvidence
        self.read_first: frozenset[KeyPath] = frozenset()  # before any rule was asked
        self.found: list[Finding] = []
        self.answers: list[_Answer] = []
        self.readers: dict[KeyPath, set[tuple[int, int]]] = {}
        self.passing: list[Passing] = []  # of each answer
        self.frames: dict[KeyPath, Frame] = {}
        self.profile = shared_profile(content)
        self._of_job: dict[type, object] | None = None
        self.judged: JudgedNode

    @property
    def of_job(self) -> Mapping[type, object]:
        """The evidence of the plan, without that of the node."""
        if self._of_job is None:
            self._of_job = {
                kind: found
                for kind, found in self.evidence.by_kind.items()
                if kind not in ALL and kind is not Conditions
            }
        return self._of_job

    def watch(self) -> None:
        """Compare what anybody looked at, and what all nodes should share."""
        paths = (*self.readers, *self.read_first)
        leaves = {(str(one[0]), str(one[-1])) for one in paths if len(one) > 1}
        self.reference.watch(leaves | SHARED_LEAVES)

    def readers_of(self, changed: Iterable[KeyPath]) -> dict[int, set[int]]:
        """The answers that may be others now, each with its pieces."""
        asked: dict[int, set[int]] = {}
        for path in changed:
            for answer, piece in self.readers.get(path, ()):
                asked.setdefault(answer, set()).add(piece)
        return asked


class NodeJudge:
    """Judges nodes as parts of one job, or by themselves."""

    def __init__(
        self, judges: Judges, verdict_of: VerdictOf, job: Sequence[ReadFile] = ()
    ) -> None:
        """Begin.

        Args:
            judges: by the settings of the run.
            verdict_of: what findings of a node come to, in one word.
            job: the files of the job that is to run on the nodes.

        """
        self._judges = judges
        self._verdict_of = verdict_of
        self._job = tuple(job)
        self._kinds: dict[tuple[object, ...], dict[object, _Kind]] = {}
        self._count = 0
        self._of_job = of_job(judges)

    def __call__(self, content: Content) -> JudgedNode:
        """Judge a node by the content of its snapshot; raises ReadError for none."""
        form = shape(content)
        kinds = self._kinds.get(form, {})
        if not kinds:
            return self._anew(content, form)
        kind = next(reversed(kinds.values()))  # that of the last node is most likely
        changed = set(kind.reference.differences(content))
        if not changed.isdisjoint(kind.read_first):
            facts = _facts(_reading(node_of(content, ANY_NODE)))
            if facts != kind.facts:
                known = kinds.pop(facts, None)
                if known is None:
                    return self._anew(content, form)
                kinds[facts] = kind = known  # the last one now
                changed = set(kind.reference.differences(content))
        asked = kind.readers_of(changed)
        if len(asked) > _MOST_ASKED * len(kind.answers) and self._may_keep_more():
            return self._anew(content, form)
        judged = self._again(kind, content, asked, changed) if asked else kind.judged
        if any((one[0], one[-1]) in SHARED_LEAVES for one in changed):
            return judged._replace(profile=shared_profile(content))
        return judged

    def _may_keep_more(self) -> bool:
        return self._count < _MOST_KINDS

    def _anew(self, content: Content, form: tuple[object, ...]) -> JudgedNode:
        """Ask all rules, and keep what each of them read."""
        reads: set[KeyPath] = set()
        node = node_of(content, ANY_NODE, reads)
        reading = _reading(node)
        facts = _facts(reading)
        kind = _Kind(content, facts)
        evidence = kind.evidence = assemble(
            (*self._job, _file(reading)), self._judges.request.judging.context
        )
        kind.read_first = frozenset(reads)
        judge = self._judges.of(
            evidence.plan, scopes=evidence.scopes, measured=evidence.measured
        )
        kind.found, calls = judge.calls(evidence)
        for call in calls:
            kind.answers.append(_asked(kind, call, reads))
        kind.watch()
        findings = kind.found + [o for one in kind.answers for o in one.findings]
        kind.judged = self._judged(findings, kind.profile)
        if not self._may_keep_more():
            self._kinds.clear()
            self._count = 0
        self._kinds.setdefault(form, {})[facts] = kind
        self._count += 1
        return kind.judged

    def _again(
        self,
        kind: _Kind,
        content: Content,
        asked: Mapping[int, set[int]],
        changed: set[KeyPath],
    ) -> JudgedNode:
        """Ask some rules again, about what is new to them."""
        is_listed_otherwise = any(len(one) == 1 for one in changed)
        asking = _Asking(kind, content, may_know=not is_listed_otherwise)
        is_otherwise = False
        answers: dict[int, _Answer] = {}
        for number, pieces in asked.items():
            known = kind.answers[number]
            answer = asking.answer(number, pieces)
            if answer is not known:
                answers[number] = answer
                is_otherwise = is_otherwise or _weights(answer) != _weights(known)
        if not answers:
            return kind.judged
        findings = kind.found + [
            found
            for number, known in enumerate(kind.answers)
            for found in answers.get(number, known).findings
        ]
        verdict = None if is_otherwise else kind.judged.verdict
        return self._judged(findings, kind.profile, verdict)

    def _judged(
        self, findings: Sequence[Finding], profile: Profile, verdict: str | None = None
    ) -> JudgedNode:
        notable = tuple(
            without_secrets(one)
            for one in findings
            if one.outcome not in _SILENT or one.is_loosened
        )
        if not self._job:
            return JudgedNode(verdict or self._verdict_of(findings), notable, profile)
        of_node = [one for one in findings if not self._of_job(one)]
        of_job = [one for one in findings if self._of_job(one)]
        # Of files of which no must is asked there is no verdict, and none is wanting.
        is_asked = any(o.clause_level == "must" or o.outcome == "error" for o in of_job)
        return JudgedNode(
            verdict or self._verdict_of(of_node),
            notable,
            profile,
            self._verdict_of(of_job) if is_asked else "",
        )


class _Asking:
    """Asks rules about a node that differs in some leaves from one of its kind."""

    def __init__(self, kind: _Kind, content: Content, *, may_know: bool) -> None:
        self._kind = kind
        self._content = content
        self._may_know = may_know
        self._evidence: dict[bool, tuple[Evidence, set[KeyPath]]] = {}

    def answer(self, number: int, pieces: set[int]) -> _Answer:
        """The answer of a rule; the same object where nothing else is said."""
        known, passing = self._kind.answers[number], self._kind.passing[number]
        if self._may_know and passing.is_worth_it and _WHOLE not in pieces:
            pieces = {
                piece
                for piece in pieces
                if not (
                    _has_passed(known.pieces[piece])
                    and passing.knows(self._content, piece)
                )
            }
            if not pieces:
                return known
        is_learning = self._may_know and passing.is_learning
        evidence, reads = self._of(is_learning=is_learning)
        call = known.call
        asked = call.rule.bind(evidence, call.context)
        if isinstance(asked, list):
            return _Answer(call, (tuple(asked),), ())
        is_whole = _WHOLE in pieces or asked.pieces != len(known.pieces)
        if is_whole:
            found = [tuple(asked.judge_piece(one)) for one in range(asked.pieces)]
            return _Answer(call, tuple(found), tuple(asked.rest()))
        answers = list(known.pieces)
        is_new = False
        first = set(reads)
        for piece in pieces:
            reads.clear()
            if _has_passed(answers[piece]) and asked.passes(piece):
                if is_learning:
                    passing.learn(self._content, first | reads, piece)
                continue
            answers[piece] = tuple(asked.judge_piece(piece))
            is_new = True
        return known._replace(pieces=tuple(answers)) if is_new else known

    def _of(self, *, is_learning: bool) -> tuple[Evidence, set[KeyPath]]:
        """The evidence on the node, and where it is noted what is read of it."""
        found = self._evidence.get(is_learning)
        if found is None:
            reads: set[KeyPath] = set()
            node = node_of(
                self._content,
                ANY_NODE,
                reads if is_learning else None,
                self._kind.frames,
            )
            found = Evidence(NodeEvidence(self._kind.of_job, node)), reads
            self._evidence[is_learning] = found
        found[1].clear()
        return found


def _asked(kind: _Kind, call: RuleCall, reads: set[KeyPath]) -> _Answer:
    """Ask a rule about a whole node, and note who reads what."""
    number = len(kind.answers)
    reads.clear()
    asked = call.rule.bind(kind.evidence, call.context)
    parts = None if isinstance(asked, list) else asked.parts
    kind.passing.append(Passing("" if parts is None else parts.part.kind))
    if isinstance(asked, list):
        _note(kind, reads, number, _WHOLE)
        return _Answer(call, (tuple(asked),), ())
    count = asked.pieces
    rest = asked.rest()
    _note(kind, reads, number, _WHOLE)
    pieces: list[tuple[Finding, ...]] = []
    for piece in range(count):
        reads.clear()
        pieces.append(tuple(asked.judge_piece(piece)))
        _note(kind, reads, number, piece)
    return _Answer(call, tuple(pieces), tuple(rest))


def _note(kind: _Kind, reads: set[KeyPath], answer: int, piece: int) -> None:
    for path in reads:
        kind.readers.setdefault(path, set()).add((answer, piece))


def of_job(judges: Judges) -> Callable[[Finding], bool]:
    """Tells findings for which the files of the job are to blame, and no node."""
    rules = {one.name for one in judges.entries if one.scope in OF_FILES}

    def is_of_job(finding: Finding) -> bool:
        if not finding.rule:  # whether a clause applies depends on the plan alone
            return bool(finding.missing)
        return finding.rule in rules and all(
            one.file != ANY_NODE for one in finding.places
        )

    return is_of_job


def without_secrets(finding: Finding) -> Finding:
    """The same without secrets."""
    message = hidden(finding.message)
    return finding if message == finding.message else finding._replace(message=message)


def _has_passed(said: Sequence[Finding]) -> bool:
    """Whether a rule says that it passes, and nothing else."""
    return bool(said) and all(one.outcome == "pass" for one in said)


def _weights(answer: _Answer) -> list[tuple[str, str]]:
    """What of an answer counts for the verdict on a node."""
    return [(one.outcome, one.level) for one in answer.findings]


def _reading(node: Node) -> Reading:
    return node_reading(node, FactSheet(ANY_NODE))


def _facts(reading: Reading) -> object:
    """What a node says of the job that runs on it: all that a plan takes from it."""
    return (
        tuple(
            (one.name, one.value, one.status, one.note) for one in reading.facts.facts
        ),
        tuple(
            (one.name, one.value, one.raw, one.place.path) for one in reading.variables
        ),
    )


def _file(reading: Reading) -> ReadFile:
    status = FileStatus(ANY_NODE, FORMAT)
    source = Source(ANY_NODE, "", "json")
    return ReadFile(status, source, FORMAT, "node", (reading,))
