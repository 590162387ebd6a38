"""An address in a JobSet that no pod of it has.

Why it hurts: the name cannot be resolved, so that every rank waits for a rank 0 that
none can find.

What passes: <set>-<job>-<index of the job>-<index of the pod>.<subdomain>, where the
subdomain is the name of the set unless network.subdomain states another.

Where it does not apply: addresses of something else; names that a template fills in;
sets without host names (enableDNSHostnames false).

Source: kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go (Network), issue 603.

Bad::

    metadata: {name: pytorch}       # MASTER_ADDR: pytorch-workers-0-0.pytorch-workers

Good::

    metadata: {name: pytorch}       # MASTER_ADDR: pytorch-workers-0-0.pytorch
"""

from collections.abc import Iterator

from speccheck.validator.evidence.accepted_values import is_filled_in
from speccheck.validator.evidence.job_set_names import FORMAT, PodNames, pod_names
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey, StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule

_ADDRESSES = frozenset(
    {
        "COORDINATOR_ADDRESS",
        "JAX_COORDINATOR_ADDRESS",
        "MASTER_ADDR",
        "PET_MASTER_ADDR",
        "PET_RDZV_ENDPOINT",
    }
)


@rule(clause="COMM-017")
def pod_address_not_served(stated: StatedKeys) -> Verdicts:
    """Judge each address of a JobSet that begins like one of its pods."""
    for file in stated.files:
        names = pod_names(file) if file.format == FORMAT else None
        if names is None:
            continue
        for key in _addresses(file):
            host = str(key.value).partition(":")[0]
            pod, _, rest = host.partition(".")
            if not pod.startswith(f"{names.job_set}-"):
                continue
            wrong = _fault(pod, rest.partition(".")[0], names)
            if not wrong:
                yield passed(at=key.value_place)
                continue
            right = f"{names.pods[0]}.{names.subdomain}"
            yield fail(
                f"{host} is the address of no pod of this set: {wrong}",
                at=key.value_place,
                measured=host,
                required=right,
                cost="no rank finds rank 0, and all wait until the start-up times out",
                remedy=f"Use {right}.",
            )


def _addresses(file: KeyedFile) -> Iterator[StatedKey]:
    """Yield the values of variables that name where ranks meet."""
    keys = {key.path: key for key in file.keys}
    for path, key in keys.items():
        if path[-1] == "name" and "env" in path and key.value in _ADDRESSES:
            value = keys.get((*path[:-1], "value"))
            text = value.value if value is not None else None
            if value is None or not isinstance(text, str):
                continue
            if not is_filled_in(text) and "$" not in text:
                yield value


def _fault(pod: str, subdomain: str, names: PodNames) -> str:
    """Return what is wrong with an address; empty for nothing."""
    if pod not in names.pods:
        return f"its pods are {names.pods[0]} to {names.pods[-1]}"
    if not subdomain:
        return f"the name of the service, {names.subdomain}, is missing"
    if subdomain != names.subdomain:
        return f"the service is called {names.subdomain}, and not {subdomain}"
    return ""
