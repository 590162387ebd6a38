"""Settings kept in Python: what is read of calls and recipes, and what is left open."""

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from speccheck.validator.cli.main import main
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.python_document import load_python
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.joining.merge import merge

HEAD = "from transformers import TrainingArguments\n"


def documents(text: str) -> list[Any]:
    return load_python("train.py", dedent(text))


def settings(text: str) -> dict[str, object]:
    """The settings of the only configuration of a text."""
    (document,) = documents(text)
    return dict(document.data)


def arguments(lines: str, call: str) -> Any:  # noqa: ANN401 - a document
    """The only document of a call behind some lines."""
    text = f"{HEAD}{dedent(lines)}\nTrainingArguments({call})\n"
    (document,) = load_python("train.py", text)
    return document


def leaves(text: str) -> list[dict[str, Any]]:
    """The leaves of each configuration of a text, by name."""
    _, files = read_file("train.py", text=dedent(text))
    return [
        merge([fact for item in file.readings for fact in item.facts.facts])
        for file in files
    ]


@pytest.mark.parametrize(
    ("lines", "expression", "value"),
    [
        ("", "3", 3),
        ("", "-1", -1),
        ("", "2e-5", 2e-5),
        ("LR = 2e-5", "LR * 2", 4e-5),
        ("A, B = 4, 8", "B // A", 2),
        ("NAME = 'llama'\nN = 3", "f'out/{NAME}-{N}'", "out/llama-3"),
        ("N = '4'", "int(N)", 4),
        ("C = {'a': {'b': 5}}", "C['a']['b']", 5),
        ("C = dict(a=1)\nC['a'] = 2", "C['a']", 2),
        ("C = dict(a=1)\nC.update(a=7)", "C.get('a')", 7),
        ("DEBUG = False", "1 if DEBUG else 100", 100),
        ("DEBUG = True\nif DEBUG:\n    N = 1\nelse:\n    N = 2", "N", 1),
        ("def size():\n    return 16", "size()", 16),
        ("def size(n):\n    return n * 2", "size(8)", 16),
        ("class Args:\n    steps: int = 9", "Args.steps", 9),
        ("class Args:\n    steps: int = 9\nargs = Args()", "args.steps", 9),
        ("import os", "os.path.join('a', 'b')", "a/b"),
        ("import torch", "torch.bfloat16", "bfloat16"),
        ("N = 1\nN += 2", "N", 3),
        ("try:\n    import x\nexcept ImportError:\n    x = None\nN = 2", "N", 2),
    ],
)
def test_what_the_file_says(lines: str, expression: str, value: object) -> None:
    document = arguments(lines, f"max_steps={expression}")
    assert document.data == {"max_steps": value}
    resolution = document.resolution(("max_steps",))
    assert resolution is None or (resolution.is_known and not resolution.only_if)


@pytest.mark.parametrize(
    ("lines", "expression", "value", "condition"),
    [
        ("import os", "os.environ.get('N', 4)", 4, "N is not set"),
        ("import os", "int(os.getenv('N', '4')) * 2", 8, "N is not set"),
        (
            (
                "import argparse\np = argparse.ArgumentParser()\n"
                "p.add_argument('--batch-size', type=int, default='4')\n"
                "a = p.parse_args()"
            ),
            "a.batch_size",
            4,
            "--batch-size is not given",
        ),
        (
            (
                "from transformers import HfArgumentParser\nclass A:\n    n: int = 6\n"
                "(a,) = HfArgumentParser((A,)).parse_args_into_dataclasses()"
            ),
            "a.n",
            6,
            "--n is not given",
        ),
    ],
)
def test_what_holds_unless_another_value_is_given(
    lines: str, expression: str, value: object, condition: str
) -> None:
    document = arguments(lines, f"max_steps={expression}")
    assert document.data == {"max_steps": value}
    assert document.resolution(("max_steps",)).only_if == condition
    assert document.place(("max_steps",)).only_if == condition
    assert document.fallbacks == {("max_steps",): condition}


@pytest.mark.parametrize(
    ("lines", "expression"),
    [
        ("", "unheard_of"),
        ("import os", "os.environ['N']"),
        ("import os", "os.environ.get('N')"),
        ("from constants import N", "N"),
        ("N = 1\nfor i in range(3):\n    N = i", "N"),
        ("N = 1\nif len(read()) > 1:\n    N = 2", "N"),
        ("N = 1\nexec(open('settings.py').read())", "N"),
        ("N = 1\ndef change():\n    global N\n    N = 2", "N"),
        ("C = {'a': 1}\nC[key()] = 2", "C.get('b', 3)"),
        ("", "2 ** 999999999"),
        ("", "'a' * 999999999"),
        ("", "1 // 0"),
        ("N = 1", "[n for n in N][0]"),
        ("def f(n):\n    return f(n)", "f(1)"),
        ("class A:\n    n: int = 1\nA.n = 2", "A.n"),
        ("class A:\n    n: int = 1\na = A(2)", "a.n"),
        ("class A:\n    n = 1\n    def __init__(self): self.n = 2\na = A()", "a.n"),
    ],
)
def test_what_the_file_does_not_say(lines: str, expression: str) -> None:
    document = arguments(lines, f"max_steps={expression}")
    assert not document.resolution(("max_steps",)).is_known
    assert document.own_data == {"max_steps": None}
    assert document.unsure == {("max_steps",)}


def test_a_value_has_its_place() -> None:
    document = arguments("ä = 'ö'", "output_dir='é', max_steps=3")
    span = document.span(("max_steps",))
    assert (span.line, span.column, span.length) == (3, 45, 1)
    key = document.span(("max_steps",), part="key")
    assert (key.line, key.column, key.length) == (3, 35, 9)


def test_the_object_as_later_lines_leave_it() -> None:
    data = settings(
        HEAD
        + """
base = {"bf16": True, "seed": 1}
args = TrainingArguments("out", **base, max_steps=3)
args.max_steps = 5
if unheard_of:
    args.seed = 2
    args.bf16 = True
"""
    )
    unknown = data.pop("seed")
    assert data == {"output_dir": "out", "bf16": True, "max_steps": 5}
    assert unknown == "${not known}"


def test_an_object_of_a_method() -> None:
    data = settings(
        HEAD
        + """
class Training:
    def run(self):
        self.steps = 5
        self.args = TrainingArguments(max_steps=self.steps, seed=self.seed)
        self.args.bf16 = True
"""
    )
    assert data == {"max_steps": 5, "seed": "${not known}", "bf16": True}


def test_a_program_may_train_adapters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = {
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 8192,
        "intermediate_size": 28672,
        "num_attention_heads": 64,
        "num_hidden_layers": 80,
        "vocab_size": 128256,
    }
    (tmp_path / "config.json").write_text(json.dumps(model))
    zero = '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}}'
    (tmp_path / "train.py").write_text(
        f"{HEAD}TrainingArguments(bf16=True, deepspeed={zero})\n"
    )
    job = ("--nodes", "1", "--gpus-per-node", "1", "--gpu", "H100-SXM5-80GB")
    assert main([str(tmp_path), *job]) == 0
    assert "model.adapter" in capsys.readouterr().out


def test_arguments_of_elsewhere_leave_the_rest_open() -> None:
    (plan,) = leaves(HEAD + "TrainingArguments(max_steps=3, **read())\n")
    assert plan["run.steps"].value == 3
    assert plan["communication.timeout_seconds"].status == "unknown"
    (closed,) = leaves(HEAD + "TrainingArguments(max_steps=3)\n")
    assert closed["communication.timeout_seconds"].value == 1800.0


def test_two_calls_are_two_plans() -> None:
    text = (
        HEAD
        + """
def main(kind):
    if kind == "lora":
        return TrainingArguments(max_steps=3)
    return TrainingArguments(max_steps=4)
"""
    )
    assert [plan["run.steps"].value for plan in leaves(text)] == [3, 4]


def test_a_call_that_is_followed_twice_says_what_both_say() -> None:
    data = settings(
        HEAD
        + """
def train(steps):
    return TrainingArguments(max_steps=steps, seed=1)
train(3)
train(4)
"""
    )
    assert data == {"max_steps": "${not known}", "seed": 1}


@pytest.mark.parametrize(
    "text",
    [
        "def TrainingArguments(**_): ...\nTrainingArguments(max_steps=3)\n",
        "from mine import TrainingArguments\nTrainingArguments(max_steps=3)\n",
        "class TrainingArguments:\n    pass\nTrainingArguments(max_steps=3)\n",
        "import transformers\nx = 'TrainingArguments(max_steps=3)'\n",
    ],
)
def test_a_call_of_another_name_is_none(text: str) -> None:
    assert documents(text) == []


def test_a_class_of_the_file_that_extends_the_library_s() -> None:
    (document,) = documents(
        """
import transformers as tf
class TrainingArguments(tf.TrainingArguments):
    max_lengths: int = 8
    optim: str = "adamw_torch"
TrainingArguments(max_steps=3, max_lengths=9)
"""
    )
    assert document.data == {"max_steps": 3, "max_lengths": 9, "optim": "adamw_torch"}
    assert document.own_data == {"max_steps": 3}


def test_accelerate_and_its_plugins() -> None:
    (plan,) = leaves(
        """
from accelerate import Accelerator, DeepSpeedPlugin
plugin = DeepSpeedPlugin(zero_stage=2, gradient_clipping=1.0)
Accelerator(
    mixed_precision="bf16", gradient_accumulation_steps=4, deepspeed_plugin=plugin
)
"""
    )
    values = {name: leaf.value for name, leaf in plan.items() if leaf.value is not None}
    assert values == {
        "batch.gradient_accumulation_steps": 4,
        "batch.mode": "fixed",
        "optimizer.clip_norm": 1.0,
        "parallelism.engine": "deepspeed",
        "parallelism.sharding_stage": 2,
        "precision.bf16": True,
        "run.framework": "accelerate",
        "run.uses_torch": True,
    }


def test_fsdp_of_torch() -> None:
    (plan,) = leaves(
        """
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import MixedPrecision, ShardingStrategy
FSDP(
    model,
    sharding_strategy=ShardingStrategy.SHARD_GRAD_OP,
    mixed_precision=MixedPrecision(reduce_dtype=torch.float32),
)
"""
    )
    assert plan["parallelism.engine"].value == "fsdp1"
    assert plan["parallelism.sharding_stage"].value == 2
    assert plan["precision.gradient_reduce_dtype"].value == "fp32"


def test_layers_that_are_sharded_differently() -> None:
    (plan,) = leaves(
        """
from torch.distributed.fsdp import fully_shard
for layer in model.layers:
    fully_shard(layer, reshard_after_forward=True)
fully_shard(model, reshard_after_forward=False)
"""
    )
    assert plan["parallelism.engine"].value == "fsdp2"
    assert plan["parallelism.sharding_stage"].status == "unknown"


def test_workers_of_ray() -> None:
    (plan,) = leaves(
        """
from ray.train import ScalingConfig
ScalingConfig(num_workers=8, use_gpu=True)
"""
    )
    assert plan["cluster.world_size"].value == 8


def test_a_recipe_of_megatron_bridge() -> None:
    text = """
from megatron.bridge.recipes.common import base
from megatron.bridge.training.config import ConfigContainer
def pretrain() -> ConfigContainer:
    cfg = base()
    cfg.train.global_batch_size = 256
    cfg.model.tensor_model_parallel_size = 4
    return cfg
def _part() -> ConfigContainer:
    return base()
"""
    (plan,) = leaves(text)
    assert plan["batch.global_batch_size"].value == 256
    assert plan["parallelism.tensor_parallel_size"].value == 4
    assert plan["parallelism.ulysses_size"].value == 1


def test_configurations_of_torchtitan() -> None:
    text = """
from torchtitan.config import ParallelismConfig, TrainingConfig
from torchtitan.trainer import Trainer
def small() -> Trainer.Config:
    return Trainer.Config(
        training=TrainingConfig(local_batch_size=8, seq_len=2048, steps=10),
        parallelism=ParallelismConfig(tensor_parallel_degree=2),
    )
def longer() -> Trainer.Config:
    config = small()
    config.training.steps = 20
    return config
"""
    small, longer = leaves(text)
    assert (small["run.steps"].value, longer["run.steps"].value) == (10, 20)
    assert longer["parallelism.tensor_parallel_size"].value == 2


def test_a_recipe_of_nemo() -> None:
    (plan,) = leaves(
        """
from nemo.collections import llm
recipe = llm.llama3_8b.pretrain_recipe(num_nodes=4, num_gpus_per_node=8)
recipe.trainer.strategy.tensor_model_parallel_size = 2
recipe.data.global_batch_size = 512
"""
    )
    assert plan["cluster.nodes"].value == 4
    assert plan["cluster.gpus_per_node"].value == 8
    assert plan["parallelism.tensor_parallel_size"].value == 2
    assert plan["batch.global_batch_size"].value == 512


def test_a_file_of_xtuner() -> None:
    (plan,) = leaves(
        """
from xtuner.engine import Loop
batch_size = 2
train_dataloader = dict(batch_size=batch_size, num_workers=4)
optim_wrapper = dict(optimizer=dict(lr=2e-5), accumulative_counts=16)
"""
    )
    assert plan["batch.micro_batch_size"].value == 2
    assert plan["batch.gradient_accumulation_steps"].value == 16
    assert plan["optimizer.learning_rate"].value == 2e-5


def test_findings_stand_in_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "train.py"
    text = (
        HEAD + "TrainingArguments(bf16=True, fp16=True, per_device_train_batchsize=3)\n"
    )
    path.write_text(text)
    assert main([str(path), "--output", "json", "--fix"]) == 1
    report = json.loads(capsys.readouterr().out)
    failed = [
        (item["clause"], item["places"][0]["line"], item["places"][0]["column"])
        for item in report["findings"]
        if item["outcome"] == "fail" and item["level"] == "error"
    ]
    assert failed == [("PREC-002", 2, 24), ("CONF-001", 2, 41)]
    assert path.read_text() == text


def test_a_fallback_makes_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEAD + "import os\nON = bool(os.environ.get('ON', True))\n"
        "TrainingArguments(bf16=ON, fp16=ON)\n"
    )
    assert main([str(path)]) == 0
    assert "if ON is not set" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{mark}\nTrainingArguments(\n    bf16=True,\n    fp16=True,\n)\n", 0),
        ("TrainingArguments(\n    bf16=True,\n    fp16=True,  {mark}\n)\n", 0),
        ("TrainingArguments(bf16=True, fp16=True)\nx = '''\n{mark}\n'''\n", 1),
    ],
)
def test_a_comment_waives(tmp_path: Path, text: str, code: int) -> None:
    path = tmp_path / "train.py"
    mark = "# speccheck: ignore[PREC-002] it's a test"
    path.write_text(HEAD + '"""It\'s a program."""\n' + text.format(mark=mark))
    assert main([str(path)]) == code


def test_a_program_is_no_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "model.py"
    program.write_text("from transformers import AutoModel\n")
    train = tmp_path / "train.py"
    train.write_text(HEAD + "TrainingArguments(max_steps=3)\n")
    assert main([str(program)]) == 3
    assert main([str(program), str(train)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "model.py: no call in it that states settings of a training run" in shown
    assert main([str(tmp_path)]) == 0
    assert "not read: 1 that is no configuration (.py 1)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEAD + "TrainingArguments(max_steps=\n", "not Python"),
        (HEAD + "x = " + "(" * 300 + ")" * 300, "not Python"),
        (HEAD + "x = " + "-" * 100_000 + "1", "nest deeper"),
        (HEAD + "x = " + "a." * 20_000 + "b", "nest deeper"),
        (HEAD + "#" * 2_000_000, "2,000,000"),
        (HEAD + "x = " + "9" * 10_000, "not Python"),
        (
            HEAD
            + "def f0(): return 1\n"
            + "".join(
                f"def f{n}(): return [{', '.join([f'f{n - 1}()'] * 20)}]\n"
                for n in range(1, 9)
            )
            + "f8()",
            "more than is followed",
        ),
    ],
)
def test_hostile_text(text: str, problem: str) -> None:
    with pytest.raises(ReadError, match=problem):
        load_python("train.py", text)


def test_a_hostile_object() -> None:
    lines = "a = TrainingArguments(max_steps=1)\na.me = a\nimport copy\n"
    lines += "b = copy.deepcopy(a)\nc = [a]\n" + "c = [c, c]\n" * 60
    (document,) = documents(HEAD + lines + "a.all = 1\n")
    assert document.data["max_steps"] == 1


def test_nothing_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = f"open({str(mark)!r}, 'w').write('x')\nTrainingArguments(max_steps=3)\n"
    assert settings(HEAD + text) == {"max_steps": 3}
    assert not mark.exists()
