"""`integrations/clustershell/preflight.sh` with the real clush and the real pdsh.

Both reach a host by ssh; that of the tests runs the command here, as that host. What
they do with words, output, deadlines and hosts that do not answer is their own.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from launched import INTEGRATIONS, REMAP, Site

pytestmark = pytest.mark.slow
PREFLIGHT = INTEGRATIONS / "clustershell" / "preflight.sh"
_SSH = """\
while [ "${1#-}" != "$1" ]; do
  case $1 in -o | -l | -p) shift ;; esac
  shift
done
export SPECCHECK_HOST="$1"
shift
if [ "$SPECCHECK_HOST" = "$GONE" ]; then echo "No route to host" >&2; exit 255; fi
own=$SITE/$SPECCHECK_HOST.gpus
[ ! -e "$own" ] || export NVML_LIBRARY_FILE="$own"
echo Welcome
exec sh -c "$*"
"""
WORDS = ("train.sh", "--tier", "0")


@pytest.fixture(params=["clush", "pdsh"])
def runner(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed: no host was reached with it")
    return name


@pytest.fixture
def site(tmp_path: Path, management_library: Path, runner: str) -> Site:
    found = Site(tmp_path, management_library)
    found.program("ssh", _SSH)
    options = {"clush": "-R ssh", "pdsh": "-R ssh"}[runner]
    found.environ |= {
        "SITE": str(tmp_path),
        "GONE": "",
        "SPECCHECK_RUNNER": runner,
        "SPECCHECK_RUNNER_OPTIONS": options,
        "CLUSTERSHELL_CFGDIR": str(tmp_path),
    }
    return found


def _preflight(
    site: Site, hosts: str = "n[1-4]", *words: str, **settings: str
) -> subprocess.CompletedProcess[str]:
    return site.run(PREFLIGHT, "lines.jsonl", hosts, *(words or WORDS), **settings)


def _verdicts(site: Site) -> dict[str, str]:
    lines = (site.job / "lines.jsonl").read_text("utf-8").splitlines()
    return {line["node"]: line["verdict"] for line in map(json.loads, lines)}


def test_every_host_is_judged_and_all_together(site: Site) -> None:
    ended = _preflight(site)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert _verdicts(site) == dict.fromkeys(("n1", "n2", "n3", "n4"), "go")
    assert "4 fit" in ended.stdout


def test_a_host_that_is_not_fit_is_listed(site: Site) -> None:
    site.gpus("n2", REMAP)
    ended = _preflight(site)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert _verdicts(site) == {"n1": "go", "n2": "no-go", "n3": "go", "n4": "go"}
    assert ended.stdout.splitlines()[-1] == "n2"


def test_a_host_that_does_not_answer_is_missing(site: Site) -> None:
    ended = _preflight(site, GONE="n3")
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert sorted(_verdicts(site)) == ["n1", "n2", "n4"]
    result = ended.stdout.partition("expected_node_missing")[2].split()
    assert "n3" in result[: result.index("fix")]
    assert "No route to host" in ended.stderr


def test_words_reach_the_hosts_as_they_were_written(site: Site) -> None:
    script = site.job / "it's a $HOME.sh"
    site.script.rename(script)
    ended = _preflight(site, "n[1-2]", script.name)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert _verdicts(site) == {"n1": "go", "n2": "go"}


def test_lines_of_an_earlier_run_are_refused(site: Site) -> None:
    (site.job / "lines.jsonl").touch()
    ended = _preflight(site)
    assert ended.returncode == 2
    assert "is there already" in ended.stderr


def test_what_is_not_understood_is_refused(site: Site) -> None:
    assert site.run(PREFLIGHT, "lines.jsonl").returncode == 2
    ended = _preflight(site, SPECCHECK_SECONDS="soon")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "SPECCHECK_SECONDS must be a whole number: soon" in ended.stderr
    ended = _preflight(site, SPECCHECK_RUNNER="clush-of-nobody")
    assert "clush-of-nobody is not there" in ended.stderr
    assert not (site.job / "lines.jsonl").exists()


def test_the_one_liners_of_the_page(site: Site, runner: str) -> None:
    """A look at some hosts, without a file: equal answers are shown once."""
    shown = {
        "clush": "clush -R ssh -b -w 'n[1-4]' {} 2>/dev/null",
        "pdsh": "pdsh -R ssh -w 'n[1-4]' {} 2>/dev/null | dshbak -c",
    }
    site.gpus("n2", REMAP)
    look = "\"speccheck preflight --nagios | cut -d '|' -f 1\""
    result = site.run("/bin/sh", "-c", shown[runner].format(look)).stdout.splitlines()
    shown_once = [
        item.partition(" - ")[0]
        for item in result
        if not item.startswith(("--", "Welcome"))
    ]
    counted = " (3)" if runner == "clush" else ""
    assert shown_once == [
        *(f"n[1,3-4]{counted}", "SPECCHECK OK"),
        *("n2", "SPECCHECK CRITICAL"),
    ]


def test_clush_judges_a_list_of_hosts_without_ssh(site: Site, runner: str) -> None:
    """The worker exec, which runs a command here for each host of a list."""
    if runner != "clush":
        pytest.skip("pdsh has no worker of that kind for a line of shell")
    command = (
        "clush -R exec -N -w 'n[1-8]' "
        "'SPECCHECK_HOST=%h speccheck preflight train.sh --result=-' >all.jsonl; "
        "speccheck fleet all.jsonl --expect 'n[1-8]'"
    )
    ended = site.run("/bin/sh", "-c", command)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "8 fit" in ended.stdout
