"""A key without which the framework does not start.

Why it hurts: the framework stops at start-up, after the allocation has been granted.

What passes: each key that the table of the framework calls required in all releases,
in the file or in another file of the same job.

What stays open: a command line that may hold further flags, and a file of no stated
release with a key that no tabulated one has: a fork or an older release reads it.

Where it does not apply: frameworks whose files may leave a key to the command line, and
keys of a block that nobody states.

Source: the required rows of the key tables, each with the declaration it was read from.

Bad::

    compute_environment: LOCAL_MACHINE
    distributed_type: MULTI_GPU

Good::

    compute_environment: LOCAL_MACHINE
    distributed_type: MULTI_GPU
    num_processes: 8
"""

from collections.abc import Iterator

from speccheck.validator.evidence.framework_keys import FrameworkKeys, dotted
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKeys
from speccheck.validator.evidence.value import KeyPath, Place
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown


@rule(clause="CONF-010")
def required_key_missing(stated: StatedKeys) -> Verdicts:
    """Judge each file whose framework demands that keys stand in it."""
    for file in stated.files:
        table = file.catalogue
        loader = file.loader
        if table is None or loader is None or not loader.demands or not file.keys:
            continue
        known = {
            path
            for other in stated.files
            if other.catalogue is table
            for key in other.keys
            for path in _spellings(table, key.path)
        }
        missing = [path for path in _required(table, file) if dotted(path) not in known]
        own = None if file.version else next(file.unlike_keys(), None)
        if missing and own is not None and not file.hidden:
            names = ", ".join(map(dotted, missing))
            yield unknown(
                f"{own.place.key} is in no tabulated release of {table.reader}; "
                f"whether the release that reads it demands {names} is not known",
                missing=["run.framework_version"],
                at=own.place,
            )
            continue
        for path in missing:
            name = dotted(path)
            if file.hidden:
                yield unknown(f"{name} is not seen", missing=[name])
                continue
            yield fail(
                f"{name} is missing: {table.reader} does not start without it",
                at=Place(file.file, name, path),
                required=name,
                cost="the framework stops at start-up",
                remedy=f"Add {name}.",
            )
        if not missing:
            yield passed()


def _spellings(table: FrameworkKeys, path: KeyPath) -> Iterator[str]:
    """Yield a key as it is written, and by its tabulated name."""
    yield dotted(path)
    row = table.lookup(path)
    if row is not None:
        yield row.path


def _required(table: FrameworkKeys, file: KeyedFile) -> Iterator[KeyPath]:
    """Yield the required keys at the top, and of the blocks that the file states."""
    blocks = {dotted(key.path) for key in file.keys if key.is_block}
    for name in table.required:
        above = name.rpartition(".")[0]
        if not above or above in blocks:
            yield tuple(name.split("."))
