"""The catalogue of NCCL variables: complete, plausible, and read as NCCL reads."""

from pathlib import Path

import pytest

from compile_catalogues import read_source
from compile_nccl import compile_nccl, compiled_text
from speccheck.validator.catalogue.files import compiled_path
from speccheck.validator.catalogue.nccl import nccl_variables
from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.nccl_variables import (
    NcclVariables,
    integer_seen,
    misread,
    out_of_range,
    release,
)
from speccheck.validator.evidence.value import Place

RAW = read_source("nccl/variables")
PLATFORMS = read_source("nccl/platforms")
OLDEST = (2, 3, 5)
# Documented for releases after the newest one that was searched.
OF_LATER_RELEASES = {
    "NCCL_DEBUG_LEVELS",
    "NCCL_IB_EVENT_BASED_LB",
    "NCCL_IB_PKEY_VALUE",
    "NCCL_RMA_EAGER_INIT",
}


@pytest.fixture(scope="module")
def nccl() -> NcclVariables:
    return nccl_variables()


def _set(**values: str) -> Environment:
    variables = tuple(
        Variable(name, value, Place("job.env", name)) for name, value in values.items()
    )
    return Environment(variables, ("job.env",))


def test_the_compiled_catalogue_is_the_one_of_the_yaml_files() -> None:
    assert Path(compiled_path("nccl")).read_text(encoding="utf-8") == compiled_text()


def test_every_tabulated_variable_can_be_looked_up(nccl: NcclVariables) -> None:
    names = [row["name"] for row in RAW["variables"]]
    assert len(names) == len(set(names)) == 513
    assert [name for name in names if nccl.lookup(name) is None] == []
    assert list(nccl.names()) == names


def test_releases_are_in_order(nccl: NcclVariables) -> None:
    for name in nccl.names():
        row = nccl.lookup(name)
        assert row is not None
        added, removed = release(row.added), release(row.removed)
        if row.family == "nccl" and added:
            announced = name in OF_LATER_RELEASES
            assert added >= OLDEST, name
            assert (added <= nccl.newest) != announced, name
        if removed and removed != (0,):
            assert added < removed <= nccl.newest, name
        steps = [release(step[0]) for step in row.defaults]
        assert steps == sorted(steps), name


def test_ranges_hold_their_own_defaults(nccl: NcclVariables) -> None:
    for name in nccl.names():
        row = nccl.lookup(name)
        assert row is not None
        if isinstance(row.default, int):
            assert out_of_range(row, str(row.default)) is None, name


def test_every_replacement_is_a_tabulated_variable(nccl: NcclVariables) -> None:
    for name in nccl.names():
        row = nccl.lookup(name)
        assert row is not None
        meant = row.replacement.partition("=")[0]
        assert not meant or nccl.lookup(meant) is not None, name


def test_published_values_are_neither_misread_nor_unknown(nccl: NcclVariables) -> None:
    for platform in nccl.platforms:
        for name, value in platform.variables.items():
            row = nccl.lookup(name)
            assert row is not None, f"{platform.id}: {name}"
            if value != "*":
                assert misread(row, value) is None, f"{platform.id}: {name}"


def test_instances_of_platforms_are_those_of_the_hardware_catalogue() -> None:
    instances = read_source("hardware/instances")
    known = {row["id"] for row in instances["instances"]}
    used = {item for row in PLATFORMS["platforms"] for item in row["instances"]}
    assert used <= known


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        (" 42", 42),
        ("-2", -2),
        ("0x10", 16),
        ("010", 8),
        ("0", 0),
        ("8M", 8),
        ("1 # comment", 1),
        ("true", None),
        ("", None),
    ],
)
def test_numbers_are_read_as_the_c_library_reads_them(
    text: str, number: int | None
) -> None:
    assert integer_seen(text) == number


@pytest.mark.parametrize(
    ("name", "text", "seen", "meant"),
    [
        ("NCCL_IB_DISABLE", "true", "0", "1"),
        ("NCCL_IB_DISABLE", "off", "0", "0"),
        ("NCCL_BUFFSIZE", "8M", "8", "8388608"),
        ("NCCL_BUFFSIZE", "64kb", "64", "65536"),
        ("NCCL_IB_TIMEOUT", "20s", "20", ""),
        ("NCCL_P2P_LEVEL", "nvl", "no level, so that it has no effect", "NVL"),
        ("NCCL_NET_GDR_LEVEL", "PXX", "no level, so that it has no effect", ""),
        ("NCCL_DEBUG", "DEBUG", "no level, so that nothing is logged", ""),
    ],
)
def test_misread_values(
    nccl: NcclVariables, name: str, text: str, seen: str, meant: str
) -> None:
    row = nccl.lookup(name)
    assert row is not None
    found = misread(row, text)
    assert found is not None
    assert (found.seen, found.meant) == (seen, meant)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("NCCL_IB_DISABLE", "1"),
        ("NCCL_BUFFSIZE", "0x800000"),
        ("NCCL_P2P_LEVEL", "NVL"),
        ("NCCL_P2P_LEVEL", "5"),  # the legacy numbers
        ("NCCL_DEBUG", "info"),
        ("NCCL_SOCKET_IFNAME", "true"),  # a text
        ("TORCH_NCCL_BLOCKING_WAIT", "true"),  # PyTorch reads words
    ],
)
def test_values_that_are_read_as_written(
    nccl: NcclVariables, name: str, text: str
) -> None:
    row = nccl.lookup(name)
    assert row is not None
    assert misread(row, text) is None


@pytest.mark.parametrize(
    ("used", "exponent"), [((2, 12), 14), ((2, 18, 1), 18), ((2, 27), 20), ((), 20)]
)
def test_defaults_follow_the_release(
    nccl: NcclVariables, used: tuple[int, ...], exponent: int
) -> None:
    assert nccl.default("NCCL_IB_TIMEOUT", used) == exponent
    assert nccl.default("NCCL_NO_SUCH_VARIABLE", used) is None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("NCCL_MIN_CHANNELS", "NCCL_MIN_NCHANNELS"),
        ("NCCL_IB_TIMOEUT", "NCCL_IB_TIMEOUT"),
        ("NCCL_HOME", None),
        ("NCCL_TESTS_HOME", None),
    ],
)
def test_misspelt_names(nccl: NcclVariables, written: str, meant: str | None) -> None:
    assert nccl.resembles(written) == meant


def test_a_value_is_published_for_its_instances_only(nccl: NcclVariables) -> None:
    environment = _set(NCCL_SHM_DISABLE="1", NCCL_MNNVL_ENABLE="1")
    shared = environment.find("NCCL_SHM_DISABLE")
    assert shared is not None
    assert nccl.is_published(shared, environment, "azure-nd128isr-gb200-v6")
    assert not nccl.is_published(shared, environment, "aws-p5")
    assert not nccl.is_published(shared, environment, None)


def test_a_variable_of_one_platform_tells_the_platform(nccl: NcclVariables) -> None:
    environment = _set(NCCL_FASTRAK_IFNAME="eth1,eth2", NCCL_PROTO="simple,ll128")
    protocol = environment.find("NCCL_PROTO")
    assert protocol is not None
    assert nccl.is_published(protocol, environment, None)
    assert not nccl.is_published(protocol, environment, "oci-h100-8")


def test_costly_values(nccl: NcclVariables) -> None:
    row = nccl.lookup("TORCH_DISTRIBUTED_DEBUG")
    graph = nccl.lookup("NCCL_GRAPH_FILE")
    assert row is not None
    assert graph is not None
    assert row.is_costly("detail")
    assert not row.is_costly("OFF")
    assert graph.is_costly("/etc/graph.xml")
    assert not graph.is_costly("")


def test_a_malformed_row_is_refused() -> None:
    row = {"name": "NCCL_X", "family": "nccl", "type": "integer", "risk": "safe"}
    head = {"newest_release": "2.30.7", "assumed_release": {"value": "2.18.1"}}
    with pytest.raises(ValueError, match="NCCL_X"):
        compile_nccl({**head, "variables": [row]}, {"platforms": []})
    twice = [{**row, "source": "here"}, {**row, "source": "here"}]
    with pytest.raises(ValueError, match="tabulated twice: NCCL_X"):
        compile_nccl({**head, "variables": twice}, {"platforms": []})
