"""Metrics as exporters show them, in the text format of Prometheus and OpenMetrics.

    # TYPE DCGM_FI_DEV_GPU_UTIL gauge
    DCGM_FI_DEV_GPU_UTIL{gpu="0",Hostname="gpu-07"} 97 1777888800000

Several scrapes may stand one behind the other. Without timestamps nobody knows when a
scrape was made: its points have no time. Source: prometheus/docs
instrumenting/exposition_formats.md; OpenMetrics 1.0 (seconds, `# EOF`, `# UNIT`).
"""

from collections.abc import Mapping
from math import inf

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.capture import Capture, measurement_reading
from speccheck.validator.sources.formats import _run_log as keys
from speccheck.validator.sources.formats._run_log import (
    NEVER,
    Labels,
    RunLogText,
    moment_of,
)
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

FORMAT = "prometheus"
_NAME = r"[A-Za-z_:][A-Za-z0-9_:]{0,200}"
_SAMPLE = lazy_pattern(
    rf"({_NAME})(?:\{{((?:[^\"}}]|\"(?:[^\"\\]|\\.)*\")*)\}})?"
    r"[ \t]+([^\s#]{1,40})(?:[ \t]+([-+.\deE]{1,40}))?[ \t]*(?:#.*)?"
)
_LABEL = lazy_pattern(r'\s*([A-Za-z_]\w{0,200})\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_TYPE = lazy_pattern(
    rf"(?m)^# TYPE {_NAME} (?:gauge|counter|histogram|summary|untyped|unknown)\s*$"
)
_UNIT = lazy_pattern(rf"# UNIT ({_NAME}) (\S{{1,40}})")
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
_ESCAPE = lazy_pattern(r'\\[\\"n]')
_LOOKED_AT = 50
_LONGEST_LINE = 20_000
# Labels that tell of the place, or are the same as another one.
_NOT_DEVICES = frozenset(
    {
        *("UUID", "uuid", "pci_bus_id", "modelName", "DCGM_FI_DRIVER_VERSION", "job"),
        *("namespace", "pod", "container", "exporter", "err_code", "err_msg"),
        *keys.NODES,
        *keys.RANKS,
        *keys.GPUS,
        *keys.PEERS,
        *keys.RUNS,
    }
)
# What a value says that an exporter could not read: blanks of DCGM.
_DCGM_BLANK = float(0x7FFFFFFFFFFFFFF0)


def _detect(source: Source) -> float:
    if _TYPE.search(source.text):
        return 1.0
    lines = source.text.split("\n", _LOOKED_AT + 1)[:_LOOKED_AT]
    written = [line.strip() for line in lines if line.strip() and line[0] != "#"]
    samples = [
        match for text in written if (match := _SAMPLE.fullmatch(text[:_LONGEST_LINE]))
    ]
    if not samples or len(samples) < len(written) - 1:
        return 0.0
    known = RunLogText(FORMAT, source.name).names.aliases
    is_known = any(sample[1] in known for sample in samples)
    return 1.0 if is_known and any(sample[2] for sample in samples) else 0.0


def _read(source: Source) -> Reading:
    log = RunLogText(FORMAT, source.name)
    units: dict[str, str] = {}
    known: dict[str, Labels | None] = {}
    lines = source.text.split("\n")
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line:
            continue
        if line[0] == "#":
            unit = _UNIT.fullmatch(line)
            if unit:
                units[unit[1]] = unit[2]
            continue
        log.lines += 1
        if not _put_sample(log, line, number, units, known):
            log.unread += 1
            log.is_cut = number == len(lines)
    capture = Capture(source.name, FORMAT)
    log.put(capture)
    return measurement_reading(capture.node(), FactSheet(source.name))


def _put_sample(
    log: RunLogText,
    line: str,
    number: int,
    units: Mapping[str, str],
    known: dict[str, Labels | None],
) -> bool:
    """Take a line; returns whether it could be read."""
    match = _SAMPLE.fullmatch(line) if len(line) < _LONGEST_LINE else None
    if match is None:
        return False
    name, written, value, time = match.groups(default="")
    try:
        read = float(value)
    except ValueError:
        return False
    if written not in known:
        known[written] = _labels(written)
    labels = known[written]
    if labels is None:
        return False
    if _DCGM_BLANK <= read < inf and name.startswith("DCGM_"):
        return True  # the exporter had no value
    moment = log.clock.note(moment_of(float(time))) if _is_time(time) else NEVER
    unit = units.get(name) or units.get(name.removesuffix("_total"), "")
    of = labels._replace(unit=unit) if unit else labels
    log.point(name, of, read, moment, None, number)
    return True


def _is_time(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _labels(written: str) -> Labels | None:
    """Return whose sample it is; None for labels that cannot be read."""
    labels: dict[str, object] = {}
    at = 0
    while at < len(written):
        match = _LABEL.match(written, at)
        if match is None:
            return None if written[at:].strip() else _of(labels)
        if match[1] in labels:
            return None
        labels[match[1]] = _ESCAPE.sub(lambda item: _ESCAPES[item[0]], match[2])
        at = match.end()
    return _of(labels)


def _of(labels: Mapping[str, object]) -> Labels:
    """Return the labels that every log has, and the others that distinguish series."""
    others = [
        str(value)
        for key, value in labels.items()
        if key not in _NOT_DEVICES and not (key == "device" and "gpu" in labels)
    ]
    # `job` is that of Prometheus, which scrapes, and no run.
    left_out = {*keys.DEVICES, "job"}
    named = {key: value for key, value in labels.items() if key not in left_out}
    result = keys.labels_of(named)
    xid = labels.get("err_code")
    return result._replace(
        device=" ".join([*others, f"Xid {xid}"] if xid else others), unit=""
    )


READER = CaptureReader(
    FORMAT, ("# TYPE ", "DCGM_FI_", "node_infiniband_"), _detect, _read, "measurement"
)
