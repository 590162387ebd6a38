"""Ask LitGPT: its own command line with `--config`, and the checks of its recipes."""

import importlib
import sys
from pathlib import Path

import yaml

from oracles.drivers.serving import serve

jsonargparse = importlib.import_module("jsonargparse")
RECIPES = {
    name: importlib.import_module(f"litgpt.{name}")
    for name in ("pretrain", "finetune.lora", "finetune.adapter", "finetune.full")
}
# Keys that one recipe alone takes.
MARKS = {
    "lora_r": "finetune.lora",
    "lora_alpha": "finetune.lora",
    "model_name": "pretrain",
    "model_config": "pretrain",
    "tokenizer_dir": "pretrain",
    "initial_checkpoint_dir": "pretrain",
}


def check(main: Path) -> None:
    """Parse the file for its recipe, make its dataclasses, and ask `validate_args`."""
    document = yaml.safe_load(main.read_text(encoding="utf-8"))
    keys = document if isinstance(document, dict) else {}
    name = next((MARKS[key] for key in keys if key in MARKS), "finetune.full")
    recipe = RECIPES[name]
    parser = jsonargparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("--config", action="config")
    parser.add_function_arguments(recipe.setup)
    parsed = parser.parse_args(["--config", str(main)])
    made = parser.instantiate_classes(parsed)
    if name == "pretrain":
        recipe.validate_args(
            made.train, made.eval, made.initial_checkpoint_dir, made.resume
        )
    else:
        recipe.validate_args(made.train, made.eval)


if __name__ == "__main__":
    sys.exit(serve("litgpt", check))
