"""Published configurations and labelled cases: what is read, and what is shouted at.

Every error-level finding on a published file was read by eye and is listed in
docs/calibration/judged.yaml; a new one is a false error until somebody has read the
file and added it with the reason.
"""

import json
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from corpus import SHARED, corpus_folder, needs_corpus
from published_findings import ErrorFinding, public_names, read_judged
from speccheck.validator.cli.main import main
from speccheck.validator.sources.files import read_file

CONFIGS = SHARED / "corpus" / "configs" if SHARED else Path()
FORMATS = (
    sorted(path.name for path in CONFIGS.iterdir() if path.is_dir()) if SHARED else []
)
# Files whose content is not of the format that their folder is named for.
OTHERWISE = {
    # LLaMA-Factory's schema of version 1, among files of the Trainer
    "LLaMA-Factory__examples_v1": "llamafactory",
    # the kinds of a file of two documents stand in the order of the documents
    "trainer__examples_yaml_05-multi-step.yaml": "k8s-trainingruntime+k8s-trainjob",
    # a file of one key that torchtune's own tests expect to be refused
    "torchtune__tests_assets_invalid_dummy_config.yaml": None,
}
TRUE_ERRORS = {
    error for error, verdict in read_judged().errors.items() if verdict.is_true
}
LEAST_KNOWN_KEYS = 0.98
# Each class of model has keys of its own.
PARTLY_TABULATED = {"hf-model-config"}


def judged(folder: Path, report: Path, *words: str) -> dict[str, Any]:
    code = main([str(folder), *words, "--output", f"json={report}"])
    assert code in {0, 1, 3}, f"{folder}: exit {code}"
    document: dict[str, Any] = json.loads(report.read_text("utf-8"))
    return document


def expected_format(name: str, folder: str) -> str | None:
    """Return the folder's name, but for the files that are something else."""
    for start, other in OTHERWISE.items():
        if name.startswith(start):
            return other
    return folder


@needs_corpus
@pytest.mark.parametrize("name", FORMATS)
def test_published_files_have_the_format_of_their_folder(
    name: str, tmp_path: Path
) -> None:
    """Copied under neutral names, so that nothing but the content tells."""
    originals = sorted(corpus_folder(f"configs/{name}").iterdir())
    neutral = tmp_path / "files"
    neutral.mkdir()
    for number, path in enumerate(originals):
        (neutral / f"{number:03}{path.suffix}").write_bytes(path.read_bytes())
    document = judged(neutral, tmp_path / "report.json", "--each")
    found = {Path(row["path"]).stem: row["format"] for row in document["files"]}
    wrong = {
        path.name: found[f"{number:03}"]
        for number, path in enumerate(originals)
        if found[f"{number:03}"] != expected_format(path.name, name)
    }
    assert wrong == {}


@needs_corpus
@pytest.mark.parametrize("name", FORMATS)
def test_no_false_error_on_published_files(name: str, tmp_path: Path) -> None:
    folder = corpus_folder(f"configs/{name}")
    document = judged(folder, tmp_path / "report.json")
    public = public_names(CONFIGS)
    errors = {
        ErrorFinding(public[Path(place["file"])], row["rule"], place["key"])
        for row in document["findings"]
        if row["outcome"] == "fail" and row["level"] == "error"
        for place in row["places"][:1]
    }
    files = {public[path] for path in folder.iterdir() if path in public}
    assert errors == {item for item in TRUE_ERRORS if item.file in files}
    assert [row for row in document["findings"] if row["outcome"] == "error"] == []


@needs_corpus
@pytest.mark.parametrize("name", FORMATS)
def test_the_keys_of_published_files_are_known(name: str) -> None:
    """A guard: the tables were made from such files, among other sources."""
    known, unknown = 0, 0
    for path in sorted(corpus_folder(f"configs/{name}").iterdir()):
        for file in read_file(str(path))[1]:
            for reading in file.readings:
                keyed = reading.keyed
                if keyed is None or keyed.catalogue is None:
                    continue
                if name in PARTLY_TABULATED:
                    continue
                for key in keyed.keys:
                    is_known = keyed.catalogue.is_known(key.path)
                    known, unknown = known + is_known, unknown + (not is_known)
    assert known >= LEAST_KNOWN_KEYS * (known + unknown)


@needs_corpus
def test_the_whole_corpus_is_one_run(tmp_path: Path) -> None:
    document = judged(corpus_folder("configs"), tmp_path / "report.json")
    states = {row["status"] for row in document["files"]}
    assert states <= {"judged", "template", "unrecognised"}
    assert len(document["files"]) > 590


@cache
def case_folders() -> tuple[Path, ...]:
    if SHARED is None:
        return ()
    return tuple(
        folder
        for folder in sorted((SHARED / "corpus" / "cases").iterdir())
        if folder.is_dir()
    )


@needs_corpus
@pytest.mark.slow
def test_labelled_cases_are_caught_and_their_twins_are_quiet(tmp_path: Path) -> None:
    assert SHARED is not None
    for folder in case_folders():
        (tmp_path / folder.name).symlink_to(folder)
    command = f"{shlex.quote(sys.executable)} -m speccheck --output json "
    done = subprocess.run(
        [
            sys.executable,
            str(SHARED / "tools" / "run_cases.py"),
            str(tmp_path),
            "--command",
            command + "{context} {files}",
            "--json",
            str(tmp_path / "scores.json"),
            "--min-recall",
            "0.95",
            # one twin trains Lamb with ZeRO, which DeepSpeed refuses as untested
            "--max-good-errors",
            "1",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    scores = json.loads((tmp_path / "scores.json").read_text("utf-8"))["summary"]
    assert scores["cases"] >= 70
    assert scores["broken"] == 0
    assert scores["paired"] >= 0.95
    assert scores["level"] == 1.0


BROKEN_EXAMPLES = {
    # Megatron-LM examples/bert/train_bert_340m_distributed.sh: 8 GPUs, TP 8 x PP 16
    "world_not_divisible_by_model_parallel": (
        "bert.sh",
        """GPUS_PER_NODE=8
DISTRIBUTED_ARGS=(--nproc_per_node $GPUS_PER_NODE --nnodes 1)
MODEL_ARGS=(--num-layers 24 --hidden-size 1024 --num-attention-heads 16
  --seq-length 512)
PARALLEL_ARGS=(
  --tensor-model-parallel-size 8
  --pipeline-model-parallel-size 16
)
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_bert.py ${MODEL_ARGS[@]} ${PARALLEL_ARGS[@]} \\
  --micro-batch-size 4 --global-batch-size 32
""",
        "error",
    ),
    # axolotl examples/falcon-h1/falcon-h1-1b-qlora-cp.yaml: context parallelism is off
    "key_silently_ignored": (
        "cp.yaml",
        """base_model: tiiuae/Falcon-H1-1.5B-Base
datasets:
  - path: teknium/GPT4-LLM-Cleaned
    type: alpaca
adapter: qlora
sequence_len: 4096
context_parapllel_size: 2
micro_batch_size: 1
num_epochs: 1
val_set_size: 0.0
""",
        "warning",
    ),
    # Megatron-LM examples/rl/model_configs/nemotron5_56b.sh
    "asynchronous_save_ineffective": (
        "rl.sh",
        """torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py \\
  --tensor-model-parallel-size 8 --num-layers 4 --hidden-size 1024 \\
  --num-attention-heads 16 --seq-length 4096 --micro-batch-size 1 \\
  --global-batch-size 64 --save /ckpt --save-interval 100 \\
  --ckpt-format torch_dist --async-save --apply-wd-to-qk-layernorm
""",
        "warning",
    ),
}


@pytest.mark.parametrize("rule", BROKEN_EXAMPLES)
def test_published_examples_that_break_their_own_rules_are_caught(
    rule: str, tmp_path: Path
) -> None:
    name, text, level = BROKEN_EXAMPLES[rule]
    (tmp_path / name).write_text(text)
    document = judged(tmp_path, tmp_path / "report.json")
    found = {
        row["rule"]: row["level"]
        for row in document["findings"]
        if row["outcome"] == "fail"
    }
    assert found.get(rule) == level, found
