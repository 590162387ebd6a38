"""A value that is still a placeholder.

Why it hurts: the run starts with the placeholder as its value, or stops at start-up.

What passes: values, and interpolations that the framework itself resolves, such as
`${oc.env:HF_TOKEN}`.

Where it does not apply: texts of chat templates and prompts; `auto`, which is a value.

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
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKeys
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.rule import Verdicts, fail, passed, rule

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


@rule(clause="CONF-008")
def unresolved_placeholder(stated: StatedKeys) -> Verdicts:
    """Judge each text that nobody has filled in."""
    for file in stated.files:
        if file.format in _INTERPOLATING:
            continue
        filled = _filled_elsewhere(file, stated)
        is_clean = True
        for key in file.keys:
            value = key.value
            if not isinstance(value, str) or not _is_unfilled(value):
                continue
            if any(word in str(key.path[-1]) for word in _TEXTS) or key.path in filled:
                continue
            if file.format in _WITH_VARIABLES and "$" in value:
                continue
            is_clean = False
            yield fail(
                f"{dotted(key.path)} is still the placeholder {value.strip()}",
                at=key.place,
                measured=value.strip(),
                required="a value",
                cost="the run starts with the placeholder, or stops at start-up",
            )
        if is_clean and file.keys:
            yield passed()


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
