"""A value that is still a placeholder.

Why it hurts: the run starts with the placeholder as its value, or stops at start-up.

What passes: values, and what the framework itself resolves: `${oc.env:HF_TOKEN}`.

Where it does not apply: texts of chat templates and prompts; `auto`, which is a value.
`???` of OmegaConf is left open where no launch is at hand: the framework stops where it
is not filled. A variable in capitals is left to a script.

Source: OmegaConf (`???`), Helm and Jinja (`{{ }}`); others take `${...}` as it stands.

Bad::

    output_dir: ???

Good::

    output_dir: /ckpt/run-7
"""

import re
from collections.abc import Iterator

from speccheck.validator.evidence.framework_keys import dotted
from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.stated_keys import KeyedFile, StatedKey, StatedKeys
from speccheck.validator.evidence.value import KeyPath
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

# A whole value in braces, or angle brackets round words that ask to be filled in.
_UNFILLED = lazy_pattern(
    r"\?\?\?|\{\{[^{}]*\}\}|\$\{[^{}]*\}|\$[A-Z_]{3,}"
    r"|<(?:your|insert|path|name|fill|replace)[^<>]*>|(?:YOUR|PATH_TO)_[A-Z_]+",
    re.IGNORECASE,
)
_VARIABLE = lazy_pattern(r"\$\{[A-Z][A-Z0-9_]+\}|\$[A-Z][A-Z0-9_]+")
# A function that OmegaConf calls at run time (omegaconf/grammar): `${oc.env:HF_TOKEN}`.
# A shell's `${NAME:-default}` is none.
_RESOLVER = lazy_pattern(r"\$\{[a-z_][a-z0-9_.]*:[^-+=?]")
_FIRST_SIGNS = ("?", "{", "$", "<", "y", "Y", "p", "P")  # of any of these
_TEXTS = ("template", "prompt", "format")
# Variables are filled in by the shell, the harness (envsubst: _VARIABLE), or the loader
# (megatron/training/yaml_arguments.py, env_constructor).
_INTERPOLATING = frozenset(
    {"megatron-cli", "megatron-model-config", "megatron-yaml", "slurm", "torchrun"}
)
# SkyPilot fills its `envs` into other fields (sky/task.py, _fill_in_env_vars),
# and NeMo Automodel the environment (nemo_automodel/components/config/loader.py).
_WITH_VARIABLES = frozenset({"nemo-automodel", "skypilot"})
_OF_OMEGACONF = frozenset({"nemo-rl", "nemo1", "verl"})
_COMMAND_LINE = "hydra-overrides"


@rule(clause="CONF-008")
def unresolved_placeholder(stated: StatedKeys) -> Verdicts:
    """Judge each text that nobody has filled in, a finding a file."""
    for file in stated.files:
        if file.format in _INTERPOLATING:
            continue
        unfilled = [*_unfilled(file, stated)]
        declared = [key for key in unfilled if _is_declared(file, str(key.value))]
        is_called = any(other.format == _COMMAND_LINE for other in stated.files)
        left = [key for key in unfilled if is_called or key not in declared]
        if left:
            first, *others = left
            more = f", and {len(others)} more of the file" if others else ""
            text = str(first.value).strip()
            yield fail(
                f"{dotted(first.path)} is still the placeholder {text}{more}",
                at=[key.place for key in left],
                measured=text,
                required="a value",
                cost="the run takes the placeholder for a value, or stops at start-up",
            )
        elif declared:
            yield unknown(
                f"{dotted(declared[0].path)} is for the launch to fill in",
                missing=[str(declared[0].path[-1])],
                at=[key.place for key in declared],
            )
        elif file.keys:
            yield passed()


def _unfilled(file: KeyedFile, stated: StatedKeys) -> Iterator[StatedKey]:
    """Yield the keys of a file whose value nobody has filled in."""
    filled = _filled_elsewhere(file, stated)
    for key in file.keys:
        value = key.value
        if not isinstance(value, str) or not _is_unfilled(value):
            continue
        is_text = any(word in str(key.path[-1]) for word in _TEXTS)
        is_open = file.format in _WITH_VARIABLES and "$" in value
        is_read = is_open or file.refers_to_itself(value) or key.path in filled
        if not is_text and not is_read:
            yield key


def _is_declared(file: KeyedFile, value: str) -> bool:
    """Return whether a text says that it must be filled in, maybe by another file."""
    table, text = file.catalogue, value.strip()
    is_composed = table is not None and table.family in _OF_OMEGACONF
    marks = ("???", "${") if is_composed else ()
    return text.startswith(marks) or _VARIABLE.fullmatch(text) is not None


def _is_unfilled(value: str) -> bool:
    text = value.strip()
    return (
        text[:1] in _FIRST_SIGNS
        and _UNFILLED.fullmatch(text) is not None
        and _RESOLVER.match(text) is None
    )


def _filled_elsewhere(file: KeyedFile, stated: StatedKeys) -> set[KeyPath]:
    """Return the keys to which another file, or a command line, gives a value."""
    return {
        key.path
        for other in stated.files
        if other is not file
        for key in other.keys
        if not isinstance(key.value, str) or not _is_unfilled(key.value)
    }
