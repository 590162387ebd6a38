"""Ask accelerate: the file of `accelerate launch`, up to the plugins that it makes."""

import importlib
import os
import sys
from pathlib import Path
from unittest.mock import patch

from oracles.drivers.serving import NotAskable, serve

torch = importlib.import_module("torch")
launch = importlib.import_module("accelerate.commands.launch")
launching = importlib.import_module("accelerate.utils.launch")
launching_config = importlib.import_module("accelerate.commands.config.config_args")
dataclasses = importlib.import_module("accelerate.utils.dataclasses")
parallelism = importlib.import_module("accelerate.parallelism_config")


def check(main: Path) -> None:
    """Do what `accelerate launch --config_file` does before it starts processes."""
    settings = launching_config.load_config_from_file(str(main))
    if settings.compute_environment == "AMAZON_SAGEMAKER":
        return
    parser = launch.launch_command_parser()
    args = parser.parse_args(["--config_file", str(main), "train.py"])
    args, defaults, has_precision = launch._validate_launch_command(args)  # noqa: SLF001
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
        dataclasses.DeepSpeedPlugin()
    if args.use_fsdp:
        with (
            patch.object(dataclasses, "is_cuda_available", lambda: True),
            patch.object(torch.cuda, "current_device", lambda: 0),
        ):
            dataclasses.FullyShardedDataParallelPlugin()
    if os.environ.get("ACCELERATE_USE_PARALLELISM_CONFIG") == "true":
        parallelism.ParallelismConfig()


if __name__ == "__main__":
    sys.exit(serve("accelerate", check))
