"""Forms that texts of keys must have, by the names that relations call them by."""

import re
from collections.abc import Callable, Mapping

_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def _matches(pattern: str, longest: int = 10_000) -> Callable[[str], bool]:
    compiled = re.compile(pattern)

    def is_of_form(text: str) -> bool:
        return len(text) <= longest and compiled.fullmatch(text) is not None

    return is_of_form


FORMS: Mapping[str, Callable[[str], bool]] = {
    # Kubernetes: RFC 1123 and 1035 names
    "dns_label": _matches(_DNS_LABEL, 63),
    "dns_subdomain": _matches(rf"{_DNS_LABEL}(\.{_DNS_LABEL})*", 253),
    "power_of_two": lambda text: (
        text.isdecimal() and int(text) > 0 and int(text) & (int(text) - 1) == 0
    ),
    # Slurm: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:...]
    "slurm_time": _matches(
        r"(?i)\d+(:\d+(:\d+)?)?|\d+-\d+(:\d+(:\d+)?)?|infinite|unlimited|-1"
    ),
    "slurm_memory": _matches(r"(?i)\d+(\.\d+)?[kmgtp]?b?|0"),
    "kubernetes_quantity": _matches(
        r"[+-]?(\d+(\.\d*)?|\.\d+)(([KMGTPE]i)|[numkMGTPE]|[eE][+-]?\d+)?"
    ),
    "whole_number": _matches(r"\s*[-+]?\d+\s*"),
    "host_and_port": _matches(r".*:\d{1,5}"),
}
