"""Which files belong to one plan."""

from pathlib import Path

import pytest

from speccheck.validator.sources.files import ReadFile, read_file
from speccheck.validator.sources.joining.grouping import group

DEEPSPEED = '{"train_batch_size": 64, "zero_optimization": {"stage": 3}}\n'
TRAINER = """\
output_dir: out
per_device_train_batch_size: 4
gradient_accumulation_steps: 2
learning_rate: 1.0e-5
bf16: true
"""
LAUNCHER = "distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 16\n"
TITAN = """\
[model]
flavor = "8B"
[training]
local_batch_size = 1
seq_len = 4096
[parallelism]
tensor_parallel_degree = 1
"""
MEGATRON = (
    "python pretrain_gpt.py --num-layers 24 --hidden-size 2048 --bf16 "
    "--num-attention-heads 16 --tensor-model-parallel-size 2\n"
)
ENVIRONMENT = "NCCL_DEBUG=WARN\n"
JOB = "#SBATCH --nodes=2 --gpus-per-node=8\nsrun torchrun --nnodes=2 train.py\n"


def read(folder: Path, **texts: str) -> list[ReadFile]:
    """Return the files of these names; `__` stands for a slash, `_` for a dot."""
    found: list[ReadFile] = []
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        _, files = read_file(str(path), named=False)
        assert files, f"{path.name} was not recognised"
        found.extend(files)
    return found


def groups(files: list[ReadFile], folder: Path) -> list[list[str]]:
    return [
        [str(Path(file.status.path).relative_to(folder)) for file in item.files]
        for item in group(files)
    ]


def test_files_of_different_roles_in_a_folder_are_one_plan(tmp_path: Path) -> None:
    files = read(
        tmp_path,
        train_yaml=TRAINER,
        ds_json=DEEPSPEED,
        launch_yaml=LAUNCHER,
        job_env=ENVIRONMENT,
    )
    assert groups(files, tmp_path) == [
        ["train.yaml", "ds.json", "launch.yaml", "job.env"]
    ]


def test_the_layers_that_nccl_reads_are_one_plan(tmp_path: Path) -> None:
    """The environment, the file of the user and that of the system."""
    for name in ("nccl.conf", ".nccl.conf", "job.env"):
        (tmp_path / name).write_text(ENVIRONMENT, encoding="utf-8")
    files = [
        file
        for name in ("nccl.conf", ".nccl.conf", "job.env")
        for file in read_file(str(tmp_path / name), named=False)[1]
    ]
    assert groups(files, tmp_path) == [["nccl.conf", ".nccl.conf", "job.env"]]
    files += read_file(str(tmp_path / "job.env"), named=False)[1]
    assert len(groups(files, tmp_path)) > 1


def test_two_scripts_of_a_folder_that_start_programs_are_two_jobs(
    tmp_path: Path,
) -> None:
    serve = "torchrun --nproc_per_node 1 serve.py --port 5000\n"
    files = read(tmp_path, train_sh=MEGATRON, serve_sh=serve)
    assert groups(files, tmp_path) == [["train.sh"], ["serve.sh"]]


def test_settings_on_a_command_line_take_no_engine_that_they_do_not_name(
    tmp_path: Path,
) -> None:
    files = read(tmp_path, train_sh=MEGATRON, baseline_json=DEEPSPEED)
    assert groups(files, tmp_path) == [["train.sh"], ["baseline.json"]]
    named = MEGATRON.replace("--bf16", "--bf16 --deepspeed_config baseline.json")
    files = read(tmp_path, train_sh=named, baseline_json=DEEPSPEED)
    assert groups(files, tmp_path) == [["train.sh", "baseline.json"]]


def test_two_files_of_one_role_are_two_plans(tmp_path: Path) -> None:
    files = read(tmp_path, a_yaml=TRAINER, b_yaml=TRAINER)
    assert groups(files, tmp_path) == [["a.yaml"], ["b.yaml"]]
    # Which of the two runs in the environment cannot be told.
    files = read(tmp_path, a_yaml=TRAINER, b_yaml=TRAINER, job_env=ENVIRONMENT)
    assert groups(files, tmp_path) == [["a.yaml"], ["b.yaml"], ["job.env"]]


def test_folders_are_apart(tmp_path: Path) -> None:
    files = read(tmp_path, a__train_yaml=TRAINER, b__job_env=ENVIRONMENT)
    assert groups(files, tmp_path) == [["a/train.yaml"], ["b/job.env"]]


def test_a_file_that_names_another_joins_it(tmp_path: Path) -> None:
    files = read(
        tmp_path,
        job_sbatch=JOB.replace("train.py", "train.py --config conf/b.yaml"),
        conf__b_yaml=TRAINER,
        old__a_yaml=TRAINER,
        ds_json=DEEPSPEED,
    )
    assert groups(files, tmp_path) == [
        ["job.sbatch", "conf/b.yaml", "ds.json"],
        ["old/a.yaml"],
    ]


def test_a_configuration_that_names_its_engine(tmp_path: Path) -> None:
    files = read(
        tmp_path,
        a_yaml=TRAINER + "deepspeed: ds/zero3.json\n",
        b_yaml=TRAINER + "deepspeed: ds/zero2.json\n",
        ds__zero2_json=DEEPSPEED,
        ds__zero3_json=DEEPSPEED,
    )
    assert groups(files, tmp_path) == [
        ["a.yaml", "ds/zero3.json"],
        ["b.yaml", "ds/zero2.json"],
    ]


def test_a_chain_of_names_is_one_plan(tmp_path: Path) -> None:
    files = read(
        tmp_path,
        job_sbatch="#SBATCH --nodes=2 --gres=gpu:8\nsource nccl.sh\nsrun bash run.sh\n",
        nccl_sh="export NCCL_DEBUG=WARN\n",
        run_sh="accelerate launch --config_file launch.yaml train.py train.yaml\n",
        launch_yaml=LAUNCHER,
        train_yaml=TRAINER,
        other_yaml=TRAINER,
    )
    assert groups(files, tmp_path) == [
        ["job.sbatch", "nccl.sh", "run.sh", "launch.yaml", "train.yaml"],
        ["other.yaml"],
    ]


def test_a_name_that_fits_two_files_joins_neither(tmp_path: Path) -> None:
    job = JOB.replace("train.py", "train.py --config train.yaml")
    files = read(tmp_path, job_sbatch=job, a__train_yaml=TRAINER, b__train_yaml=TRAINER)
    assert groups(files, tmp_path) == [
        ["job.sbatch"],
        ["a/train.yaml"],
        ["b/train.yaml"],
    ]


@pytest.mark.parametrize(
    "starts",
    [
        "torchrun train.py --config a.yaml\ntorchrun train.py --config b.yaml\n",
        "if [ $X ]; then torchrun t.py a.yaml; else torchrun t.py b.yaml; fi\n",
        "for c in a.yaml b.yaml; do torchrun train.py --config $c; done\n",
    ],
)
def test_a_script_that_starts_several_runs_makes_no_plan_of_them(
    tmp_path: Path, starts: str
) -> None:
    files = read(tmp_path, runs_sh=starts, a_yaml=TRAINER, b_yaml=TRAINER)
    assert groups(files, tmp_path) == [["runs.sh"], ["a.yaml"], ["b.yaml"]]


def test_documents_of_one_file_are_apart(tmp_path: Path) -> None:
    files = read(tmp_path, two_yaml=f"{TRAINER}---\n{TRAINER}")
    assert [len(item.files) for item in group(files)] == [1, 1]


def test_nothing_makes_no_plan() -> None:
    assert group([]) == []


def test_toml_and_a_batch_script(tmp_path: Path) -> None:
    files = read(tmp_path, titan_toml=TITAN, job_slurm=JOB)
    assert groups(files, tmp_path) == [["titan.toml", "job.slurm"]]


def test_a_folder_does_not_join_two_configurations_by_way_of_a_third_file(
    tmp_path: Path,
) -> None:
    """The job names one configuration; the other one lies beside the job."""
    files = read(
        tmp_path,
        a_yaml=TRAINER,
        ds_json=DEEPSPEED,
        conf__b_yaml=TRAINER,
        job_sbatch=JOB + "torchrun train.py conf/b.yaml\n",
    )
    found = groups(files, tmp_path)
    assert ["conf/b.yaml", "job.sbatch"] in found
    assert all(not {"a.yaml", "conf/b.yaml"} <= set(finding) for finding in found)


def test_two_scripts_that_start_one_configuration_are_two_plans(
    tmp_path: Path,
) -> None:
    small = "#SBATCH --nodes=1 --gpus-per-node=8\nsrun torchrun t.py train.yaml\n"
    large = "#SBATCH --nodes=2 --gpus-per-node=8\nsrun torchrun t.py train.yaml\n"
    files = read(tmp_path, a_sbatch=small, b_sbatch=large, train_yaml=TRAINER)
    assert groups(files, tmp_path) == [
        ["a.sbatch", "train.yaml"],
        ["b.sbatch", "train.yaml"],
    ]


def test_files_named_together_are_one_plan_wherever_they_lie(tmp_path: Path) -> None:
    files = read(tmp_path, a__train_yaml=TRAINER, b__job_env=ENVIRONMENT)
    files = [file._replace(status=file.status._replace(named=True)) for file in files]
    (plan,) = group(files)
    assert len(plan.files) == 2
    assert plan.reasons == ("named together, one file of each kind",)
    # The files of a commit are named together, and have nothing else in common.
    assert [len(item.files) for item in group(files, by_folder=True)] == [1, 1]


def test_the_reasons_are_told(tmp_path: Path) -> None:
    trainer = f"{TRAINER}deepspeed: ds.json\n"
    files = read(tmp_path, ds_json=DEEPSPEED, job_env=ENVIRONMENT, train_yaml=trainer)
    (plan,) = group(files)
    assert plan.reasons == (
        "train.yaml names ds.json",
        f"one file of each kind in {tmp_path}",
    )


NEOX_MODEL = """\
pipe_parallel_size: 1
model_parallel_size: 2
num_layers: 16
hidden_size: 2048
num_attention_heads: 16
seq_length: 2048
max_position_embeddings: 2048
pos_emb: rotary
train_micro_batch_size_per_gpu: 4
train_iters: 1000
"""
NEOX_PATHS = """\
data_path: /data/text
vocab_file: /data/vocab.json
save: checkpoints
checkpoint_factor: 1000
log_interval: 100
"""


def test_parts_of_one_gpt_neox_configuration_are_one_plan(tmp_path: Path) -> None:
    files = read(tmp_path, local_yml=NEOX_PATHS, model_yml=NEOX_MODEL)
    (plan,) = group(files)
    assert plan.reasons == ("gpt-neox merges its files",)
    # Two models share most keys: they are variants, and the paths are nobody's.
    other = NEOX_MODEL.replace("16", "32")
    files = read(tmp_path, large_yml=other, local_yml=NEOX_PATHS, model_yml=NEOX_MODEL)
    assert [len(item.files) for item in group(files)] == [1, 1, 1]
