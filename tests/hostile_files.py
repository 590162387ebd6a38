"""Files that would be markup, formulas, links or escapes in a report, if it let them.

All of it stands on one line, so that the frame of any finding shows it.
"""

import json
from collections.abc import Callable
from pathlib import Path

Writer = Callable[[Path], Path]

SCRIPT = "<script>alert(1)</script>"
STYLE_END = "</style></pre></title><img src=x onerror=alert(2)>"
QUOTES = "\" onmouseover='alert(3)' x=`y`"
ESCAPES = "\x1b[31mred\x1b]8;;https://evil.example\x07link\x9b2J\x00"
BIDI = "\u202eesrever\u2066\u2069\u200f"
MARKDOWN = (
    "[a](https://evil.example) ![i](//evil.example/i.png) @admin #1 GH-2 **b** |x|"
)
FORMULA = "=cmd|' /C calc'!A0"
NAME = "a<b>&'`$(id)` @bob #3.json"
HARMFUL = (
    "<script",
    "<img",
    "</style></pre>",
    "onmouseover='",
    "\x1b",
    "\x9b",
    "\x00",
    "\x07",
    "\u202e",
    "\u2066",
    "\u200f",
)


def write_hostile(folder: Path) -> Path:
    """Write a DeepSpeed file with an error, everything on one line."""
    values = {
        "train_batch_size": 500,
        "train_micro_batch_size_per_gpu": 2,
        "gradient_accumulation_steps": 8,
        SCRIPT: STYLE_END,
        QUOTES: ESCAPES,
        BIDI: MARKDOWN,
        FORMULA: FORMULA,
        f"train_batch_sizes{SCRIPT}": 1,
        "optimizer": {"type": f"{SCRIPT}{BIDI}", "params": {"lr": MARKDOWN}},
        "zero_optimization": {"stage": f"{FORMULA}{QUOTES}"},
    }
    path = folder / NAME
    # Not escaped, as far as JSON allows it.
    path.write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")
    return path


def write_hostile_environment(folder: Path) -> Path:
    """Write variables whose values stand in messages and in the plan's table."""
    path = folder / "job.env"
    path.write_text(
        f'NCCL_ALGO="{SCRIPT}@admin"\n'
        f"NCCL_PROTO='{FORMULA}'\n"
        f'NCCL_SOCKET_IFNAME="{BIDI}<b>#1</b>"\n'
        f'NCCL_DEBUGG="{STYLE_END}"\n',
        encoding="utf-8",
    )
    return path
