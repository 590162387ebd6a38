"""A restart policy that Kubernetes refuses for the pods of a Job.

Why it hurts: the API server rejects the object, and nothing starts. Pods restart always
unless they are told otherwise, and a Job may not have such pods; beside a pod failure
policy, which judges pods that failed, they may not restart in place at all.

What passes: OnFailure or Never; Never beside podFailurePolicy.

Where it does not apply: other kinds than Job and JobSet, whose operators fill in a
policy; a JobSet does so, too, and is judged beside podFailurePolicy only.

Source: kubernetes pkg/apis/batch/validation/validation.go (ValidateJobSpec);
kubernetes-sigs/jobset pkg/webhooks (default OnFailure).

Bad::

    kind: Job
    spec: {template: {spec: {containers: [...]}}}

Good::

    kind: Job
    spec: {template: {spec: {restartPolicy: Never, containers: [...]}}}
"""

from collections.abc import Iterator, Mapping, Sequence

from speccheck.validator.evidence.finding import Fix, SafeBecause, to_add, to_set
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey, StatedKeys
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.rule import Verdicts, fail, passed, rule

_JOB, _JOB_SET = "k8s-job", "k8s-jobset"
_ALLOWED = ("OnFailure", "Never")
_FAILURES = "podFailurePolicy"
_POD = ("template", "spec")
_SET = "replicatedJobs"
_RUNS = ("image", "command", "args")


@rule(clause="CONF-010")
def restart_policy_refused(stated: StatedKeys) -> Verdicts:
    """Judge the restart policy of each pod template of a Job."""
    for file in stated.files:
        if file.format not in {_JOB, _JOB_SET}:
            continue
        keys = {key.path: key for key in file.keys}
        for at in _jobs(file, keys):
            pod = keys[*at, *_POD]
            policy = keys.get((*at, *_POD, "restartPolicy"))
            failures = keys.get((*at, _FAILURES))
            text = str(policy.value) if policy else ""
            allowed = _ALLOWED[1:] if failures else _ALLOWED
            is_open = _is_filled_in(file, failures) or _is_part(keys, (*at, *_POD))
            if text in allowed or (not text and is_open):
                yield passed(at=(policy or pod).place)
                continue
            written = text or "not stated, which means Always"
            beside = f" beside {_FAILURES}" if failures else " for a Job"
            yield fail(
                f"restartPolicy is {written}; Kubernetes takes "
                f"{' or '.join(allowed)}{beside}",
                at=[(policy or pod).place, *([failures.place] if failures else [])],
                measured=text or "Always",
                required=" or ".join(allowed),
                cost="the API server rejects the object and nothing starts",
                remedy=f"Set restartPolicy: {allowed[-1]}.",
                fix=_fix(policy, pod, allowed, keys),
            )


def _is_part(keys: Mapping[KeyPath, StatedKey], pod: KeyPath) -> bool:
    """Return whether no container runs anything: kustomize lays it over the whole."""
    depth = len(pod)
    return not any(
        path[:depth] == pod and path[-1] in _RUNS for path in keys if len(path) > depth
    )


def _fix(
    policy: StatedKey | None,
    pod: StatedKey,
    allowed: Sequence[str],
    keys: Mapping[KeyPath, StatedKey],
) -> Fix:
    """Propose the policy, beside the containers where none is stated."""
    value = allowed[-1]
    says = f"set restartPolicy to {value}"
    because: SafeBecause = "only value" if len(allowed) == 1 else ""
    if policy is not None:
        return Fix(says, (to_set(policy.place, value),), because)
    beside = keys.get((*pod.path, "containers"), pod)
    return Fix(says, (to_add(beside.place, "restartPolicy", value),), because)


def _jobs(file: KeyedFile, keys: Mapping[KeyPath, StatedKey]) -> Iterator[KeyPath]:
    """Yield where the specs of Jobs lie that have a pod template."""
    if file.format == _JOB:
        if ("spec", *_POD) in keys:
            yield ("spec",)
        return
    for path in keys:
        job = path[: -len(_POD)]
        if (*job, *_POD) == path and job[-len(_POD) :] == _POD and _SET in path:
            yield job


def _is_filled_in(file: KeyedFile, failures: StatedKey | None) -> bool:
    """Return whether a policy not stated becomes OnFailure, which will do."""
    return file.format == _JOB_SET and failures is None
