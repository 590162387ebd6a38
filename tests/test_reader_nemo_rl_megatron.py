"""NeMo-RL's YAML where Megatron trains."""

from reader_text import ReadText, read_text
from speccheck.validator.sources.formats.nemo_rl import READER

MEGATRON = """\
grpo:
  num_prompts_per_step: 32
  num_generations_per_prompt: 16
  max_num_epochs: 1
  max_num_steps: 1000
  seed: 42
checkpointing:
  enabled: true
  checkpoint_dir: results/run
  metric_name: null
  keep_top_k: 3
  save_period: 10
  checkpoint_must_save_by: "00:03:45:00"
  save_optimizer: true
policy:
  model_name: org/base-30b
  train_global_batch_size: 512
  train_micro_batch_size: 1
  max_total_sequence_length: 8192
  precision: bfloat16
  max_grad_norm: 1.0
  dtensor_cfg: {enabled: false}
  megatron_cfg:
    enabled: true
    activation_checkpointing: true
    tensor_model_parallel_size: 4
    pipeline_model_parallel_size: 2
    num_layers_in_first_pipeline_stage: 14
    num_layers_in_last_pipeline_stage: 13
    context_parallel_size: 1
    expert_model_parallel_size: 8
    expert_tensor_parallel_size: 1
    sequence_parallel: true
    attention_backend: flash
    cuda_graph_impl: none
    checkpoint: {async_save: false}
    peft: {enabled: false}
    fp8_cfg: {enabled: true, fp8_recipe: blockwise}
    env_vars: {NCCL_ALGO: Ring, WAIT: 5, LATER: "${oc.env:X}"}
    optimizer:
      optimizer: adam
      lr: 3e-7
      min_lr: 3e-8
      weight_decay: 0.01
      adam_beta1: 0.9
      adam_beta2: 0.98
      clip_grad: 1.0
      use_distributed_optimizer: true
      optimizer_cpu_offload: false
    scheduler: {lr_decay_style: constant, lr_warmup_iters: 10, lr_decay_iters: null}
    distributed_data_parallel_config:
      grad_reduce_in_fp32: false
      overlap_grad_reduce: true
      overlap_param_gather: true
  sequence_packing: {enabled: false}
  dynamic_batching: {enabled: false}
  generation:
    backend: vllm
    colocated: {enabled: true}
data: {num_workers: 1}
logger:
  wandb_enabled: true
  tensorboard_enabled: false
  monitor_gpus: true
  gpu_monitoring: {collection_interval: 10}
cluster:
  gpus_per_node: 8
  num_nodes: 4
"""


def read(text: str) -> ReadText:
    return read_text(READER, text, "run.yaml")


def test_states_every_leaf_of_megatron() -> None:
    assert read(MEGATRON).values("stated") == {
        "run.steps": 1000,
        "run.epochs": 1.0,
        "run.seed": 42,
        "checkpoint.enabled": True,
        "checkpoint.directory": "results/run",
        "checkpoint.keep_last": 3,
        "checkpoint.interval_steps": 10,
        "checkpoint.save_optimizer": True,
        "checkpoint.asynchronous": False,
        "model.name_of_model": "org/base-30b",
        "batch.global_batch_size": 512,
        "batch.micro_batch_size": 1,
        "batch.sequence_length": 8192,
        "batch.packing": False,
        "precision.compute_dtype": "bf16",
        "precision.fp8": True,
        "precision.fp8_recipe": "blockwise",
        "parallelism.tensor_parallel_size": 4,
        "parallelism.pipeline_parallel_size": 2,
        "parallelism.context_parallel_size": 1,
        "parallelism.expert_parallel_size": 8,
        "parallelism.expert_tensor_parallel_size": 1,
        "parallelism.sequence_parallel": True,
        "kernels.attention_backend": "flash",
        "memory.optimizer_offload_device": "none",
        "optimizer.name_of_optimizer": "adam",
        "optimizer.learning_rate": 3e-7,
        "optimizer.minimum_learning_rate": 3e-8,
        "optimizer.weight_decay": 0.01,
        "optimizer.beta1": 0.9,
        "optimizer.beta2": 0.98,
        "optimizer.clip_norm": 1.0,
        "optimizer.is_distributed": True,
        "optimizer.schedule": "constant",
        "optimizer.warmup_steps": 10,
        "communication.overlap_gradient_reduce": True,
        "communication.overlap_parameter_gather": True,
        "data.workers": 1,
        "telemetry.hardware_interval_seconds": 10.0,
        "cluster.nodes": 4,
        "cluster.gpus_per_node": 8,
    }


def test_derives_what_follows_from_megatron() -> None:
    leaves = read(MEGATRON)
    assert leaves.values("derived") == {
        "run.framework": "nemo-rl",
        "run.role": "rl",
        "precision.bf16": True,
        "precision.fp16": False,
        "precision.gradient_reduce_dtype": "bf16",
        "precision.gradient_accumulate_dtype": "bf16",
        "parallelism.sharding_stage": 1,
        "parallelism.pipeline_layout": (
            "num_layers_in_first_pipeline_stage 14, "
            "num_layers_in_last_pipeline_stage 13"
        ),
        "memory.recompute_mode": "full",
        "kernels.cuda_graphs": False,
        "model.adapter": "none",
        "recovery.exit_before_walltime": True,
        "telemetry.sinks": ("wandb",),
    }
    assert leaves.value("parallelism.engine") == "megatron"
    assert leaves.line("parallelism.tensor_parallel_size") == 26


def test_variables_of_the_workers() -> None:
    variables = read(MEGATRON).reading.variables
    assert [(variable.name, variable.value) for variable in variables] == [
        ("NCCL_ALGO", "Ring"),
        ("WAIT", "5"),
        ("LATER", None),
    ]
