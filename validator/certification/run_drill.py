"""The drill of recovery: what to do, and the events to write down."""

import json

from speccheck.validator.certification.needs import Asked

_CLAUSE, _LIMIT, _PERCENTILE = "FT-009", "recovery_p95", "percentile"
_RUNS = 5
# The events of one drill, in order; seconds since the first, by way of example.
EVENTS = (
    ("run.failure_injected", 0.0, {"reason": "worker process killed"}),
    ("run.failure_detected", 6.0, {"reason": "process ended"}),
    ("run.node_replaced", 21.0, {"reason": "spare takes its place"}),
    ("run.restore", 44.0, {"step": 400, "seconds": 14.0}),
    ("run.resumed", 61.0, {"step": 401}),
)
_MINUTE = 10
DRILL_COMMANDS = (
    "pkill --signal KILL --newest --full train.py   # on one node, during training",
    "cp drill.jsonl evidence/logs/",
    "speccheck telemetry evidence/logs/drill.jsonl",
)


def drill_words(asked: Asked) -> tuple[str, ...]:
    """What to do; the limit is the edition's."""
    numbers = asked.composed.numbers(_CLAUSE)
    limit, percentile = numbers[_LIMIT], numbers[_PERCENTILE]
    return (
        (
            "While it trains: end one worker, or take a node away as the scheduler "
            "would; let the job recover as it would by itself - notice, put another "
            "node in its place, load the last checkpoint, make the next step - and "
            "write down when each of these was. Another node each time."
        ),
        (
            f"{percentile} of the time from the failure to the first step after it "
            f"must be at most {limit} s; all drills count, those that went badly too."
        ),
        "One line an event, all lines of a drill with its name:",
        *drill_example(),
    )


def drill_example(name: str = "drill-1", edition: str = "1.0") -> tuple[str, ...]:
    """The log of one drill, line by line, in the form that is read."""
    lines = []
    for event, seconds, more in EVENTS:
        record = {
            "time": f"2026-11-21T20:{_MINUTE + int(seconds) // 60:02d}"
            f":{int(seconds) % 60:02d}Z",
            "event": event,
            "drill": name,
            "run": "certify-1",
            "edition": edition,
            "node": "node0002",
            "rank": 8,
            **more,
        }
        lines.append(json.dumps(record))
    return tuple(lines)
