"""A value that is still a placeholder.

Why it hurts: the run starts with the placeholder as its value, or stops at start-up.

What passes: values, and interpolations that the framework itself resolves, such as
`${oc.env:HF_TOKEN}`.

Where it does not apply: texts of chat templates and prompts; `auto`, which is a value.
`???` of OmegaConf is left open where no launch script is at hand: it must be filled on
the command line, and the framework stops where it is not.

Source: OmegaConf (`???`), Helm and Jinja (`{{ }}`); formats without interpolation take
`${...}` as it stands.

Bad::

    output_dir: ???

Good::

    output_dir: /ckpt/run-7
"""

import re

from speccheck.validator.evidence.framework_keys import dotted
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey, StatedKeys
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule, unknown

# A whole value in braces, or angle brackets round words that ask to be filled in.
_UNFILLED = lazy_pattern(
    r"\?\?\?|\{\{[^{}]*\}\}|\$\{[^{}]*\}|\$[A-Z_]{3,}"
    r"|<(?:your|insert|path|name|fill|replace)[^<>]*>|(?:YOUR|PATH_TO)_[A-Z_]+",
    re.IGNORECASE,
)
# A function that OmegaConf calls at run time (omegaconf/grammar): `${oc.env:HF_TOKEN}`.
# A shell's `${NAME:-default}` is none.
_RESOLVER = lazy_pattern(r"\$\{[a-z_][a-z0-9_.]*:[^-+=?]")
_FIRST_SIGNS = ("?", "{", "$", "<", "y", "Y", "p", "P")  # of any of these
_TEXTS = ("template", "prompt", "format")
# Variables of the environment are filled in by the shell, by the harness (envsubst), or
# by the loader (megatron/training/yaml_arguments.py, env_constructor).
_INTERPOLATING = frozenset(
    {"megatron-cli", "megatron-model-config", "megatron-yaml", "slurm", "torchrun"}
)
# SkyPilot fills its `envs` into other fields (sky/task.py, _fill_in_env_vars).
_WITH_VARIABLES = frozenset({"skypilot"})
# OmegaConf's word for a value that a command line must give: it never starts without.
_MANDATORY = "???"
_WITH_MANDATORY = frozenset({"nemo1", "nemo-rl", "verl", "torchtune", "hyperpod"})


@rule(clause="CONF-008")
def unresolved_placeholder(stated: StatedKeys) -> Verdicts:
    """Judge each text that nobody has filled in, a finding a file."""
    for file in stated.files:
        if file.format in _INTERPOLATING:
            continue
        filled = _filled_elsewhere(file, stated)
        unfilled = [key for key in file.keys if _is_placeholder(key, file, filled)]
        if file.format in _WITH_MANDATORY and len(stated.files) == 1:
            mandatory = [key for key in unfilled if _text(key) == _MANDATORY]
            unfilled = [key for key in unfilled if _text(key) != _MANDATORY]
            if mandatory:
                yield _left_open(mandatory)
                if not unfilled:
                    continue
        if unfilled:
            yield fail(
                _named(unfilled),
                at=[key.place for key in unfilled],
                measured=_text(unfilled[0]),
                required="a value",
                cost="the run takes the placeholder for a value, or stops at start-up",
            )
        elif file.keys:
            yield passed()


def _left_open(keys: list[StatedKey]) -> Verdict:
    text = f"{_named(keys)}: a command line has to fill that in"
    places = [key.place for key in keys]
    return unknown(text, missing=("launch script",), at=places)


def _text(key: StatedKey) -> str:
    return str(key.value).strip()


def _named(keys: list[StatedKey]) -> str:
    """Return which keys hold placeholders, the first of them by name."""
    first = f"{dotted(keys[0].path)} is still the placeholder {_text(keys[0])}"
    more = len(keys) - 1
    return f"{first}, and so are {more} more values" if more else first


def _is_placeholder(key: StatedKey, file: KeyedFile, filled: set[KeyPath]) -> bool:
    value = key.value
    if not isinstance(value, str) or not _is_unfilled(value):
        return False
    if any(word in str(key.path[-1]) for word in _TEXTS) or key.path in filled:
        return False
    return file.format not in _WITH_VARIABLES or "$" not in value


def _is_unfilled(value: str) -> bool:
    text = value.strip()
    return (
        text[:1] in _FIRST_SIGNS
        and _UNFILLED.fullmatch(text) is not None
        and _RESOLVER.match(text) is None
    )


def _filled_elsewhere(file: KeyedFile, stated: StatedKeys) -> set[KeyPath]:
    """The keys to which another file, or a command line, gives a value."""
    return {
        key.path
        for other in stated.files
        if other is not file
        for key in other.keys
        if not isinstance(key.value, str) or not _is_unfilled(key.value)
    }
