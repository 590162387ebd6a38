"""Judges node after node, and asks each rule only about what is new to it.

A rule is a pure function of what it reads. Of one node it is noted what each rule reads
of its snapshot; of the next like it, only rules are asked again that read a leaf which
differs. What comes out is what asking all rules about each node would give
(tests/test_fleet_judge.py holds it to that), in a tenth of the time.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from marshal import dumps
from operator import itemgetter
from typing import Any

from speccheck.validator.engine.assemble import PlanEvidence, add_conditions, assemble
from speccheck.validator.engine.judge import RuleCall
from speccheck.validator.engine.judges import Judges
from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.evidence.node.node import ALL, KINDS, MEASURED, SINGLES, Node
from speccheck.validator.evidence.node.part import Frame
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.fleet.shared_values import (
    SHARED_LEAVES,
    Profile,
    shared_profile,
)
from speccheck.validator.rule import OF_FILES
from speccheck.validator.sources.files import FileStatus, ReadFile
from speccheck.validator.sources.formats.snapshot import (
    FORMAT,
    node_of,
    node_reading,
)
from speccheck.validator.sources.reader import FactSheet, Reading, Source


class NodeEvidence(dict[type, Any]):
    """Evidence by type: that of the job, and the parts of the node."""

    __slots__ = ("_node",)

    def __init__(self, of_job: Mapping[type, object], node: Node) -> None:
        """Take the evidence of the job, which is copied, and the node."""
        super().__init__(of_job)
        self._node = node

    def __missing__(self, kind: type) -> object:
        """Return the parts of that kind; raises KeyError for other evidence."""
        if kind is Conditions:
            add_conditions(self, self._node)
            return super().__getitem__(kind)
        result = self._node.evidence(kind)
        if result is None:
            raise KeyError(kind)
        self[kind] = result
        return result

    def __contains__(self, kind: object) -> bool:
        """Return whether there is such evidence."""
        return self.get(kind) is not None

    def get(self, kind: Any, default: Any = None) -> Any:  # noqa: ANN401 - as of dict
        """Return the evidence of that kind, or the default."""
        result = super().get(kind)
        if result is None and (kind in ALL or kind is Conditions):
            return self[kind]
        return default if result is None else result


Content = Mapping[str, Any]
_Readings = tuple[object, ...]
# Readings, after which a table is worth its lookups or is not; where none came twice it
# is not after far fewer.
_LEARNT_AFTER = 1024
_FEW = 48
_LARGEST = 4096
_MOST_NEW = 0.5  # of what is learnt: numbers that never come again
_OWN = -1  # stands for the number of the part that is judged
_NOTHING = object()
_PLAIN = (int, str)  # of which equal ones are of one type
_LIST = 1  # the length of the path of a whole list


class Passing:
    """What one rule read when it passed, for any of the parts that it judges.

    Lists are taken for those of the node with which others are compared.
    """

    __slots__ = ("_kind", "_learnt", "_tables", "is_worth_it")

    def __init__(self, kind: str) -> None:
        """Begin with nothing known; kind: of the parts, empty for a whole node."""
        self._kind = kind
        self._tables: dict[tuple[KeyPath, ...], set[_Readings]] = {}
        self._learnt = 0
        self.is_worth_it = True

    @property
    def is_learning(self) -> bool:
        """Whether what is read is still to be noted."""
        return self.is_worth_it and self._learnt < _LEARNT_AFTER

    def knows(self, content: Content, part: int) -> bool:
        """Return whether it passes, by what it reads of this snapshot."""
        for paths, table in self._tables.items():
            if _readings(content, paths, part) in table:
                return True
        return False

    def learn(self, content: Content, reads: Iterable[KeyPath], part: int) -> None:
        """Note that it passed, and by what."""
        self._learnt += 1
        paths = tuple(
            sorted(
                (self._relative(read, part) for read in reads if len(read) > _LIST),
                key=str,
            )
        )
        table = self._tables.setdefault(paths, set())
        table.add(_readings(content, paths, part))
        if self._learnt in {_FEW, _LEARNT_AFTER} or len(table) > _LARGEST:
            known = sum(map(len, self._tables.values()))
            most = _FEW - 1 if self._learnt == _FEW else _MOST_NEW * _LEARNT_AFTER
            self.is_worth_it = known <= most
            if not self.is_worth_it:
                self._tables = {}

    def _relative(self, path: KeyPath, part: int) -> KeyPath:
        """Return the path, with an open number where it leads into that part."""
        if path[:2] == (self._kind, part):
            return self._kind, _OWN, *path[2:]
        return path


def _readings(content: Content, paths: Iterable[KeyPath], part: int) -> _Readings:
    result: list[object] = []
    for path in paths:
        value: Any = content.get(str(path[0]))
        if len(path) > 2:  # noqa: PLR2004 - of a list, by number
            at: Any = part if path[1] == _OWN else path[1]
            value = value[at] if isinstance(value, list) else None
        name = path[len(path) - 1]
        leaf = value.get(name, _NOTHING) if isinstance(value, dict) else _NOTHING
        is_plain = type(leaf) in _PLAIN or leaf is _NOTHING
        result.append(leaf if is_plain else fingerprint(leaf))
    return tuple(result)


Leaves = Mapping[str, Any]
_SINGLE_KINDS = frozenset(item.kind for item in SINGLES)
# Beside its leaves, what tells how a part is called and whether a list is whole.
_AROUND = ("cut_short", "partly_listed", "sources")
# Leaves that a part is called by (Node): where one differs, the part is another one.
_NAMING = {
    "gpus": frozenset({"pci_address"}),
    "rdma_ports": frozenset({"device", "number"}),
}
_USUAL_NAME = frozenset({"name"})
_OTHER_NAMES = frozenset(
    {"name", "address", "event", "device", "gpu_index", "collective"}
)
# marshal of this version writes no references to objects: equal content, equal bytes.
_VERSION = 2
# After so many nodes it is known which leaves differ on most nodes.
_DIFFERENCES_LEARNT_AFTER = 32
_OFTEN = 0.1


def fingerprint(result: Any) -> bytes:  # noqa: ANN401 - content of JSON
    """Return the bytes that are equal for equal content of JSON, and for no other."""
    return dumps(result, _VERSION)


def shape(content: Content) -> tuple[object, ...]:
    """Return what two snapshots must share to be compared: lists and lengths."""
    return (
        *(fingerprint(content.get(text)) for text in _AROUND),
        *(_size(content.get(kind, _NOTHING)) for kind in KINDS),
    )


def _size(result: object) -> object:
    return len(result) if isinstance(result, list) else type(result)


class ReferenceNode:
    """The content of a snapshot that others of its shape are compared with."""

    def __init__(self, content: Content) -> None:
        """Take the content, which is never changed."""
        self.content = content
        self._kinds: tuple[_Kind, ...] = ()

    def watch(self, leaves: Iterable[tuple[str, str]]) -> None:
        """Look at these leaves alone, each of all parts of a kind."""
        watched: dict[str, set[str]] = {}
        for kind, leaf in leaves:
            watched.setdefault(kind, set()).add(leaf)
        self._kinds = tuple(
            _Kind(kind, watched.get(kind, set()), self.content.get(kind))
            for kind in KINDS
        )

    def differences(self, content: Content) -> Iterator[KeyPath]:
        """Yield the paths of the watched leaves that differ.

        The path of a list is its kind alone: its parts are called otherwise.
        """
        for kind in self._kinds:
            yield from kind.differences(content.get(kind.name))


class _Kind:
    """The parts of one kind of a reference."""

    def __init__(self, name: str, watched: set[str], result: object) -> None:
        self.name = name
        self._findings = result
        self._bytes = fingerprint(result)
        self._is_single = name in _SINGLE_KINDS
        self._parts: list[Leaves] = []
        if self._is_single and isinstance(result, dict):
            self._parts = [result]
        elif isinstance(result, list) and all(
            isinstance(item, dict) for item in result
        ):
            self._parts = result
        self._naming = self._names()
        self._watched = watched | self._naming
        self._differing: dict[str, int] = {}  # how often each leaf did
        self._compared = 0
        self._often: frozenset[str] = frozenset()
        self._sort()

    def _names(self) -> frozenset[str]:
        """Return the leaves that these parts are called by."""
        if self._is_single:
            return frozenset()
        known = _NAMING.get(self.name)
        if known is not None:
            return known
        are_named = all(isinstance(part.get("name"), str) for part in self._parts)
        is_measured = self.name in MEASURED
        return _USUAL_NAME if are_named and not is_measured else _OTHER_NAMES

    def _sort(self) -> None:
        """Sort the leaves: the ones that seldom differ are compared at once."""
        self._seldom = [
            _getter([text for text in part if text in self._watched - self._often])
            for part in self._parts
        ]
        self._usual = fingerprint(
            [get(part) for get, part in zip(self._seldom, self._parts, strict=True)]
        )
        # Watched leaves that a part does not have, and another node's may have.
        self._lacking = [
            (number, lacking)
            for number, part in enumerate(self._parts)
            if (lacking := tuple(text for text in self._watched if text not in part))
        ]

    def differences(self, result: object) -> Iterator[KeyPath]:
        if self._parts:
            parts = self._parts_like(result)
            if parts is not None:
                yield from self._of_parts(parts)
                return
        if fingerprint(result) != self._bytes:
            yield (self.name,)
            yield from self._all(result)

    def _parts_like(self, result: object) -> list[Leaves] | None:
        """Return the parts to compare, where they are as many."""
        parts: Any = [result] if self._is_single else result
        if not isinstance(parts, list) or len(parts) != len(self._parts):
            return None
        if not all(type(part) is dict for part in parts):
            return None
        like: list[Leaves] = parts
        return like

    def _all(self, result: object) -> Iterator[KeyPath]:
        """Yield every watched leaf: the parts cannot be distinguished."""
        others = [result] if self._is_single else result
        count = max(len(self._parts), len(others) if isinstance(others, list) else 0)
        for number in range(count):
            for leaf in self._watched:
                yield self._path(number, leaf)

    def _path(self, number: int, leaf: str) -> KeyPath:
        return (self.name, leaf) if self._is_single else (self.name, number, leaf)

    def _of_parts(self, parts: list[Leaves]) -> Iterator[KeyPath]:
        looked_at = self._often
        if self._are_other(parts):
            looked_at = frozenset(self._watched)
        is_renamed = False
        for number, mine in enumerate(self._parts) if looked_at else ():
            other = parts[number]
            for leaf in looked_at:
                if _differ(mine, other, leaf):
                    is_renamed = is_renamed or leaf in self._naming
                    self._learn(leaf)
                    yield self._path(number, leaf)
        if is_renamed:
            yield (self.name,)
        self._compared += 1
        if self._compared == _DIFFERENCES_LEARNT_AFTER:
            least = _OFTEN * _DIFFERENCES_LEARNT_AFTER
            often = (text for text, count in self._differing.items() if count >= least)
            self._often = frozenset(often)
            self._sort()

    def _are_other(self, parts: list[Leaves]) -> bool:
        """Return whether leaves differ that are usually the same."""
        for number, lacking in self._lacking:
            part = parts[number]
            if any(name in part for name in lacking):
                return True
        try:
            seldom = fingerprint(
                [get(part) for get, part in zip(self._seldom, parts, strict=True)]
            )
        except KeyError:
            return True
        return seldom != self._usual

    def _learn(self, leaf: str) -> None:
        if self._compared < _DIFFERENCES_LEARNT_AFTER:
            self._differing[leaf] = self._differing.get(leaf, 0) + 1


def _differ(mine: Leaves, other: Leaves, leaf: str) -> bool:
    value, result = mine.get(leaf, _NOTHING), other.get(leaf, _NOTHING)
    if type(result) is not type(value):
        return True
    if isinstance(value, list | dict):
        return fingerprint(result) != fingerprint(value)
    return bool(result != value)


def _getter(names: list[str]) -> Callable[[Leaves], object]:
    if not names:
        return lambda _: ()
    return itemgetter(*names)


VerdictOf = Callable[[Sequence[Finding]], str]
# Where one node is called in findings that many have: each has a file of its own.
ANY_NODE = "node"
_WHOLE = -1  # all pieces of an answer
_MOST_KINDS = 32  # of nodes that are kept to compare with; 0.5 MB each
# Of the questions; a node that needs more of them asked again is one of a new kind.
_MOST_JUDGED = 0.3
_SILENT = frozenset({"pass", "not_applicable"})


class NodeJudgement(Record):
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
        findings = [finding for piece in self.pieces for finding in piece]
        findings += self.rest
        return self.call.counting(findings or self.call.rule.silent)


class _NodeJudgeKind:
    """A node in full: its content, who read what of it, and what was found."""

    def __init__(self, content: Content, facts: object) -> None:
        self.reference = ReferenceNode(content)
        self.facts = facts
        self.evidence: PlanEvidence
        self.read_first: frozenset[KeyPath] = frozenset()  # before any rule was asked
        self.findings: list[Finding] = []
        self.answers: list[_Answer] = []
        self.readers: dict[KeyPath, set[tuple[int, int]]] = {}
        self.passing: list[Passing] = []  # of each answer
        self.frames: dict[KeyPath, Frame] = {}
        self.profile = shared_profile(content)
        self._of_job: dict[type, object] | None = None
        self.judged: NodeJudgement

    @property
    def of_job(self) -> Mapping[type, object]:
        """The evidence of the plan, without that of the node."""
        if self._of_job is None:
            self._of_job = {
                kind: item
                for kind, item in self.evidence.by_kind.items()
                if kind not in ALL and kind is not Conditions
            }
        return self._of_job

    def watch(self) -> None:
        """Compare what anybody looked at, and what all nodes should share."""
        paths = (*self.readers, *self.read_first)
        leaves = {(str(path[0]), str(path[-1])) for path in paths if len(path) > 1}
        self.reference.watch(leaves | SHARED_LEAVES)

    def readers_of(self, changed: Iterable[KeyPath]) -> dict[int, set[int]]:
        """Return the answers that may have changed, each with its parts."""
        result: dict[int, set[int]] = {}
        for path in changed:
            for answer, piece in self.readers.get(path, ()):
                result.setdefault(answer, set()).add(piece)
        return result


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
        self._kinds: dict[tuple[object, ...], dict[object, _NodeJudgeKind]] = {}
        self._count = 0
        self._of_job = of_job(judges)

    def __call__(self, content: Content) -> NodeJudgement:
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
        result = kind.readers_of(changed)
        if len(result) > _MOST_JUDGED * len(kind.answers) and self._may_keep_more():
            return self._anew(content, form)
        judged = self._again(kind, content, result, changed) if result else kind.judged
        if any((item[0], item[-1]) in SHARED_LEAVES for item in changed):
            return judged._replace(profile=shared_profile(content))
        return judged

    def _may_keep_more(self) -> bool:
        return self._count < _MOST_KINDS

    def _anew(self, content: Content, form: tuple[object, ...]) -> NodeJudgement:
        """Ask all rules, and keep what each of them read."""
        reads: set[KeyPath] = set()
        node = node_of(content, ANY_NODE, reads)
        reading = _reading(node)
        facts = _facts(reading)
        kind = _NodeJudgeKind(content, facts)
        evidence = kind.evidence = assemble(
            (*self._job, _file(reading)), self._judges.request.judging.context
        )
        kind.read_first = frozenset(reads)
        judge = self._judges.of(
            evidence.plan, scopes=evidence.scopes, measured=evidence.measured
        )
        kind.findings, calls = judge.calls(evidence)
        for call in calls:
            kind.answers.append(_answer_of(kind, call, reads))
        kind.watch()
        findings = kind.findings + [
            finding for answer in kind.answers for finding in answer.findings
        ]
        kind.judged = self._judged(findings, kind.profile)
        if not self._may_keep_more():
            self._kinds.clear()
            self._count = 0
        self._kinds.setdefault(form, {})[facts] = kind
        self._count += 1
        return kind.judged

    def _again(
        self,
        kind: _NodeJudgeKind,
        content: Content,
        result: Mapping[int, set[int]],
        changed: set[KeyPath],
    ) -> NodeJudgement:
        """Ask some rules again, about what is new to them."""
        is_listed_otherwise = any(len(item) == 1 for item in changed)
        asking = _Asking(kind, content, may_know=not is_listed_otherwise)
        is_otherwise = False
        answers: dict[int, _Answer] = {}
        for number, pieces in result.items():
            known = kind.answers[number]
            answer = asking.answer(number, pieces)
            if answer is not known:
                answers[number] = answer
                is_otherwise = is_otherwise or _weights(answer) != _weights(known)
        if not answers:
            return kind.judged
        findings = kind.findings + [
            finding
            for number, known in enumerate(kind.answers)
            for finding in answers.get(number, known).findings
        ]
        verdict = None if is_otherwise else kind.judged.verdict
        return self._judged(findings, kind.profile, verdict)

    def _judged(
        self, findings: Sequence[Finding], profile: Profile, verdict: str | None = None
    ) -> NodeJudgement:
        notable = tuple(
            without_secrets(finding)
            for finding in findings
            if finding.outcome not in _SILENT or finding.is_loosened
        )
        if not self._job:
            return NodeJudgement(
                verdict or self._verdict_of(findings), notable, profile
            )
        of_node = [finding for finding in findings if not self._of_job(finding)]
        of_job = [finding for finding in findings if self._of_job(finding)]
        # Of files of which no must is asked there is no verdict, and none is wanting.
        is_due = any(
            finding.clause_level == "must" or finding.outcome == "error"
            for finding in of_job
        )
        return NodeJudgement(
            verdict or self._verdict_of(of_node),
            notable,
            profile,
            self._verdict_of(of_job) if is_due else "",
        )


class _Asking:
    """Asks rules about a node that differs in some leaves from one of its kind."""

    def __init__(
        self, kind: _NodeJudgeKind, content: Content, *, may_know: bool
    ) -> None:
        self._kind = kind
        self._content = content
        self._may_know = may_know
        self._evidence: dict[bool, tuple[Evidence, set[KeyPath]]] = {}

    def answer(self, number: int, pieces: set[int]) -> _Answer:
        """Return the answer of a rule; the same object where nothing else is said."""
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
        findings = call.rule.bind(evidence, call.context)
        if isinstance(findings, list):
            return _Answer(call, (tuple(findings),), ())
        is_whole = _WHOLE in pieces or findings.pieces != len(known.pieces)
        if is_whole:
            finding_lists = [
                tuple(findings.judge_piece(index)) for index in range(findings.pieces)
            ]
            return _Answer(call, tuple(finding_lists), tuple(findings.rest()))
        answers = list(known.pieces)
        is_new = False
        first = set(reads)
        for piece in pieces:
            reads.clear()
            if _has_passed(answers[piece]) and findings.passes(piece):
                if is_learning:
                    passing.learn(self._content, first | reads, piece)
                continue
            answers[piece] = tuple(findings.judge_piece(piece))
            is_new = True
        return known._replace(pieces=tuple(answers)) if is_new else known

    def _of(self, *, is_learning: bool) -> tuple[Evidence, set[KeyPath]]:
        """Return the evidence on the node, and the record of what is read of it."""
        evidences = self._evidence.get(is_learning)
        if evidences is None:
            reads: set[KeyPath] = set()
            node = node_of(
                self._content,
                ANY_NODE,
                reads if is_learning else None,
                self._kind.frames,
            )
            evidences = Evidence(NodeEvidence(self._kind.of_job, node)), reads
            self._evidence[is_learning] = evidences
        evidences[1].clear()
        return evidences


def _answer_of(kind: _NodeJudgeKind, call: RuleCall, reads: set[KeyPath]) -> _Answer:
    """Ask a rule about a whole node, and note who reads what."""
    number = len(kind.answers)
    reads.clear()
    bound_rule = call.rule.bind(kind.evidence, call.context)
    parts = None if isinstance(bound_rule, list) else bound_rule.parts
    kind.passing.append(Passing("" if parts is None else parts.part.kind))
    if isinstance(bound_rule, list):
        _note(kind, reads, number, _WHOLE)
        return _Answer(call, (tuple(bound_rule),), ())
    count = bound_rule.pieces
    rest = bound_rule.rest()
    _note(kind, reads, number, _WHOLE)
    pieces: list[tuple[Finding, ...]] = []
    for piece in range(count):
        reads.clear()
        pieces.append(tuple(bound_rule.judge_piece(piece)))
        _note(kind, reads, number, piece)
    return _Answer(call, tuple(pieces), tuple(rest))


def _note(kind: _NodeJudgeKind, reads: set[KeyPath], answer: int, piece: int) -> None:
    for path in reads:
        kind.readers.setdefault(path, set()).add((answer, piece))


def of_job(judges: Judges) -> Callable[[Finding], bool]:
    """Return what selects findings that the job's files cause, and no node."""
    rules = {entry.name for entry in judges.entries if entry.scope in OF_FILES}

    def is_of_job(finding: Finding) -> bool:
        if not finding.rule:  # whether a clause applies depends on the plan alone
            return bool(finding.missing)
        return finding.rule in rules and all(
            place.file != ANY_NODE for place in finding.places
        )

    return is_of_job


def without_secrets(finding: Finding) -> Finding:
    """Return the same without secrets."""
    message = hidden(finding.message)
    return finding if message == finding.message else finding._replace(message=message)


def _has_passed(findings: Sequence[Finding]) -> bool:
    """Return whether a rule says that it passes, and nothing else."""
    return bool(findings) and all(finding.outcome == "pass" for finding in findings)


def _weights(answer: _Answer) -> list[tuple[str, str]]:
    """Return what parts of an answer count for the verdict on a node."""
    return [(finding.outcome, finding.level) for finding in answer.findings]


def _reading(node: Node) -> Reading:
    return node_reading(node, FactSheet(ANY_NODE))


def _facts(reading: Reading) -> object:
    """Return what a node says of its job: all that a plan takes from it."""
    return (
        tuple(
            (fact.name, fact.value, fact.status, fact.note)
            for fact in reading.facts.facts
        ),
        tuple(
            (variable.name, variable.value, variable.raw, variable.place.path)
            for variable in reading.variables
        ),
    )


def _file(reading: Reading) -> ReadFile:
    status = FileStatus(ANY_NODE, FORMAT)
    source = Source(ANY_NODE, "", "json")
    return ReadFile(status, source, FORMAT, "node", (reading,))
