"""The time of one optimizer step: kernels, exchanges that show, a pipeline's waiting.

    step = micro-batches x (kernels + tensor and expert exchange) x (1 + waiting)
           + exchange of gradients + optimizer

A matrix product takes its operations at a share of the peak, the bytes that it moves at
a share of the memory's bandwidth, and a launch; attention has a share of its own; what
else a layer does is passes over its activations. The shares are fitted by
bench/fit_step_time.py on two thirds of the published steps (docs/accuracy.md names the
rows and how far off the others are).
"""

from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.bus_bandwidth import Architecture
from speccheck.validator.models.estimate import Estimate
from speccheck.validator.models.flops import Layers, Mixture

SOURCE = "kernels of a layer, shares fitted on published steps (docs/accuracy.md)"
_HALF, _FULL = 2.0, 4.0
# Gradients of inputs and of weights; a frozen weight needs the first alone.
_BACKWARD, _FROZEN_BACKWARD = 2.0, 1.05
_ATTENTION_BACKWARD = 2.5
_ELEMENT_BACKWARD = 1.6

Stack = Literal["megatron", "torch"]


class Efficiency(Record):
    """What one generation of GPUs reaches of its data sheet.

    Attributes:
        matrix: share of the peak in large products of 16 bits; `narrow` in 8 bits.
        memory: share of the memory's bandwidth.
        attention: share of the 16-bit peak in fused attention.
        launch_seconds: of a kernel.
        layer_passes: over a layer's activations, in and out, beside the products.
        head_passes: over the logits, bytes each.

    """

    matrix: float
    narrow: float
    memory: float
    attention: float
    launch_seconds: float
    layer_passes: float
    head_passes: float


class Shares(Record):
    """What holds for all generations.

    Attributes:
        torch_matrix: products outside Megatron-LM, from Hopper on.
        torch_narrow: the same in 8 bits, on top of it.
        ultra_narrow: products of 8 bits on Blackwell Ultra, on top of `narrow`.
        separate_passes: layer passes where norms are not fused, over those where they
            are.
        score_bytes: of an attention score that is written out, all passes.
        router_seconds: of a mixture's layer, forward: routing, sorting, small products.
        experts: time of the experts' products over that of dense ones.
        tensor_shown: share of tensor-parallel exchange that shows where it may overlap;
            of expert-parallel exchange `experts_shown`.
        exchange_seconds: latency of one exchange of activations.
        gradients_shown: of gradients that are reduced once a step; `shards_shown` where
            weights are gathered for each micro-batch.
        head_of_stage: share of the output head that the last stage cannot balance.
        optimizer_bytes: read and written for each parameter.
        step_seconds: of the host, for each step.

    """

    torch_matrix: float
    torch_narrow: float
    ultra_narrow: float
    separate_passes: float
    score_bytes: float
    router_seconds: float
    experts: float
    tensor_shown: float
    experts_shown: float
    exchange_seconds: float
    gradients_shown: float
    shards_shown: float
    head_of_stage: float
    optimizer_bytes: float
    step_seconds: float


class Constants(Record):
    """All that is fitted."""

    efficiency: dict[Architecture, Efficiency]
    shares: Shares


CALIBRATED = Constants(
    {
        "ampere": Efficiency(0.84, 0.78, 0.594, 0.343, 2e-5, 21.3, 4.0),
        "hopper": Efficiency(0.77, 0.762, 0.871, 0.211, 4.65e-6, 6.0, 19.0),
        "blackwell": Efficiency(0.555, 0.55, 0.636, 0.526, 2.27e-6, 10.2, 24.0),
    },
    Shares(
        torch_matrix=0.77,
        torch_narrow=0.72,
        ultra_narrow=1.30,
        separate_passes=3.73,
        score_bytes=30.0,
        router_seconds=1e-3,
        experts=1.03,
        tensor_shown=0.268,
        experts_shown=0.731,
        exchange_seconds=6e-5,
        gradients_shown=0.196,
        shards_shown=0.29,
        head_of_stage=0.987,
        optimizer_bytes=40.0,
        step_seconds=0.028,
    ),
)
# Published over predicted, of 97 in 100 rows: dense models, mixtures of experts.
DENSE_BAND = (0.80, 1.42)
MIXTURE_BAND = (0.62, 2.10)


class Machine(Record):
    """One GPU, as its data sheet says; operations and bytes a second.

    narrow_flops: in 8 bits; None where it has none. is_ultra: Blackwell Ultra.
    """

    architecture: Architecture
    matrix_flops: float
    narrow_flops: float | None
    memory_bytes: float
    is_ultra: bool = False


class StepWork(Record):
    """One GPU's share of a step.

    Attributes:
        tokens: of a micro-batch on one context-parallel rank.
        sequence_length: that attention spans.
        recomputes: every layer runs forward twice.
        writes_scores: attention is not fused.
        separate_norms: norms are not fused.
        shares_sequence: tensor-parallel ranks divide norms too.
        is_adapter: weights are frozen.
        parameters: whose optimizer state this rank keeps and updates.
        tensor_seconds: wires of the tensor- and context-parallel exchange of a step
            alone; `expert_seconds`, `hop_seconds` and `gradient_seconds` likewise.
        tensor_overlaps: None where it is not known; `gradients_overlap` likewise.
        gathers_weights: for each micro-batch (FSDP, ZeRO-3).

    """

    machine: Machine
    stack: Stack
    layers: Layers
    vocabulary_size: int
    tokens: float
    sequence_length: int
    micro_batches: int
    tensor_ranks: int = 1
    stages: int = 1
    chunks: int = 1
    in_8_bits: bool = False
    recomputes: bool = False
    writes_scores: bool = False
    separate_norms: bool = False
    shares_sequence: bool = False
    is_adapter: bool = False
    parameters: float = 0.0
    tensor_seconds: float = 0.0
    expert_seconds: float = 0.0
    hop_seconds: float = 0.0
    gradient_seconds: float = 0.0
    tensor_overlaps: bool | None = None
    gradients_overlap: bool | None = None
    gathers_weights: bool = False


class StepParts(Record):
    """The seconds of a step by what takes them; they add up."""

    kernels: float
    waiting: float
    activations: float
    gradients: float

    @property
    def total(self) -> float:
        """The whole step."""
        return sum(self)


def step_parts(work: StepWork, constants: Constants = CALIBRATED) -> StepParts:
    """Return the best value of each part."""
    shares, steps = constants.shares, work.micro_batches
    layers = work.layers.count_of_layers
    fullest = -(-layers // work.stages)
    last = layers - (work.stages - 1) * fullest
    layer, head = _layer_seconds(work, constants), _head_seconds(work, constants)
    stage = layers / work.stages * layer + head
    if work.stages > 1:
        stage = layers / work.stages * layer + shares.head_of_stage * head
        if last != fullest and last > 0:  # fewer layers beside the head, as planned
            stage = max(fullest * layer, min(last * layer + head, stage))
    shown = 1.0 if work.tensor_overlaps is False else shares.tensor_shown
    exchanged = shown * work.tensor_seconds + work.hop_seconds
    if work.tensor_ranks > 1:
        exchanged += 4 * layers / work.stages * steps * shares.exchange_seconds
    exchanged += shares.experts_shown * work.expert_seconds
    kernels = steps * stage
    share = (work.stages - 1) / work.chunks / steps
    waiting = share * (kernels + exchanged)
    gradients = _gradients_shown(work, kernels, shares)
    memory = work.machine.memory_bytes * _of(work, constants).memory
    kernels += work.parameters * shares.optimizer_bytes / memory
    return StepParts(kernels + shares.step_seconds, waiting, exchanged, gradients)


def step_estimate(work: StepWork) -> Estimate:
    """Return the whole step, with bounds that 97 in 100 published steps keep."""
    return banded(step_parts(work).total, work)


def banded(seconds: float, work: StepWork) -> Estimate:
    """Return a time with the bounds of published steps of such models."""
    is_mixture = isinstance(work.layers.feed_forward, Mixture)
    low, high = MIXTURE_BAND if is_mixture else DENSE_BAND
    return Estimate(seconds, seconds * low, seconds * high, "advisory", SOURCE)


def _of(work: StepWork, constants: Constants) -> Efficiency:
    return constants.efficiency[work.machine.architecture]


def _gradients_shown(work: StepWork, kernels: float, shares: Shares) -> float:
    """Return the seconds of gradients, and gathered weights, that no kernel hides."""
    alone = work.gradient_seconds
    if work.gradients_overlap is False:
        return alone
    share = shares.shards_shown if work.gathers_weights else shares.gradients_shown
    hides = kernels if work.gathers_weights else kernels / work.micro_batches
    return max(share * alone, alone - hides)


def _matrix_rate(work: StepWork, constants: Constants) -> float:
    """Return the operations a second of large products."""
    machine, shares, reached = work.machine, constants.shares, _of(work, constants)
    rate = machine.matrix_flops * reached.matrix
    if work.in_8_bits and machine.narrow_flops:
        rate = machine.narrow_flops * reached.narrow
        if machine.is_ultra:
            rate *= shares.ultra_narrow
        if work.stack == "torch":
            rate *= shares.torch_narrow
    if work.stack == "torch" and machine.architecture != "ampere":
        rate *= shares.torch_matrix
    return rate


def _product_seconds(
    work: StepWork, constants: Constants, shape: tuple[float, float, float]
) -> float:
    """Return the time of one product of rows x depth by depth x columns."""
    rows, depth, columns = shape
    memory = work.machine.memory_bytes * _of(work, constants).memory
    moved = _HALF * (rows * depth + depth * columns + rows * columns)
    seconds = 2 * rows * depth * columns / _matrix_rate(work, constants)
    return seconds + moved / memory + _of(work, constants).launch_seconds


def _layer_seconds(work: StepWork, constants: Constants) -> float:
    """Return forward, backward and what is recomputed of one layer and micro-batch."""
    products = _products_of_layer(work, constants)
    attention = _attention_seconds(work, constants)
    elements = _element_seconds(work, constants)
    forward = products + attention + elements
    again = _FROZEN_BACKWARD if work.is_adapter else _BACKWARD
    backward = again * products + _ATTENTION_BACKWARD * attention
    backward += _ELEMENT_BACKWARD * elements
    return forward + backward + (forward if work.recomputes else 0.0)


def _products_of_layer(work: StepWork, constants: Constants) -> float:
    layers, ranks, tokens = work.layers, work.tensor_ranks, work.tokens
    hidden = layers.hidden_size
    outgoing = (layers.query_width + 2 * layers.key_value_width) / ranks

    def seconds(depth: float, columns: float, rows: float = tokens) -> float:
        return _product_seconds(work, constants, (rows, depth, columns))

    result = seconds(hidden, outgoing) + seconds(layers.query_width / ranks, hidden)
    mixture = layers.feed_forward
    up = 2 if layers.is_gated else 1
    if not isinstance(mixture, Mixture):
        size = mixture / ranks
        return result + seconds(hidden, up * size) + seconds(size, hidden)
    chosen = mixture.per_token + mixture.shared_size / mixture.size
    rows = tokens * chosen / ranks
    experts = seconds(hidden, 2 * mixture.size, rows) + seconds(
        mixture.size, hidden, rows
    )
    shares = constants.shares
    return result + shares.experts * experts + shares.router_seconds


def _attention_seconds(work: StepWork, constants: Constants) -> float:
    """Return the time of causal attention of one layer."""
    reached, ranks = _of(work, constants), work.tensor_ranks
    pairs = work.tokens * work.sequence_length
    rate = work.machine.matrix_flops * reached.attention
    seconds = 2 * pairs * work.layers.query_width / ranks / rate
    if work.writes_scores:
        heads = work.layers.query_width / ranks / _HEAD
        memory = work.machine.memory_bytes * reached.memory
        seconds += pairs * heads * constants.shares.score_bytes / memory
    return seconds + reached.launch_seconds


_HEAD = 128  # the usual size of a head
_LAUNCHES = 4


def _element_seconds(work: StepWork, constants: Constants) -> float:
    """Return the time of norms, residuals, activations: passes over memory."""
    reached, layers = _of(work, constants), work.layers
    ranks = work.tensor_ranks
    width = layers.feed_forward
    if isinstance(width, Mixture):
        width = width.per_token * width.size
    norms = reached.layer_passes * layers.hidden_size
    norms /= ranks if work.shares_sequence else 1
    inner = (3 if layers.is_gated else 2) * width / ranks
    inner += 2 * (layers.query_width + layers.key_value_width) / ranks
    moved = _HALF * work.tokens * (norms + inner)
    if work.separate_norms:
        moved *= constants.shares.separate_passes
    memory = work.machine.memory_bytes * reached.memory
    return moved / memory + _LAUNCHES * reached.launch_seconds


def _head_seconds(work: StepWork, constants: Constants) -> float:
    """Return the output head's product, forward and backward, and the loss."""
    reached = _of(work, constants)
    columns = work.vocabulary_size / work.tensor_ranks
    one = _product_seconds(
        work, constants, (work.tokens, work.layers.hidden_size, columns)
    )
    memory = work.machine.memory_bytes * reached.memory
    passes = _HALF * reached.head_passes * work.tokens * columns / memory
    return one * (1 + (1 if work.is_adapter else _BACKWARD)) + passes
