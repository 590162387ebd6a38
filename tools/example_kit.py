"""Writes fixtures/examples/certification: the evidence kit that the pages certify.

Run `python tools/example_kit.py`; a test holds the files equal.
"""

from pathlib import Path

from speccheck.validator.cli.simulated_kit import KitOrder, write_kit
from speccheck.validator.simulation.fleet import SimulatedFleet
from speccheck.validator.simulation.planting import Planting

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "examples" / "certification"
FLEET = SimulatedFleet(2, "azure-nd96isr-h100-v5", 1, "certify")


def main() -> int:
    """Write the kit."""
    write_kit(KitOrder(FLEET, Planting(), str(FOLDER)))
    return 0


if __name__ == "__main__":
    main()
