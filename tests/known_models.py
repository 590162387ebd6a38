"""Models whose sizes tests work with, as their configurations on the hub state them."""

from speccheck.validator.models.parameters import Dimensions

LLAMA_8B = Dimensions(
    layers=32,
    hidden_size=4096,
    attention_heads=32,
    key_value_heads=8,
    feed_forward_size=14336,
    gated_feed_forward=True,
    vocabulary_size=128256,
    tied_embeddings=False,
)
LLAMA_70B = LLAMA_8B._replace(
    layers=80, hidden_size=8192, attention_heads=64, feed_forward_size=28672
)
LLAMA_3B = LLAMA_8B._replace(
    layers=28,
    hidden_size=3072,
    attention_heads=24,
    head_dimension=128,
    feed_forward_size=8192,
    tied_embeddings=True,
)
QWEN3_30B = LLAMA_8B._replace(
    layers=48,
    hidden_size=2048,
    key_value_heads=4,
    head_dimension=128,
    feed_forward_size=None,
    vocabulary_size=151936,
    query_key_norm=True,
    experts=128,
    experts_per_token=8,
    expert_feed_forward_size=768,
)
