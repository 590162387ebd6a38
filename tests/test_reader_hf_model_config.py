"""The config.json of a transformers model."""

import json

import pytest

from corpus import corpus_folder, needs_corpus
from reader_text import ReadText, document_of, read_text
from speccheck.validator.sources.formats.hf_model_config import READER

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_act": "silu",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def read(content: object) -> ReadText:
    return read_text(READER, json.dumps(content, indent=1), "config.json")


def without(*keys: str) -> dict[str, object]:
    return {key: value for key, value in LLAMA.items() if key not in keys}


def test_states_the_dimensions() -> None:
    leaves = read(LLAMA)
    assert leaves.values("stated") == {
        "model.hidden_size": 4096,
        "model.feed_forward_size": 14336,
        "model.layers": 32,
        "model.attention_heads": 32,
        "model.key_value_heads": 8,
        "model.head_dimension": 128,
        "model.vocabulary_size": 128256,
        "model.maximum_positions": 131072,
        "model.tied_embeddings": False,
    }
    assert leaves.values("derived") == {
        "model.gated_feed_forward": True,
        "model.family": "transformer",
    }
    assert leaves.values("default") == {"model.name_of_model": "llama"}
    assert leaves.line("model.layers") == 9


def test_experts() -> None:
    leaves = read({**LLAMA, "num_local_experts": 8, "num_experts_per_tok": 2})
    assert leaves.value("model.experts") == 8
    assert leaves.value("model.experts_per_token") == 2
    other = {**LLAMA, "n_routed_experts": 256, "moe_intermediate_size": 2048}
    assert read(other).value("model.experts") == 256
    assert read(other).value("model.expert_feed_forward_size") == 2048


def test_the_language_model_of_several() -> None:
    content = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "text_config": {
            "model_type": "gemma3_text",
            "hidden_size": 2560,
            "num_hidden_layers": 34,
            "num_attention_heads": 8,
            "hidden_activation": "gelu_pytorch_tanh",
        },
        "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
    }
    leaves = read(content)
    assert leaves.value("model.hidden_size") == 2560
    assert leaves.value("model.layers") == 34
    assert leaves.value("model.gated_feed_forward") is True
    assert leaves.leaves["model.layers"].places[0].key == (
        "text_config.num_hidden_layers"
    )
    assert READER.detect(leaves.document) >= 0.5


def test_one_key_value_head_for_each_head_when_not_set() -> None:
    leaves = read(without("num_key_value_heads"))
    assert leaves.value("model.key_value_heads") == 32
    assert leaves.status("model.key_value_heads") == "default"
    shared = read({**without("num_key_value_heads"), "multi_query": True})
    assert shared.value("model.key_value_heads") == 1


def test_names_of_other_classes() -> None:
    content = {
        "model_type": "gpt2",
        "n_embd": 1600,
        "n_layer": 48,
        "n_head": 25,
        "n_positions": 1024,
        "n_inner": None,
        "activation_function": "gelu_new",
    }
    leaves = read(content)
    assert leaves.value("model.hidden_size") == 1600
    assert leaves.value("model.layers") == 48
    assert leaves.value("model.attention_heads") == 25
    assert leaves.value("model.maximum_positions") == 1024
    assert leaves.value("model.feed_forward_size") == 6400
    assert leaves.value("model.gated_feed_forward") is False
    assert read({**LLAMA, "ffn_dim": 1}).value("model.feed_forward_size") == 14336


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("mamba2", "ssm"),
        ("jamba", "other"),
        ("convnext", "cnn"),
        ("opt", "transformer"),
    ],
)
def test_families(kind: str, family: str) -> None:
    assert read({**LLAMA, "model_type": kind}).value("model.family") == family


@pytest.mark.parametrize("activation", ["relu2", "quick_gelu", ["silu"]])
def test_an_unknown_activation_says_nothing(activation: object) -> None:
    leaves = read({**LLAMA, "hidden_act": activation})
    assert leaves.value("model.gated_feed_forward") is None


def test_where_it_was_saved_is_only_a_weak_name() -> None:
    leaves = read({**LLAMA, "_name_or_path": "/scratch/step-500"})
    assert leaves.value("model.name_of_model") == "/scratch/step-500"
    assert leaves.status("model.name_of_model") == "default"


@pytest.mark.parametrize(
    "content",
    [
        {"architectures": "x", "hidden_size": [1], "num_hidden_layers": "32"},
        {"model_type": ["a"], "text_config": 5, "vocab_size": None},
        {"num_attention_heads": "8", "tie_word_embeddings": "maybe"},
        [1],
    ],
)
def test_odd_shapes_are_read_without_a_word(content: object) -> None:
    assert read(content).value("model.feed_forward_size") is None


@pytest.mark.parametrize(
    "content",
    [
        without("architectures", "model_type"),
        {"architectures": ["X"], "hidden_size": 8},
        {**LLAMA, "zero_optimization": {"stage": 1}},
        {**LLAMA, "base_model": "x"},
        {"model_type": "sentencepiece", "vocab_size": 32000},
    ],
)
def test_look_alikes_are_not_recognised(content: object) -> None:
    assert READER.detect(document_of(json.dumps(content), "a.json")) < 0.5


@needs_corpus
def test_every_published_file_is_recognised_and_read() -> None:
    missed: list[str] = []
    for path in sorted(corpus_folder("configs/hf-model-config").iterdir()):
        document = document_of(path.read_text("utf-8"), "settings.json")
        if READER.detect(document) < 0.5:
            missed.append(path.name)
        assert READER.read(document).facts.facts
    assert missed == []
