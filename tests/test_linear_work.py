"""What a file costs grows with its length: hostile files must not hold a run up.

Calls are counted, not seconds, so that a busy machine says the same.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from speccheck.validator.cli.main import main

_FEW, _TIMES = 100, 6
_HEAD = """\
[job]
dump_folder = "out"
[model]
name = "llama3"
flavor = "8B"
[optimizer]
name = "AdamW"
[training]
local_batch_size = 1
seq_len = 8192
steps = 10
"""


def _unknown_tables(number: int) -> str:
    return _HEAD + "".join(f"[t{index}]\na = 1\n" for index in range(number))


def _unknown_keys(number: int) -> str:
    keys = "".join(f"zz{index} = 1\n" for index in range(number))
    return _HEAD.replace("[optimizer]\n", f"[optimizer]\n{keys}")


def _calls(run: Callable[[], object]) -> int:
    """Return Python calls that a run makes; each turn of a generator is one."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("text_of", [_unknown_tables, _unknown_keys])
def test_unknown_keys(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text_of: Callable[[int], str],
) -> None:
    costs: list[int] = []
    for number in (1, _FEW, _FEW * _TIMES):  # the first loads modules
        path = tmp_path / f"{number}.toml"
        path.write_text(text_of(number), "utf-8")
        costs.append(_calls(lambda path=path: main([str(path)])))  # type: ignore[misc]
    capsys.readouterr()
    _, few, many = costs
    assert many < 1.5 * _TIMES * few
