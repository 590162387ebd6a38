"""`/etc/nccl.conf` and `~/.nccl.conf`, as NCCL's own parser reads them.

The parser (NVIDIA/nccl src/misc/param.cc, setEnvFile) skips lines that begin with `#`,
takes the text up to the first `=` as the name and all after it as the value: blanks and
quotes stay in both. It never replaces a variable that is set: of equal names the first
counts.
"""

from speccheck.validator.evidence.environment import Variable
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.sources.reader import FactSheet, Reading, ScriptReader, Source

_OWN_NAMES = frozenset({"nccl.conf", ".nccl.conf"})
_FAMILY = "NCCL_"


def detect(source: Source) -> float:
    """Recognise a file of that kind of name whose assignments are NCCL's.

    A `.conf` of another name that exports its variables is there to be sourced.
    """
    base = source.name.rpartition("/")[2]
    if not base.endswith(".conf"):
        return 0.0
    names = [variable.name.split() for variable in _variables(source)]
    if not any(part.startswith(_FAMILY) for words in names for part in words):
        return 0.0
    is_sourced = any(words[:1] == ["export"] for words in names)
    return 0.9 if base in _OWN_NAMES or not is_sourced else 0.0


def read(source: Source) -> Reading:
    """Return the variables, with blanks and quotes kept."""
    return Reading(FactSheet(source.name), variables=tuple(_variables(source)))


def _variables(source: Source) -> list[Variable]:
    result: dict[str, Variable] = {}
    for number, line in enumerate(source.text.split("\n"), 1):
        name, equal, value = line.partition("=")
        if not equal or line.startswith("#") or name in result:
            continue
        key = name.strip()
        column = len(name) - len(name.lstrip()) + 1
        place = Place(source.name, key, span=Span(number, column, len(key) or 1))
        result[name] = Variable(name, value, place, line)
    return list(result.values())


READER = ScriptReader("nccl-conf", "environment", detect, read, words=(_FAMILY,))
