"""Measured collectives as a table, in the columns that users of nccl-tests know."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_WIDTHS = {"float64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2}
_HEADS = (
    ("size", "count", "type", "time", "algbw", "busbw", "p99", "spread", "#wrong"),
    ("(B)", "(elements)", "", "(us)", "(GB/s)", "(GB/s)", "(us)", "(%)", ""),
)
_FORM = "{:>12} {:>12} {:>9} {:>10} {:>8} {:>8} {:>10} {:>7} {:>7}"
_UNSTEADY = 0.10
_MARKED = ("wrong_values", "spread")
_MOST_HOSTS = 8


def collective_table(data: Mapping[str, Any]) -> Iterator[str]:
    """The lines for all runs of a snapshot."""
    runs = data.get("collective_runs") or []
    unsteady = 0
    for run in runs:
        yield f"# {_title(run)}\n"
        if run.get("size_bytes"):
            for head in _HEADS:
                yield f"#{_FORM.format(*head)[1:]}\n"
            for at in range(len(run["size_bytes"])):
                yield f"{table_row(run, at)}\n"
            unsteady += sum(spread > _UNSTEADY for spread in run["spread"])
        if not run.get("is_complete"):
            yield f"# not complete: {run.get('ended_by')}\n"
    if unsteady:
        yield (
            f"# * {unsteady} unsteady: iterations spread over more than "
            f"{_UNSTEADY:.0%} of their median, in the steadiest of several attempts\n"
        )
    yield "\n"


def _title(run: Mapping[str, Any]) -> str:
    hosts: Sequence[str] = run.get("hosts") or ()
    names = ", ".join(hosts[:_MOST_HOSTS])
    names += f" and {len(hosts) - _MOST_HOSTS} more" if len(hosts) > _MOST_HOSTS else ""
    turn = f"round {run['round']}: " if "round" in run else ""
    gpu = run.get("gpu")
    what = gpu if isinstance(gpu, str) else "CPU"
    return (
        f"{turn}{run['collective']}, {run['ranks']} ranks on {names} ({what}, "
        f"{run['backend']} of torch {run['torch_version']}), {run['placement']}, "
        f"{run['warmup_iterations']} + {run['iterations']} iterations"
    )


def table_row(run: Mapping[str, Any], at: int) -> str:
    """One size of a run."""
    size, wrong, spread = (run[leaf][at] for leaf in ("size_bytes", *_MARKED))
    mark = "*" if spread > _UNSTEADY else ""
    return _FORM.format(
        size,
        size // _WIDTHS[run["data_type"]],
        run["data_type"],
        _scaled(run["seconds"][at], 1e6, 1),
        _scaled(run["algorithm_bytes_per_second"][at], 1e-9, 3),
        _scaled(run["bus_bytes_per_second"][at], 1e-9, 3),
        _scaled(run["p99_seconds"][at], 1e6, 1),
        f"{spread * 100:.1f}{mark}",
        "N/A" if wrong is None else wrong,
    )


def _scaled(value: float | None, factor: float, digits: int) -> str:
    return "N/A" if value is None else f"{value * factor:.{digits}f}"
