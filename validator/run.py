"""One run: files in, judged plans out, positions worked out only for findings."""

from collections.abc import Iterator, Sequence

from speccheck.validator.assemble import assemble
from speccheck.validator.engine import Judge, plan_size_class
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.evidence.training_plan import TrainingPlan
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.rule_index import RulesByClause, rule_entries
from speccheck.validator.selection import Selection
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.files import (
    FileStatus,
    ReadFile,
    find_files,
    read_file,
)
from speccheck.validator.sources.grouping import group
from speccheck.validator.spec.compose import compose
from speccheck.validator.spec.edition import Edition, load_edition


class Location(Record):
    """A place with its position and the text of its line; line 0: no position."""

    file: str
    key: str
    line: int = 0
    column: int = 0
    length: int = 0
    text: str = ""


class LocatedFinding(Record):
    """A finding and where it stands in the files."""

    finding: Finding
    locations: tuple[Location, ...]


class JobScale:
    """The leaves of a plan that reports show; the others go when it is judged."""

    __slots__ = ("_leaves",)

    def __init__(self, plan: TrainingPlan) -> None:
        """Keep the numbers of nodes and GPUs."""
        names = ("cluster.nodes", "cluster.gpus_per_node", "cluster.world_size")
        self._leaves = {name: plan.value(name) for name in names}

    def value(self, name: str) -> Value[int]:
        """The leaf of that name; raises KeyError for one that is not kept."""
        return self._leaves[name]


class JudgedPlan(Record):
    """One plan: its files, the size of the job, and what was found."""

    files: tuple[FileStatus, ...]
    plan: JobScale
    size: str | None
    findings: tuple[LocatedFinding, ...]


class Request(Record):
    """What the user asked for."""

    arguments: tuple[str, ...]
    context: Context = Context()
    use: str = "ci"
    profiles: tuple[str, ...] = ()
    spec: str = "1.0"
    selection: Selection = Selection()
    format: str | None = None
    stdin_name: str | None = None
    skip_unknown: bool = False


class Run(Record):
    """What came of it."""

    edition: Edition
    use: str
    files: tuple[FileStatus, ...]
    plans: tuple[JudgedPlan, ...]


def read_all(request: Request) -> Iterator[tuple[list[FileStatus], list[ReadFile]]]:
    """Read the files in batches: the named ones together, each folder by itself."""
    statuses: list[FileStatus] = []
    files: list[ReadFile] = []
    batch: tuple[str, ...] | None = None
    for path, named in find_files(request.arguments):
        key = ("named",) if named else ("folder", path.rpartition("/")[0])
        if batch is not None and key != batch:
            yield statuses, files
            statuses, files = [], []
        batch = key
        status, found = read_file(
            path,
            named=named,
            format_id=request.format,
            stdin_name=request.stdin_name,
        )
        statuses.append(status)
        files.extend(found)
    yield statuses, files


def run(request: Request) -> Run:
    """Read, group, judge.

    Raises UnknownName, UnknownFormat, UnknownProfile, UnknownEdition or
    UnknownSelection for names that nobody knows.
    """
    judge_plan = PlanJudge(request)
    statuses: list[FileStatus] = []
    plans: list[JudgedPlan] = []
    for found, files in read_all(request):
        statuses.extend(found)
        groups = group(files)
        del files[:]
        while groups:
            plans.append(judge_plan(groups.pop(0)))
    return Run(judge_plan.edition, request.use, tuple(statuses), tuple(plans))


class PlanJudge:
    """Judges plan after plan by one edition; composed profiles are kept."""

    def __init__(self, request: Request) -> None:
        """Load the edition and the rules once."""
        self.request = request
        self.edition = load_edition(request.spec)
        rules = rule_entries()
        request.selection.verify(self.edition, rules)
        self.rules = RulesByClause(request.selection.rules(rules))
        self._judges: dict[tuple[str | None, ...], Judge] = {}
        # By the id of the finding, which stays its own as long as it is held here. Most
        # findings are the same object in every plan: that a clause does not apply.
        self._shared: dict[int, LocatedFinding] = {}

    def __call__(self, files: Sequence[ReadFile]) -> JudgedPlan:
        """Judge the plan that these files make together."""
        evidence = assemble(files, self.request.context)
        findings = self._judge(evidence.plan)(evidence.by_type)
        by_name = {file.source.name: file for file in files}
        shared = self._shared
        return JudgedPlan(
            files=tuple(dict.fromkeys(file.status for file in files)),
            plan=JobScale(evidence.plan),
            size=plan_size_class(evidence.plan),
            findings=tuple(
                shared.get(id(one)) or self._located(one, by_name) for one in findings
            ),
        )

    def _located(self, finding: Finding, files: dict[str, ReadFile]) -> LocatedFinding:
        found = located(finding, files)
        if not finding.places and found.finding is finding:
            self._shared[id(finding)] = found
        return found

    def _judge(self, plan: TrainingPlan) -> Judge:
        key = (
            plan_size_class(plan),
            plan.value("cluster.fabric").value,
            plan.value("cluster.accelerator").value,
            plan.value("cluster.instance_type").value,
        )
        if key not in self._judges:
            size, fabric, accelerator, instance = key
            composed = compose(
                self.edition,
                use=self.request.use,
                size=size,
                fabric=fabric,
                accelerator=accelerator,
                instance=instance,
                profiles=self.request.profiles,
            )
            narrowed = self.request.selection.narrow(composed)
            self._judges[key] = Judge(narrowed, self.rules)
        return self._judges[key]


def located(finding: Finding, files: dict[str, ReadFile]) -> LocatedFinding:
    """A finding with its places: with positions where it failed, else by their keys."""
    if finding.outcome not in {"fail", "error"}:
        keys = tuple(Location(place.file, place.key) for place in finding.places)
        return LocatedFinding(finding, keys)
    message = hidden(finding.message)
    if message != finding.message:
        finding = finding._replace(message=message)
    return LocatedFinding(
        finding, tuple(locate(place, files) for place in finding.places)
    )


def locate(place: Place, files: dict[str, ReadFile]) -> Location:
    """The position of a place, and the line it stands on."""
    file = files.get(place.file)
    if file is None:
        return Location(place.file, place.key)
    span = place.span
    if span is None and place.path:
        # Empty documents of a YAML file are counted and not kept.
        for document in file.source.documents:
            if document.index == place.document:
                span = document.span(place.path, part=place.part)
    if span is None:
        return Location(place.file, place.key)
    lines = file.source.text.split("\n", span.line)
    text = lines[span.line - 1].rstrip("\r") if len(lines) >= span.line else ""
    text = hidden(text)
    return Location(place.file, place.key, span.line, span.column, span.length, text)
