"""The files of a job that would run on the machines: a configuration and its script.

A model of 7 billion parameters (or of 1.1, where the GPUs are few or small) goes on
being trained with FSDP2, its states sharded over all GPUs. Times are plausible.
"""

from speccheck.validator.evidence.record import Record
from speccheck.validator.simulation.shape import Shape

STEP_SECONDS = 4
LOG_STEPS = 5
SAVE_SECONDS = 20
STORE_BYTES_PER_SECOND = 5_000_000_000
CHECKPOINT_STEPS = 900  # each hour
STEPS = 25_000
_HOUR = 3600
_ACCUMULATED = 4
_SEQUENCE = 4096
# Weights, gradients and Adam's states of a parameter, as mixed precision has them.
_STATE_BYTES = 18
_ROOM = 0.25  # of the memory, which states may take
_SMALL_GPU = 60e9  # bytes, with which activations of the larger model may not fit


class SimulatedModel(Record):
    """A model as its makers published it."""

    name: str
    parameters: float
    layers: int
    hidden_size: int
    feed_forward_size: int
    attention_heads: int
    key_value_heads: int


_MODELS = (
    SimulatedModel("Llama 2 7B", 6.74e9, 32, 4096, 11008, 32, 32),
    SimulatedModel("TinyLlama 1.1B", 1.1e9, 22, 2048, 5632, 32, 4),
)


class SimulatedJob(Record):
    """What a kit says of its job."""

    shape: Shape
    nodes: int
    instance: str
    fabric: str
    model: SimulatedModel
    mark: str
    run: str

    @property
    def ranks(self) -> int:
        """One for each GPU."""
        return self.nodes * self.shape.gpus

    @property
    def global_batch(self) -> int:
        """Samples of a step."""
        return _ACCUMULATED * self.ranks

    @property
    def tokens(self) -> int:
        """Tokens of a step."""
        return self.global_batch * _SEQUENCE

    @property
    def checkpoint_bytes(self) -> int:
        """Weights in bf16 and three copies in fp32: weights and Adam's moments."""
        return int(self.model.parameters * 14)


def model_for(shape: Shape, nodes: int) -> SimulatedModel | None:
    """Return the largest that fits; None where none does."""
    each = shape.gpu.get("memory_total_bytes", 0)
    memory = each * shape.gpus * nodes
    for model in _MODELS[each < _SMALL_GPU :]:
        if model.parameters * _STATE_BYTES <= memory * _ROOM:
            return model
    return None


def configuration(job: SimulatedJob) -> str:
    """Return the configuration, in speccheck's own format."""
    model = job.model
    variables = "".join(f"  {name}: {value}\n" for name, value in _variables(job))
    return f"""\
# {job.mark}
speccheck: 1

run:
  role: continued
  steps: {STEPS}
  step_seconds: {STEP_SECONDS}
  hours: {round(STEPS * STEP_SECONDS / _HOUR)}
  uses_torch: true

cluster:
  nodes: {job.nodes}
  instance_type: {job.instance}
  fabric: {job.fabric}

model:    # {model.name}
  family: transformer
  parameters: {int(model.parameters)}
  layers: {model.layers}
  hidden_size: {model.hidden_size}
  feed_forward_size: {model.feed_forward_size}
  gated_feed_forward: true
  attention_heads: {model.attention_heads}
  key_value_heads: {model.key_value_heads}
  vocabulary_size: 32000
  maximum_positions: {_SEQUENCE}

parallelism:    # states are sharded over all {job.ranks} GPUs
  engine: fsdp2
  sharding_stage: 3
  tensor_parallel_size: 1
  pipeline_parallel_size: 1
  context_parallel_size: 1
  ulysses_size: 1

batch:    # samples: 1 x {_ACCUMULATED} x {job.ranks} ranks = {job.global_batch}
  mode: fixed
  micro_batch_size: 1
  gradient_accumulation_steps: {_ACCUMULATED}
  global_batch_size: {job.global_batch}
  sequence_length: {_SEQUENCE}

precision:
  bf16: true
  fp16: false
  tf32: true
  gradient_reduce_dtype: fp32
  gradient_accumulate_dtype: fp32

memory:
  recompute_mode: selective
  allocator_configuration: expandable_segments:True

kernels: {{attention_backend: flash, compiled: true}}

optimizer:
  name_of_optimizer: adamw
  learning_rate: 5.0e-5
  minimum_learning_rate: 5.0e-6
  clip_norm: 1.0
  warmup_steps: 500
  decay_steps: {STEPS}

communication:
  overlap_gradient_reduce: true
  overlap_parameter_gather: true
  timeout_seconds: 60
  initialization_timeout_seconds: 600

checkpoint:
  enabled: true
  directory: s3://example-checkpoints/{job.run}
  interval_steps: {CHECKPOINT_STEPS}
  asynchronous: true
  format: sharded
  keep_last: 3
  save_optimizer: true
  save_random_state: true
  resume: true
  save_seconds: {SAVE_SECONDS}
  storage_bytes_per_second: {STORE_BYTES_PER_SECOND}

recovery:
  launcher: torchrun
  max_restarts: 3
  rendezvous_endpoint: node0001:29500
  detect_seconds: 30    # with the next three: 85 s until training goes on
  replace_seconds: 0    # restarts on the same nodes
  initialize_seconds: 25
  load_seconds: 30
  non_finite_guard: true

data: {{workers: 4, pin_memory: true, resumable: true, drop_last: true, seed: 1234}}

telemetry:
  log_interval_steps: {LOG_STEPS}
  throughput: true

environment:
{variables}"""


def _variables(job: SimulatedJob) -> list[tuple[str, object]]:
    of_fabric = [("FI_PROVIDER", "efa")] if job.fabric == "efa" else []
    return [
        *of_fabric,
        ("NCCL_DEBUG", "WARN"),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", 3),
        ("TORCH_NCCL_DUMP_ON_TIMEOUT", 1),
        ("TORCH_FR_BUFFER_SIZE", 2000),
    ]


def script(job: SimulatedJob) -> str:
    """Return the script of the scheduler."""
    return f"""\
#!/bin/bash
# {job.mark}
#SBATCH --job-name={job.run}
#SBATCH --nodes={job.nodes}
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node={job.shape.gpus}
#SBATCH --time=30:00:00

srun torchrun --nnodes={job.nodes} --nproc-per-node={job.shape.gpus} \\
  --max-restarts=3 --rdzv-backend=c10d --rdzv-endpoint=node0001:29500 \\
  train.py --config config.yaml
"""
