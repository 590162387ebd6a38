"""Launch commands: torchrun, deepspeed, accelerate launch."""

from pathlib import Path

import pytest

from script_text import ReadScript, format_of, read_by_all, read_script
from speccheck.validator.catalogue.frameworks import load_framework
from speccheck.validator.cli.main import main
from speccheck.validator.engine.request import Judging, Request, Selection
from speccheck.validator.run.run import run
from speccheck.validator.sources.formats.torchrun import READER
from speccheck.validator.sources.launching import SWITCHES, launches
from speccheck.validator.sources.reader import Source
from speccheck.validator.sources.shell.script import ShellWord

TORCHRUN = """\
#!/bin/bash
export NCCL_DEBUG=WARN
torchrun \\
  --nnodes 4 \\
  --node-rank "$NODE_RANK" \\
  --nproc-per-node 8 \\
  --rdzv-backend c10d \\
  --rdzv-endpoint trainer-0.cluster.local:29400 \\
  --max-restarts 3 \\
  sft.py --nnodes 99 --config recipes/sft.yaml
"""
DEEPSPEED = """\
deepspeed --hostfile hosts --num_nodes 8 --num_gpus 8 --master_addr node-0 \\
  train.py --deepspeed --deepspeed_config ds/zero3.json
"""
# In the manner of the HF recipes: the launcher in a text, run by every task.
ACCELERATE = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:8
NUM_NODES=$SLURM_NNODES
WORLD_SIZE=$(($NUM_NODES * 8))
export LAUNCHER="accelerate launch \\
    --config_file recipes/zero3.yaml \\
    --gradient_accumulation_steps 4 \\
    --num_machines $NUM_NODES \\
    --num_processes $WORLD_SIZE \\
    --main_process_ip $MASTER_ADDR \\
    --machine_rank \\$SLURM_PROCID \\
    --mixed_precision bf16 \\
    --max_restarts 1 \\
    "
srun --wait=60 bash -c "$LAUNCHER scripts/run_sft.py recipes/sft.yaml" 2>&1
"""
LAUNCHER = "recovery.launcher"
NODES = "cluster.nodes"
GPUS = "cluster.gpus_per_node"
PROCESSES = "recovery.processes_per_node"
RESTARTS = "recovery.max_restarts"


def read(text: str) -> ReadScript:
    return read_script(READER, text)


def test_torchrun_up_to_its_program() -> None:
    script = read(TORCHRUN)
    assert script.values("stated") == {
        LAUNCHER: "torchrun",
        NODES: 4,
        PROCESSES: 8,
        RESTARTS: 3,
        "recovery.rendezvous_backend": "c10d",
        "recovery.rendezvous_endpoint": "trainer-0.cluster.local:29400",
    }
    assert script.values("derived") == {GPUS: 8}
    assert script.line(NODES) == 4
    assert script.line(LAUNCHER) == 3
    assert script.targets == ["recipes/sft.yaml"]


def test_deepspeed() -> None:
    script = read(DEEPSPEED)
    assert script.values("stated") == {
        LAUNCHER: "deepspeed",
        NODES: 8,
        PROCESSES: 8,
        "recovery.rendezvous_endpoint": "node-0",
    }
    assert script.value(RESTARTS) == 0
    assert script.targets == ["ds/zero3.json", "hosts"]


def test_accelerate_in_a_text_that_every_task_runs() -> None:
    script = read(ACCELERATE)
    assert script.values("stated") == {
        LAUNCHER: "accelerate",
        NODES: 2,
        "cluster.world_size": 16,
        "batch.gradient_accumulation_steps": 4,
        RESTARTS: 1,
        "recovery.launch_configuration": "recipes/zero3.yaml",
    }
    assert script.values("derived") == {"precision.bf16": True}
    assert script.status("recovery.rendezvous_endpoint") == "unknown"
    assert script.targets == ["recipes/zero3.yaml", "recipes/sft.yaml"]


@pytest.mark.parametrize(
    ("command", "leaf", "value"),
    [
        ("torchrun --standalone --nproc_per_node=gpu t.py", NODES, 1),
        ("torchrun --standalone --nproc_per_node=gpu t.py", PROCESSES, None),
        ("torchrun --nproc_per_node=8 t.py", NODES, 1),
        ("torchrun --nproc_per_node=8 t.py", RESTARTS, 0),
        ("torchrun --nnodes=$N t.py", NODES, None),
        ("torchrun --nnodes=2:4 t.py", NODES, 4),
        ("torchrun --nnodes=2:4 t.py", "recovery.minimum_nodes", 2),
        ("torchrun --nnodes=4:4 t.py", "recovery.minimum_nodes", None),
        (
            "torchrun --master_addr localhost t.py",
            "recovery.rendezvous_endpoint",
            "localhost",
        ),
        (
            "torchrun --rdzv_endpoint a:1 --master_addr b t.py",
            "recovery.rendezvous_endpoint",
            "a:1",
        ),
        (
            "torchrun --standalone --rdzv_endpoint localhost:0 t.py",
            "recovery.rendezvous_endpoint",
            "localhost",
        ),
        ("torchrun --nnodes 2 t.py", "recovery.rendezvous_endpoint", "127.0.0.1"),
        ("torchrun --nnodes 2 $ARGS t.py", "recovery.rendezvous_endpoint", None),
        ("accelerate launch t.py", "recovery.launch_configuration", None),
        (
            "python -m torch.distributed.launch --nproc_per_node 8 --use_env t.py",
            PROCESSES,
            8,
        ),
        (
            "python3 -u -m torch.distributed.run --nnodes 2 -m pkg.train --nnodes 9",
            NODES,
            2,
        ),
        ("ft_launcher --nproc-per-node=8 t.py", LAUNCHER, "ft_launcher"),
        ("ft_launcher --nproc-per-node=8 t.py", RESTARTS, None),
        ("deepspeed --num_gpus=-1 t.py", PROCESSES, None),
        ("deepspeed --include localhost:0,1,2,3 t.py", GPUS, 4),
        ("deepspeed --include a:0,1@b:0,1 t.py", NODES, 2),
        ("deepspeed --include a:0,1@b t.py", GPUS, None),
        ("deepspeed --elastic_training t.py", RESTARTS, 100),
        ("deepspeed --num_gpus 8 t.py", NODES, None),
        ("accelerate launch t.py", "cluster.world_size", None),
        ("accelerate launch --use_deepspeed t.py", "parallelism.engine", "deepspeed"),
        (
            "accelerate launch --use_fsdp --fsdp_version 2 t.py",
            "parallelism.engine",
            "fsdp2",
        ),
        ("accelerate launch --use_fsdp t.py", "parallelism.engine", "fsdp1"),
        (
            "accelerate launch --use_fsdp --fsdp_sharding_strategy 2 t.py",
            "parallelism.sharding_stage",
            2,
        ),
        ("accelerate launch --mixed_precision no t.py", "precision.bf16", None),
        ("accelerate launch --mixed_precision fp8 t.py", "precision.fp8", True),
    ],
)
def test_options_of_the_launchers(command: str, leaf: str, value: object) -> None:
    assert read(f"{command}\n").value(leaf) == value


def test_options_from_the_environment_leave_the_rest_open() -> None:
    script = read("torchrun --nproc_per_node=8 $DISTRIBUTED_ARGS train.py\n")
    assert script.value(PROCESSES) == 8
    assert script.note(NODES) == "may be given in ${DISTRIBUTED_ARGS}"
    assert script.note(RESTARTS) == "may be given in ${DISTRIBUTED_ARGS}"
    # A program that only the environment knows ends the options of the launcher.
    script = read("torchrun --nproc_per_node=8 $SCRIPT --max_restarts 5\n")
    assert script.value(RESTARTS) == 0


@pytest.mark.parametrize(
    "text",
    [
        "export CUDA_VISIBLE_DEVICES=0,1,2,3\ntorchrun --nproc_per_node 4 t.py\n",
        "CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node 4 t.py\n",
        "#SBATCH --ntasks-per-node=2\nsrun torchrun --nproc_per_node 4 t.py\n",
    ],
)
def test_processes_of_a_part_of_the_node(text: str) -> None:
    """They are GPUs of the node as long as nothing else says how many it has."""
    assert read(text).status(GPUS) == "default"
    assert read_by_all(f"#SBATCH --gres=gpu:8\n{text}").value(GPUS) == 8


def test_options_of_accelerate_win_over_the_file_that_they_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`accelerate config` always writes the counts; a recipe is scaled by options."""
    monkeypatch.chdir(tmp_path)
    launch = "distributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 8\n"
    Path("launch.yaml").write_text(launch, encoding="utf-8")
    named = "accelerate launch --config_file launch.yaml"
    selection = Selection(select=("conflicting_statements",))
    for result, expected in (
        ("--num_machines 2 --num_processes 16", []),
        ("--num_processes 16", ["cluster.nodes is stated as 2 and as 1"]),
    ):
        script = f"#SBATCH -N 2 --gres=gpu:8\nsrun {named} {result} train.py\n"
        Path("job.sbatch").write_text(script, encoding="utf-8")
        files = ("job.sbatch", "launch.yaml")
        (plan,) = run(Request(files, judging=Judging(selection=selection))).plans
        found = [finding.finding for finding in plan.findings]
        assert [
            finding.message for finding in found if finding.outcome == "fail"
        ] == expected


def test_launches_on_one_node_beside_each_other_say_nothing_of_its_gpus() -> None:
    script = read(
        "torchrun --nproc_per_node 4 a.py &\ntorchrun --nproc_per_node 4 b.py &\nwait\n"
    )
    assert script.value(PROCESSES) == 4
    assert script.status(GPUS) == "unknown"
    assert script.note(GPUS) == "2 launch commands may share the GPUs of a node"


def test_what_launches_do_not_share_is_no_fact() -> None:
    script = read(
        "torchrun --standalone --nproc_per_node 8 prepare.py\n"
        "torchrun --nnodes 4 --nproc_per_node 8 --max_restarts 2 train.py\n"
    )
    assert script.value(PROCESSES) == 8
    assert script.note(NODES) == "differs between the 2 launch commands"
    assert script.status(RESTARTS) == "unknown"
    script = read("torchrun --nnodes 4 a.py\naccelerate launch b.py\n")
    assert script.status(NODES) == "unknown"


def test_configurations_of_several_programs_are_no_references() -> None:
    two = "torchrun t.py --config a.yaml\ntorchrun t.py --config b.yaml\n"
    assert read(two).targets == []
    shared = "torchrun t.py z.json --config a.yaml\ntorchrun t.py z.json b.yaml\n"
    assert read(shared).targets == ["z.json"]
    before = "python tokenize.py --config d.yaml\ntorchrun t.py --config=a.yaml\n"
    assert read(before).targets == ["a.yaml"]
    copied = "cp a.yaml b.yaml\nsed -i s/x/y/ c.yaml\ntorchrun t.py b.yaml\n"
    assert read(copied).targets == ["b.yaml"]


def test_scripts_that_a_script_runs_or_sources_are_references() -> None:
    launch = "source env/nccl.sh\nsrun bash train.sh\ntorchrun $X\n"
    assert read(launch).targets == ["train.sh", "env/nccl.sh"]
    assert read("bash a.sh\nbash b.sh\ntorchrun t.py\n").targets == []


@pytest.mark.parametrize(
    "text",
    [
        "torchrun train.py\n",
        "srun -l torchrun --nnodes=2 train.py\n",
        "nohup torchrun train.py > log &\n",
        "docker run --gpus all -v /data:/data image torchrun train.py\n",
        "docker run --rm image bash -c 'torchrun train.py'\n",
        "conda run -n env torchrun train.py\n",
        "uv run accelerate launch train.py\n",
        'exec torchrun --nproc_per_node=$NGPU "$@"\n',
        "/opt/venv/bin/torchrun --standalone -m pkg.train\n",
        "sudo -E deepspeed train.py\n",
        "python -m accelerate.commands.launch train.py\n",
        "ssh node1 'cd /job && torchrun --nnodes 2 train.py'\n",
        "main() {\n  torchrun train.py\n}\nmain\n",
    ],
)
def test_launches(text: str) -> None:
    assert format_of(f"#!/bin/bash\n{text}") == "torchrun"


@pytest.mark.parametrize(
    "text",
    [
        "pip install deepspeed accelerate\n",
        "uv pip install deepspeed transformers --upgrade\n",
        "conda install -c conda-forge accelerate deepspeed\n",
        "python -m pip install deepspeed --no-cache-dir\n",
        "sudo pip3 install deepspeed x.py\n",
        "which torchrun && command -v deepspeed\n",
        "pkill -f torchrun\n",
        "ps aux | grep torchrun | xargs kill\n",
        "grep -r torchrun scripts/train.py\n",
        "echo torchrun --nnodes 2 train.py\n",
        "git commit -m torchrun\n",
        "docker build -t torchrun .\n",
        "accelerate config\n",
        "accelerate env\n",
        "ds_report\n",
        "torchrun --help\n",
        "torchrun --nproc_per_node 2 -m pytest tests\n",
        "torchrun --nproc_per_node 2 tests/test_ddp.py\n",
        "accelerate launch -m lm_eval --tasks hellaswag\n",
        "alias tr='torchrun --standalone'\n",
        "# torchrun train.py\n",
        "cat <<EOF\ntorchrun train.py\nEOF\n",
    ],
)
def test_commands_that_only_name_a_launcher(text: str) -> None:
    assert format_of(f"#!/bin/bash\n{text}") is None


def test_the_launch_behind_wrappers() -> None:
    source = Source("a.sh", "srun --nodes=2 bash -c 'torchrun --nnodes 2 t.py --x 1'\n")
    (launch,) = launches(source)
    assert launch.every_task
    assert _texts(launch.options) == ["--nnodes", "2"]
    assert _texts(launch.program) == ["t.py", "--x", "1"]


def _texts(words: tuple[ShellWord, ...]) -> list[str]:
    return [word.text for word in words]


@pytest.mark.parametrize(
    ("launcher", "section"),
    [
        ("torchrun", "torchrun"),
        ("deepspeed", "deepspeed"),
        ("accelerate", "accelerate launch"),
    ],
)
def test_options_without_value_are_those_of_the_table(
    launcher: str, section: str
) -> None:
    rows = load_framework("launchers", section).rows
    switches = {path for path, row in rows.items() if row.type == "flag"}
    # Both name the program, and the last came after the tabulated release.
    expected = switches - {"--module"} | (SWITCHES[launcher] & {"--virtual-local-rank"})
    short = {switch for switch in SWITCHES[launcher] if not switch.startswith("--")}
    assert SWITCHES[launcher] - short == expected


def keyed(text: str) -> dict[str, object]:
    """Return the options that the rules on configuration hygiene see."""
    found = READER.read(Source("train.sh", text)).keyed
    return {} if found is None else {str(key.path[0]): key.value for key in found.keys}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (
            "torchrun --nnodes=2 --nproc_per_node 8 train.py --lr 1",
            {"--nnodes": "2", "--nproc-per-node": "8"},
        ),
        ("torchrun --standalone -m train", {"--standalone": True, "-m": True}),
        ("torchrun --max-r 3 train.py", {"--max-restarts": "3"}),  # a beginning
        ("deepspeed --num_gpus 8 train.py", {"--num_gpus": "8"}),
        (  # what both share
            "torchrun --nnodes=2 --standalone a.py\ntorchrun --nnodes=2 b.py",
            {"--nnodes": "2"},
        ),
    ],
)
def test_options_are_keys(command: str, expected: dict[str, object]) -> None:
    assert keyed(f"{command}\n") == expected


def test_options_out_of_sight_are_not_known_to_lack() -> None:
    text = 'torchrun $ARGS --nnodes="$N" train.py\n'
    found = READER.read(Source("train.sh", text)).keyed
    assert found is not None
    assert found.hidden == "${ARGS}"
    assert [key.is_sure for key in found.keys] == [False]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "accelerate launch --multi-gpu --use_deepspeed --num_processes 8 train.py",
            "--use_deepspeed with --multi-gpu: the launcher runs a job in one way only",
        ),
        (
            "accelerate launch --module --no_python my.train",
            "--module with --no_python: only Python runs a module",
        ),
        (
            "deepspeed --num_nodes 2 --include worker-0:0,1 train.py",
            "--num_nodes 2 with --include worker-0:0,1: GPUs are chosen by number or",
        ),
    ],
)
def test_flags_of_other_launchers_are_judged_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, message: str
) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/bash\n{command}\n", "utf-8")
    assert main([str(script)]) == 1
    assert message in " ".join(capsys.readouterr().out.split())


def test_flags_that_no_table_has_are_no_fault_of_other_launchers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "run.sh"
    script.write_text(
        "accelerate launch --num_processes 8 --a_newer_flag 1 train.py\n", "utf-8"
    )
    main([str(script)])
    assert "a_newer_flag" not in capsys.readouterr().out


def test_options_stand_behind_the_dashes_of_a_wrapper() -> None:
    script = read(
        "debugpy-run -p :5 -m torch.distributed.run -- --nproc_per_node 4 a.py --b 1\n"
    )
    assert script.value(PROCESSES) == 4


def test_a_launch_is_submitted_behind_dashes() -> None:
    script = read(
        "python mason.py --gpus 8 -- torchrun --nproc_per_node 4 a.py --b 1\n"
    )
    assert script.value(PROCESSES) == 4


def test_a_launcher_that_leaves_gpus_without_a_rank_contradicts_nothing() -> None:
    script = read_by_all(
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n"
        "#SBATCH --gres=gpu:4\n"
        "srun torchrun --nproc_per_node 2 --nnodes 2 train.py\n"
    )
    assert script.value(GPUS) == 4
    more = read_by_all(
        "#SBATCH --nodes=2 --gres=gpu:4\n"
        "torchrun --nproc_per_node 8 --nnodes 2 train.py\n"
    )
    assert more.status(GPUS) == "conflict"
