"""`python -m speccheck`."""

from speccheck.validator.cli.main import run

if __name__ == "__main__":
    run()
