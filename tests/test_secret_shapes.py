"""Every shape of a credential is found, alone and in a line."""

import pytest

from speccheck.validator.evidence.secrets import hidden, secret_kind

# Made up, and joined only here, so that no scanner takes them for real ones.
_LETTERS = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzC1dF2gH4jK6lM8nP0q"
TOKENS = {
    "Hugging Face token": "hf_" + _LETTERS[:34],
    "Anthropic key": "sk-ant-" + _LETTERS[:40],
    "OpenAI key": "sk-" + _LETTERS[:40],
    "AWS access key": "ASIA" + "Q3EGRZ7KXM5TWP2V",
    "GitHub token": "github_pat_" + _LETTERS,
    "GitHub token ": "gho_" + _LETTERS[:36],
    "GitLab token": "glpat-" + _LETTERS[:20],
    "Slack token": "xoxb-" + _LETTERS[:24],
    "Google key": "AIza" + _LETTERS[:35],
    "NVIDIA key": "nvapi-" + _LETTERS,
    "private key": "-----BEGIN EC PRIVATE " + "KEY-----",
    "password in an address": "s3://train:" + _LETTERS[:8] + "@store",
}


@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_of_each_kind_is_found(kind: str) -> None:
    assert secret_kind("value", TOKENS[kind]) == kind.strip()


@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_of_each_kind_is_hidden_in_a_line(kind: str) -> None:
    line = f"value: {TOKENS[kind]} # a note"
    shown = hidden(line)
    assert len(shown) == len(line)
    assert TOKENS[kind][4:] not in shown
    assert shown.endswith(" # a note")
