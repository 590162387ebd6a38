"""The preflight looks at the checkpoint folder and the data that a job names."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from slow_cases import few
from speccheck.probes.collect import snapshot
from speccheck.validator.cli.main import main
from speccheck.validator.engine.request import Judging, Request, Selection
from speccheck.validator.evidence.node.host import JobPath, local_path
from speccheck.validator.run.run import run
from speccheck.validator.simulation.healthy import Snapshot, healthy_node

FOLDER, ROOM, DATA = (
    "checkpoint_folder_not_writable",
    "checkpoints_outgrow_folder",
    "data_path_missing",
)
RULES = (FOLDER, ROOM, DATA)
JOB = """\
speccheck: 1
cluster: {{nodes: 1}}
run: {{steps: 4000}}
checkpoint: {{directory: {folder}, keep_last: 2, interval_steps: 500, size_bytes: 1000}}
data: {{paths: [{data}, "s3://bucket/tokens", some/repository]}}
"""


@pytest.fixture(autouse=True)
def _no_other_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.delenv("SLURM_JOB_UID", raising=False)


def job(folder: Path, checkpoints: object, data: object, text: str = JOB) -> str:
    path = folder / "config.yaml"
    path.write_text(text.format(folder=checkpoints, data=data), encoding="utf-8")
    return str(path)


def judged(
    capsys: pytest.CaptureFixture[str], *words: str
) -> dict[str, tuple[str, str]]:
    """Return what each of the rules says in a preflight: outcome and message."""
    main(
        ["preflight", *words, "--select", ",".join(RULES), "--output", "json", "--full"]
    )
    result = json.loads(capsys.readouterr().out)
    return {
        finding["rule"]: (finding["outcome"], finding["message"])
        for finding in result["findings"]
    }


def outcomes(found: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {rule: outcome for rule, (outcome, _) in found.items()}


def test_folders_that_are_there_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one that the job will make; and nothing is made to find out."""
    (tmp_path / "tokens.bin").write_bytes(b"")
    path = job(tmp_path, tmp_path / "new/checkpoints", tmp_path / "tokens")
    found = judged(capsys, path)
    assert outcomes(found) == dict.fromkeys(RULES, "pass")
    names = sorted(item.name for item in tmp_path.iterdir())
    assert names == ["config.yaml", "tokens.bin"]


def test_what_is_missing_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    path = job(tmp_path, tmp_path / "file", tmp_path / "tokens")
    found = judged(capsys, path)
    is_a_file = f"{tmp_path}/file is a file and no folder"
    assert found[FOLDER] == ("fail", is_a_file)
    assert found[DATA] == ("fail", f"{tmp_path}/tokens does not exist here")


@pytest.mark.parametrize("is_link", [True, False])
def test_where_no_folder_can_be_made_nothing_passes(
    is_link: bool,  # noqa: FBT001 - of the parameters
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    above = tmp_path / "above"
    if is_link:
        above.symlink_to(tmp_path / "mounted elsewhere")
    else:
        above.write_text("")
    found = judged(capsys, job(tmp_path, above / "run", tmp_path))
    assert outcomes(found) == {FOLDER: "unknown", ROOM: "unknown", DATA: "pass"}
    says = "is a link that leads nowhere" if is_link else "is a file"
    assert f"{above} {says}" in found[FOLDER][1]


def test_room_is_that_of_the_file_system(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = JOB.replace("size_bytes: 1000", "size_bytes: 1000000000000000000")
    path = job(tmp_path, tmp_path / "checkpoints", tmp_path, text)
    outcome, message = judged(capsys, path)[ROOM]
    assert outcome == "fail"
    assert "3 checkpoints x 1,000,000,000 GB = 3,000,000,000 GB" in message


def test_copied_files_are_looked_at_below_their_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A copy has no file systems: where its mounts are told, one may be read-only."""
    root = tmp_path / "root"
    (root / "proc/self").mkdir(parents=True)
    (root / "fast tier/run").mkdir(parents=True)
    mounts = (
        "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
        r"35 21 0:50 / /fast\040tier rw,relatime - nfs4 server:/fast ro,vers=4.2",
    )
    (root / "proc/self/mountinfo").write_text("\n".join(mounts), encoding="utf-8")
    path = job(tmp_path, "/fast tier/run", "/fast tier")
    found = judged(capsys, path, "--sysroot", str(root))
    assert found[FOLDER] == (
        "fail",
        "/fast tier/run lies on /fast tier (nfs4), which is mounted read-only",
    )
    assert outcomes(found)[ROOM] == "unknown"
    assert outcomes(found)[DATA] == "pass"


@pytest.mark.parametrize(
    ("line", "outcome"),
    [("", "fail"), ("docker run image ", "unknown"), ("# docker run", "fail")],
)
def test_a_job_in_a_container_has_other_files(
    line: str, outcome: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32"
    script = tmp_path / "job.sh"
    before = f"{line}\n" if line.startswith("#") else line
    script.write_text(f"{before}{command} --data-path 0.3 /nowhere/tokens\n")
    root = tmp_path / "root"
    (root / "proc/1").mkdir(parents=True)
    (root / "proc/1/cgroup").write_text("0::/init.scope\n")
    found = judged(capsys, str(script), "--sysroot", str(root))
    assert found[DATA][0] == outcome
    assert "/nowhere/tokens does not exist here" in found[DATA][1]


def test_root_cannot_tell_for_the_user_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if os.geteuid() != 0:
        pytest.skip("asks as root")
    monkeypatch.setenv("SLURM_JOB_UID", "1234")
    found = judged(capsys, job(tmp_path, tmp_path, tmp_path))
    says = "asked as root, and the job is of user 1234"
    for rule in (FOLDER, DATA):
        assert found[rule][0] == "unknown"
        assert says in found[rule][1]


def test_a_mount_that_hangs_costs_the_budget_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process of the probe finds a stat that never returns for one path."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal\n"
        "asked = os.stat\n"
        "def stat(path, *rest, **named):\n"
        "    if path == '/hung/data':\n"
        "        signal.pause()\n"
        "    return asked(path, *rest, **named)\n"
        "os.stat = stat\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    out = tmp_path / "node.json"
    path = job(tmp_path, tmp_path / "checkpoints", "/hung/data")
    found = judged(capsys, path, "--budget", "1.5s", "--out", str(out))
    reason = "the paths probe was stopped after 1.5 s during the look at /hung/data"
    assert outcomes(found) == {FOLDER: "pass", ROOM: "pass", DATA: "unknown"}
    assert reason in found[DATA][1]
    assert json.loads(out.read_text())["cut_short"] == {"job_paths": reason}


def test_a_plain_snapshot_knows_no_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = job(tmp_path, tmp_path / "checkpoints", tmp_path / "gone")
    node = tmp_path / "node.json"
    assert main(["probe", "--out", str(node)]) == 0
    assert "job_paths" not in json.loads(node.read_text())
    for words in ([path, "--node", str(node)], [str(node)]):
        main([*words, "--select", ",".join(RULES), "--output", "json", "--full"])
        result = json.loads(capsys.readouterr().out)
        found = {finding["outcome"] for finding in result["findings"]}
        assert found == {"not_applicable"}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/data//tokens/", "/data/tokens"),
        ("//data/../x", "/x"),
        ("file:///data", "/data"),
        ("/", "/"),
        ("data/tokens", None),
        ("~/data", None),
        ("$HOME/data", None),
        ("/data/${name}", None),
        ("/data/{split}.parquet", None),
        ("/data/*.parquet", None),
        ("/data/%x", None),
        ("/scratch/<user>", None),
        ("s3://bucket/x", None),
        ("allenai/c4", None),
        ("/data\n", None),
        ("/data\0", None),
        ("/" + "x" * 2000, None),
        ("", None),
        (None, None),
    ],
)
def test_only_paths_of_a_machine_are_looked_at(
    text: str | None, path: str | None
) -> None:
    assert local_path(text) == path


CONFIG = JOB.format(folder="/shared/checkpoints", data="/shared/data")


def on(tmp_path: Path, node: Snapshot) -> dict[str, str]:
    """Return what the rules say of the job on a machine."""
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    request = Request(
        (str(path),),
        judging=Judging(selection=Selection(RULES)),
        node="node.json",
        snapshot=json.dumps(node),
    )
    (plan,) = run(request).plans
    found = [finding.finding for finding in plan.findings]
    return {finding.rule: finding.outcome for finding in found if finding.rule in RULES}


def changed(leaf: str, value: object, *, gone: bool = False) -> Snapshot:
    node = healthy_node("dgx-h100")
    parts: list[dict[str, Any]] = []
    for part in node["job_paths"]:
        kept = {name: found for name, found in part.items() if name != leaf}
        parts.append(kept if gone else {**kept, leaf: value})
    return {**node, "job_paths": parts}


LEAVES = tuple(healthy_node("dgx-h100")["job_paths"][0])
NEEDED = {
    "name": {*RULES},
    "role": {*RULES},
    "exists": {FOLDER, DATA},
    "is_folder": {FOLDER},
    "nearest_folder": {FOLDER},
    "is_read_only": {FOLDER},
    "is_writable": {FOLDER},
    "is_readable": {DATA},
    "free_bytes": {ROOM},
}


def test_a_healthy_machine_passes(tmp_path: Path) -> None:
    node = healthy_node("dgx-h100")
    assert on(tmp_path, node) == dict.fromkeys(RULES, "pass")


@pytest.mark.parametrize("leaf", LEAVES)
def test_what_was_not_seen_is_no_pass(leaf: str, tmp_path: Path) -> None:
    absence = {"status": "failed", "source": "stat", "code": "ESTALE"}
    for node in (changed(leaf, None, gone=True), changed(leaf, absence)):
        found = on(tmp_path, node)
        undecided = {rule for rule in RULES if found[rule] == "unknown"}
        assert undecided == NEEDED.get(leaf, set())
        assert {*found.values()} <= {"pass", "unknown"}


ODD: tuple[object, ...] = ("", -1, 0, 2**63, 1e308, True, [], [None], {}, None)


@pytest.mark.parametrize("odd", few(ODD, ("", [None]).__contains__))
def test_an_odd_value_breaks_no_rule(odd: object, tmp_path: Path) -> None:
    for leaf in LEAVES:
        assert "error" not in on(tmp_path, changed(leaf, odd)).values()


@pytest.mark.parametrize("kind", [[], [{}], {"status": "not_permitted"}, {}])
def test_paths_that_were_not_listed_make_no_rule_pass(
    kind: object, tmp_path: Path
) -> None:
    found = on(tmp_path, {**healthy_node("dgx-h100"), "job_paths": kind})
    assert {*found.values()} <= {"unknown", "not_applicable"}


def test_a_probe_that_did_not_end_leaves_rules_undecided(tmp_path: Path) -> None:
    node = healthy_node("dgx-h100")
    del node["job_paths"]
    node["cut_short"] = {"job_paths": "the paths probe was stopped after 60 s"}
    assert on(tmp_path, node) == dict.fromkeys(RULES, "unknown")


def test_the_probe_looks_at_what_it_is_told(tmp_path: Path) -> None:
    result = ("checkpoint", str(tmp_path / "a/b"), "data", str(tmp_path))
    found = snapshot(probes=("paths",), arguments={"paths": result})
    first, second = found["job_paths"]
    assert set(first) == set(second) == set(JobPath.__annotations__)
    assert first["exists"] is False
    assert first["nearest_folder"] == str(tmp_path)
    assert first["is_folder"]["code"] == "ENOENT"
    assert second["is_folder"] is True
    assert second["is_empty"] is True
    assert 0 < second["free_bytes"] <= second["total_bytes"]
    assert str(tmp_path).startswith(second["mount_point"])
