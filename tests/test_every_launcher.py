"""One small launch of each launcher: nodes, ranks of a node, and ranks in all."""

import json
from pathlib import Path
from typing import Any

import pytest

from speccheck.validator.cli.main import main

_SLURM = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --ntasks-per-node={tasks}
"""
_PBS = "#!/bin/bash\n#PBS -l select=2:ncpus=32:ngpus=8:mpiprocs=8\n"
_LSF = '#!/bin/bash\n#BSUB -n 16\n#BSUB -R "span[ptile=8]"\n#BSUB -gpu "num=8"\n'
_FLUX = "#!/bin/bash\n#flux: -N 2\n#flux: -n 16\n#flux: -g 1\n"


def _pod(command: str, indent: int) -> str:
    text = (
        "containers:\n"
        "- name: trainer\n"
        "  image: registry.example/train:1\n"
        f"  command: [bash, -c, '{command}']\n"
        "  resources: {limits: {nvidia.com/gpu: 8}}\n"
    )
    return "".join(f"{' ' * indent}{line}\n" for line in text.splitlines())


_PYTORCH_JOB = f"""apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: train}}
spec:
  nprocPerNode: "8"
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
{_pod("torchrun train.py", 10)}
    Worker:
      replicas: 1
      template:
        spec:
{_pod("torchrun train.py", 10)}
"""
_MPI_JOB = f"""apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {{name: train}}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
          - name: launcher
            image: registry.example/train:1
            command: [mpirun, -np, "16", python, train.py]
    Worker:
      replicas: 2
      template:
        spec:
{_pod("/usr/sbin/sshd -De", 10)}
"""
_TRAIN_JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 2
    numProcPerNode: 8
    command: [torchrun, train.py]
    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}
"""
_JOB_SET = f"""apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: train}}
spec:
  replicatedJobs:
  - name: workers
    replicas: 1
    template:
      spec:
        parallelism: 2
        completions: 2
        template:
          spec:
{_pod("torchrun --nnodes=2 --nproc-per-node=8 train.py", 12)}
"""
_LEADER_WORKER_SET = f"""apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: train}}
spec:
  replicas: 1
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
{_pod("torchrun --nnodes=2 --nproc-per-node=8 train.py", 8)}
"""
_VOLCANO = f"""apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: train}}
spec:
  minAvailable: 2
  plugins: {{pytorch: ["--master=master", "--worker=worker"]}}
  tasks:
  - name: master
    replicas: 1
    template:
      spec:
{_pod("torchrun --nnodes=2 --nproc-per-node=8 train.py", 8)}
  - name: worker
    replicas: 1
    template:
      spec:
{_pod("torchrun --nnodes=2 --nproc-per-node=8 train.py", 8)}
"""
_RAY = f"""headGroupSpec:
  rayStartParams: {{}}
  template:
    spec:
{_pod("ulimit -n 65536", 6)}
workerGroupSpecs:
- groupName: workers
  replicas: 1
  rayStartParams: {{}}
  template:
    spec:
{_pod("ulimit -n 65536", 6)}
"""
_RAY_CLUSTER = (
    "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: train}\nspec:\n"
    + "".join(f"  {line}\n" for line in _RAY.splitlines())
)
_RAY_JOB = (
    "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: train}\nspec:\n"
    "  entrypoint: python train.py\n  rayClusterSpec:\n"
    + "".join(f"    {line}\n" for line in _RAY.splitlines())
)
_SKYPILOT = """name: train
num_nodes: 2
resources:
  accelerators: H100:8
run: |
  torchrun --nnodes=$SKYPILOT_NUM_NODES --nproc_per_node=8 \\
    --node_rank=$SKYPILOT_NODE_RANK --master_addr=head --master_port=12375 train.py
"""
_ACCELERATE_FILE = """compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
machine_rank: 0
main_process_ip: head
main_process_port: 29500
mixed_precision: bf16
num_machines: 2
num_processes: 16
rdzv_backend: static
"""
_HETEROGENEOUS = """#!/bin/bash
#SBATCH --nodes=2 --gpus-per-node=8 --ntasks-per-node=8
#SBATCH hetjob
#SBATCH --nodes=1 --cpus-per-task=8
srun --het-group=0 python train.py
"""
_HOSTFILE = "node-0 slots=8\nnode-1 slots=8\n"
_TWO = (2, 8, 16)


def _slurm(command: str, tasks: int = 1) -> dict[str, str]:
    return {"job.sbatch": _SLURM.format(tasks=tasks) + command + "\n"}


def _script(command: str, head: str = "#!/bin/bash\n") -> dict[str, str]:
    return {"run.sh": head + command + "\n"}


_LAUNCHES: dict[str, dict[str, str]] = {
    "torchrun static": _script(
        "torchrun --nnodes=2 --nproc_per_node=8 --node_rank=$1 --master_addr=head "
        "--master_port=29500 train.py"
    ),
    "torchrun c10d": _slurm(
        "srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d "
        "--rdzv_endpoint=head:29500 train.py"
    ),
    "accelerate flags": _script(
        "accelerate launch --num_machines 2 --num_processes 16 --machine_rank $1 "
        "--main_process_ip head --main_process_port 29500 train.py"
    ),
    "accelerate file": {"accelerate.yaml": _ACCELERATE_FILE},
    "accelerate file and command": {
        "accelerate.yaml": _ACCELERATE_FILE,
        **_script("accelerate launch --config_file accelerate.yaml train.py"),
    },
    "deepspeed flags": _script(
        "deepspeed --num_nodes 2 --num_gpus 8 --master_addr head train.py"
    ),
    "deepspeed hostfile": {
        "hostfile": _HOSTFILE,
        **_script("deepspeed --hostfile hostfile train.py"),
    },
    "mpirun hostfile": {
        "hosts": _HOSTFILE,
        **_script("mpirun -np 16 --hostfile hosts -x NCCL_DEBUG python train.py"),
    },
    "mpirun -np -H": _script("mpirun -np 16 -H node-0:8,node-1:8 python train.py"),
    "mpirun -npernode": _script(
        "mpirun -np 16 -npernode 8 -x NCCL_DEBUG python train.py"
    ),
    "mpiexec of hydra": _script("mpiexec -n 16 -ppn 8 python train.py"),
    "horovodrun": _script("horovodrun -np 16 -H node-0:8,node-1:8 python train.py"),
    "srun": _slurm("srun python train.py", 8),
    "srun by itself": _script(
        "srun --nodes=2 --ntasks-per-node=8 --gpus-per-task=1 python train.py"
    ),
    "srun --ntasks": _script(
        "srun python train.py",
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks=16\n"
        "#SBATCH --gpus-per-task=1\n",
    ),
    "slurm array": {
        "job.sbatch": "#!/bin/bash\n#SBATCH --array=0-3\n#SBATCH --nodes=2\n"
        "#SBATCH --ntasks-per-node=8\n#SBATCH --gpus-per-node=8\n"
        "srun python train.py --seed $SLURM_ARRAY_TASK_ID\n"
    },
    "composer": _script(
        "composer -n 8 --world_size 16 --node_rank $1 --master_addr head train.py"
    ),
    "llamafactory-cli": _script(
        "FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=8 NODE_RANK=$1 MASTER_ADDR=head "
        "llamafactory-cli train sft.yaml"
    ),
    "swift": _script(
        "NNODES=2 NPROC_PER_NODE=8 NODE_RANK=$1 MASTER_ADDR=head "
        "swift sft --model qwen --dataset data"
    ),
    "xtuner": _script(
        "NNODES=2 NPROC_PER_NODE=8 NODE_RANK=$1 ADDR=head PORT=29500 "
        "xtuner train config.py --launcher pytorch"
    ),
    "colossalai": _script(
        "colossalai run --nproc_per_node 8 --host node-0,node-1 "
        "--master_addr node-0 train.py"
    ),
    "ray start": _slurm(
        "srun --nodes=1 --ntasks=1 -w head ray start --head --num-gpus=8 --block &\n"
        "srun --nodes=1 --ntasks=1 -w other ray start --address=head:6379 "
        "--num-gpus=8 --block &\n"
        "ray job submit -- python train.py"
    ),
    "PBS mpiexec": _script("mpiexec python train.py", _PBS),
    "LSF jsrun": _script("jsrun -n 2 -a 8 -g 8 -c 32 -r 1 python train.py", _LSF),
    "LSF blaunch": _script("mpirun -np 16 python train.py", _LSF),
    "Flux": _script("flux run -N 2 -n 16 -g 1 python train.py", _FLUX),
    "PyTorchJob": {"job.yaml": _PYTORCH_JOB},
    "MPIJob": {"job.yaml": _MPI_JOB},
    "TrainJob": {"job.yaml": _TRAIN_JOB},
    "JobSet": {"job.yaml": _JOB_SET},
    "LeaderWorkerSet": {"job.yaml": _LEADER_WORKER_SET},
    "Volcano": {"job.yaml": _VOLCANO},
    "RayCluster": {"job.yaml": _RAY_CLUSTER},
    "RayJob": {"job.yaml": _RAY_JOB},
    "SkyPilot": {"task.yaml": _SKYPILOT},
}


# What another file, or a component of the job, knows: never a number that is wrong.
_NOT_KNOWN: dict[str, dict[str, str]] = {
    "deepspeed hostfile of another folder": _script(
        "deepspeed --hostfile /job/hostfile train.py"
    ),
    "srun heterogeneous": {"job.sbatch": _HETEROGENEOUS},
    "PBS chunks that share nodes": _script(
        "mpiexec -n 16 python train.py",
        "#!/bin/bash\n#PBS -l select=16:ncpus=8:ngpus=1:mpiprocs=1\n",
    ),
    "PBS chunks that differ": _script(
        "python train.py",
        "#!/bin/bash\n#PBS -l select=1:ngpus=8+2:ngpus=4\n",
    ),
}


def _scale(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Any, ...]:
    main(["plan", "--output", "json", str(folder)])
    document = json.loads(capsys.readouterr().out)
    plan = document["plans"][0]["values"]
    names = ("nodes", "gpus_per_node", "world_size")
    values = {item["name"]: item.get("value") for item in plan}
    return tuple(values.get(f"cluster.{name}") for name in names)


@pytest.mark.parametrize("launcher", _LAUNCHES)
def test_every_launcher_states_its_scale(
    launcher: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Set nodes, ranks of a node and ranks in all beside what the files state."""
    for name, text in _LAUNCHES[launcher].items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert _scale(tmp_path, capsys) == _TWO


@pytest.mark.parametrize("launcher", _NOT_KNOWN)
def test_nodes_that_the_file_does_not_tell_are_unknown(
    launcher: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Leave nodes open where hosts, chunks or components are not counted."""
    for name, text in _NOT_KNOWN[launcher].items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert _scale(tmp_path, capsys)[0] is None


def test_a_script_of_too_many_lines_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Read no more of a script than people write, and say so."""
    path = tmp_path / "run.sh"
    path.write_text("#!/bin/bash\n" + "echo step\n" * 200_000, encoding="utf-8")
    assert main([str(path)]) == 3
    captured = capsys.readouterr()
    said = " ".join(captured.out.split())
    assert "no launch in its first 300,000 characters" in said


def test_a_list_of_many_hosts_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Count the hosts of a list without trying each of them."""
    hosts = ",".join(f"n{number}:8" for number in range(10_000))
    path = tmp_path / "run.sh"
    text = f"#!/bin/bash\nmpirun -np 80000 -H {hosts} python train.py\n"
    path.write_text(text, encoding="utf-8")
    assert _scale(tmp_path, capsys) == (10_000, 8, 80_000)


_DIGITS = "9" * 5000


@pytest.mark.parametrize(
    "command",
    [
        f"mpirun -np {_DIGITS} python train.py",
        f"mpirun -H node-0:{_DIGITS} python train.py",
        f"mpirun --map-by ppr:{_DIGITS}:node python train.py",
        f"torchrun --nnodes=1:{_DIGITS} --nproc_per_node={_DIGITS} train.py",
        f"accelerate launch --num_processes {_DIGITS} --num_machines 2 train.py",
        f"#SBATCH --nodes={_DIGITS}\n#SBATCH --time={_DIGITS}-1\nsrun python train.py",
        f"#PBS -l select={_DIGITS}:ngpus=8\nmpiexec python train.py",
        f'#BSUB -n 16\n#BSUB -R "span[ptile={_DIGITS}]"\nmpirun python train.py',
        f"flux run -N {_DIGITS} -n 16 -g 1 python train.py",
        f"docker run --gpus {_DIGITS} image torchrun --nproc_per_node=8 train.py",
    ],
    ids=lambda command: command.split()[0],
)
def test_a_number_of_thousands_of_digits_is_no_count(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Take a number that Python does not convert for one that nobody means."""
    path = tmp_path / "run.sh"
    path.write_text(f"#!/bin/bash\n{command}\n", encoding="utf-8")
    assert main([str(path)]) in {0, 1, 3}
    assert "bug of speccheck" not in capsys.readouterr().err


def test_a_hostfile_of_many_hosts_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Count each host once, and refuse slots of thousands of digits."""
    text = "".join(f"n{number} slots=8\n" for number in range(20_000))
    (tmp_path / "hosts").write_text(text, encoding="utf-8")
    (tmp_path / "odd").write_text(f"n1 slots={_DIGITS}\n", encoding="utf-8")
    for name in ("hosts", "odd"):
        command = f"deepspeed --hostfile {name} train.py\n"
        (tmp_path / f"{name}.sh").write_text(command, encoding="utf-8")
    main(["plan", "--output", "json", str(tmp_path / "hosts.sh")])
    values = json.loads(capsys.readouterr().out)["plans"][0]["values"]
    known = {value["name"]: value.get("value") for value in values}
    assert known["cluster.nodes"] == 20_000
    assert main([str(tmp_path / "odd.sh")]) == 0


def test_a_rayjob_has_an_account(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Give what the entry point starts the nodes and GPUs of its pods."""
    path = tmp_path / "job.yaml"
    path.write_text(_RAY_JOB, encoding="utf-8")
    main(["plan", "--output", "json", str(path)])
    (launch,) = json.loads(capsys.readouterr().out)["plans"][0]["launches"]
    account = {value["name"]: value["value"] for value in launch["account"]}
    assert account == {
        "launch.allocated_nodes": 2,
        "launch.allocated_gpus": 8,
        "launch.devices": 16,
    }


def test_a_file_of_accelerate_completes_its_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Take from the file what no flag states, as accelerate does."""
    (tmp_path / "accelerate.yaml").write_text(_ACCELERATE_FILE, encoding="utf-8")
    command = "accelerate launch --config_file accelerate.yaml --num_machines 4 t.py"
    (tmp_path / "run.sh").write_text(f"#!/bin/bash\n{command}\n", encoding="utf-8")
    main(["plan", "--output", "json", str(tmp_path)])
    (launch,) = json.loads(capsys.readouterr().out)["plans"][0]["launches"]
    account = {value["name"]: value["value"] for value in launch["account"]}
    assert account["launch.nodes"] == 4
    assert account["launch.world"] == 16
    assert account["launch.rendezvous_address"] == "head"
