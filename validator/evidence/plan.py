"""The training plan: every configuration format is read into these sections.

A field is a `Value`; its name is `section.field`. Units are in the names. The type in
`Value[...]` is what a reader must deliver; tests/test_plan.py holds readers to it.
Batches count samples, sizes of groups count ranks (one rank is one GPU).

Sections are plain frozen classes whose class attributes are the unknown fields: sixteen
slots dataclasses of this size cost as much start-up time as the interpreter itself.

A rule may take a field without a value for one that nobody states: then the default of
the framework holds. What a template still fills in, or two files contradict each other
about, has no value either, and is stated: Doubts notes who judges by such a field.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from speccheck.validator.evidence.record import Frozen
from speccheck.validator.evidence.value import Place, Value, condition_of


class Section(Frozen):
    """Holds the leaves that are known; the others are those of the class."""

    def __init__(self, **known: Value[Any]) -> None:
        """Take leaves by field name; raises AttributeError for another name."""
        if not known.keys() <= self.__annotations__.keys():
            for name in known:
                getattr(type(self), name)
        self.__dict__.update(known)


class Cluster(Section):
    """What the job runs on."""

    nodes: Value[int] = Value("cluster.nodes")
    gpus_per_node: Value[int] = Value("cluster.gpus_per_node")
    world_size: Value[int] = Value("cluster.world_size")  # GPUs of the job
    # row id of the hardware catalogue, or the name as written
    accelerator: Value[str] = Value("cluster.accelerator")
    # nvidia, amd, tpu, ...
    accelerator_family: Value[str] = Value("cluster.accelerator_family")
    # of one GPU
    accelerator_memory_bytes: Value[int] = Value("cluster.accelerator_memory_bytes")
    compute_capability: Value[tuple[int, int]] = Value("cluster.compute_capability")
    # matrix products of one GPU without sparsity
    peak_bf16_flops_per_second: Value[float] = Value(
        "cluster.peak_bf16_flops_per_second"
    )
    peak_fp8_flops_per_second: Value[float] = Value("cluster.peak_fp8_flops_per_second")
    # of the memory of one GPU
    memory_bytes_per_second: Value[float] = Value("cluster.memory_bytes_per_second")
    power_watts: Value[float] = Value("cluster.power_watts")  # limit of one GPU
    has_nvlink: Value[bool] = Value("cluster.has_nvlink")
    # all links of one GPU, one way
    nvlink_bytes_per_second: Value[float] = Value("cluster.nvlink_bytes_per_second")
    # GPUs that reach each other over NVLink
    nvlink_domain_size: Value[int] = Value("cluster.nvlink_domain_size")
    instance_type: Value[str] = Value("cluster.instance_type")
    fabric: Value[str] = Value("cluster.fabric")  # profile id without the prefix
    # all compute adapters of a node over its GPUs, one way
    nic_bits_per_second_per_gpu: Value[float] = Value(
        "cluster.nic_bits_per_second_per_gpu"
    )
    host_memory_bytes: Value[int] = Value("cluster.host_memory_bytes")
    cpus_per_node: Value[int] = Value("cluster.cpus_per_node")
    # processors that the job may use on each node
    job_cpus_per_node: Value[int] = Value("cluster.job_cpus_per_node")
    placement_requested: Value[bool] = Value("cluster.placement_requested")
    spare_nodes: Value[int] = Value("cluster.spare_nodes")
    job_mtbf_hours: Value[float] = Value("cluster.job_mtbf_hours")


class Container(Section):
    """The container that holds the ranks, whichever engine makes it.

    Each field is what the process inside gets: by an option, or by the engine itself
    (schemas/catalogues/containers/engines.yaml).
    """

    engine: Value[str] = Value("container.engine")  # id of the catalogue
    image: Value[str] = Value("container.image")
    # what is mounted at /dev/shm: none, memory, host, disk, other
    shared_memory_volume: Value[str] = Value("container.shared_memory_volume")
    shared_memory_bytes: Value[int] = Value("container.shared_memory_bytes")
    ipc: Value[str] = Value("container.ipc")  # host, private, or as written
    # host, bridge, pod, none, or the name of a network
    network: Value[str] = Value("container.network")
    locked_memory_bytes: Value[int] = Value("container.locked_memory_bytes")  # -1: any
    may_lock_memory: Value[bool] = Value("container.may_lock_memory")
    # none, host (those of the node), devices (without libraries), or as written
    accelerators: Value[str] = Value("container.accelerators")
    # of the network: none, host (those of the node), or its name
    fabric_device: Value[str] = Value("container.fabric_device")
    capabilities: Value[tuple[str, ...]] = Value("container.capabilities")
    # whether the environment of the command that starts it gets in
    takes_environment: Value[bool] = Value("container.takes_environment")
    # names of variables that it is given besides
    variables: Value[tuple[str, ...]] = Value("container.variables")
    mounts: Value[tuple[str, ...]] = Value("container.mounts")  # places inside


class Parallelism(Section):
    """How the model and the batch are cut."""

    tensor_parallel_size: Value[int] = Value("parallelism.tensor_parallel_size")
    pipeline_parallel_size: Value[int] = Value("parallelism.pipeline_parallel_size")
    # model chunks on each pipeline rank
    virtual_stages: Value[int] = Value("parallelism.virtual_stages")
    layers_per_virtual_stage: Value[int] = Value("parallelism.layers_per_virtual_stage")
    # a stated uneven layout of layers
    pipeline_layout: Value[str] = Value("parallelism.pipeline_layout")
    # layers of the outer stages, where a plan states them apart from the others
    first_stage_layers: Value[int] = Value("parallelism.first_stage_layers")
    last_stage_layers: Value[int] = Value("parallelism.last_stage_layers")
    context_parallel_size: Value[int] = Value("parallelism.context_parallel_size")
    # sequence parallelism by all-to-all
    ulysses_size: Value[int] = Value("parallelism.ulysses_size")
    # Megatron's, inside the tensor-parallel group
    sequence_parallel: Value[bool] = Value("parallelism.sequence_parallel")
    expert_parallel_size: Value[int] = Value("parallelism.expert_parallel_size")
    expert_tensor_parallel_size: Value[int] = Value(
        "parallelism.expert_tensor_parallel_size"
    )
    data_parallel_size: Value[int] = Value("parallelism.data_parallel_size")
    # data-parallel replicas of a hybrid-sharded model
    replicate_size: Value[int] = Value("parallelism.replicate_size")
    # ranks over which states are sharded; -1 fills the mesh
    shard_size: Value[int] = Value("parallelism.shard_size")
    # 0 none, 1 optimizer, 2 + gradients, 3 + parameters
    sharding_stage: Value[int] = Value("parallelism.sharding_stage")
    # ddp, fsdp1, fsdp2, deepspeed, megatron
    engine: Value[str] = Value("parallelism.engine")
    # what FSDP wraps one by one: layers, size, none
    wrap_policy: Value[str] = Value("parallelism.wrap_policy")
    # classes of the layers that it wraps so
    wrapped_layer_classes: Value[tuple[str, ...]] = Value(
        "parallelism.wrapped_layer_classes"
    )
    # name of a pipeline engine, where one runs
    pipeline_engine: Value[str] = Value("parallelism.pipeline_engine")


class Batch(Section):
    """Samples and tokens of an optimizer step."""

    # samples a data-parallel rank works on at once
    micro_batch_size: Value[int] = Value("batch.micro_batch_size")
    gradient_accumulation_steps: Value[int] = Value("batch.gradient_accumulation_steps")
    global_batch_size: Value[int] = Value("batch.global_batch_size")  # samples
    # samples of an evaluation step, where they are not those of a training step
    evaluation_global_batch_size: Value[int] = Value(
        "batch.evaluation_global_batch_size"
    )
    evaluation_micro_batch_size: Value[int] = Value("batch.evaluation_micro_batch_size")
    sequence_length: Value[int] = Value("batch.sequence_length")  # tokens
    packing: Value[bool] = Value("batch.packing")
    mode: Value[str] = Value("batch.mode")  # fixed, elastic, rampup
    # the micro-batch is an upper bound: a rank's share need not be a multiple of it
    uneven_micro_batches: Value[bool] = Value("batch.uneven_micro_batches")


class Precision(Section):
    """Number formats."""

    # bf16, fp16, fp32, fp8
    compute_dtype: Value[str] = Value("precision.compute_dtype")
    bf16: Value[bool] = Value("precision.bf16")
    fp16: Value[bool] = Value("precision.fp16")
    fp8: Value[bool] = Value("precision.fp8")
    fp8_recipe: Value[str] = Value("precision.fp8_recipe")
    tf32: Value[bool] = Value("precision.tf32")
    parameter_dtype: Value[str] = Value("precision.parameter_dtype")
    gradient_reduce_dtype: Value[str] = Value("precision.gradient_reduce_dtype")
    gradient_accumulate_dtype: Value[str] = Value("precision.gradient_accumulate_dtype")
    optimizer_state_dtype: Value[str] = Value("precision.optimizer_state_dtype")
    loss_scale: Value[float] = Value("precision.loss_scale")  # 0 means dynamic
    loss_scale_window: Value[int] = Value("precision.loss_scale_window")  # steps
    # exponent of two
    initial_scale_power: Value[int] = Value("precision.initial_scale_power")
    minimum_loss_scale: Value[float] = Value("precision.minimum_loss_scale")
    hysteresis: Value[int] = Value("precision.hysteresis")


class Memory(Section):
    """Recomputation and offload."""

    recompute_mode: Value[str] = Value("memory.recompute_mode")  # none, selective, full
    recompute_method: Value[str] = Value("memory.recompute_method")
    recompute_layers: Value[int] = Value("memory.recompute_layers")
    activation_offload: Value[bool] = Value("memory.activation_offload")
    # none, cpu, nvme
    parameter_offload_device: Value[str] = Value("memory.parameter_offload_device")
    parameter_offload_path: Value[str] = Value("memory.parameter_offload_path")
    # none, cpu, nvme
    optimizer_offload_device: Value[str] = Value("memory.optimizer_offload_device")
    optimizer_offload_path: Value[str] = Value("memory.optimizer_offload_path")
    offload_pin_memory: Value[bool] = Value("memory.offload_pin_memory")
    # text of PYTORCH_CUDA_ALLOC_CONF
    allocator_configuration: Value[str] = Value("memory.allocator_configuration")


class Kernels(Section):
    """Fused operations and compilation."""

    # flash, fused, sdpa, flex, eager
    attention_backend: Value[str] = Value("kernels.attention_backend")
    # one kernel, or a few, for all parameters: fused or foreach
    fused_optimizer: Value[bool] = Value("kernels.fused_optimizer")
    fused_normalization: Value[bool] = Value("kernels.fused_normalization")
    fused_cross_entropy: Value[bool] = Value("kernels.fused_cross_entropy")
    compiled: Value[bool] = Value("kernels.compiled")
    cuda_graphs: Value[bool] = Value("kernels.cuda_graphs")


class Optimizer(Section):
    """Optimizer and schedule."""

    name_of_optimizer: Value[str] = Value("optimizer.name_of_optimizer")
    learning_rate: Value[float] = Value("optimizer.learning_rate")
    minimum_learning_rate: Value[float] = Value("optimizer.minimum_learning_rate")
    beta1: Value[float] = Value("optimizer.beta1")
    beta2: Value[float] = Value("optimizer.beta2")
    weight_decay: Value[float] = Value("optimizer.weight_decay")
    clip_norm: Value[float] = Value("optimizer.clip_norm")  # 0 means off
    schedule: Value[str] = Value("optimizer.schedule")
    warmup_steps: Value[int] = Value("optimizer.warmup_steps")
    warmup_ratio: Value[float] = Value("optimizer.warmup_ratio")
    decay_steps: Value[int] = Value("optimizer.decay_steps")
    # states sharded over data-parallel ranks
    is_distributed: Value[bool] = Value("optimizer.is_distributed")


class Communication(Section):
    """Collectives: overlap, buckets, timeouts."""

    overlap_gradient_reduce: Value[bool] = Value(
        "communication.overlap_gradient_reduce"
    )
    overlap_parameter_gather: Value[bool] = Value(
        "communication.overlap_parameter_gather"
    )
    overlap_tensor_parallel: Value[bool] = Value(
        "communication.overlap_tensor_parallel"
    )
    # gradients are reduced with each micro-batch, not only with the last one of a step
    reduces_each_micro_batch: Value[bool] = Value(
        "communication.reduces_each_micro_batch"
    )
    gradient_bucket_bytes: Value[int] = Value("communication.gradient_bucket_bytes")
    parameter_bucket_bytes: Value[int] = Value("communication.parameter_bucket_bytes")
    # lossy gradient compression method
    compression: Value[str] = Value("communication.compression")
    compression_warmup_steps: Value[int] = Value(
        "communication.compression_warmup_steps"
    )
    # steady-state collective timeout
    timeout_seconds: Value[float] = Value("communication.timeout_seconds")
    initialization_timeout_seconds: Value[float] = Value(
        "communication.initialization_timeout_seconds"
    )


class Checkpoint(Section):
    """What is saved, when and where."""

    enabled: Value[bool] = Value("checkpoint.enabled")
    directory: Value[str] = Value("checkpoint.directory")
    interval_steps: Value[int] = Value("checkpoint.interval_steps")
    interval_seconds: Value[float] = Value("checkpoint.interval_seconds")
    # steps, epoch, seconds, never
    interval_unit: Value[str] = Value("checkpoint.interval_unit")
    asynchronous: Value[bool] = Value("checkpoint.asynchronous")
    format: Value[str] = Value("checkpoint.format")  # sharded, full, local
    keep_last: Value[int] = Value("checkpoint.keep_last")  # 0 means all
    save_optimizer: Value[bool] = Value("checkpoint.save_optimizer")
    save_random_state: Value[bool] = Value("checkpoint.save_random_state")
    # a restart continues from the newest checkpoint
    resume: Value[bool] = Value("checkpoint.resume")
    # first tier on the node
    local_directory: Value[str] = Value("checkpoint.local_directory")
    local_interval_steps: Value[int] = Value("checkpoint.local_interval_steps")
    saves_best_model: Value[bool] = Value("checkpoint.saves_best_model")
    evaluation_interval_steps: Value[int] = Value(
        "checkpoint.evaluation_interval_steps"
    )
    # time that training stands still for a save
    save_seconds: Value[float] = Value("checkpoint.save_seconds")
    size_bytes: Value[int] = Value("checkpoint.size_bytes")
    # what the store takes from the whole job, and what it has free for the run
    storage_bytes_per_second: Value[float] = Value(
        "checkpoint.storage_bytes_per_second"
    )
    storage_bytes: Value[int] = Value("checkpoint.storage_bytes")


class Recovery(Section):
    """What happens after a fault."""

    launcher: Value[str] = Value("recovery.launcher")
    # the job runs in an image, or loads modules: its libraries are not the node's
    has_own_libraries: Value[bool] = Value("recovery.has_own_libraries")
    launch_configuration: Value[str] = Value("recovery.launch_configuration")  # a file
    max_restarts: Value[int] = Value("recovery.max_restarts")
    requeue: Value[bool] = Value("recovery.requeue")
    restart_policy: Value[str] = Value("recovery.restart_policy")
    rendezvous_backend: Value[str] = Value("recovery.rendezvous_backend")
    rendezvous_endpoint: Value[str] = Value("recovery.rendezvous_endpoint")
    heartbeat_seconds: Value[float] = Value("recovery.heartbeat_seconds")
    in_process_restart: Value[bool] = Value("recovery.in_process_restart")
    # a loss or gradient that is not finite stops, skips or repeats the step
    non_finite_guard: Value[bool] = Value("recovery.non_finite_guard")
    # so does a sustained spike of the loss
    spike_guard: Value[bool] = Value("recovery.spike_guard")
    walltime_seconds: Value[float] = Value("recovery.walltime_seconds")
    # a signal or a duration ends the run in time to save
    exit_before_walltime: Value[bool] = Value("recovery.exit_before_walltime")
    minimum_nodes: Value[int] = Value("recovery.minimum_nodes")
    maximum_nodes: Value[int] = Value("recovery.maximum_nodes")
    detect_seconds: Value[float] = Value("recovery.detect_seconds")
    replace_seconds: Value[float] = Value("recovery.replace_seconds")
    initialize_seconds: Value[float] = Value("recovery.initialize_seconds")
    load_seconds: Value[float] = Value("recovery.load_seconds")
    # ranks that the launcher starts on each node
    processes_per_node: Value[int] = Value("recovery.processes_per_node")
    # launchers that the scheduler starts on each node
    tasks_per_node: Value[int] = Value("recovery.tasks_per_node")


class Data(Section):
    """Input pipeline."""

    workers: Value[int] = Value("data.workers")  # loader processes of one rank
    pin_memory: Value[bool] = Value("data.pin_memory")
    prefetch_factor: Value[int] = Value("data.prefetch_factor")
    persistent_workers: Value[bool] = Value("data.persistent_workers")
    streaming: Value[bool] = Value("data.streaming")
    resumable: Value[bool] = Value("data.resumable")
    drop_last: Value[bool] = Value("data.drop_last")
    group_by_length: Value[bool] = Value("data.group_by_length")
    seed: Value[int] = Value("data.seed")
    shards: Value[int] = Value("data.shards")  # each read by one loader worker
    # files and folders to train on, or what the names of such files begin with
    paths: Value[tuple[str, ...]] = Value("data.paths")


class Telemetry(Section):
    """Logs and metrics."""

    log_interval_steps: Value[int] = Value("telemetry.log_interval_steps")
    log_interval_seconds: Value[float] = Value("telemetry.log_interval_seconds")
    sinks: Value[tuple[str, ...]] = Value("telemetry.sinks")
    throughput: Value[bool] = Value("telemetry.throughput")
    profiler: Value[bool] = Value("telemetry.profiler")
    # per-phase timers that synchronize the GPU
    time_breakdown: Value[bool] = Value("telemetry.time_breakdown")
    hardware_interval_seconds: Value[float] = Value(
        "telemetry.hardware_interval_seconds"
    )
    metrics: Value[tuple[str, ...]] = Value("telemetry.metrics")


class Model(Section):
    """Dimensions of the model."""

    name_of_model: Value[str] = Value("model.name_of_model")
    family: Value[str] = Value("model.family")  # transformer, cnn, ssm, ...
    parameters: Value[int] = Value("model.parameters")
    layers: Value[int] = Value("model.layers")
    hidden_size: Value[int] = Value("model.hidden_size")
    feed_forward_size: Value[int] = Value("model.feed_forward_size")
    attention_heads: Value[int] = Value("model.attention_heads")
    key_value_heads: Value[int] = Value("model.key_value_heads")
    head_dimension: Value[int] = Value("model.head_dimension")
    vocabulary_size: Value[int] = Value("model.vocabulary_size")
    vocabulary_multiple: Value[int] = Value("model.vocabulary_multiple")
    maximum_positions: Value[int] = Value("model.maximum_positions")
    tied_embeddings: Value[bool] = Value("model.tied_embeddings")
    gated_feed_forward: Value[bool] = Value("model.gated_feed_forward")
    experts: Value[int] = Value("model.experts")
    experts_per_token: Value[int] = Value("model.experts_per_token")
    expert_feed_forward_size: Value[int] = Value("model.expert_feed_forward_size")
    adapter: Value[str] = Value("model.adapter")  # none, lora, freeze, ...
    quantized_bits: Value[int] = Value("model.quantized_bits")

    @property
    def is_toy(self) -> bool:
        """Whether it is too small to be trained for its own sake: it tries the code."""
        size = self.hidden_size.value
        return size is not None and size < SMALLEST_HIDDEN


# Of the smallest model that was published: TinyStories-1M has 64.
SMALLEST_HIDDEN = 64
SHORTEST_RUN = 200  # steps; published benchmarks have 15 to 150, fine-tuning more
# GPUs, eight nodes of eight: on fewer, a run of few steps tries a set-up out; on more
# it measures the speed, or pays for what stands idle.
FEWEST_MEASURED = 64


class Run(Section):
    """The run as a whole."""

    framework: Value[str] = Value("run.framework")
    framework_version: Value[str] = Value("run.framework_version")
    nccl_version: Value[str] = Value("run.nccl_version")
    # one of pretrain, continued, sft, lora, rl, debug and conversion
    role: Value[str] = Value("run.role")
    steps: Value[int] = Value("run.steps")
    epochs: Value[float] = Value("run.epochs")
    hours: Value[float] = Value("run.hours")
    step_seconds: Value[float] = Value("run.step_seconds")
    seed: Value[int] = Value("run.seed")
    deterministic: Value[bool] = Value("run.deterministic")
    uses_torch: Value[bool] = Value("run.uses_torch")
    shared_capacity: Value[bool] = Value("run.shared_capacity")
    # processes see the files of an image and what is mounted, not those of the node
    in_container: Value[bool] = Value("run.in_container")
    generations_per_prompt: Value[int] = Value("run.generations_per_prompt")

    @property
    def is_trial(self) -> bool:
        """Whether it is over before it could lose anything: debugging, benchmarks.

        Their schedule and their saves are those of a long run that was cut.
        """
        steps = self.steps.value
        is_cut = self.steps.is_known and steps is not None and 0 < steps < SHORTEST_RUN
        return self.role.value == "debug" or is_cut


class Security(Section):
    """Stores and loading."""

    crosses_trust_boundary: Value[bool] = Value("security.crosses_trust_boundary")
    store_addresses: Value[tuple[str, ...]] = Value("security.store_addresses")
    trusts_remote_code: Value[bool] = Value("security.trusts_remote_code")
    verified_digest: Value[str] = Value("security.verified_digest")  # on load; or none


SECTIONS: dict[str, type[Section]] = {
    section.__name__.lower(): section
    for section in (
        Cluster,
        Container,
        Parallelism,
        Batch,
        Precision,
        Memory,
        Kernels,
        Optimizer,
        Communication,
        Checkpoint,
        Recovery,
        Data,
        Telemetry,
        Model,
        Run,
        Security,
    )
}


class TrainingPlan:
    """All sections of one plan; frozen."""

    __slots__ = ("_sections",)

    def __init__(self, leaves: dict[str, Value[Any]]) -> None:
        """Make a plan of leaves keyed by `section.field`.

        Raises AttributeError for a name that is no leaf of the plan.
        """
        known: dict[str, dict[str, Value[Any]]] = {name: {} for name in SECTIONS}
        for leaf in leaves.values():
            section, _, field = leaf.name.partition(".")
            known[section][field] = leaf
        self._sections = {
            section: SECTIONS[section](**fields) for section, fields in known.items()
        }

    def section(self, name: str) -> Section:
        """Return the section of that name."""
        return self._sections[name]

    def sections(self) -> tuple[Section, ...]:
        """Return all sections, in the order of SECTIONS."""
        return tuple(self._sections.values())

    def stated(self) -> Iterator[Value[Any]]:
        """Yield the leaves that some source speaks of, known or not."""
        for section in self._sections.values():
            yield from vars(section).values()

    def value(self, name: str) -> Value[Any]:
        """Return the leaf called `section.field`.

        Raises AttributeError for another name.
        """
        section, _, field = name.partition(".")
        leaf: Value[Any] = getattr(self._sections[section], field)
        return leaf


def leaf_names() -> tuple[str, ...]:
    """Return the names of all leaves, `section.field`."""
    return tuple(
        f"{section}.{field}"
        for section, kind in SECTIONS.items()
        for field in kind.__annotations__
    )


UNSEEN = "unseen_environment"  # what a doubt about variables is called


class Doubts:
    """The leaves of one plan that a rule looked at and that are not sure.

    And its variables, under UNSEEN, where not all of them were seen.

    Attributes:
        seen: those stated without a value, by name.
        assumed: conditions, in words, of those that hold only under one.
        set_at: the places of the variables that are set.

    """

    __slots__ = ("assumed", "seen", "set_at")

    def __init__(self, set_at: frozenset[Place] = frozenset()) -> None:
        """Start with none."""
        self.seen: dict[str, Value[Any]] = {}
        self.set_at = set_at
        self.assumed: dict[str, None] = {}

    def forget(self) -> None:
        """Start anew: for another rule."""
        self.seen.clear()
        self.assumed.clear()

    def is_for_want(self, places: Iterable[Place]) -> bool:
        """Return whether a failure with these places rests on a variable not set.

        What fails by a variable that is set names where.
        """
        return UNSEEN in self.seen and self.set_at.isdisjoint(places)


class DoubtfulValue(Value[Any]):
    """A leaf that is stated and has no value; tells when it is asked for it."""

    doubts: Doubts

    @property
    def value(self) -> None:
        """None, as of every leaf without a value."""
        self.doubts.seen[self.name] = self


class AssumedValue(Value[Any]):
    """A leaf that holds only under a condition; records that it was looked at."""

    doubts: Doubts

    @property
    def value(self) -> Any:  # noqa: ANN401 - as of any leaf
        """The value, under the condition."""
        self.doubts.assumed[condition_of(self.places)] = None
        return self[_VALUE]


_VALUE = Value._fields.index("value")


def with_doubts(
    leaves: Mapping[str, Value[Any]], doubts: Doubts | None = None
) -> tuple[dict[str, Value[Any]], Doubts | None]:
    """Return the leaves, and what records looks at those in doubt; None without any."""
    watching = doubts or Doubts()
    watched = dict(leaves)
    is_sure = True
    for leaf in leaves.values():
        kind: type[AssumedValue | DoubtfulValue] | None = None
        if leaf.value is None:
            kind = DoubtfulValue if leaf.places else None
        elif leaf.only_if:
            kind = AssumedValue
        if kind is not None:
            watched[leaf.name] = watched_value = kind._make(leaf)
            watched_value.doubts = watching
            is_sure = False
    return watched, doubts if is_sure else watching


def plan_evidence(
    leaves: Mapping[str, Value[Any]], doubts: Doubts | None = None
) -> tuple[TrainingPlan, dict[type, object]]:
    """Return the plan of these leaves, with its sections, and what shows doubt.

    Args:
        leaves: by name.
        doubts: of the plan, where more than its leaves may raise some.
    """
    watched, doubts = with_doubts(leaves, doubts)
    plan = TrainingPlan(watched)
    sections: dict[type, object] = {type(part): part for part in plan.sections()}
    return plan, {**sections, TrainingPlan: plan, Doubts: doubts}


class LogsAtHand:
    """Series of a run are at hand: they show themselves what its files leave open."""

    __slots__ = ()
