"""`--plot FILE`: measured curves as a picture."""

from speccheck.validator.cli.options import UsageError
from speccheck.validator.report.curve_plot import NoPlotting, draw
from speccheck.validator.report.write import write_bytes
from speccheck.validator.run.run import Run


def plot(found: Run, path: str) -> None:
    """Draw what was measured; raises UsageError and WriteError."""
    curves = [
        one
        for plan in found.plans
        if plan.measured is not None
        for one in plan.measured.curves
        if one.curve.points
    ]
    if not curves:
        message = f"--plot {path}: no collective was measured: nothing to draw"
        raise UsageError(message)
    try:
        write_bytes(draw(curves, path.rpartition(".")[2]), path)
    except NoPlotting as error:
        raise UsageError(str(error)) from error
