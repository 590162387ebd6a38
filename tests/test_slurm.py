"""`integrations/slurm` under a real slurmctld with several slurmd on this machine."""

import json
import os
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import pytest

from slurm_cluster import Cluster, children, cluster, processes_of, until
from slurm_site import (
    GO,
    HANG,
    NO_GO,
    NO_GO_REASON,
    ONE_RULE,
    RULE,
    SCRIPTS,
    Site,
)

pytestmark = pytest.mark.slow
FAULT = "gpu.5.remap_pending=1"
INSTALLED = "/opt/speccheck/integrations/slurm"
Started = tuple[Cluster, Site]
Starting = Callable[..., AbstractContextManager[Started]]


@pytest.fixture
def slurm(tmp_path: Path, management_library: Path) -> Starting:
    """Return four nodes with the named hooks in slurm.conf, and more settings."""

    @contextmanager
    def started(
        *hooks: str, nodes: int = 4, settings: str = ""
    ) -> Generator[Started, None, None]:
        folder = tmp_path / "cluster"
        folder.mkdir()
        site = Site(folder, management_library)
        site.every_node(GO)
        names = {
            "prolog": "Prolog={}\n",
            "epilog": "Epilog={}\n",
            "health_check": "HealthCheckProgram={}\nHealthCheckInterval=1\n",
        }
        lines = (names[hook].format(site.hook(hook)) for hook in hooks)
        with cluster(folder, nodes, "".join(lines) + settings) as found:
            yield found, site
        assert not processes_of(folder)

    return started


def batch(found: Cluster, *words: str, text: str = "srun true") -> str:
    """Submit a job of one script; returns its number."""
    path = found.folder / "job"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    return found.submit("--ntasks-per-node=1", *words, str(path))


def ran_again(site: Site, hook: str, *nodes: str) -> None:
    """Wait until a hook has begun and ended once more on each node."""
    before = {node: site.runs(hook, node) for node in nodes}
    until(
        lambda: all(site.runs(hook, node) > before[node] + 1 for node in nodes),
        f"{hook} on {', '.join(nodes)}",
    )


def test_exit_codes_of_nodes_arrive_through_srun(slurm: Starting) -> None:
    with slurm() as (found, site):
        site.every_node(site.real())
        site.node("n2", site.real(FAULT))
        site.node("n3", 'set -- "$@" --no-such-option\n' + site.real())
        site.node("n4", site.real().replace(" LD_LIBRARY_PATH", " NO_LIBRARY"))
        command = (str(site.program), "preflight", *ONE_RULE)
        for node, code in (("n1", 0), ("n2", 1), ("n3", 2), ("n4", 3)):
            ended = found.run("srun", "-N1", "-w", node, *command)
            assert (node, ended.returncode) == (node, code), ended.stderr
        ended = found.run("srun", "-N4", *command)
        assert ended.returncode == 3  # the highest of all
        for code in (1, 2, 3):
            assert f"Exited with exit code {code}" in ended.stderr
        assert f"{RULE}  GPU 5" in ended.stdout
        assert found.drained() == {}


def test_a_faulty_node_is_drained_by_the_prolog_and_the_job_goes_on_elsewhere(
    slurm: Starting,
) -> None:
    more = "SchedulerParameters=nohold_on_prolog_fail,sched_interval=1\n"
    with slurm("prolog", settings=more) as (found, site):
        site.settings(
            "SPECCHECK_REASON=scontrol",
            f"SPECCHECK_OPTIONS={' '.join(ONE_RULE)}",
        )
        site.every_node(site.real())
        site.node("n2", site.real(FAULT))
        other = batch(found, "-w", "n4", text="srun true")
        number = batch(found, "-N2", "--exclude=n4", text="srun hostname")
        until(lambda: found.job(number)["Restarts"] == "1", "the job is requeued")
        until(lambda: found.job(number)["Reason"] == "BeginTime", "and not held")
        # Slurm waits until the credentials of the first start are void (cred_expire in
        # AuthInfo, two minutes); this long is enough for others to count as new.
        found.ask("scontrol", "update", f"JobId={number}", "StartTime=now+3")
        until(lambda: found.job_state(number) == "COMPLETED", "the job ran elsewhere")
        assert found.job(number)["NodeList"] == "n[1,3]"
        until(lambda: found.job_state(other) == "COMPLETED", "the other job ran")
        (node, reason), *rest = found.drained().items()
        assert (node, rest) == ("n2", [])
        assert reason.startswith("speccheck: HW-")
        assert f"{RULE} GPU 5: " in reason
        result = json.loads((site.kept / "n2.result.json").read_text("utf-8"))
        answer = [result[name] for name in ("engine", "node", "job", "verdict")]
        assert answer == ["slurm", "n2", number, "no-go"]


def test_by_default_the_prolog_calls_nothing_of_slurm_and_the_job_is_held(
    slurm: Starting,
) -> None:
    """The reason comes with the next health check."""
    with slurm("prolog", "health_check") as (found, site):
        site.node("n2", f'[ "$SPECCHECK_ROLE" = health ] && {{ {GO}; }}\n{NO_GO}')
        number = batch(found, "-N4")
        until(lambda: "n2" in found.drained(), "n2 is drained")
        until(
            lambda: found.drained()["n2"].startswith(NO_GO_REASON),
            "the health check has told why",
        )
        assert found.drained() == {"n2": f"{NO_GO_REASON} (prolog of job {number})"}
        job = found.job(number)
        assert job["JobState"] == "PENDING"
        assert job["Reason"] == "launch_failed_requeued_held"
        assert f"is now '{NO_GO_REASON}" in "\n".join(site.told("health_check"))
        ended = found.run("srun", "-N2", "-w", "n3,n4", "true")
        assert ended.returncode == 0


def test_an_epilog_drains_what_the_job_has_broken(slurm: Starting) -> None:
    with slurm("prolog", "epilog") as (found, site):
        site.settings("SPECCHECK_REASON=scontrol")
        fault = site.folder / "fault"
        fault.write_text(NO_GO, encoding="utf-8")
        text = f'[ "$SLURMD_NODENAME" != n3 ] || cp {fault} {site.folder}/nodes/n3'
        step = found.folder / "step"
        step.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        step.chmod(0o755)
        number = batch(found, "-N4", text=f"srun {step}")
        until(lambda: found.job_state(number) == "COMPLETED", "the job is done")
        until(lambda: "n3" in found.drained(), "n3 is drained")
        assert found.drained() == {"n3": NO_GO_REASON}
        assert found.run("srun", "-N3", "true").returncode == 0


def has_said(site: Site, hook: str, text: str) -> bool:
    """Return whether a hook has said so on each of four nodes."""
    return sum(text in line for line in site.told(hook)) >= 4


def has_run(site: Site, hook: str) -> bool:
    """Return whether a hook has begun on the second node."""
    return site.runs(hook, "n2") > 0


@pytest.mark.parametrize("state", ["/proc/nowhere", "/dev/null"])
def test_a_verdict_counts_also_where_nothing_can_be_kept(
    slurm: Starting, state: str
) -> None:
    with slurm("prolog") as (found, site):
        site.settings(f"SPECCHECK_STATE={state}", "SPECCHECK_REASON=scontrol")
        site.node("n2", NO_GO)
        assert found.run("srun", "-w", "n1", "true").returncode == 0
        assert found.drained() == {}
        found.run("srun", "-w", "n2", "-t", "1", "true", seconds=30)
        until(lambda: "n2" in found.drained(), "n2 is drained")
        assert "no reason could be kept in" in found.drained()["n2"]


def test_jobs_that_share_a_node_have_a_prolog_each(slurm: Starting) -> None:
    more = "PrologFlags=Alloc\n"
    with slurm("prolog", "epilog", settings=more) as (found, site):
        site.every_node(f"sleep 0.$(($$ % 5))\n{GO}")
        jobs = [batch(found, "-w", "n1", "-n", "1", text="true") for _ in range(6)]
        for number in jobs:
            until(partial(is_done, found, number), f"job {number} is done")
        assert found.drained() == {}
        assert not [name for name in os.listdir(site.kept) if name.startswith(".")]


def is_done(found: Cluster, number: str) -> bool:
    return found.job_state(number) == "COMPLETED"


BROKEN = {
    "bug": ("exit 4", "a bug of speccheck (exit 4"),
    "not installed": ("exec /nowhere/speccheck", "cannot be run (exit 127)"),
    "hangs": (HANG, "no answer in 2 s"),
    "python without modules": ("exit 1", "without a verdict"),
    "inconclusive": ("echo inconclusive: nothing seen; exit 3", "inconclusive (exit 3"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_speccheck_drains_nobody(slurm: Starting, kind: str) -> None:
    text, said = BROKEN[kind]
    hooks = ("prolog", "epilog", "health_check")
    with slurm(*hooks) as (found, site):
        site.settings(
            "SPECCHECK_PROLOG_SECONDS=2",
            "SPECCHECK_EPILOG_SECONDS=2",
            "SPECCHECK_HEALTH_SECONDS=2",
        )
        site.every_node(text)
        assert found.run("srun", "-N4", "true").returncode == 0
        for hook in hooks:
            until(
                partial(has_said, site, hook, said),
                f"{hook} has said so on every node",
            )
        assert found.drained() == {}
        until(lambda: found.run("srun", "-N4", "true").returncode == 0, "a second job")


def test_a_site_may_block_what_was_not_judged(slurm: Starting) -> None:
    with slurm("prolog") as (found, site):
        site.settings("SPECCHECK_ON_BUG=block", "SPECCHECK_REASON=scontrol")
        site.node("n2", "exit 4")
        found.run("srun", "-w", "n2", "-t", "1", "true", seconds=30)
        until(lambda: "n2" in found.drained(), "n2 is drained")
        assert found.drained()["n2"].startswith("speccheck: a bug of speccheck (exit 4")


def test_a_health_check_drains_with_a_reason(slurm: Starting) -> None:
    with slurm("health_check") as (found, site):
        site.node("n3", NO_GO)
        until(lambda: "n3" in found.drained(), "n3 is drained")
        assert found.drained() == {"n3": NO_GO_REASON}
        # It holds again: it stays out until somebody brings it back.
        site.node("n3", "")
        ran_again(site, "health_check", "n3")
        assert found.drained() == {"n3": NO_GO_REASON}


def test_a_health_check_leaves_alone_what_others_did(slurm: Starting) -> None:
    with slurm("health_check") as (found, site):
        theirs = "ticket 4711: fan"
        for node in ("n2", "n3"):
            words = (f"NodeName={node}", "State=DRAIN", f"Reason={theirs}")
            found.ask("scontrol", "update", *words)
        site.settings("SPECCHECK_RESUME=yes")
        site.node("n2", NO_GO)  # n3 holds, and is not brought back either
        ran_again(site, "health_check", "n2", "n3")
        assert found.drained() == {"n2": theirs, "n3": theirs}
        assert f"left as it is: drained, {theirs}" in "\n".join(
            site.told("health_check")
        )


def test_a_site_may_have_nodes_brought_back(slurm: Starting) -> None:
    with slurm("health_check") as (found, site):
        site.settings("SPECCHECK_RESUME=yes")
        site.node("n3", NO_GO)
        until(lambda: "n3" in found.drained(), "n3 is drained")
        site.node("n3", "exit 3")  # not judged: no reason to come back
        ran_again(site, "health_check", "n3")
        assert found.drained() == {"n3": NO_GO_REASON}
        site.node("n3", "")
        until(lambda: not found.drained(), "n3 is back")


def test_a_health_check_stops_where_too_many_are_drained(slurm: Starting) -> None:
    with slurm("health_check") as (found, site):
        site.settings("SPECCHECK_MOST_DRAINED=1")
        site.node("n2", NO_GO)
        until(lambda: "n2" in found.drained(), "n2 is drained")
        site.node("n4", NO_GO)
        ran_again(site, "health_check", "n4")
        assert found.drained() == {"n2": NO_GO_REASON}
        assert "not drained: 1 of 4 nodes are drained already" in "\n".join(
            site.told("health_check")
        )


def test_the_example_of_a_slurm_conf_is_one(tmp_path: Path) -> None:
    """Slurm takes it, and the hooks of it run."""
    site = Site(tmp_path)
    site.every_node(GO)
    text = (SCRIPTS / "slurm.conf.example").read_text("utf-8")
    hooks = ("prolog", "epilog", "health_check")
    for hook in hooks:
        text = text.replace(f"{INSTALLED}/{hook}.sh", site.hook(hook))
    assert INSTALLED not in text
    with cluster(tmp_path, 2, text) as found:
        assert found.run("srun", "-N2", "true").returncode == 0
        for hook in hooks:
            until(partial(has_run, site, hook), f"{hook} ran")
        result = found.ask("scontrol", "show", "config")
        number = batch(found, text="exit 65")  # the no-go of a pre-flight
        until(lambda: found.job_state(number) == "SPECIAL_EXIT", "the job is held")
    stated = [" ".join(line.split()) for line in result.splitlines()]
    assert "HealthCheckNodeState = CYCLE,ANY" in stated
    assert "RequeueExitHold = 65" in stated
    assert "PrologFlags = Alloc" in stated


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """Not even where a job is running, and the test fails."""
    before = children()

    def fails() -> None:
        with cluster(tmp_path, 4) as found:
            number = batch(found, "-N4", text="srun sleep 600")
            until(lambda: found.job_state(number) == "RUNNING", "the job runs")
            until(lambda: len(processes_of(tmp_path)) > 10, "its steps run")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fails()
    assert not processes_of(tmp_path)
    assert children() == before
