"""A set of jobs that speaks of a job it does not have, or not yet.

Why it hurts: the webhook of JobSet refuses the object, so that nothing starts; where
that is not installed, the set waits for a job that never comes.

What passes: targets, dependencies and a coordinator that name jobs of the set, each job
and each rule by a name of its own.

What stays open: names that a template fills in.

Where it does not apply: objects of other kinds.

Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go (ValidateCreate,
validateFailurePolicy, validateCoordinator); api/jobset/v1alpha2/jobset_types.go
(listMapKey name).

Bad::

    successPolicy:
      targetReplicatedJobs: [driver]
    replicatedJobs:
    - name: workers

Good::

    successPolicy:
      targetReplicatedJobs: [workers]
    replicatedJobs:
    - name: workers
"""

from speccheck.validator.evidence.job_set_names import FORMAT, job_set_faults
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-006")
def reference_to_no_job(stated: StatedKeys) -> Verdicts:
    """Judge each name of a job in a JobSet against the jobs that it has."""
    for file in stated.files:
        faults = job_set_faults(file) if file.format == FORMAT else None
        for fault in faults or ():
            yield fail(
                fault.text,
                at=fault.at,
                required=fault.required,
                cost="the object is refused, and nothing starts",
                remedy=fault.remedy,
            )
        if faults == []:
            yield passed()
