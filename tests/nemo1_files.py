"""Files of NeMo 1 for the tests of its reader."""

PRETRAINING = """\
name: gpt_22b
run:
  name: gpt_22b
  time_limit: "1-00:00:00"
trainer:
  num_nodes: 16
  devices: 8
  accelerator: gpu
  precision: bf16-mixed
  logger: false
  enable_checkpointing: false
  max_epochs: -1
  max_steps: 90000
  max_time: "00:23:30:00"
  log_every_n_steps: 10
  val_check_interval: 500
  limit_val_batches: 32
  accumulate_grad_batches: 1
  gradient_clip_val: 1.0
exp_manager:
  explicit_log_dir: /ckpt/gpt_22b
  create_wandb_logger: true
  resume_if_exists: true
  resume_ignore_no_checkpoint: true
  checkpoint_callback_params:
    save_top_k: 4
    every_n_train_steps: 250
    async_save: true
    model_parallel_size: ${multiply:${model.tensor_model_parallel_size}, 2}
  log_step_timing: true
model:
  mcore_gpt: true
  micro_batch_size: 2
  global_batch_size: ${multiply:${trainer.num_nodes}, 64}
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 2
  virtual_pipeline_model_parallel_size: 3
  sequence_parallel: true
  encoder_seq_length: 4096
  max_position_embeddings: ${.encoder_seq_length}
  num_layers: 48
  hidden_size: 6144
  ffn_hidden_size: 24576
  num_attention_heads: 48
  num_query_groups: 8
  activation: fast-swiglu
  share_embeddings_and_output_weights: false
  megatron_amp_O2: true
  activations_checkpoint_granularity: selective
  seed: 1234
  fp8: true
  ub_tp_comm_overlap: true
  dist_ckpt_format: torch_dist
  nsys_profile: {enabled: false}
  optim:
    name: mcore_distributed_optim
    lr: 1e-4
    weight_decay: 0.1
    betas: [0.9, 0.95]
    grad_sync_dtype: bf16
    overlap_grad_sync: true
    overlap_param_sync: true
    sched: {name: CosineAnnealing, warmup_steps: 500, min_lr: 1.0e-5}
  data:
    seq_length: 4096
    num_workers: 2
"""
TUNING = """\
trainer: {num_nodes: 1, devices: 8, precision: bf16, max_steps: 800}
exp_manager:
  exp_dir: /results
  create_checkpoint_callback: false
  create_tensorboard_logger: false
model:
  restore_from_path: /ckpt/base.nemo
  tensor_model_parallel_size: 8
  pipeline_model_parallel_size: 1
  global_batch_size: 128
  micro_batch_size: 4
  encoder_seq_length: 2048
  activations_checkpoint_granularity: null
  peft:
    peft_scheme: lora
    lora_tuning: {adapter_dim: 16}
  optim: {name: fused_adam, lr: 1e-4}
  data:
    train_ds:
      global_batch_size: 64
      micro_batch_size: 1
      max_seq_length: 8192
      packed_sequence: true
      num_workers: 4
      pin_memory: true
      drop_last: true
    validation_ds: {global_batch_size: 8}
"""
SPEECH = """\
name: conformer
model:
  sample_rate: 16000
  train_ds: {batch_size: 16, num_workers: 8}
  encoder: {_target_: nemo.collections.asr.modules.ConformerEncoder, n_layers: 17}
  optim: {name: adamw, lr: 2.0}
trainer:
  devices: -1
  num_nodes: 2
  max_epochs: 100
  max_steps: -1
  accelerator: auto
  strategy: ddp
  accumulate_grad_batches: 4
  precision: 32
  log_every_n_steps: 10
  enable_checkpointing: false
  logger: false
exp_manager:
  exp_dir: null
  create_checkpoint_callback: true
"""
