"""Ask accelerate: the file of `accelerate launch`, up to the plugins that it makes."""

import importlib
import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from oracles.drivers.serving import NotAskable, serve

torch = importlib.import_module("torch")
launch = importlib.import_module("accelerate.commands.launch")
launching = importlib.import_module("accelerate.utils.launch")
launching_config = importlib.import_module("accelerate.commands.config.config_args")
dataclasses = importlib.import_module("accelerate.utils.dataclasses")
zero = importlib.import_module("deepspeed.runtime.zero.config")
parallelism = importlib.import_module("accelerate.parallelism_config")


def check(main: Path) -> None:
    """Do what `accelerate launch --config_file` does before it starts processes."""
    settings = launching_config.load_config_from_file(str(main))
    if settings.compute_environment == "AMAZON_SAGEMAKER":
        return
    parser = launch.launch_command_parser()
    args = parser.parse_args(["--config_file", str(main), "train.py"])
    args, defaults, has_precision = launch._validate_launch_command(args)  # noqa: SLF001
    # The engines are taken to be there.
    setattr(launching, "is_fp8_available", lambda: True)  # noqa: B010
    if args.use_deepspeed:
        fields = [*defaults.deepspeed_config]
        fields += ["mixed_precision"] if has_precision else []
        args.deepspeed_fields_from_accelerate_config = ",".join(fields)
        _, environment = launching.prepare_deepspeed_cmd_env(args)
    elif args.use_fsdp or args.multi_gpu or args.use_megatron_lm:
        environment = launching.prepare_multi_gpu_env(args)
    else:
        _, environment = launching.prepare_simple_launcher_cmd_env(args)
    os.environ.update(environment)
    if args.use_deepspeed:
        file = defaults.deepspeed_config.get("deepspeed_config_file")
        if isinstance(file, str) and not Path(file).exists():
            message = f"{file} is not among the files"
            raise NotAskable(message)
        plugin = dataclasses.DeepSpeedPlugin()
        stated = plugin.deepspeed_config.get("zero_optimization", {})
        zero.DeepSpeedZeroConfig(**_without_auto(stated))
    if args.use_fsdp:
        with (
            patch.object(dataclasses, "is_cuda_available", lambda: True),
            patch.object(torch.cuda, "current_device", lambda: 0),
        ):
            dataclasses.FullyShardedDataParallelPlugin()
    if os.environ.get("ACCELERATE_MIXED_PRECISION") == "fp8":
        for name in ("torchao", "transformer_engine", "msamp"):
            setattr(dataclasses, f"is_{name}_available", lambda: True)
        backend = os.environ.get("ACCELERATE_FP8_BACKEND", "AO").upper()
        _RECIPES.get(backend, _of_any_engine)()
    if os.environ.get("ACCELERATE_USE_PARALLELISM_CONFIG") == "true":
        parallelism.ParallelismConfig()


def _of_any_engine() -> object:
    """Make the arguments of an 8-bit engine that has none of its own."""
    return dataclasses.FP8RecipeKwargs(backend=os.environ["ACCELERATE_FP8_BACKEND"])


_RECIPES = {
    "AO": dataclasses.AORecipeKwargs,
    "MSAMP": dataclasses.MSAMPRecipeKwargs,
    "TE": dataclasses.TERecipeKwargs,
}


def _without_auto(block: Any) -> Any:  # noqa: ANN401 - of any file
    """Return a block without the values that a caller fills in."""
    if not isinstance(block, dict):
        return block
    kept = ((key, value) for key, value in block.items() if value != "auto")
    return {key: _without_auto(value) for key, value in kept}


if __name__ == "__main__":
    sys.exit(serve("accelerate", check))
