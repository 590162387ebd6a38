"""Two axes of a mesh that are both to take what is left.

Why it hurts: an axis of -1 takes the devices that the others leave. With two of them
the share of each is undefined, and MaxText stops.

What passes: at most one axis of -1 within a slice (ici) and one across slices (dcn).
The defaults count: ici_fsdp_parallelism and dcn_data_parallelism are -1 in base.yml.

Where it does not apply: other frameworks; files that set no axis to -1.

Source: AI-Hypercomputer/maxtext max_utils.py (fill_unspecified_mesh_axes).

Bad::

    ici_tensor_parallelism: -1

Good::

    ici_tensor_parallelism: -1
    ici_fsdp_parallelism: 1
"""

from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_FILLS = -1
_DEFAULTS = {"ici_": "ici_fsdp_parallelism", "dcn_": "dcn_data_parallelism"}


@rule(clause="MEM-005", frameworks=("maxtext",))
def two_axes_fill_the_mesh(stated: StatedKeys) -> Verdicts:
    """Judge the axes within a slice, then those across slices."""
    for file in stated.files:
        for kind, default in _DEFAULTS.items():
            yield from _judged(file, kind, default)


def _judged(file: KeyedFile, kind: str, default: str) -> Verdicts:
    axes = {
        str(key.path[0]): key
        for key in file.keys
        if len(key.path) == 1 and str(key.path[0]).startswith(kind)
    }
    filling = [key for key in axes.values() if key.value == _FILLS]
    if not filling:
        return
    at = [key.place for key in filling]
    names = " and ".join(str(key.path[0]) for key in filling)
    if len(filling) == 1 and default in axes:
        yield passed(at=at)
    elif len(filling) == 1:
        yield unknown(
            f"{names} is -1, and {default} is not set here: base.yml sets it to -1 too",
            missing=(default,),
            at=at,
        )
    else:
        yield fail(
            f"{names} are -1: only one axis can take the devices that are left",
            at=at,
            measured=len(filling),
            required=1,
            cost="MaxText stops while it builds the mesh, on allocated nodes",
            remedy="Give all but one of them a number.",
        )
