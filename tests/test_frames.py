"""Code frames: what is marked, and how wide a frame may be."""

import pytest

from speccheck.validator.engine.locate import Location
from speccheck.validator.report.findings_text import frames
from speccheck.validator.report.style import Style

LONG = "train_global_batch_size: ${mul:${grpo.num_prompts_per_step}, ${grpo.answers}}"


def location(line: int, column: int, text: str) -> Location:
    return Location("a.yaml", "key", line, column, len(text) - column + 1, text)


@pytest.mark.parametrize("indent", [0, 4, 30, 120])
def test_a_frame_keeps_to_the_width(indent: int) -> None:
    text = " " * indent + LONG
    places = [location(90, indent + 26, text), location(181, indent + 26, text)]
    lines = list(frames(places, Style(width=80)))
    assert max(map(len, lines)) <= 80
    assert [line.rpartition("^")[2] for line in lines[2::2]] == [
        " stated here",
        " and here",
    ]


def test_what_is_marked_is_marked_in_full_where_it_fits() -> None:
    (_, code, marks) = frames([location(3, 8, "nodes: 512")], Style(width=80))
    assert code == "     3 | nodes: 512"
    assert marks == "       |        ^^^"
