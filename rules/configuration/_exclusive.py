"""Groups of keys of which only one may be set."""

from collections.abc import Iterator

from speccheck.validator.evidence.framework_keys import ExclusiveKeys, dotted
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey

# Judged by rules of their own, over all files of a plan.
_ELSEWHERE = frozenset(
    {"fp16", "bf16", "fp16.enabled", "bf16.enabled", "--fp16", "--bf16"}
)
_ELASTIC = "elasticity.enabled"


class StatedTogether(Record):
    """A group of which more than one key is set."""

    group: ExclusiveKeys
    keys: tuple[StatedKey, ...]

    @property
    def losing(self) -> list[StatedKey]:
        """The key that has no effect, where that is told."""
        return [key for key in self.keys if dotted(key.path) == self.group.loses]

    @property
    def names(self) -> str:
        """The keys as a list in a sentence."""
        return " and ".join(dotted(key.path) for key in self.keys)


def stated_together(file: KeyedFile, *effects: str) -> Iterator[StatedTogether]:
    """The groups with one of these effects of which a file sets more than one key."""
    if file.catalogue is None:
        return
    groups = [
        exclusive_keys
        for exclusive_keys in file.catalogue.exclusive
        if exclusive_keys.effect in effects
    ]
    if not groups:
        return
    by_name = {dotted(key.path): key for key in file.keys}
    for group in groups:
        if _ELSEWHERE.issuperset(group.keys) or _ELASTIC in group.keys:
            continue
        stated = (by_name[name] for name in group.keys if name in by_name)
        stated_keys = [key for key in stated if _is_set(key, group.above)]
        if len(stated_keys) > 1:
            yield StatedTogether(group, tuple(stated_keys))


def _is_set(key: StatedKey, above: int) -> bool:
    """Whether a key is more than switched off, empty or left to another tool."""
    value = key.value
    if isinstance(value, bool) or value is None:
        return bool(value)
    if isinstance(value, int | float):
        return value > above
    if isinstance(value, str):
        return value.strip().lower() not in {"", "0", "no", "none", "false", "auto"}
    return bool(value) or str(key.path[0]).startswith("--")  # a switch has no value
