"""The variables that NCCL and its plugins say they took.

Their values stand in the log as they are. Only those of communication libraries are
kept, and none that has the name or the shape of a credential.
"""

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.secrets import secret_kind
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.nccl_log.lines import Line

_TAKEN = lazy_pattern(
    r"(?:[A-Z]{2,10}/Plugin: )?([A-Z][A-Z0-9_]{2,80}) set (?:by environment )?to "
    r"(.{0,4096})$"
)
_ADDED = lazy_pattern(
    r"NET/OFI Adding ([A-Z][A-Z0-9_]{2,80})=(.{0,4096}?) to environment"
)
_SET_BY_PLUGIN = lazy_pattern(
    r"NET/OFI .{0,200}?Setting ([A-Z][A-Z0-9_]{2,80}) (?:environment variable )?to "
    r"(.{0,4096})$"
)
_KNOWN = lazy_pattern(r"(?:NCCL|RCCL|OFI|FI|UCX|SHARP|RDMAV|IBV|MLX5|CUDA)_\w+")
_SECRET = lazy_pattern(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|APIKEY|PRIVATE|COOKIE|JWT"
    r"|(?:^|_)(?:KEYS?|PASS|AUTH)(?:_|$)"
)
_MOST = 4096  # different settings of a log
BY_USER = "environment"
BY_PLUGIN = "plugin"


class Settings:
    """Name, value and who set it, each once, with the line that said it first."""

    def __init__(self) -> None:
        """Start without any."""
        self.taken: dict[tuple[str, str | None, str], Span] = {}

    def hear(self, line: Line) -> bool:
        """Put down a line that tells of a variable."""
        text = line.text
        if " to " not in text:
            return False
        who = BY_USER
        match = _TAKEN.match(text)
        if match is None and text.startswith("NET/OFI"):
            who = BY_PLUGIN
            match = _ADDED.match(text) or _SET_BY_PLUGIN.match(text)
        if match is None or _KNOWN.fullmatch(match[1]) is None:
            return False
        if len(self.taken) < _MOST:
            name, value = match[1], _shown(match[1], match[2].strip())
            self.taken.setdefault((name, value, who), line.span)
        return True


def _shown(name: str, value: str) -> str | None:
    """The value; None for what may be a credential."""
    if _SECRET.search(name) or secret_kind(name, value):
        return None
    # Behind a number NCCL writes the full stop of the sentence.
    bare = value.removesuffix(".")
    return bare if bare.lstrip("-").isdecimal() else value
