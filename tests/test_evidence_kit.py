"""What an evidence folder holds: kinds, hashes, times and machines."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from speccheck.validator.certification.kit import Kit, KitError, KitFile, read_kit
from speccheck.validator.certification.manifest import (
    Manifest,
    ManifestError,
    differences,
    manifest_of,
    manifest_text,
    read_manifest,
)

RUN = {
    "tool": "speccheck",
    "collective": "all_reduce",
    "backend": "nccl",
    "ranks": 16,
    "nodes": 2,
    "hosts": ["node0001", "node0002"],
    "size_bytes": [1048576],
    "seconds": [0.0001],
    "bus_bytes_per_second": [1e10],
}


def snapshot(name: str, **more: object) -> str:
    content = {
        "schema": "speccheck-snapshot/1",
        "taken": "2026-11-20T08:00:00+01:00",
        "launch": {"engine": "slurm", "node": name},
        "host": {"name": name, "instance_type": "azure-nd96isr-h100-v5"},
        "gpus": [{"name": "NVIDIA H100 80GB HBM3"}],
    }
    return json.dumps({**content, **more})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    kit = tmp_path / "kit"
    (kit / "nodes").mkdir(parents=True)
    (kit / "nodes" / "node0001.json").write_text(snapshot("node0001"))
    made_up = {"by": "speccheck simulate"}
    (kit / "nodes" / "node0002.json").write_text(
        snapshot("node0002", synthetic=made_up)
    )
    bench = {
        "schema": "speccheck-snapshot/1",
        "taken": "2026-11-20T09:30:00Z",
        "collective_runs": [RUN],
    }
    (kit / "all-reduce.json").write_text(json.dumps(bench))
    (kit / "train.sbatch").write_text(
        "#!/bin/bash\n# synthetic: by speccheck simulate, seed 1\n"
        "#SBATCH --nodes 2\nexport NCCL_DEBUG=WARN\nsrun python train.py\n"
    )
    (kit / "notes.md").write_text("Measured in November.\n")
    (kit / ".hidden.json").write_text("{}")
    return kit


def by_path(kit: Kit) -> dict[str, KitFile]:
    return {file.path: file for file in kit.files}


def test_each_file_is_hashed_and_classified(folder: Path) -> None:
    kit = read_kit(str(folder))
    assert [(file.path, file.kind, file.format) for file in kit.files] == [
        ("all-reduce.json", "measurement", "measurement"),
        ("nodes/node0001.json", "snapshot", "snapshot"),
        ("nodes/node0002.json", "snapshot", "snapshot"),
        ("notes.md", "other", ""),
        ("train.sbatch", "config", "slurm"),
    ]
    for file in kit.files:
        content = (folder / file.path).read_bytes()
        assert file.sha256 == hashlib.sha256(content).hexdigest()
        assert file.size_bytes == len(content)
    assert not kit.problems
    assert [item.path for item in kit.passed_over] == [".hidden.json"]


def test_it_tells_when_and_of_which_machine(folder: Path) -> None:
    files = by_path(read_kit(str(folder)))
    node = files["nodes/node0001.json"]
    assert (node.taken, node.specimen) == ("2026-11-20T07:00:00Z", "node0001")
    assert node.instance_type == "azure-nd96isr-h100-v5"
    bench = files["all-reduce.json"]
    assert (bench.taken, bench.specimen) == ("2026-11-20T09:30:00Z", "")
    assert (bench.nodes, bench.gives) == (2, ("bench.allreduce",))
    assert files["train.sbatch"].taken == ""


def test_what_is_made_up_says_so(folder: Path) -> None:
    kit = read_kit(str(folder))
    assert {item.path: item.synthetic for item in kit.synthetic} == {
        "nodes/node0002.json": "speccheck simulate",
        "train.sbatch": "speccheck simulate",
    }
    assert kit.specimens == ("node0001", "node0002")
    assert "fleet" in kit.gives


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ('{"time": 1, "synthetic": {"by": "a tool"}}\n', "a tool"),
        ('{"time": 1, "synthetic": true}\n', "unnamed"),
        ('{"time": 1, "synthetic": false}\n', ""),
        ("// synthetic: by a tool, seed 3\n", "a tool"),
        ("the synthetic data set\n", ""),
    ],
)
def test_a_text_that_no_reader_knows_says_it_too(
    tmp_path: Path, text: str, by: str
) -> None:
    (tmp_path / "notes.txt").write_text(text)
    (found,) = read_kit(str(tmp_path)).files
    assert found.synthetic == by


def test_a_comment_tells_the_time_of_a_log(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("# taken: 2026-11-20T10:00:00+02:00\n# x\n")
    (found,) = read_kit(str(tmp_path)).files
    assert found.taken == "2026-11-20T08:00:00Z"


def test_links_and_pipes_are_passed_over(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(snapshot("node0009"))
    (folder / "linked.json").symlink_to(outside)
    (folder / "away").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.json")
    kit = read_kit(str(folder))
    assert {item.path for item in kit.passed_over} == {
        *(".hidden.json", "away", "linked.json", "pipe.json")
    }
    assert not {"linked.json", "pipe.json"} & by_path(kit).keys()
    assert all(not path.startswith("away") for path in by_path(kit))


def test_a_damaged_file_is_named(folder: Path) -> None:
    text = snapshot("node0003")
    (folder / "nodes" / "node0003.json").write_text(text[: len(text) // 2])
    (folder / "empty.json").write_text("")
    kit = read_kit(str(folder))
    assert [item.path for item in kit.problems] == ["empty.json", "nodes/node0003.json"]
    assert all(item.text and "\n" not in item.text for item in kit.problems)


def test_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="no such folder"):
        read_kit(str(tmp_path / "nothing"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(KitError, match="is no folder"):
        read_kit(str(tmp_path / "file"))


def packed(folder: Path) -> Manifest:
    kit = read_kit(str(folder))
    manifest = Manifest(
        "2026-11-22T10:00:00Z", "azure-nd96isr-h100-v5", "azure", "L3", kit.files
    )
    (folder / "evidence.json").write_text(manifest_text(manifest))
    return manifest


def test_what_is_packed_is_read_back(folder: Path) -> None:
    manifest = packed(folder)
    assert read_manifest(str(folder)) == manifest
    assert differences(manifest, read_kit(str(folder))) == ()


def test_every_change_is_named(folder: Path) -> None:
    manifest = packed(folder)
    (folder / "notes.md").write_text("Measured in December.\n")
    (folder / "all-reduce.json").unlink()
    (folder / "new.json").write_text(snapshot("node0003"))
    found = differences(manifest, read_kit(str(folder)))
    assert [(finding.path, finding.what) for finding in found] == [
        ("all-reduce.json", "missing"),
        ("new.json", "not listed"),
        ("notes.md", "changed"),
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("taken", "2026-11-22T00:00:00Z"),
        ("synthetic", ""),
        ("specimen", "node0007"),
        ("kind", "other"),
        ("size_bytes", 1),
    ],
)
def test_a_manifest_that_says_something_else_is_changed(
    folder: Path, field: str, value: object
) -> None:
    packed(folder)
    content = json.loads((folder / "evidence.json").read_text())
    (row,) = [
        file for file in content["files"] if file["path"] == "nodes/node0002.json"
    ]
    row[field] = value
    manifest = manifest_of(json.dumps(content), "evidence.json")
    (found,) = differences(manifest, read_kit(str(folder)))
    assert (found.path, found.what) == ("nodes/node0002.json", "changed")
    assert field in found.text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": "speccheck-evidence/2"}, "of a newer speccheck"),
        ({"schema": "speccheck-snapshot/1"}, "its schema is no speccheck-evidence/1"),
        ({"files": [{"path": "../../etc/passwd"}]}, "files.0.path"),
        ({"files": 3}, "files: "),
        ({"more": 1}, "more: "),
    ],
)
def test_a_manifest_that_is_none_is_refused(
    folder: Path, change: dict[str, object], says: str
) -> None:
    packed(folder)
    content = json.loads((folder / "evidence.json").read_text())
    (folder / "evidence.json").write_text(json.dumps({**content, **change}))
    with pytest.raises(ManifestError, match=says) as error:
        read_manifest(str(folder))
    assert "\n" not in str(error.value)


def test_a_damaged_manifest_is_refused(folder: Path) -> None:
    packed(folder)
    text = (folder / "evidence.json").read_text()
    (folder / "evidence.json").write_text(text[:200])
    with pytest.raises(ManifestError, match="write it anew"):
        read_manifest(str(folder))


def test_no_manifest_is_none(folder: Path) -> None:
    assert read_manifest(str(folder)) is None


def test_a_manifest_that_leads_elsewhere_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    packed(folder)
    (folder / "evidence.json").rename(tmp_path / "evidence.json")
    (folder / "evidence.json").symlink_to(tmp_path / "evidence.json")
    with pytest.raises(ManifestError, match="is a link"):
        read_manifest(str(folder))


@pytest.mark.parametrize(
    ("limit", "says"),
    [("MOST_FILES", "more than 2 files"), ("MOST_BYTES", "more than 0 GB")],
)
def test_a_folder_has_limits(
    folder: Path, monkeypatch: pytest.MonkeyPatch, limit: str, says: str
) -> None:
    monkeypatch.setattr(f"speccheck.validator.certification.kit.{limit}", 2)
    with pytest.raises(KitError, match=says):
        read_kit(str(folder))


def test_what_is_too_large_or_no_text_is_hashed_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"\x00\x01" * 3_000
    (folder / "picture.png").write_bytes(content)
    monkeypatch.setattr("speccheck.validator.certification.kit.MAXIMUM_BYTES", 5_000)
    found = by_path(read_kit(str(folder)))["picture.png"]
    assert (found.kind, found.size_bytes) == ("other", 6_000)
    assert found.sha256 == hashlib.sha256(content).hexdigest()
    monkeypatch.undo()
    found = by_path(read_kit(str(folder)))["picture.png"]
    assert found.sha256 == hashlib.sha256(content).hexdigest()
    assert "NUL byte" in found.note


def test_a_log_without_a_zone_does_not_tell_its_time(tmp_path: Path) -> None:
    row = {"time": "2026-11-20T10:00:00", "step": 1, "train.loss": 2.0}
    (tmp_path / "run.jsonl").write_text(f"{json.dumps(row)}\n")
    (found,) = read_kit(str(tmp_path)).files
    assert (found.kind, found.taken, found.gives) == ("log", "", ("log.metrics",))


def test_events_of_a_drill_make_a_log_a_drill(tmp_path: Path) -> None:
    row = {"time": "2026-11-20T10:00:00Z", "event": "run.resumed", "drill": "one"}
    (tmp_path / "run.jsonl").write_text(f"{json.dumps(row)}\n")
    (found,) = read_kit(str(tmp_path)).files
    assert (found.kind, found.gives) == ("drill", ("log.events",))
    assert found.taken == "2026-11-20T10:00:00Z"
