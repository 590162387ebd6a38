"""Dimensions of public models, by the names that files use."""

import pytest

from compile_models import compile_models
from speccheck.validator.catalogue.public_models import known_model
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.sources.joining.merge import Leaves, derive

HEADER = (
    *("name", "aliases", "family", "layer_class", "attention", "layers", "hidden"),
    *("ffn", "heads", "kv_heads", "head_dim", "vocab", "max_positions"),
    *("tied_embeddings", "gated_mlp", "experts", "experts_per_token", "expert_ffn"),
    *("parameters", "confidence", "source"),
)
ROW = dict.fromkeys(HEADER, "") | {"confidence": "verified", "source": "a file"}


@pytest.mark.parametrize(
    ("name", "framework", "layers"),
    [
        ("meta-llama/Llama-3.1-70B", "transformers", 80),
        ("META-LLAMA/llama-3.1-70b/", "", 80),
        ("NousResearch/Meta-Llama-3.1-8B", "axolotl", 32),
        ("/data/models/Qwen2.5-7B-Instruct", "axolotl", 28),
        ("checkpoints/meta-llama/Llama-3.2-1B", "", 16),
        ("ZhipuAI/GLM-4.5-Air-Base-mcore", "", 46),
        ("lora_llama3_1_8b", "torchtune", 32),
        ("qlora_llama3_1_405b", "torchtune", 126),
        ("lora_qwen3_0_6b_instruct", "torchtune", 28),
        ("qwen3_4b_base", "torchtune", 36),
        ("qwen3 32B", "torchtitan", 64),
        ("llama3 8B_flex", "torchtitan", 32),
        ("llama3.1-70b-Instruct", "maxtext", 80),
        ("Llama-2-7b-hf", "litgpt", 32),
        ("llama3 13B", "torchtitan", None),
        ("lora_of_mine", "torchtune", None),
        ("llama3_1_8b", "", None),
        ("Llama-3.1-8B", "", None),
        ("/data/models/ours", "transformers", None),
        ("", "", None),
    ],
)
def test_a_name_is_looked_up_as_its_framework_means_it(
    name: str, framework: str, layers: int | None
) -> None:
    known = known_model(name, framework)
    assert (known and known.shape.layers) == layers


def leaves_of(**model: object) -> Leaves:
    place = Place("sft.yaml", "model", ("model",))
    return {
        f"model.{leaf}": Value(f"model.{leaf}", value, "stated", (place,), "")
        for leaf, value in model.items()
    }


def test_the_name_gives_dimensions_with_its_place() -> None:
    leaves = derive(leaves_of(name_of_model="meta-llama/Llama-3.1-8B"))
    hidden, parameters = leaves["model.hidden_size"], leaves["model.parameters"]
    assert (hidden.value, parameters.value) == (4096, 8_030_261_248)
    assert (hidden.status, hidden.places[0].file) == ("derived", "sft.yaml")
    assert hidden.note == "from the model's name: meta-llama/Llama-3.1-8B"


def test_mixtures_and_latent_attention_give_what_is_plain() -> None:
    leaves = derive(leaves_of(name_of_model="deepseek-ai/DeepSeek-V3"))
    assert leaves["model.parameters"].value == 671_026_404_352
    assert leaves["model.experts"].value == 256
    assert "model.attention_heads" not in leaves
    assert "model.feed_forward_size" not in leaves


def test_a_file_that_builds_another_model_is_believed() -> None:
    leaves = derive(leaves_of(name_of_model="meta-llama/Llama-3.1-8B", layers=4))
    assert leaves["model.layers"].value == 4
    assert "model.hidden_size" not in leaves
    assert "model.parameters" not in leaves


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": ""}, "a/b: names no source"),
        ({"layers": "many"}, "a/b: layers many"),
        ({"heads": "6", "kv_heads": "4"}, "a/b: 4 key-value heads do not divide 6"),
        ({"confidence": "sure"}, "a/b: confidence sure"),
        ({"tied_embeddings": "maybe"}, "a/b: tied_embeddings maybe"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(
    change: dict[str, str], message: str
) -> None:
    row = ROW | {"name": "a/b"} | change
    with pytest.raises(ValueError, match=message):
        compile_models(["\t".join(HEADER), "\t".join(row.values())])


def test_a_name_with_two_shapes_is_refused() -> None:
    rows = [ROW | {"name": "a/B", "layers": "2"}, ROW | {"name": "a/b", "layers": "4"}]
    lines = ["\t".join(HEADER), *("\t".join(row.values()) for row in rows)]
    with pytest.raises(ValueError, match="a/b stands twice, with two shapes"):
        compile_models(lines)
