"""Megatron-LM arguments in launch scripts."""

import pytest

from corpus import corpus_folder, needs_corpus
from script_text import ReadScript, format_of, read_script
from speccheck.validator.sources.formats.megatron_cli import READER
from speccheck.validator.sources.reader import Source

# In the manner of examples/gpt3: arrays, a launcher's arguments, positional arguments.
ARRAYS = """\
#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NUM_NODES=${NUM_NODES:-16}
CHECKPOINT_PATH=$1
DISTRIBUTED_ARGS=(--nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES)
MODEL_ARGS=(
    --num-layers 96
    --hidden-size 12288
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
    --attention-backend auto  # flash, fused, unfused, local
)
TRAINING_ARGS=(
    --micro-batch-size 1
    --global-batch-size 1536
    --train-iters 500000
    --adam-beta1 0.9 --adam-beta2 0.95
    --clip-grad 1.0 --fp16
    --lr 6.0e-5 --min-lr 6.0e-6 --lr-decay-style cosine
    --lr-warmup-fraction .001 --lr-decay-iters 430000
)
PARALLEL_ARGS=(
    --tensor-model-parallel-size 8
    --pipeline-model-parallel-size 16
)
OUTPUT_ARGS=(
    --log-interval 100 --save-interval 10000
    --save $CHECKPOINT_PATH --load $CHECKPOINT_PATH
    --tensorboard-dir /logs/175b
)
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \\
    ${MODEL_ARGS[@]} ${TRAINING_ARGS[@]} ${PARALLEL_ARGS[@]} ${OUTPUT_ARGS[@]}
"""
# In the manner of the bigscience scripts: texts, a launcher in a variable, DeepSpeed.
TEXTS = """\
#!/bin/bash
#SBATCH --nodes=48
TP_SIZE=4
OPTIMIZER_ARGS=" \\
    --optimizer adam \\
    --lr 6e-5 \\
    "
GPT_ARGS=" \\
    --num-layers 70 --hidden-size 14336 --num-attention-heads 112 \\
    --seq-length 2048 --max-position-embeddings 2048 \\
    --micro-batch-size 2 --global-batch-size 2048 \\
    --rampup-batch-size 192 16 9_765_625 \\
    --train-samples 220_000_000 \\
    --checkpoint-activations --fp16 \\
    $OPTIMIZER_ARGS \\
    "
export LAUNCHER="python -u -m torch.distributed.run --nproc_per_node 8 --nnodes 48"
export CMD=" \\
    pretrain_gpt.py --tensor-model-parallel-size $TP_SIZE \\
    --pipeline-model-parallel-size 12 $GPT_ARGS \\
    --deepspeed --deepspeed_config ./ds.$SLURM_JOBID.json --zero-stage 0 \\
    "
echo $CMD
srun --jobid $SLURM_JOBID bash -c "$LAUNCHER --node_rank \\$SLURM_PROCID $CMD"
"""
SIZES = "--tensor-model-parallel-size 4 --num-layers 32"


def read(text: str) -> ReadScript:
    return read_script(READER, text)


def train(*arguments: str, program: str = "pretrain_gpt.py") -> ReadScript:
    """Return one command with a tensor-parallel size, 32 layers and these arguments."""
    return read(f"torchrun {program} {SIZES} {' '.join(arguments)}\n")


def test_arrays_positional_arguments_and_a_launcher() -> None:
    script = read(ARRAYS)
    assert script.values("stated") == {
        "run.framework": "megatron-lm",
        "model.layers": 96,
        "model.hidden_size": 12288,
        "model.attention_heads": 96,
        "batch.sequence_length": 2048,
        "model.maximum_positions": 2048,
        "batch.micro_batch_size": 1,
        "batch.global_batch_size": 1536,
        "run.steps": 500_000,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.95,
        "optimizer.clip_norm": 1.0,
        "precision.fp16": True,
        "optimizer.learning_rate": 6e-5,
        "optimizer.minimum_learning_rate": 6e-6,
        "optimizer.schedule": "cosine",
        "optimizer.warmup_ratio": 0.001,
        "optimizer.decay_steps": 430_000,
        "parallelism.tensor_parallel_size": 8,
        "parallelism.pipeline_parallel_size": 16,
        "telemetry.log_interval_steps": 100,
        "telemetry.sinks": ("tensorboard",),
        "checkpoint.interval_steps": 10_000,
    }
    assert script.values("derived") == {
        "model.feed_forward_size": 49_152,
        "model.key_value_heads": 96,
        "checkpoint.enabled": True,
        "checkpoint.resume": True,
    }
    assert script.line("parallelism.tensor_parallel_size") == 25
    assert script.status("kernels.attention_backend") == "unknown"
    assert (
        script.note("checkpoint.directory") == "${1} is known only when the script runs"
    )


def test_what_absent_flags_mean() -> None:
    defaults = read(ARRAYS).values("default")
    assert defaults == {
        "parallelism.context_parallel_size": 1,
        "parallelism.expert_parallel_size": 1,
        "parallelism.ulysses_size": 1,
        "parallelism.sequence_parallel": False,
        "parallelism.engine": "megatron",
        "precision.bf16": False,
        "precision.fp8": False,
        "precision.loss_scale": 0.0,
        "precision.gradient_reduce_dtype": "fp16",
        "precision.gradient_accumulate_dtype": "fp16",
        "memory.recompute_mode": "none",
        "memory.optimizer_offload_device": "none",
        "optimizer.name_of_optimizer": "adam",
        "optimizer.is_distributed": False,
        "communication.overlap_gradient_reduce": False,
        "communication.reduces_each_micro_batch": False,
        "communication.overlap_parameter_gather": False,
        "communication.timeout_seconds": 600.0,
        "communication.initialization_timeout_seconds": 600.0,
        "checkpoint.asynchronous": False,
        "checkpoint.interval_unit": "steps",
        "checkpoint.keep_last": 0,
        "checkpoint.save_optimizer": True,
        "checkpoint.save_random_state": True,
        "data.workers": 2,
        "telemetry.throughput": False,
        "model.family": "transformer",
        "model.gated_feed_forward": False,
        "model.tied_embeddings": True,
        "model.vocabulary_multiple": 128,
        "run.role": "pretrain",
        "run.uses_torch": True,
    }
    assert read(ARRAYS).note("data.workers") == (
        "--num-workers is not set: 2 in every tabulated version of megatron-lm"
    )


def test_texts_a_launcher_in_a_variable_and_the_deepspeed_fork() -> None:
    script = read(TEXTS)
    expected = {
        "parallelism.tensor_parallel_size": 4,
        "parallelism.pipeline_parallel_size": 12,
        "parallelism.engine": "deepspeed",
        "parallelism.pipeline_engine": "deepspeed",
        "parallelism.sharding_stage": 0,
        "batch.global_batch_size": 2048,
        "batch.mode": "rampup",
        "memory.recompute_mode": "full",
        "optimizer.learning_rate": 6e-5,
        "precision.fp16": True,
    }
    assert {name: script.value(name) for name in expected} == expected
    # The `echo` of the same words is no second command, so that nothing differs.
    assert script.line("parallelism.tensor_parallel_size") == 3
    # DeepSpeed's engine and file decide these.
    for leaf in (
        "communication.timeout_seconds",
        "communication.overlap_gradient_reduce",
        "optimizer.is_distributed",
        "optimizer.clip_norm",
        "precision.gradient_reduce_dtype",
    ):
        assert script.status(leaf) is None, leaf
    # A batch that grows makes no steps of samples.
    assert script.status("run.steps") is None


def test_a_flag_under_a_condition_is_neither_given_nor_absent() -> None:
    script = read(
        'ARGS="--tensor-model-parallel-size 4 --num-layers 32 --hidden-size 4096"\n'
        'if [ "$LLAMA" = 1 ]; then ARGS="$ARGS --swiglu"; fi\n'
        "torchrun pretrain_gpt.py $ARGS\n"
    )
    assert script.note("model.gated_feed_forward") == (
        "--swiglu is given only under a condition"
    )
    assert script.status("model.feed_forward_size") is None
    assert script.value("parallelism.context_parallel_size") == 1


def test_arguments_from_the_environment_leave_the_absent_open() -> None:
    script = train("--bf16 $EXTRA_ARGS")
    assert script.value("precision.bf16") is True
    for leaf in (
        "parallelism.pipeline_parallel_size",
        "optimizer.is_distributed",
        "parallelism.engine",
        "checkpoint.enabled",
        "memory.recompute_mode",
        "precision.gradient_reduce_dtype",
    ):
        assert script.status(leaf) == "unknown", leaf
        assert script.note(leaf) == "may be given in ${EXTRA_ARGS}"
    assert script.value("run.uses_torch") is True


@pytest.mark.parametrize(
    ("arguments", "hidden"),
    [
        ("--colocate ${MODEL_ARGS[@]}", "${MODEL_ARGS[@]}"),
        ("--actor-num-gpus-per-node 8", "what slime sets by itself"),
        ("--save <PATH TO THE CHECKPOINTS> --fp16", "the placeholder of --save"),
    ],
)
def test_what_may_set_the_absent_otherwise(arguments: str, hidden: str) -> None:
    script = train(arguments)
    for leaf in ("precision.bf16", "optimizer.is_distributed"):
        assert script.note(leaf) == f"may be given in {hidden}"
    assert script.value("parallelism.tensor_parallel_size") == 4


def test_a_sink_under_a_condition_is_not_known() -> None:
    script = read(
        "ARGS=(--tensor-model-parallel-size 4 --num-layers 32)\n"
        'if [ -n "$WANDB_API_KEY" ]; then ARGS+=(--wandb-project p); fi\n'
        "torchrun pretrain_gpt.py ${ARGS[@]}\n"
    )
    assert script.note("telemetry.sinks") == (
        "--wandb-project is given only under a condition"
    )


@pytest.mark.parametrize("rest", ['"$@"', "${@:2}", "$1"])
def test_a_script_is_read_as_called_without_arguments(rest: str) -> None:
    script = train("--bf16", rest)
    assert script.value("parallelism.pipeline_parallel_size") == 1


def test_a_value_from_the_environment_is_not_known() -> None:
    script = train("--micro-batch-size $MBS --save ${OUT} --save-interval 100")
    assert (
        script.note("batch.micro_batch_size")
        == "${MBS} is known only when the script runs"
    )
    assert script.value("parallelism.pipeline_parallel_size") == 1
    assert script.value("checkpoint.enabled") is True


def test_commands_that_differ_share_what_they_share() -> None:
    script = read(
        "if [ $SMALL ]; then\n"
        "torchrun pretrain_gpt.py --tensor-model-parallel-size 4 --num-layers 32\n"
        "else\n"
        "torchrun pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 32\n"
        "fi\n"
    )
    assert script.value("model.layers") == 32
    assert script.status("parallelism.tensor_parallel_size") == "unknown"
    assert script.note("parallelism.tensor_parallel_size") == (
        "differs between the 2 training commands"
    )


def test_numbers_that_argparse_refuses() -> None:
    keyed = train(
        "--train-iters 1e5 --lr 3e-4 --seq-length 4k --seed 1_000"
    ).reading.keyed
    assert keyed is not None
    assert [(item.key, item.written, item.expected) for item in keyed.loaded_as] == [
        ("--train-iters", "1e5", "a whole number"),
        ("--seq-length", "4k", "a whole number"),
    ]
    assert all(item.fatal for item in keyed.loaded_as)


def test_programs_over_megatron_core_are_none_of_its_own() -> None:
    text = "train_esm2 --num-layers 33 --precision bf16-mixed --num-steps 100"
    source = Source("train.sh", f"{text} --tensor-model-parallel-size 1\n")
    assert READER.detect(source) == 0.0


def test_a_flag_of_the_first_releases_is_judged_by_those() -> None:
    """Megatron-LM 1.x took a fraction for `--warmup`, which no later release takes."""
    keyed = train("--train-iters 1000 --lr 3e-4 --warmup 0.01").reading.keyed
    assert keyed is not None
    assert keyed.loaded_as == ()


def test_keys_are_those_after_the_program() -> None:
    keyed = train("--train-iters 5").reading.keyed
    assert keyed is not None
    assert [key.path[0] for key in keyed.keys] == [
        "--tensor-model-parallel-size",
        "--num-layers",
        "--train-iters",
    ]
    program = "python -m torch.distributed.launch --nproc_per_node 8 run.py train.py"
    keyed = read(f"{program} {SIZES}\n").reading.keyed
    assert keyed is not None
    assert keyed.keys[0].path == ("--tensor-model-parallel-size",)


@pytest.mark.parametrize(
    "text",
    [
        f"torchrun pretrain_gpt.py {SIZES}\n",
        f"srun python -u train.py {SIZES}\n",
        "python pretrain_mamba.py --num-layers 24\n",
        f"deepspeed --num_nodes 2 pretrain_gpt.py {SIZES}\n",
        f"CMD='torchrun pretrain_gpt.py {SIZES}'\neval $CMD\n",
        f"torchrun $ARGS $PROGRAM {SIZES}\n",
        "torchrun pretrain_gpt.py --model-parallel-size 4 --batch-size 8\n",
    ],
)
def test_training_with_arguments_of_megatron(text: str) -> None:
    assert format_of(text) == "megatron-cli"


@pytest.mark.parametrize(
    "text",
    [
        f"python tools/checkpoint/convert.py {SIZES}\n",
        f"python tools/run_text_generation_server.py {SIZES}\n",
        f"torchrun -m examples.inference.gpt.gpt_static_inference {SIZES}\n",
        f"echo torchrun pretrain_gpt.py {SIZES}\n",
        "vllm serve model --tensor-parallel-size 4\n",
        "python train.py --num-layers 24 --hidden-size 64\n",
        f"# torchrun pretrain_gpt.py {SIZES}\n",
    ],
)
def test_what_trains_nothing_with_megatron(text: str) -> None:
    assert format_of(text) != "megatron-cli"


@needs_corpus
def test_published_scripts_state_their_sizes() -> None:
    scripts = sorted(corpus_folder("cases").glob("mlm-*/*/*.s*"))
    assert len(scripts) == 16
    for path in scripts:
        source = Source("train.sh", path.read_text(encoding="utf-8"))
        assert READER.detect(source) > 0.5, path
        facts = {fact.name: fact.value for fact in READER.read(source).facts.facts}
        assert isinstance(facts["parallelism.tensor_parallel_size"], int), path
        assert isinstance(facts["batch.global_batch_size"], int), path


def test_the_evaluation_of_a_task_is_not_that_of_the_training() -> None:
    text = (
        "torchrun --nproc_per_node 8 tasks/main.py --task RET-FINETUNE-NQ "
        "--tensor-model-parallel-size 1 --num-layers 12 --micro-batch-size 8 "
        "--eval-micro-batch-size 16\n"
    )
    leaves = read_script(READER, text)
    assert leaves.value("batch.micro_batch_size") == 8
    assert leaves.value("batch.evaluation_micro_batch_size") is None
