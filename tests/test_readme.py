"""The README explains every exit code; what it shows is run with all other pages."""

from pathlib import Path

import pytest

from speccheck.validator.cli.main import main

README = (Path(__file__).resolve().parents[1] / "README.md").read_text("utf-8")


def test_every_exit_code_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    main(["help", "exit-codes"])
    text = capsys.readouterr().out
    for code in (0, 1, 2, 3, 4, 130):
        assert f"| {code} | " in README
        assert f"\n  {code}  " in text
