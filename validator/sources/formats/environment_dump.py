"""What `env` prints: the variables of the process that was asked, as they are.

No shell has a say in it: all after the first `=` is the value, quotes included. A value
of several lines goes on until the next line that names a variable.
"""

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.capture import Capture, line_span
from speccheck.validator.sources.formats.snapshot import node_reading
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

_LINE = lazy_pattern(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)$")
_ANY_LINE = lazy_pattern(r"[A-Za-z_][\w.%()-]*=")
# What every process of a login has and nobody writes into a file of settings.
_TELLING = frozenset(
    {"HOME", "HOSTNAME", "LANG", "LOGNAME", "OLDPWD", "PATH", "PWD", "SHELL", "SHLVL"}
    | {"TERM", "USER", "_"}
)
_ENOUGH = 3
_PLAIN_SHARE = 0.5


def _detect(source: Source) -> float:
    lines = [line for line in source.text.splitlines() if line.strip()]
    named = [match[1] for line in lines if (match := _LINE.match(line))]
    if len(_TELLING.intersection(named)) < _ENOUGH:
        return 0.0
    return 0.9 if len(named) >= _PLAIN_SHARE * len(lines) else 0.0


def _read(source: Source) -> Reading:
    """Return each variable, with its whole value."""
    capture = Capture(source.name, "env")
    lines = source.text.splitlines()
    starts = [number for number, line in enumerate(lines) if _ANY_LINE.match(line)]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        match = _LINE.match(lines[start])
        if match is None:
            continue  # a function of the shell: BASH_FUNC_name%%=() {
        span = line_span(start + 1, lines[start])
        part = "variables", capture.add("variables", span)
        value = "\n".join([match[2], *lines[start + 1 : stop]])
        capture.put_at(part, "name", match[1], span)
        capture.put_at(part, "value", value.rstrip("\n"), span)
        capture.put_at(part, "layer", "environment", span)
    return node_reading(capture.node(), FactSheet(source.name))


READER = CaptureReader("environment-dump", ("PATH=", "HOME=", "PWD="), _detect, _read)
