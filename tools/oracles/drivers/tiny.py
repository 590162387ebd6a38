"""Make what a trainer asks for beside its arguments: a tiny model, words and data.

They lie in a folder, so that trainers which load a model by its name find them.
"""

import importlib
import tempfile
from functools import cache
from typing import Any

transformers = importlib.import_module("transformers")
tokenizers = importlib.import_module("tokenizers")

_WORDS = ("<unk>", "<s>", "</s>", "<pad>", "[PAD]", "a", "b", "c", "user", "assistant")
_SPECIAL = {
    "unk_token": "<unk>",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "pad_token": "<pad>",
}
_TEMPLATE = (
    "{% for message in messages %}{{ message.role }} {{ message.content }} "
    "{% generation %}{% endgeneration %}{% endfor %}"
)


@cache
def model_folder() -> str:
    """Return a folder with a model of two small layers and a few words."""
    folder = tempfile.mkdtemp(prefix="tiny")
    words = tokenizers.models.WordLevel(
        {word: number for number, word in enumerate(_WORDS)}, unk_token=_WORDS[0]
    )
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        **_SPECIAL,
    )
    fast.chat_template = _TEMPLATE
    fast.save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=len(_WORDS),
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        pad_token_id=_WORDS.index("<pad>"),
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def model() -> Any:  # noqa: ANN401 - a class of the framework
    """Load the model."""
    return transformers.LlamaForCausalLM.from_pretrained(model_folder())


def classifier() -> Any:  # noqa: ANN401
    """Load the model with a single score in place of words."""
    kind = transformers.LlamaForSequenceClassification
    return kind.from_pretrained(model_folder(), num_labels=1)


def words() -> Any:  # noqa: ANN401
    """Load the tokenizer."""
    return transformers.PreTrainedTokenizerFast.from_pretrained(model_folder())


def rows(columns: dict[str, object], count: int = 8) -> Any:  # noqa: ANN401
    """Return a data set of equal rows."""
    datasets = importlib.import_module("datasets")
    return datasets.Dataset.from_dict(
        {name: [v] * count for name, v in columns.items()}
    )
