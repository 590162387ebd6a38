"""Takes from a snapshot what names one specimen, and variables that may be secret.

Serial numbers, UUIDs and addresses become a digest with a salt: the same salt makes the
snapshots of one site comparable, and tells nobody else anything. The value of a
variable stays only where it is of a communication library.
"""

import hashlib
import hmac
import re
from typing import Any

from speccheck.validator.evidence.node.node import SPECIMENS
from speccheck.validator.evidence.secrets import hidden, secret_kind

_DIGITS = 16
_ZEROS = re.compile(r"[0:.\-]*")  # an unset UUID or address says so
# Settings of communication libraries and launchers; no credential is among them.
_KNOWN = re.compile(
    r"(NCCL|UCX|UCC|FI|RDMAV|IBV|MLX5|MELLANOX|SHARP|MPI|GLOO|TORCH_NCCL|"
    r"NVSHMEM|CUDA|PYTORCH_CUDA|OMP|SLURM|PMIX)_[A-Z0-9_]+|OMPI_MCA_[A-Za-z0-9_]+"
    r"|(RANK|LOCAL_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|MASTER_PORT|LD_LIBRARY_PATH)"
    r"|COMPUTE_PROFILE|NSIGHT_CUDA_DEBUGGER"
)
_SECRET = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|APIKEY|PRIVATE|COOKIE|JWT"
    r"|(^|_)(KEYS?|PASS|AUTH)(_|$)",
    re.IGNORECASE,
)
# Texts that users write, or that quote them: kind, leaf.
_QUOTED = (("kernel_events", "text"), ("host", "kernel_arguments"))
_CREDENTIAL = {
    "status": "absent",
    "source": "each layer",
    "message": "its value has the shape of a credential and is not kept",
}


def without_specimens(snapshot: dict[str, Any], salt: bytes) -> dict[str, Any]:
    """Return the same, with each specimen's leaf replaced by its digest."""
    cleaned = dict(snapshot)
    for name in SPECIMENS:
        kind, _, leaf = name.partition(".")
        result = cleaned.get(kind)
        if isinstance(result, list):
            cleaned[kind] = [_without(item, leaf, salt) for item in result]
        elif isinstance(result, dict):
            cleaned[kind] = _without(result, leaf, salt)
    return cleaned


def without_credentials(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Return the same without texts that have the shape of a credential, anywhere.

    A value may hold one under any name: `NCCL_X=hf_...`. Nobody can ask for these.
    """
    cleaned = dict(snapshot)
    variables = cleaned.get("variables")
    if isinstance(variables, list):
        cleaned["variables"] = [_without_credential(variable) for variable in variables]
    for kind, leaf in _QUOTED:
        result = cleaned.get(kind)
        if isinstance(result, list):
            cleaned[kind] = [{**item, **_starred(item, leaf)} for item in result]
        elif isinstance(result, dict):
            cleaned[kind] = {**result, **_starred(result, leaf)}
    return cleaned


def _without_credential(variable: dict[str, Any]) -> dict[str, Any]:
    value = variable.get("value")
    if isinstance(value, str) and secret_kind(str(variable.get("name")), value):
        return {**variable, "value": _CREDENTIAL}
    return variable


def _starred(part: dict[str, Any], leaf: str) -> dict[str, Any]:
    value = part.get(leaf)
    if isinstance(value, str):
        return {leaf: _starred_text(value)}
    if isinstance(value, list):
        texts = [
            _starred_text(text) if isinstance(text, str) else text for text in value
        ]
        return {leaf: texts}
    return {}


def _starred_text(text: str) -> str:
    return hidden(text) if secret_kind("", text) else text


def is_shown(variable: str) -> bool:
    """Return whether the value of a variable may stand in a snapshot."""
    return bool(_KNOWN.fullmatch(variable)) and not _SECRET.search(variable)


def _without(part: dict[str, Any], leaf: str, salt: bytes) -> dict[str, Any]:
    value = part.get(leaf)
    if not isinstance(value, str) or _ZEROS.fullmatch(value):
        return part
    digest = hmac.new(salt, value.encode(), hashlib.sha256).hexdigest()
    return {**part, leaf: f"hashed:{digest[:_DIGITS]}"}
