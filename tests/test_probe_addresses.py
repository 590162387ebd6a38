"""Which addresses a network interface has, by the kernel and by copies of its files."""

from pathlib import Path

import pytest

from speccheck.probes.addresses import has_ipv4, has_ipv6
from speccheck.probes.raw_value import Absence
from speccheck.probes.root import Root

LOOPBACK = "00000000000000000000000000000001 01 80 10 80       lo\n"


def _copy(folder: Path, **files: str) -> Root:
    for name, text in files.items():
        path = folder / "proc" / "net" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Root(str(folder))


def test_this_machine_has_an_address_of_its_own() -> None:
    assert has_ipv4(Root("/"), "lo") is True


def test_an_interface_that_is_not_there_says_so() -> None:
    found = has_ipv4(Root("/"), "no-such-link")
    assert isinstance(found, Absence)
    assert found.code == "ENODEV"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"route": "Iface Destination\neth0 00000000\n"}, True),
        ({"route": "Iface Destination\neth1 00000000\n"}, "absent"),
        ({}, "absent"),
    ],
)
def test_a_copy_tells_by_its_routes(
    files: dict[str, str], *, expected: bool | str, tmp_path: Path
) -> None:
    found = has_ipv4(_copy(tmp_path, **files), "eth0")
    assert (found.status if isinstance(found, Absence) else found) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"if_inet6": LOOPBACK}, True),
        ({"if_inet6": LOOPBACK.replace(" 10 80", " 20 80")}, False),
        ({"dev": "Inter-|"}, False),  # the kernel speaks no IPv6
        ({}, "absent"),
    ],
)
def test_link_local_addresses_do_not_count(
    files: dict[str, str], *, expected: bool | str, tmp_path: Path
) -> None:
    found = has_ipv6(_copy(tmp_path, **files), "lo")
    assert (found.status if isinstance(found, Absence) else found) == expected
