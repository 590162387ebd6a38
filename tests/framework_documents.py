"""Small right configurations of each framework, and mistakes in them.

Each text is written for these tests. A mistake is a piece of the text, what stands in
its place, and the key that a schema must point at: the block for a key that is
misspelt, and the key itself for a wrong value.
"""

from typing import NamedTuple

_ROLLOUT = "actor_rollout_ref.rollout"


class Mistake(NamedTuple):
    """What is written in the place of a piece of a right text, and where that is."""

    right: str
    wrong: str
    at: str


RIGHT = {
    "accelerate": """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
downcast_bf16: 'no'
fsdp_config: {fsdp_sharding_strategy: FULL_SHARD, fsdp_offload_params: true}
machine_rank: 0
main_process_port: null
mixed_precision: bf16
num_machines: 4
num_processes: 32
use_cpu: false
""",
    "axolotl": """\
base_model: meta-llama/Llama-3.1-8B
datasets:
  - &alpaca {path: tatsu-lab/alpaca, type: alpaca}
  - <<: *alpaca
    split: train
micro_batch_size: 2
gradient_accumulation_steps: '4'
learning_rate: 2e-5
bf16: auto
flash_attention: yes
rl: dpo
val_set_size: 0.05
""",
    "deepspeed": """\
{"train_batch_size": 256, "gradient_accumulation_steps": "auto",
 "bf16": {"enabled": true},
 "zero_optimization": {"stage": 3, "overlap_comm": true, "reduce_bucket_size": 5e8,
                       "offload_optimizer": {"device": "cpu"}},
 "a_note_of_ours": "the top drops what it does not know"}
""",
    "gpt-neox": """\
{"pipe-parallel-size": 1, "model_parallel-size": 2, "num-layers": 24,
 "hidden_size": 1024, "pos_emb": "rotary", "fp16": {"enabled": true},
 "optimizer": {"type": "Adam", "params": {"lr": 0.0006, "betas": [0.9, 0.95]}},
 "zero_optimization": {"stage": 1}, "train_iters": 320_000, "norm": "rmsnorm"}
""",
    "hf-fsdp-json": """\
{"backward_prefetch": "BACKWARD_PRE", "min_num_params": 0, "xla": false}
""",
    "hf-trainer": """\
model_name_or_path: Qwen/Qwen2.5-7B
output_dir: out
per_device_train_batch_size: 4
learning_rate: 1e-5
bf16: true
save_strategy: steps
fsdp_config: {min_num_params: 0, of_a_script: 1}
accelerator_config: {split_batches: false}
a_key_of_the_script: 1
""",
    "litgpt": """\
checkpoint_dir: checkpoints/meta-llama/Llama-3.1-8B
out_dir: out
precision: bf16-true
devices: 8
data:
  class_path: litgpt.data.Alpaca2k
  init_args: {mask_prompt: false}
train: {global_batch_size: 64, micro_batch_size: 4, epochs: 1, max_norm: null}
logger_name: csv
""",
    "llamafactory": """\
model_name_or_path: Qwen/Qwen2.5-7B
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
cutoff_len: 2048
learning_rate: 1.0e-4
per_device_train_batch_size: 1
save_strategy: epoch
""",
    "llm-foundry": """\
variables: {max_seq_len: 2048}
max_seq_len: ${variables.max_seq_len}
max_duration: 4800ba
device_train_microbatch_size: auto
global_train_batch_size: 256
seed: 17
precision: amp_bf16
save_overwrite: false
model: {name: mpt_causal_lm, d_model: 768, n_layers: 12}
""",
    "maxtext": """\
base_config: base.yml
model_name: llama3.1-8b
per_device_batch_size: 12
ici_fsdp_parallelism: -1
remat_policy: full
dtype: bfloat16
steps: 100
enable_checkpointing: true
""",
    "megatron-bridge": """\
model: {seq_length: 8192, tensor_model_parallel_size: 8, freeze_vision_model: False}
train: {train_iters: 300, global_batch_size: 16, micro_batch_size: 1}
optimizer: {lr: 2e-6, min_lr: 2e-7}
scheduler: {lr_decay_style: cosine, lr_warmup_iters: 20}
checkpoint: {save: ./checkpoints, save_interval: 50}
dataset: {source: {dataset_name: llava_video_178k, split: "???"}}
mixed_precision: bf16_mixed
""",
    "megatron-model-config": """\
ENV_VARS: {CUDA_DEVICE_MAX_CONNECTIONS: 1}
MODEL_ARGS:
  --num-layers: 12
  --hidden-size: 512
  --micro-batch-size: ${MICRO_BATCH}
  --lr: 1e-4
  --bf16: true
  --attention-backend: unfused
TEST_TYPE: regular
""",
    "nanotron": """\
general: {project: tiny, seed: 42}
parallelism: {dp: 2, pp: 1, tp: 4, tp_mode: REDUCE_SCATTER}
tokens:
  batch_accumulation_per_replica: 1
  micro_batch_size: 2
  sequence_length: 256
  train_steps: 15_000
model:
  dtype: bfloat16
  init_method: {std: 0.025}
  model_config: {is_llama_config: true, hidden_size: 16}
""",
    "nemo-automodel": """\
step_scheduler: {global_batch_size: 64, local_batch_size: 8, max_steps: 100}
distributed:
  strategy: fsdp2
  tp_size: 1
  sequence_parallel: false
  pipeline: {pp_schedule: 1f1b}
model: {_target_: nemo_automodel.NeMoAutoModel, of_the_callable: 1}
""",
    "nemo-rl": """\
defaults: grpo_math_1B.yaml
policy:
  model_name: Qwen/Qwen3-8B
  train_global_batch_size: 512
  megatron_cfg: {enabled: true, optimizer: {lr: 5.0e-6}}
  generation: {backend: vllm, vllm_cfg: {of_the_engine: 1}}
loss_fn: {ratio_clip_c: null, reference_policy_kl_penalty: 1e-2}
grpo: {num_prompts_per_step: 32, val_at_start: false}
cluster: {num_nodes: '${mul:2,4}', gpus_per_node: 8}
""",
    "nemo1": """\
defaults: [_self_, {override model: tiny}]
trainer: {devices: 8, num_nodes: 4, precision: bf16, max_steps: "???"}
exp_manager: {explicit_log_dir: null, ema: {enable: false, decay: 0.999}}
model:
  micro_batch_size: 4
  global_batch_size: '${multiply:${trainer.devices},4}'
  tensor_model_parallel_size: 2
  optim: {name: fused_adam, lr: 2e-4}
""",
    "olmo": """\
run_name: tiny
seed: 6198
model: {d_model: 2048, n_heads: 16, n_layers: 16, flash_attention: true}
optimizer: {name: adamw, learning_rate: 4.0e-4}
fsdp: {precision: mixed, sharding_strategy: FULL_SHARD}
save_folder: '${path.choose:${oc.env:SCRATCH,no_exist},runs}/${run_name}'
evaluators: [{label: all, type: downstream}]
""",
    "olmo-core": """\
model: {d_model: 1024, n_layers: 16, vocab_size: 50304}
dataset: {sequence_length: 4096, mix: OLMo-mix-1124}
data_loader: {global_batch_size: 1048576, num_workers: 4}
train_module:
  rank_microbatch_size: 16384
  max_sequence_length: 4096
  optim: {lr: 4e-4, betas: [0.9, 0.95]}
  ac_config: {mode: full}
trainer:
  save_folder: /ckpt
  max_duration: {value: 1000, unit: steps}
""",
    "torchtitan": """\
[training]
seq_len = 8192
local_batch_size = 1
[parallelism]
tensor_parallel_degree = 8
enable_async_tensor_parallel = false
[activation_checkpoint]
mode = "selective"
[of_a_module]
anything = 1
""",
    "torchtune": """\
output_dir: /tmp/out
tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, path: "???"}
batch_size: 2
epochs: 1
gradient_accumulation_steps: 8
compile: False
optimizer: {_component_: torch.optim.AdamW, lr: 2e-5, fused: True}
log_dir: ${output_dir}/logs
""",
    "verl": """\
defaults: [ppo_trainer, _self_]
data: {train_batch_size: 1024, max_prompt_length: 512, shuffle: True}
actor_rollout_ref:
  actor: {ppo_mini_batch_size: 256, optim: {lr: 1e-6}}
  rollout:
    tensor_model_parallel_size: 2
    response_length: ${data.max_prompt_length}
trainer: {n_gpus_per_node: 8, nnodes: 1, max_ckpt_to_keep: null}
""",
}

MISTAKES = {
    "accelerate": (
        Mistake("num_machines", "num_machine", ""),
        Mistake("32", "all", "num_processes"),
        Mistake("type: FSDP", "type: FSPD", "distributed_type"),
        Mistake("distributed_type: FSDP", "", ""),
        Mistake("use_cpu: false", "use_cpu: maybe", "use_cpu"),
    ),
    "axolotl": (
        Mistake("size: 2", "size: two", "micro_batch_size"),
        Mistake("rl: dpo", "rl: dopo", "rl"),
        Mistake("size: 0.05", "size: [0.05]", "val_set_size"),
        Mistake("split: train", "split: 5", "datasets.1.split"),
    ),
    "deepspeed": (
        Mistake("overlap_comm", "overlap_com", "zero_optimization"),
        Mistake("256", '"256"', "train_batch_size"),
        Mistake('"cpu"', '"gpu"', "zero_optimization.offload_optimizer.device"),
        Mistake('"stage": 3', '"stage": 4', "zero_optimization.stage"),
        Mistake("5e8", "-5", "zero_optimization.reduce_bucket_size"),
        Mistake('{"enabled": true}', "true", "bf16"),
    ),
    "gpt-neox": (
        Mistake("num-layers", "num-layer", ""),
        Mistake("1024", '"1024"', "hidden_size"),
        Mistake('-size": 2', '-size": "a"', "model_parallel-size"),
        Mistake('"rotary"', '"rotated"', "pos_emb"),
    ),
    "hf-fsdp-json": (
        Mistake('"BACKWARD_PRE"', '"BACKWARDS"', "backward_prefetch"),
        Mistake('"xla": false', '"xla": "maybe"', "xla"),
    ),
    "hf-trainer": (
        Mistake("split_batches", "split_batch", "accelerator_config"),
        Mistake("size: 4", "size: four", "per_device_train_batch_size"),
        Mistake("steps", "step", "save_strategy"),
        Mistake("bf16: true", "bf16: maybe", "bf16"),
    ),
    "litgpt": (
        Mistake("global_batch_size", "globl_batch_size", "train"),
        Mistake("logger_name", "loggername", ""),
        Mistake("size: 64", "size: many", "train.global_batch_size"),
        Mistake("bf16-true", "bf16", "precision"),
    ),
    "llamafactory": (
        Mistake("cutoff_len", "cutof_len", ""),
        Mistake("rank: 8", "rank: '8'", "lora_rank"),
        Mistake("stage: sft", "stage: sfd", "stage"),
        Mistake("strategy: epoch", "strategy: epochs", "save_strategy"),
    ),
    "llm-foundry": (
        Mistake("seed: 17", "seed: seventeen", "seed"),
        Mistake("overwrite: false", "overwrite: never", "save_overwrite"),
    ),
    "maxtext": (
        Mistake("remat_policy", "remat_polcy", ""),
        Mistake("steps: 100", "steps: all", "steps"),
        Mistake("dtype: bfloat16", "dtype: bf16", "dtype"),
    ),
    "megatron-bridge": (
        Mistake("size: 8,", "size: eight,", "model.tensor_model_parallel_size"),
        Mistake("iters: 300", "iters: many", "train.train_iters"),
        Mistake("cosine", "cosinus", "scheduler.lr_decay_style"),
    ),
    "megatron-model-config": (
        Mistake("layers: 12", "layers: twelve", "MODEL_ARGS.--num-layers"),
        Mistake("unfused", "unfuse", "MODEL_ARGS.--attention-backend"),
    ),
    "nanotron": (
        Mistake("tp_mode", "tpmode", "parallelism"),
        Mistake("seed: 42", "seed: '42'", "general.seed"),
        Mistake("REDUCE_SCATTER", "SCATTER", "parallelism.tp_mode"),
        Mistake("  sequence_length: 256\n", "", "tokens"),
    ),
    "nemo-automodel": (
        Mistake("pp_schedule", "pp_shedule", "distributed.pipeline"),
        Mistake("size: 64", "size: big", "step_scheduler.global_batch_size"),
        Mistake("parallel: false", "parallel: [1]", "distributed.sequence_parallel"),
    ),
    "nemo-rl": (
        Mistake("size: 512", "size: big", "policy.train_global_batch_size"),
        Mistake("start: false", "start: [1]", "grpo.val_at_start"),
        Mistake("step: 32", "step: many", "grpo.num_prompts_per_step"),
    ),
    "nemo1": (
        Mistake("decay", "decai", "exp_manager.ema"),
        Mistake("size: 4", "size: four", "model.micro_batch_size"),
        Mistake("size: 2", "size: two", "model.tensor_model_parallel_size"),
    ),
    "olmo": (
        Mistake("n_layers", "n_layer", "model"),
        Mistake("6198", "lucky", "seed"),
        Mistake("adamw", "adam", "optimizer.name"),
        Mistake("label: all, ", "", "evaluators.0"),
    ),
    "olmo-core": (
        Mistake("n_layers: 16", "n_layers: deep", "model.n_layers"),
        Mistake("16384", "many", "train_module.rank_microbatch_size"),
        Mistake("unit: steps", "unit: hours", "trainer.max_duration.unit"),
    ),
    "torchtitan": (
        Mistake("8192", '"8192"', "training.seq_len"),
        Mistake('"selective"', '"select"', "activation_checkpoint.mode"),
        Mistake("degree = 8", "degree = 8.5", "parallelism.tensor_parallel_degree"),
    ),
    "torchtune": (
        Mistake("size: 2", "size: two", "batch_size"),
        Mistake("steps: 8", "steps: [8]", "gradient_accumulation_steps"),
    ),
    "verl": (
        Mistake("size: 1024", "size: big", "data.train_batch_size"),
        Mistake("node: 8", "node: all", "trainer.n_gpus_per_node"),
        Mistake("size: 2\n", "size: two\n", f"{_ROLLOUT}.tensor_model_parallel_size"),
    ),
}
