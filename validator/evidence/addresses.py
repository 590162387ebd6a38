"""Addresses in configuration values: scheme and host, and which hosts are private."""

# Schemes of stores. tcp:// and the like are rendezvous addresses, which no store has.
_SCHEMES = frozenset({"http", "https", "ftp", "ftps", "s3", "gs", "az", "abfs", "hf"})
_PRIVATE_ENDINGS = (".local", ".internal", ".lan", ".svc", ".cluster.local")
_LAST_PRIVATE_B = 31  # 172.16.0.0/12 ends with 172.31
_SHARED_B = range(64, 128)  # 100.64.0.0/10 (RFC 6598), not routed in public


def store_address(text: str) -> tuple[str, str] | None:
    """Return the scheme and host of a text that is an address of a store, else None."""
    scheme, separator, rest = text.partition("://")
    if not separator or scheme.lower() not in _SCHEMES:
        return None
    authority = rest.partition("/")[0]
    host = authority.rpartition("@")[2].partition(":")[0]
    return scheme.lower(), host.lower()


def is_private_host(host: str) -> bool:
    """Return whether a host is this machine or a private one (RFC 1918, 6598, 6761).

    A bare name without a dot resolves inside the cluster only. A host that is still a
    placeholder counts as private: it is not known.
    """
    if "$" in host or "{" in host or not host:
        return True
    if "." not in host or host.endswith(_PRIVATE_ENDINGS):
        return True
    parts = host.split(".")
    if len(parts) != 4 or not all(part.isdecimal() for part in parts):  # noqa: PLR2004
        return False
    first, second = int(parts[0]), int(parts[1])
    return (
        first in {10, 127}
        or (first, second) in {(192, 168), (169, 254)}
        or (first == 100 and second in _SHARED_B)  # noqa: PLR2004
        or (first == 172 and 16 <= second <= _LAST_PRIVATE_B)  # noqa: PLR2004
    )
