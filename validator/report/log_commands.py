"""Commands that a CI reads from the log of a job: how ours are written, and no other.

Runners take lines of the log for commands: GitHub those that begin with `::`, and both
GitHub and Azure those that hold `##[` or `##vso[` anywhere. A value in a hostile file
could be such a line. What stands in a command is escaped, and in a report for people,
printed where a runner reads it, whatever could begin a command is broken up.
"""

import re
from collections.abc import Mapping

_INSIDE = re.compile(r"##(?=\w*\[)")
_AT_START = re.compile(r"^(\s*):(?=:)", re.MULTILINE)


def disarmed(text: str) -> str:
    """A text in which no runner finds a command."""
    return _AT_START.sub(r"\1: ", _INSIDE.sub("# #", text))


def is_read_by_runner(environment: Mapping[str, str]) -> bool:
    """Whether a CI of that kind reads the output of this process."""
    return any(
        environment.get(name, "").lower() == "true"
        for name in ("GITHUB_ACTIONS", "TF_BUILD")
    )


def github_data(text: str) -> str:
    """The message of a workflow command, escaped."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def github_property(text: str) -> str:
    """A property of a workflow command, escaped."""
    return github_data(text).replace(":", "%3A").replace(",", "%2C")


def azure_text(text: str) -> str:
    """A message or a property of a logging command, escaped."""
    # %25 was given up for this: addresses in messages hold %25 by themselves.
    text = text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(";", "%3B").replace("]", "%5D")
