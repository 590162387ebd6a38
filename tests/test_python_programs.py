"""Python programs with the rest of their repository: modules, recipes, scripts."""

import json
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from speccheck.validator.cli.main import main
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.joining.merge import merge
from speccheck.validator.sources.reader import Source


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Give a folder that git knows."""
    (tmp_path / ".git").mkdir()
    return tmp_path


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))


def document(folder: Path, name: str = "train.py") -> Any:  # noqa: ANN401 - a document
    path = folder / name
    (found,) = Source(str(path), path.read_text()).documents
    return found


HEAD = "from transformers import TrainingArguments\n"


@pytest.mark.parametrize(
    ("line", "expression", "module", "value"),
    [
        ("from settings import STEPS", "STEPS", "STEPS = 3", 3),
        ("import settings", "settings.STEPS", "STEPS = 3", 3),
        ("from settings import *", "STEPS", "STEPS = 3", 3),
        ("from settings import steps", "steps(4)", "def steps(n): return n * 2", 8),
        ("from settings import C", "C.steps", "class C:\n    steps = 5", 5),
        (
            "from settings import C",
            "C().steps",
            "import dataclasses as d\n@d.dataclass\nclass C:\n    steps: int = 6",
            6,
        ),
        (
            "from settings import steps",
            "steps()",
            "import train\nBASE = 7\ndef steps():\n    return BASE",
            7,
        ),
        (
            "from settings import S",
            "S['a']",
            "if __name__ == '__main__':\n    S = {}\nelse:\n    S = {'a': 2}",
            2,
        ),
    ],
)
def test_a_module_beside(
    repository: Path, line: str, expression: str, module: str, value: object
) -> None:
    text = f"{HEAD}{line}\nTrainingArguments('out', max_steps={expression})\n"
    write(repository, {"train.py": text, "settings.py": module})
    found = document(repository)
    assert found.data["max_steps"] == value
    assert found.fallbacks == {}
    assert found.place(("max_steps",)).file == str(repository / "train.py")


def test_a_package_of_the_repository(repository: Path) -> None:
    write(
        repository,
        {
            "src/mine/__init__.py": "",
            "src/mine/common.py": """
                def base(**more):
                    settings = {"bf16": True, "max_steps": 3}
                    settings.update(more)
                    return settings
            """,
            "src/mine/sizes.py": "from .common import base as made\n",
            "scripts/train.py": f"""
                {HEAD.strip()}
                from mine.sizes import made
                TrainingArguments("out", **made())
            """,
        },
    )
    found = document(repository, "scripts/train.py")
    assert found.data == {"output_dir": "out", "bf16": True, "max_steps": 3}
    resolution = found.resolution(("bf16",))
    assert resolution.is_known
    assert resolution.note == "set in line 3 of common.py"
    assert found.span(("bf16",)).line == 4


def test_a_module_outside_of_the_repository_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"settings.py": "STEPS = 3\n", "job/.git/x": ""})
    text = f"{HEAD}from settings import STEPS\nTrainingArguments(max_steps=STEPS)\n"
    write(tmp_path, {"job/train.py": text})
    found = document(tmp_path / "job")
    assert found.unsure == {("max_steps",)}


def test_modules_that_do_not_end_are_given_up(repository: Path) -> None:
    loop = "\n".join(
        f"def f{n}(): return [{', '.join([f'f{n - 1}()'] * 20)}]" for n in range(1, 9)
    )
    call = "from endless import N\nTrainingArguments(max_steps=N, seed=1)\n"
    write(
        repository,
        {
            "train.py": f"{HEAD}{call}",
            "endless.py": f"def f0(): return 1\n{loop}\nN = f8()\n",
        },
    )
    found = document(repository)
    assert found.data["seed"] == 1
    assert found.unsure == {("max_steps",)}


@pytest.mark.parametrize(
    ("lines", "expression", "value"),
    [
        ("def f(x):\n    if x is None:\n        return 1\n    return x", "f(None)", 1),
        ("def f(x):\n    if x == 'a':\n        return 1\n    return 2", "f('b')", 2),
        (
            "def f(x):\n    if isinstance(x, str):\n        return 1\n    return 2",
            "f(3)",
            2,
        ),
        ("L = [n * 2 for n in range(3)]", "L[2]", 4),
        ("D = {'a': 1, 'b': None}\nE = {k: v for k, v in D.items() if v}", "len(E)", 1),
        ("L = [1]\nL.append(5)\nL += [7]", "L[2]", 7),
        ("N = 'Adam_W'", "N.lower().replace('_', '')", "adamw"),
        ("N = 'a,b'", "N.split(',')[1]", "b"),
        ("N = [3, 1]", "sorted(set(N))[0]", 1),
        ("N = 3", "1 if 2 < N <= 3 else 0", 1),
        ("N = 'b'", "2 if N in ('a', 'b') else 3", 2),
        ("D = {'a': 1}", "5 if 'a' in D and D is not None else 6", 5),
    ],
)
def test_what_a_file_works_out(
    tmp_path: Path, lines: str, expression: str, value: object
) -> None:
    text = f"{HEAD}{lines}\nTrainingArguments(max_steps={expression})\n"
    write(tmp_path, {"train.py": text})
    found = document(tmp_path)
    assert found.data == {"max_steps": value}
    assert found.unsure == frozenset()


@pytest.mark.parametrize(
    ("lines", "expression"),
    [
        ("def f(x):\n    if read():\n        return 1", "f(1)"),
        ("D = {k: v for k, v in {'a': 1}.items() if read(k)}", "D['a']"),
        ("L = [n for n in read()]", "L[0]"),
        ("L = [1]\nif read():\n    L.append(2)", "len(L)"),
        ("S = {1, read()}", "len(S)"),
    ],
)
def test_what_a_file_leaves_open(tmp_path: Path, lines: str, expression: str) -> None:
    text = f"{HEAD}{lines}\nTrainingArguments(max_steps={expression})\n"
    write(tmp_path, {"train.py": text})
    assert document(tmp_path).unsure == {("max_steps",)}


def test_a_method_is_no_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
        import deepspeed
        from elsewhere import load
        config = load()
        config["train_batch_size"] = 8
        steps = config.get("steps_per_print")
        deepspeed.initialize(config=config)
    """
    write(tmp_path, {"train.py": text})
    assert document(tmp_path).data == {"train_batch_size": 8}
    assert main([str(tmp_path / "train.py")]) == 0
    assert "get is no key" not in capsys.readouterr().out


def test_a_command_of_typer_has_its_defaults(tmp_path: Path) -> None:
    text = f"""
        {HEAD.strip()}
        import typer
        app = typer.Typer()
        @app.command()
        def train(steps: int = 4):
            TrainingArguments(max_steps=steps)
    """
    write(tmp_path, {"train.py": text})
    found = document(tmp_path)
    assert found.data == {"max_steps": 4}
    assert found.fallbacks == {("max_steps",): "train() is not given steps"}


def test_a_trainer_of_xtuner() -> None:
    text = """
        from xtuner.v1.config import AdamWConfig, FSDPConfig, LRConfig
        from xtuner.v1.datasets.config import DataloaderConfig
        from xtuner.v1.train import TrainerConfig
        TrainerConfig(
            global_batch_size=64,
            total_epoch=2,
            sp_size=2,
            optim_cfg=AdamWConfig(lr=2e-5),
            lr_cfg=LRConfig(lr_min=1e-6),
            fsdp_cfg=FSDPConfig(ep_size=8, cpu_offload=False),
            dataloader_cfg=DataloaderConfig(pack_max_length=8192),
            checkpoint_interval=500,
            checkpoint_maxkeep=-1,
        )
    """
    _, (file,) = read_file("config.py", text=dedent(text))
    leaves = merge([fact for item in file.readings for fact in item.facts.facts])
    values = {
        name: leaf.value for name, leaf in leaves.items() if leaf.status == "stated"
    }
    assert values == {
        "batch.global_batch_size": 64,
        "batch.sequence_length": 8192,
        "checkpoint.interval_steps": 500,
        "memory.parameter_offload_device": "none",
        "optimizer.learning_rate": 2e-5,
        "optimizer.minimum_learning_rate": 1e-6,
        "parallelism.expert_parallel_size": 8,
        "parallelism.ulysses_size": 2,
        "run.epochs": 2,
    }
    assert leaves["checkpoint.keep_last"].status == "unknown"


RECIPES = {
    "src/megatron/bridge/__init__.py": "",
    "src/megatron/bridge/recipes/__init__.py": "from .small.h100 import *\n",
    "src/megatron/bridge/recipes/small/__init__.py": (
        "from .h100 import small_8gpu_config as small_config\n"
    ),
    "src/megatron/bridge/recipes/small/h100.py": """
        from megatron.bridge.training.config import ConfigContainer, TrainingConfig
        def small_8gpu_config() -> ConfigContainer:
            cfg = ConfigContainer(train=TrainingConfig(train_iters=10))
            cfg.model.context_parallel_size = 1
            cfg.model.tensor_model_parallel_size = 2
            return cfg
    """,
    "job.sbatch": """\
        #!/bin/bash
        #SBATCH --nodes=16
        #SBATCH --gpus-per-node=8
        #SBATCH --ntasks-per-node=8
        srun python scripts/training/run_recipe.py --recipe small_config \\
          train.train_iters=50 train.global_batch_size=16 train.micro_batch_size=1 \\
          model.tensor_model_parallel_size=1 model.pipeline_model_parallel_size=8
    """,
}


def test_settings_over_a_recipe(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(repository, RECIPES)
    main([str(repository / "job.sbatch"), "--output", "json"])
    report = json.loads(capsys.readouterr().out)
    starved = [
        item["message"]
        for item in report["findings"]
        if item["rule"] == "pipeline_starved_of_micro_batches"
    ]
    message = (
        "1 micro-batch on 8 pipeline stages leaves 7 / (1 + 7) = 88% of the step "
        "idle; at most 20% should be"
    )
    assert starved == [message]


def test_a_recipe_that_is_not_here_leaves_sizes_open(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(repository, {"job.sbatch": RECIPES["job.sbatch"]})
    main([str(repository / "job.sbatch"), "--output", "json"])
    report = json.loads(capsys.readouterr().out)
    assert all(
        item["rule"] != "pipeline_starved_of_micro_batches" or item["outcome"] != "fail"
        for item in report["findings"]
    )


PROGRAM = f"""
    import argparse
    {HEAD.strip()}
    parser = argparse.ArgumentParser()
    parser.add_argument("--micro-batch", type=int, default=2)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--bf16", action="store_true")
    args = parser.parse_args()
    TrainingArguments(
        "out",
        per_device_train_batch_size=args.micro_batch,
        max_steps=args.steps,
        bf16=args.bf16,
        fp16=True,
    )
"""
SCRIPT = """\
    #!/bin/bash
    #SBATCH --nodes=4
    #SBATCH --gpus-per-node=8
    #SBATCH --ntasks-per-node=1
    srun torchrun --nnodes 4 --nproc-per-node 8 --rdzv-backend c10d \\
      --rdzv-endpoint $HEAD_NODE:29500 train.py {arguments}
"""


def test_a_script_gives_its_program_options(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = SCRIPT.format(arguments="--micro-batch 8 --bf16")
    write(repository, {"train.py": PROGRAM, "job.sbatch": script})
    assert main([str(repository / "job.sbatch"), "--output", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    (plan,) = report["plans"]
    assert [Path(name).name for name in plan["files"]] == ["job.sbatch", "train.py"]
    assert plan["world_size"] == 32
    failed = [item for item in report["findings"] if item["level"] == "error"]
    (both,) = [item for item in failed if item["outcome"] == "fail"]
    assert both["rule"] == "two_half_precision_modes"
    assert [place["line"] for place in both["places"]] == [13, 14]


@pytest.mark.parametrize(
    ("arguments", "micro_batch", "status"),
    [
        ("--micro-batch 8", 8, "derived"),
        ("--micro-batch=8 --steps $STEPS", 8, "derived"),
        ("", 2, "derived"),
        ("--steps 500", 2, "derived"),
        ("$EXTRA", 2, "fallback"),
        ('"$@"', 2, "fallback"),
        ("--micro 8", 2, "fallback"),
        ("--micro-batch $SIZE", None, "unknown"),
    ],
)
def test_defaults_where_a_script_starts_the_program(
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: str,
    micro_batch: int | None,
    status: str,
) -> None:
    script = SCRIPT.format(arguments=arguments)
    write(repository, {"train.py": PROGRAM, "job.sbatch": script})
    main(["plan", str(repository / "job.sbatch"), "--output", "json"])
    plan = json.loads(capsys.readouterr().out)
    text = json.dumps(plan)
    assert text
    leaf = find(plan, "batch.micro_batch_size")
    assert (leaf.get("value"), leaf["status"]) == (micro_batch, status)


def find(tree: Any, name: str) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return the leaf of a name, anywhere in a document."""
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if item.get("name") == name:
                return item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    raise KeyError(name)


def test_what_is_not_known_is_counted_with_its_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"""
        {HEAD.strip()}
        settings = read()
        TrainingArguments(
            "out",
            bf16=True,
            max_steps=settings["steps"],
            seed=settings["seed"],
        )
    """
    write(tmp_path, {"train.py": text})
    assert main([str(tmp_path / "train.py")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "2 values are not known from its text: max_steps (line 7), seed" in shown


def test_a_fix_leaves_what_is_no_literal_alone(repository: Path) -> None:
    """What another module or an expression gives is not written over."""
    program = f"{HEAD}from settings import S\nTrainingArguments('out', **S)\n"
    module = "S = {'bf16': True, 'fp16': True, 'max_steps': 300}\n"
    write(repository, {"train.py": program, "settings.py": module})
    assert main([str(repository / "train.py"), "--fix", "--unsafe-fixes"]) == 1
    assert (repository / "train.py").read_text() == program
    assert (repository / "settings.py").read_text() == module


@pytest.mark.parametrize(
    "lines",
    [
        "L = range(9999)\nN = len([a for a in L for b in L])",
        "L = [1]\n" + "L = L + L\n" * 40 + "N = len(L)",
        "S = 'a' * 9999\n" + "S = S.replace('a', 'aaaa')\n" * 9 + "N = len(S)",
        "S = ','.join(['a' * 9000 for i in range(1999)])\nN = len(S)",
    ],
)
def test_what_would_grow_without_end(tmp_path: Path, lines: str) -> None:
    text = f"{HEAD}{lines}\nTrainingArguments(max_steps=N, seed=1)\n"
    write(tmp_path, {"train.py": text})
    found = document(tmp_path)
    assert found.data["seed"] == 1
    assert found.unsure == {("max_steps",)}


def test_modules_in_a_circle(repository: Path) -> None:
    call = "from a import N\nTrainingArguments(max_steps=N, seed=1)\n"
    write(
        repository,
        {
            "train.py": f"{HEAD}{call}",
            "a.py": "from b import N\n",
            "b.py": "from a import N\n",
        },
    )
    assert document(repository).unsure == {("max_steps",)}
