"""What flags of Megatron-LM mean, alone and beside each other."""

import pytest

from script_text import read_script
from speccheck.validator.catalogue.frameworks import load_framework
from speccheck.validator.evidence.plan import SECTIONS
from speccheck.validator.sources.formats._megatron import (
    ABSENT,
    ABSENT_ENGINE,
    LEAVES,
    SWITCHES,
)
from speccheck.validator.sources.formats.megatron_cli import READER


@pytest.mark.parametrize(
    ("arguments", "leaf", "value"),
    [
        ("--hidden-size 4096", "model.feed_forward_size", 16_384),
        ("--hidden-size 4096 --swiglu", "model.feed_forward_size", 10_880),
        (
            "--hidden-size 4096 --ffn-hidden-size 14336",
            "model.feed_forward_size",
            14_336,
        ),
        ("--num-attention-heads 32", "model.key_value_heads", 32),
        (
            "--num-attention-heads 32 --num-query-groups 8",
            "model.key_value_heads",
            32,
        ),
        (
            "--num-attention-heads 32 --group-query-attention --num-query-groups 8",
            "model.key_value_heads",
            8,
        ),
        (
            "--num-attention-heads 32 --group-query-attention",
            "model.key_value_heads",
            1,
        ),
        (
            "--num-attention-heads 32 --multi-latent-attention",
            "model.key_value_heads",
            None,
        ),
        (
            "--num-attention-heads 16 --multi-head-latent-attention",
            "model.key_value_heads",
            None,
        ),
        ("--recompute-activations", "memory.recompute_mode", "selective"),
        ("--checkpoint-activations", "memory.recompute_mode", "full"),
        (
            "--recompute-granularity full --recompute-activations",
            "memory.recompute_mode",
            "selective",
        ),
        ("--activations-checkpoint-method uniform", "memory.recompute_mode", "full"),
        ("--activations-checkpoint-method block", "memory.recompute_method", "block"),
        ("--activations-checkpoint-method block", "memory.recompute_layers", 1),
        ("--checkpoint-activations", "memory.recompute_method", "uniform"),
        ("--checkpoint-activations", "memory.recompute_layers", 1),
        (
            "--checkpoint-activations --checkpoint-num-layers 2",
            "memory.recompute_layers",
            2,
        ),
        ("--recompute-granularity full", "memory.recompute_layers", None),
        ("--fp16 --loss-scale 12", "precision.loss_scale", 12.0),
        ("--fp16 --loss-scale 12 --deepspeed", "precision.loss_scale", None),
        ("--deepspeed", "memory.optimizer_offload_device", None),
        ("--fp8-hybrid", "precision.fp8", True),
        ("--fp8-format hybrid", "precision.fp8", True),
        ("--use-torch-fsdp2", "parallelism.sharding_stage", 3),
        (
            "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads",
            "parallelism.sharding_stage",
            2,
        ),
        ("--use-megatron-fsdp", "parallelism.sharding_stage", None),
        ("--use-custom-fsdp", "parallelism.engine", "megatron-fsdp"),
        (
            "--num-layers-in-first-pipeline-stage 7",
            "parallelism.pipeline_layout",
            "uneven",
        ),
        ("--bf16", "precision.gradient_reduce_dtype", "fp32"),
        ("--bf16 --grad-reduce-in-bf16", "precision.gradient_reduce_dtype", "bf16"),
        ("--bf16 --grad-reduce-in-bf16", "precision.gradient_accumulate_dtype", "bf16"),
        (
            "--fp16 --accumulate-allreduce-grads-in-fp32",
            "precision.gradient_reduce_dtype",
            "fp32",
        ),
        (
            "--ddp-bucket-size 40000000",
            "communication.gradient_bucket_bytes",
            160_000_000,
        ),
        ("--distributed-timeout-minutes 5", "communication.timeout_seconds", 300.0),
        (
            "--distributed-timeout-seconds-after-init 60",
            "communication.timeout_seconds",
            60.0,
        ),
        ("--save /c --save-interval 5", "checkpoint.enabled", True),
        ("--save /c --persistent-save-interval 5", "checkpoint.enabled", True),
        ("--save /c", "checkpoint.enabled", None),
        ("--log-interval 1", "checkpoint.enabled", False),
        ("--save /c/ --load /c", "checkpoint.resume", True),
        ("--save /c/new --load /c/old", "checkpoint.resume", False),
        ("--save $A --load $B", "checkpoint.resume", None),
        ("--save /c", "checkpoint.resume", False),
        ("--save-retain-interval 100", "checkpoint.keep_last", None),
        (
            "--train-samples 1000000 --global-batch-size 1000",
            "run.steps",
            1000,
        ),
        ("--train-iters 500", "optimizer.decay_steps", 500),
        ("--micro-batch-size 2", "batch.gradient_accumulation_steps", 1),
        (
            "--micro-batch-size 2 --global-batch-size 64",
            "batch.gradient_accumulation_steps",
            None,
        ),
        ("--hybrid-override-pattern M-M-M*-", "model.family", "hybrid"),
        ("--cuda-graph-impl none", "kernels.cuda_graphs", False),
        ("--cuda-graph-impl local", "kernels.cuda_graphs", True),
        ("--cpu-offloading-num-layers 4", "memory.activation_offload", True),
        ("--timing-log-level 2", "telemetry.time_breakdown", True),
        ("--timing-log-level 0", "telemetry.time_breakdown", False),
        (
            "--wandb-project p --tensorboard-dir t",
            "telemetry.sinks",
            ("tensorboard", "wandb"),
        ),
        ("--use-checkpoint-args", "model.tied_embeddings", None),
        ("--fp4-format e2m1", "precision.fp8", True),
        ("--fp4-format e2m1", "precision.fp8_recipe", "nvfp4"),
        ("--eval-global-batch-size 96", "batch.evaluation_global_batch_size", 96),
        ("--use-torch-fsdp2", "communication.reduces_each_micro_batch", None),
        ("--clip-grad=0.5", "optimizer.clip_norm", 0.5),
        ("--clip-grad 1.0 --clip-grad 0.5", "optimizer.clip_norm", 0.5),
    ],
)
def test_what_flags_mean_beside_each_other(
    arguments: str, leaf: str, value: object
) -> None:
    command = "torchrun pretrain_gpt.py --tensor-model-parallel-size 4 --num-layers 32"
    script = read_script(READER, f"{command} {arguments}\n")
    assert script.value(leaf) == value


def test_tables_name_leaves_of_the_plan_and_flags_of_the_framework() -> None:
    names = {leaf.name for leaf in LEAVES.values()} | {*SWITCHES.values()}
    names |= {name for name, _, _ in (*ABSENT, *ABSENT_ENGINE)}
    for name in names:
        section, _, field = name.partition(".")
        assert field in SECTIONS[section].__annotations__, name
    catalogue = load_framework("megatron-lm")
    of_forks = {flag for flag in LEAVES if not catalogue.is_known((flag,))}
    assert of_forks == {
        "--activations-checkpoint-method",
        "--activations-checkpoint-num-layers",
        "--checkpoint-num-layers",
        "--deepspeed-activation-checkpointing",
        "--ds-sequence-parallel-size",
        "--num-layers-in-first-pipeline-stage",
        "--num-layers-in-last-pipeline-stage",
        "--zero-stage",
    }
