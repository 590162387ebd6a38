"""Arguments of the Hugging Face Trainer on the command lines of scripts."""

from pathlib import Path

import pytest

from script_text import ReadScript, format_of, read_script
from speccheck.validator.engine.request import Request
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.run.run import run
from speccheck.validator.sources.formats.hf_command_line import READER

SCRIPT = """\
#!/bin/bash
EXTRA="--learning_rate 2e-5 --save_strategy steps --save_steps 250"
torchrun --nnodes 2 --nproc-per-node 8 \\
  train.py \\
  --model_name_or_path meta-llama/Llama-3.1-8B \\
  --per_device_train_batch_size 4 \\
  --gradient-accumulation-steps=8 \\
  --bf16 True --tf32 \\
  --num_train_epochs 3 \\
  --output_dir $OUTPUT \\
  --deepspeed configs/ds.json \\
  --report_to wandb tensorboard \\
  --no_dataloader_pin_memory \\
  --lr_scheduler_kwargs '{"min_lr": 1e-6}' \\
  --max_steps -1 \\
  $EXTRA
"""
ENGINE = """\
{
  "train_micro_batch_size_per_gpu": 8,
  "gradient_accumulation_steps": "auto",
  "zero_optimization": {"stage": 3}
}
"""
RECIPE = """\
model_name_or_path: meta-llama/Llama-3.1-8B
dataset_name: trl-lib/Capybara
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 1.0e-05
output_dir: /ckpt/run
num_train_epochs: 1
"""
MICRO, STEPS = "batch.micro_batch_size", "batch.gradient_accumulation_steps"


def read(text: str) -> ReadScript:
    return read_script(READER, text)


def judged(folder: Path, **files: str) -> JudgedPlan:
    """Return the plan that files of these names make: `run_sh` is run.sh."""
    paths = []
    for name, text in files.items():
        path = folder / name.replace("_", ".")
        path.write_text(text)
        paths.append(str(path))
    (plan,) = run(Request(tuple(paths))).plans
    return plan


def failures(plan: JudgedPlan, rule: str) -> list[tuple[str, list[int]]]:
    """Return the messages of the failures of a rule, and the lines they stand on."""
    return [
        (finding.finding.message, [place.line for place in finding.locations])
        for finding in plan.findings
        if finding.finding.rule == rule and finding.finding.outcome == "fail"
    ]


def test_states_what_the_flags_say() -> None:
    script = read(SCRIPT)
    assert script.values("stated") == {
        "model.name_of_model": "meta-llama/Llama-3.1-8B",
        MICRO: 4,
        STEPS: 8,
        "precision.bf16": True,
        "precision.tf32": True,
        "run.epochs": 3.0,
        "telemetry.sinks": ("wandb", "tensorboard"),
        "data.pin_memory": False,
        "optimizer.learning_rate": 2e-5,
        "optimizer.minimum_learning_rate": 1e-6,
        "checkpoint.enabled": True,
        "checkpoint.interval_unit": "steps",
        "checkpoint.interval_steps": 250,
    }
    assert script.values("derived") == {
        "run.framework": "transformers",
        "parallelism.engine": "deepspeed",
    }
    assert script.line(MICRO) == 6
    assert script.line("optimizer.learning_rate") == 2
    assert script.leaves[STEPS].places[0].key == "--gradient-accumulation-steps"
    assert script.targets == ["configs/ds.json"]


def test_what_only_the_job_knows_is_said() -> None:
    note = read(SCRIPT).note("checkpoint.directory")
    assert note == "${OUTPUT} is known only when the script runs"


def test_defaults_of_the_trainer_hold_where_it_surely_runs() -> None:
    script = read(SCRIPT)
    assert script.values("default")["communication.timeout_seconds"] == 1800.0
    own_loop = read(
        "python train.py --per_device_train_batch_size 4 --learning_rate 1e-5 \\\n"
        "  --num_train_epochs 1\n"
    )
    assert own_loop.value(MICRO) == 4
    assert own_loop.values("default") == {}


def test_more_flags_may_be_hidden() -> None:
    script = read(SCRIPT.replace("$EXTRA\n", "$EXTRA $MORE_ARGS\n"))
    note = "may be given in ${MORE_ARGS}"
    assert script.note("communication.timeout_seconds") == note
    assert script.value(MICRO) == 4
    # What the script is called with is left out of it.
    assert read(SCRIPT.replace("$EXTRA\n", '$EXTRA "$@"\n')).values("default")


def test_the_batch_of_the_engine_file_contradicts_the_flag(tmp_path: Path) -> None:
    plan = judged(tmp_path, run_sh=SCRIPT, ds_json=ENGINE)
    assert failures(plan, "conflicting_statements") == [
        ("batch.micro_batch_size is stated as 4 and as 8", [6, 2])
    ]


def test_flags_win_over_the_file_that_they_are_given_with(tmp_path: Path) -> None:
    script = "trl sft --config recipe.yaml --per_device_train_batch_size 4\n"
    plan = judged(tmp_path, run_sh=script, recipe_yaml=RECIPE)
    assert failures(plan, "conflicting_statements") == []
    (tmp_path / "run.sh").write_text(script)
    path = tmp_path / "run.sh"
    read_both = read_script(READER, path.read_text(), str(path))
    assert read_both.value(MICRO) == 4
    assert read_both.value(STEPS) == 4
    (named,) = read_both.reading.references
    assert named.target == "recipe.yaml"
    assert {MICRO, STEPS} <= {*named.replaces}


def test_a_file_that_is_not_there_leaves_the_rest_open() -> None:
    script = read("trl sft --config gone.yaml --per_device_train_batch_size 4\n")
    assert script.values("stated") == {MICRO: 4}
    assert script.values("default") == {}
    (named,) = script.reading.references
    assert (named.target, MICRO in named.replaces) == ("gone.yaml", True)
    script = read("python sft.py $RECIPE --config=$R --per_device_train_batch_size=4\n")
    assert script.values("stated") == {MICRO: 4}


def test_what_the_script_is_called_with_is_known_to_its_caller_only() -> None:
    script = read(
        "MODEL=$1\n"
        'CMD="sft.py --model_name_or_path $MODEL --save_strategy no'
        ' --learning_rate 1e-5 --num_train_epochs 1"\n'
        'srun bash -c "accelerate launch $CMD"\n'
    )
    assert script.note("model.name_of_model") == (
        "${1} is known only when the script runs"
    )


@pytest.mark.parametrize(
    ("flags", "adapter"),
    [
        ("--lora_enable True --lora_r 128", "lora"),
        ("--lora_enable True --bits 4", "qlora"),
        ("--use_lora --q_lora", "qlora"),
        ("--use_lora --q_lora False", "lora"),
    ],
)
def test_adapters_of_published_programs(flags: str, adapter: str) -> None:
    script = read(
        "deepspeed train.py --save_strategy steps --learning_rate 2e-5"
        f" --num_train_epochs 1 {flags}\n"
    )
    assert script.values("derived")["model.adapter"] == adapter
    assert script.values("derived")["run.role"] == "lora"


def test_misspelt_and_refused_flags(tmp_path: Path) -> None:
    text = SCRIPT.replace(
        "--gradient-accumulation-steps", "--gradient_acumulation_steps"
    )
    text = text.replace("--num_train_epochs 3", "--num_train_epochs three")
    plan = judged(tmp_path, run_sh=text)
    ((message, lines),) = failures(plan, "key_refused")
    assert message.startswith("gradient_acumulation_steps is no key of transformers")
    assert lines == [7]
    ((message, lines),) = failures(plan, "refused_value_type")
    assert "'three'" in message
    assert lines == [9]


def test_a_list_may_have_a_single_word(tmp_path: Path) -> None:
    text = SCRIPT.replace("--max_steps", "--reward_funcs accuracy --max_steps")
    plan = judged(tmp_path, run_sh=text)
    assert failures(plan, "value_refused") == []


def test_first_letters_of_a_flag_are_completed_by_the_parser(tmp_path: Path) -> None:
    text = SCRIPT.replace("--gradient-accumulation-steps", "--gradient_accumulation")
    text = text.replace("--max_steps", "--max_seq_len 4096 --max_steps")
    plan = judged(tmp_path, run_sh=text)
    assert failures(plan, "key_refused") == []


def test_several_commands_share_what_is_alike(tmp_path: Path) -> None:
    text = SCRIPT + SCRIPT.replace("_size 4", "_size 2").replace("#!/bin/bash\n", "")
    script = read(text)
    assert script.note(MICRO) == "differs between the 2 training commands"
    assert script.value(STEPS) == 8
    wrong = text.replace("--report_to", "--evaluation_strateggy no --report_to")
    ((_, lines),) = failures(judged(tmp_path, run_sh=wrong), "key_refused")
    assert lines == [12]


@pytest.mark.parametrize(
    ("arguments", "leaf", "value"),
    [
        ("--fp16 --fsdp 'full_shard auto_wrap'", "parallelism.sharding_stage", 3),
        ("--gradient_checkpointing False", "memory.recompute_mode", "none"),
        ("--gradient_checkpointing", "memory.recompute_mode", "full"),
        ("--bf16 yes", "precision.bf16", True),
        ("--bf16 $BF16", "precision.bf16", None),
        ("--save_strategy no", "checkpoint.enabled", False),
        ("--save_strategy $STRATEGY", "checkpoint.enabled", None),
        ("--use_peft --lora_r 16", "model.adapter", "lora"),
        ("--max_length 4096", "batch.sequence_length", 4096),
        ("--report_to none", "telemetry.sinks", ()),
        ("--per_device_train_batch_size 8", MICRO, 8),
    ],
)
def test_values_in_all_their_forms(arguments: str, leaf: str, value: object) -> None:
    script = read(
        "accelerate launch train.py --per_device_train_batch_size 4 "
        f"--learning_rate 1e-5 --save_total_limit 2 {arguments}\n"
    )
    assert script.value(leaf) == value


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (SCRIPT, "hf-arguments"),
        ("swift sft --train_type lora --per_device_train_batch_size 1 --bf16\n", None),
        (
            "trl grpo --per_device_train_batch_size 1 --bf16 --num_generations 8\n",
            "hf-arguments",
        ),
        # accelerate's and diffusers' own loops, DeepSpeed-Chat, Megatron-LM
        (
            (
                "python train.py --per_device_train_batch_size 4 --learning_rate 1e-5 "
                "--num_train_epochs 1 --num_warmup_steps 10\n"
            ),
            "program-arguments",
        ),
        (
            (
                "python pretrain_gpt.py --tensor-model-parallel-size 2 --num-layers 4 "
                "--bf16 --seed 1 --weight-decay 0.1\n"
            ),
            "megatron-cli",
        ),
        (
            (
                "python src/train.py --stage sft --finetuning_type lora --bf16 "
                "--per_device_train_batch_size 4 --save_strategy steps\n"
            ),
            "program-arguments",
        ),
        ("echo train.py --per_device_train_batch_size 4 --bf16 --tf32\n", None),
        ("python train.py --per_device_train_batch_size 4\n", "program-arguments"),
        ("# --per_device_train_batch_size 4 --bf16 --tf32\n", None),
    ],
)
def test_detection(text: str, name: str | None) -> None:
    assert format_of(text) == name
