"""`/etc/nccl.conf` as NCCL's own parser reads it."""

from pathlib import Path

import pytest

from script_text import format_of, read_script
from speccheck.validator.engine.assemble import assemble
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.sources.context import Context
from speccheck.validator.sources.files import read_file
from speccheck.validator.sources.formats.nccl_conf import READER

CONF = """\
# site defaults
NCCL_DEBUG=WARN
NCCL_IB_HCA==mlx5_0,mlx5_1
 NCCL_SOCKET_IFNAME = "bond0"
#NCCL_IB_DISABLE=1
NCCL_IB_TC=106  # lossless
NCCL_DEBUG=INFO
a line of words
"""


def test_names_and_values_as_the_parser_splits_them() -> None:
    script = read_script(READER, CONF, "/etc/nccl.conf")
    assert script.variables == {
        "NCCL_DEBUG": "WARN",  # the first of two counts
        "NCCL_IB_HCA": "=mlx5_0,mlx5_1",
        " NCCL_SOCKET_IFNAME ": ' "bond0"',
        "NCCL_IB_TC": "106  # lossless",
    }
    place = script.variable(" NCCL_SOCKET_IFNAME ").place
    assert place.key == "NCCL_SOCKET_IFNAME"
    assert place.span == (4, 2, 18)


def test_a_carriage_return_stays_in_the_value() -> None:
    script = read_script(READER, "NCCL_DEBUG=WARN\r\n", "nccl.conf")
    assert script.variables == {"NCCL_DEBUG": "WARN\r"}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("nccl.conf", "NCCL_DEBUG=WARN\n", "nccl-conf"),
        ("/root/.nccl.conf", "NCCL_DEBUG=WARN\n", "nccl-conf"),
        ("site.conf", "NCCL_DEBUG=WARN\n", "nccl-conf"),
        # The parser would take `export NCCL_DEBUG` for the name.
        ("nccl.conf", "export NCCL_DEBUG=WARN\n", "nccl-conf"),
        ("site.conf", "export NCCL_DEBUG=WARN\n", "env"),
        ("nginx.conf", "server {\n  listen = 80;\n}\n", None),
        ("nccl.conf", "", None),
        ("nccl.env", "NCCL_DEBUG=WARN\n", "env"),
    ],
)
def test_files_of_that_kind(name: str, text: str, expected: str | None) -> None:
    assert format_of(text, name) == expected


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    texts = {
        "job.env": "NCCL_DEBUG=INFO\nNCCL_ALGO=Ring\n",
        "nccl.conf": "NCCL_DEBUG=WARN\nNCCL_IB_TC=106\n",
    }
    files = []
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        files.extend(read_file(str(tmp_path / name))[1])
    for order in (files, files[::-1]):
        environment = assemble(order, Context())[Environment]
        assert isinstance(environment, Environment)
        found = {variable.name: variable.value for variable in environment.variables}
        assert found == {"NCCL_DEBUG": "INFO", "NCCL_ALGO": "Ring", "NCCL_IB_TC": "106"}
