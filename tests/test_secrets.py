"""Credentials are found by the shapes of their issuers, and placeholders are not."""

import pytest

from speccheck.validator.evidence.secrets import masked, secret_kind

# Made up for these tests, in two parts so that no scanner takes them for real ones.
HUGGING_FACE = "hf_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzC"
OPENAI = "sk-" + "proj-aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"
ANTHROPIC = "sk-ant-" + "api03-aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"
AWS = "AKIA" + "Q3EGRZ7KXM5TWP2V"
GITHUB = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzC1d"
HEXADECIMAL = "0f1e2d3c4b5a69788796" + "a5b4c3d2e1f00f1e2d3c"


@pytest.mark.parametrize(
    ("key", "text", "kind"),
    [
        ("hub_token", HUGGING_FACE, "Hugging Face token"),
        ("OPENAI_API_KEY", OPENAI, "OpenAI key"),
        ("judge_key", ANTHROPIC, "Anthropic key"),
        ("AWS_ACCESS_KEY_ID", AWS, "AWS access key"),
        ("GITHUB_TOKEN", GITHUB, "GitHub token"),
        ("WANDB_API_KEY", HEXADECIMAL, "Weights & Biases key"),
        ("url", "postgres://train:s3cr3tpa55@db:5432/runs", "password in an address"),
        ("key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE", "private key"),
    ],
)
def test_a_credential_is_found(key: str, text: str, kind: str) -> None:
    assert secret_kind(key, text) == kind


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("hub_token", "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
        ("hub_token", "hf_your_token_goes_here_please_thank_you"),
        ("hub_token", "${HF_TOKEN}"),
        ("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE"),
        ("revision", HEXADECIMAL),
        ("WANDB_API_KEY", "0" * 40),
        ("url", "https://github.com/huggingface/transformers"),
        ("url", "postgres://train:${PASSWORD}@db:5432/runs"),
        ("model_name_or_path", "meta-llama/Llama-3.1-8B-Instruct"),
        ("tokenizer_name", "hf-internal-testing/tiny-random-LlamaForCausalLM"),
    ],
)
def test_a_placeholder_or_a_name_is_none(key: str, text: str) -> None:
    assert secret_kind(key, text) is None


def test_only_the_first_letters_are_shown() -> None:
    assert masked(HUGGING_FACE) == "hf_... (37 characters)"
