"""Names of jobs in a JobSet, and what speaks of them.

Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go (ValidateCreate,
validateFailurePolicy, validateCoordinator).
"""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.evidence.accepted_values import is_filled_in, shown_value
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey
from speccheck.validator.evidence.value import KeyPath, Place

FORMAT = "k8s-jobset"
_JOBS: KeyPath = ("spec", "replicatedJobs")
_NETWORK: KeyPath = ("spec", "network")
_RULES: KeyPath = ("spec", "failurePolicy", "rules")
_COORDINATOR: KeyPath = ("spec", "coordinator")
_LONGEST_NAME = 63
_SUFFIX = "-abcde"  # what the Job controller adds to the name of a pod
_SHOWN = 8


class JobSetFault(Record):
    """What the webhook refuses: the text, where it stands, and how to mend it."""

    text: str
    at: tuple[Place, ...]
    required: str
    remedy: str


class PodNames(Record):
    """The host names of the pods of a set, and the service that resolves them."""

    job_set: str
    subdomain: str
    pods: tuple[str, ...]


_MOST_PODS = 100_000


def pod_names(file: KeyedFile) -> PodNames | None:
    """Return the host names in a JobSet; None where one of its parts is not known."""
    jobs = _JobsOfSet(file)
    name = jobs.value(("metadata", "name"))
    subdomain = jobs.value((*_NETWORK, "subdomain")) or name
    if not jobs.names or not jobs.is_known or not isinstance(name, str):
        return None
    if jobs.value((*_NETWORK, "enableDNSHostnames")) is False:
        return None
    if not isinstance(subdomain, str) or is_filled_in(name) or is_filled_in(subdomain):
        return None
    pods: list[str] = []
    for number, key in jobs.names.items():
        job = (*_JOBS, number)
        replicas = jobs.number((*job, "replicas"), 1)
        each = jobs.number((*job, "template", "spec", "parallelism"), 1)
        if replicas is None or each is None or replicas * each > _MOST_PODS:
            return None
        pods += (
            f"{name}-{key.value}-{index}-{pod}"
            for index in range(replicas)
            for pod in range(each)
        )
    return PodNames(name, subdomain, tuple(pods)) if pods else None


def job_set_faults(file: KeyedFile) -> list[JobSetFault] | None:
    """Return what is wrong with the names in a JobSet; None where one is not known."""
    jobs = _JobsOfSet(file)
    if not jobs.names or not jobs.is_known:
        return None
    return [
        *_doubled(jobs.names, "job"),
        *_doubled(jobs.names_of(_RULES), "rule of the failure policy"),
        *_dependencies(jobs),
        *_targets(jobs),
        *_coordinator(jobs),
        *_long_names(jobs),
    ]


class _JobsOfSet:
    """The keys of a JobSet by path, and the names of its jobs by their place."""

    def __init__(self, file: KeyedFile) -> None:
        self.keys: Mapping[KeyPath, StatedKey] = {key.path: key for key in file.keys}
        self.names = self.names_of(_JOBS)

    @property
    def is_known(self) -> bool:
        """Whether all jobs have names that stand in the file."""
        jobs = self.value(_JOBS)
        length = len(jobs) if isinstance(jobs, list) else 0
        return length == len(self.names) and not any(
            is_filled_in(key.value) for key in self.names.values()
        )

    @property
    def texts(self) -> list[str]:
        """The names of the jobs, in their order."""
        return [str(self.names[number].value) for number in sorted(self.names)]

    def value(self, path: KeyPath) -> object:
        """Return the value at a path, None where nothing stands there."""
        key = self.keys.get(path)
        return key.value if key is not None else None

    def number(self, path: KeyPath, default: int) -> int | None:
        """Return a whole number, what it is by default, or None for a placeholder."""
        value = self.value(path)
        if value is None:
            return default
        return value if type(value) is int else None

    def names_of(self, path: KeyPath) -> dict[int, StatedKey]:
        """Return the names of the items of a list, by their place in it."""
        names: dict[int, StatedKey] = {}
        for at, key in self.keys.items():
            if len(at) != len(path) + len((0, "name")) or at[: len(path)] != path:
                continue
            number, name = at[len(path)], at[-1]
            if isinstance(number, int) and name == "name":
                names[number] = key
        return names


def _doubled(names: Mapping[int, StatedKey], what: str) -> Iterator[JobSetFault]:
    """Yield the names that two items have."""
    first: dict[str, StatedKey] = {}
    for number in sorted(names):
        key = names[number]
        text = str(key.value)
        if text and not is_filled_in(text) and text in first:
            yield JobSetFault(
                f"two jobs have the name {text}"
                if what == "job"
                else f"two rules of the failure policy have the name {text}",
                at=(key.value_place, first[text].value_place),
                required=f"a name of its own for each {what}",
                remedy=f"Give each {what} a name of its own.",
            )
        first.setdefault(text, key)


def _dependencies(jobs: _JobsOfSet) -> Iterator[JobSetFault]:
    """Yield dependencies of the first job, and those on jobs that come later."""
    first = jobs.keys.get((*_JOBS, 0, "dependsOn"))
    if first is not None and first.value is not None:
        yield JobSetFault(
            f"{first.place.key} stands in the first job, before which none can be",
            at=(first.place,),
            required="in a later job",
            remedy="Move the job behind those that it depends on.",
        )
    for path, key in jobs.keys.items():
        if path[:2] != _JOBS or path[3:4] != ("dependsOn",) or path[-1] != "name":
            continue
        number = path[2]
        if not isinstance(number, int) or number == 0:
            continue
        before = jobs.texts[: number + 1]
        yield from _unnamed(key, [key.value], before, "a job that stands before")


def _targets(jobs: _JobsOfSet) -> Iterator[JobSetFault]:
    """Yield targets of policies that are no jobs."""
    for path, key in jobs.keys.items():
        if path[-1] != "targetReplicatedJobs" or path[1] not in {
            "successPolicy",
            "failurePolicy",
        }:
            continue
        wanted = key.value if isinstance(key.value, list) else []
        yield from _unnamed(key, wanted, jobs.texts, "a job of the set")


def _unnamed(
    key: StatedKey, wanted: Sequence[object], names: Sequence[str], what: str
) -> Iterator[JobSetFault]:
    for name in wanted:
        if isinstance(name, str) and not is_filled_in(name) and name not in names:
            known = ", ".join(names[:_SHOWN])
            yield JobSetFault(
                f"{key.place.key} {shown_value(name)} is not the name of {what}; "
                f"the jobs are {known}",
                at=(key.value_place,),
                required=f"one of {known}",
                remedy=f"Set {key.place.key} to one of {known}.",
            )


def _coordinator(jobs: _JobsOfSet) -> Iterator[JobSetFault]:
    """Yield what is wrong with the pod that the others look for."""
    key = jobs.keys.get((*_COORDINATOR, "replicatedJob"))
    if key is None or not isinstance(key.value, str) or is_filled_in(key.value):
        return
    if key.value not in jobs.texts:
        yield from _unnamed(key, [key.value], jobs.texts, "a job of the set")
        return
    job = (*_JOBS, jobs.texts.index(key.value))
    spec = (*job, "template", "spec")
    if jobs.value((*spec, "completionMode")) == "NonIndexed":
        yield JobSetFault(
            f"{key.place.key} {key.value}: its pods have no index to find one by",
            at=(key.value_place, jobs.keys[*spec, "completionMode"].value_place),
            required="completionMode Indexed",
            remedy="Remove completionMode of that job.",
        )
    elif (*spec, "completions") not in jobs.keys:
        yield JobSetFault(
            f"{key.place.key} {key.value} needs completions of that job",
            at=(key.value_place,),
            required="completions",
            remedy="Set completions of that job to its parallelism.",
        )
    bounds = (("jobIndex", (*job, "replicas")), ("podIndex", (*spec, "completions")))
    for name, path in bounds:
        index, count = jobs.number((*_COORDINATOR, name), 0), jobs.number(path, 1)
        stated = jobs.keys.get((*_COORDINATOR, name))
        if stated is None or index is None or count is None or index < count:
            continue
        yield JobSetFault(
            f"{stated.place.key} {index} is above the last index of {key.value}, "
            f"{count - 1}",
            at=(stated.value_place,),
            required=str(count - 1),
            remedy=f"Set {stated.place.key} to at most {count - 1}.",
        )


def _long_names(jobs: _JobsOfSet) -> Iterator[JobSetFault]:
    """Yield jobs whose own names, or those of their pods, become too long."""
    name = jobs.value(("metadata", "name"))
    if not isinstance(name, str) or is_filled_in(name):
        return
    for number, key in jobs.names.items():
        spec = (*_JOBS, number, "template", "spec")
        replicas = jobs.number((*_JOBS, number, "replicas"), 1)
        if replicas is None:
            continue
        longest = f"{name}-{key.value}-{max(replicas - 1, 0)}"
        pods = jobs.number((*spec, "completions"), 0)
        if pods and jobs.value((*spec, "completionMode")) != "NonIndexed":
            longest += f"-{pods - 1}{_SUFFIX}"
        if len(longest) > _LONGEST_NAME:
            yield JobSetFault(
                f"the set {name} and its job {key.value} make the name {longest}, "
                f"{len(longest)} characters",
                at=(key.value_place, jobs.keys["metadata", "name"].value_place),
                required=f"{_LONGEST_NAME} characters",
                remedy="Shorten metadata.name, or the name of the job.",
            )
