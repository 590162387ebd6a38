"""Model dimensions that are no multiples of a matrix tile.

Why it hurts: tensor cores work on tiles. A dimension off the grid is padded or falls to
a slower kernel in every layer of every step; one published model of 104 billion
parameters had heads of 145.

What passes: hidden size, head size, feed-forward size of a rank and the multiple that
the vocabulary is padded to are multiples of the tile; a vocabulary whose stated size
already is one needs no padding.

Where it does not apply: fine-tuning and other work on a model whose dimensions are
given; models so small that they only try the code.

Source: NVIDIA matrix multiplication background guide; bigscience tr8b-104B
configuration (hidden 11,600 with 80 heads).

Bad::

    --hidden-size 11600 --num-attention-heads 80     # heads of 145

Good::

    --hidden-size 10240 --num-attention-heads 80     # heads of 128
"""

from speccheck.validator.evidence.plan import Model, Parallelism, Run
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Tile(Numbers):
    """Elements of a tile that must divide a dimension, and of one that should."""

    tile: int
    tile_preferred: int


@rule(clause="KERN-002")
def dimensions_off_the_matrix_grid(
    model: Model, parallelism: Parallelism, run: Run, grid: Tile
) -> Verdicts:
    """Judge each known dimension as one rank holds it."""
    if run.role.value in {"sft", "lora", "rl", "conversion", "debug"}:
        return
    tensor = max(parallelism.tensor_parallel_size.or_else(1), 1)
    hidden, heads = model.hidden_size, model.attention_heads
    if model.is_toy:
        return
    rows: tuple[tuple[str, Value[int], int, list[Value[int]]], ...] = (
        ("hidden size", hidden, 1, []),
        ("head size", model.head_dimension, 1, [heads, hidden]),
        ("feed-forward size", model.feed_forward_size, tensor, []),
        ("vocabulary multiple", model.vocabulary_multiple, 1, []),
    )
    if not _is_vocabulary_off(model, tensor, grid.tile):
        rows = rows[:-1]
    known = [row for row in rows if row[1].is_known]
    if not known:
        hidden.need()
    is_clean = True
    for name, value, ranks, related in known:
        size = value.need()
        share = size // ranks
        if size % ranks or share % grid.tile == 0:
            continue
        is_clean = False
        cut = f" / {ranks} tensor-parallel ranks = {share:,}" if ranks > 1 else ""
        yield fail(
            f"{name} {size:,}{cut} is not a multiple of {grid.tile}; multiples of "
            f"{grid.tile_preferred} run best",
            at=[value, *related],
            measured=share,
            required=grid.tile,
            cost="matrix units run on padded tiles or fall to slower kernels",
        )
    if is_clean:
        yield passed(at=[row[1] for row in known], required=grid.tile)


def _is_vocabulary_off(model: Model, tensor: int, tile: int) -> bool:
    """Return whether the vocabulary of a rank, as it is padded, is surely off the tile.

    Most tokenizers are on it by themselves: of one that is not known the multiple to
    which it is padded says nothing.
    """
    size, multiple = model.vocabulary_size.value, model.vocabulary_multiple.value
    if not size or not multiple or multiple < 1:
        return False
    share = -(-size // (multiple * tensor)) * multiple
    return share % tile != 0
