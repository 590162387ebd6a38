"""Environment variables of `.env` files and scripts."""

import pytest

from corpus import corpus_folder, needs_corpus
from script_text import ReadScript, format_of, read_by_all, read_script
from speccheck.validator.sources.formats.env import READER
from speccheck.validator.sources.reader import Source

DOTENV = """\
# for docker run --env-file
NCCL_DEBUG=WARN
export NCCL_SOCKET_IFNAME="bond0"
NCCL_IB_HCA='mlx5_0,mlx5_1'   # two rails
NCCL_IB_TC=106 # lossless class
UCX_TLS=rc, sm, self
MASTER_ADDR=${HEAD_NODE}
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
WANDB_NOTES=two words; and a semicolon
EMPTY=
not an assignment
"""
SCRIPT = """\
#!/bin/bash
export NCCL_DEBUG=WARN NCCL_IB_TIMEOUT=22
NCCL_NOT_EXPORTED=1
export CUDA_DEVICE_MAX_CONNECTIONS=1
if [ -n "$DEBUG" ]; then
  export NCCL_DEBUG_SUBSYS=ALL
fi
export MASTER_ADDR=$(scontrol show hostnames | head -n 1)
NCCL_ALGO=Ring srun torchrun --nnodes 2 train.py
"""
INSTALL = """\
export CUDA_HOME=/usr/local/cuda NCCL_HOME=/opt/nccl
export TORCH_CUDA_ARCH_LIST=9.0
pip install deepspeed
"""
WEB_INTERFACE = """\
export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512
export CUDA_VISIBLE_DEVICES=0
python launch.py --listen
"""


def read(text: str, name: str = "run.sh") -> ReadScript:
    return read_script(READER, text, name)


def test_every_line_of_an_environment_file() -> None:
    script = read(DOTENV, "job.env")
    assert script.variables == {
        "NCCL_DEBUG": "WARN",
        "NCCL_SOCKET_IFNAME": "bond0",
        "NCCL_IB_HCA": "mlx5_0,mlx5_1",
        "NCCL_IB_TC": "106",
        "UCX_TLS": "rc, sm, self",
        "MASTER_ADDR": None,
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "WANDB_NOTES": "two words; and a semicolon",
        "EMPTY": "",
    }
    place = script.variable("UCX_TLS").place
    assert place.span is not None
    assert (place.span.line, place.span.column) == (6, 9)
    assert script.value("memory.allocator_configuration") == "expandable_segments:True"


def test_a_value_may_refer_to_another_and_run_over_lines() -> None:
    text = 'HOST=n1\nMASTER_ADDR=$HOST\nNCCL_DEBUG=WARN\nNOTE="a\nNCCL_NO=1"\n'
    variables = read(text, ".env.prod").variables
    assert variables["MASTER_ADDR"] == "n1"
    assert variables["NOTE"] == "a\nNCCL_NO=1"
    assert "NCCL_NO" not in variables


def test_lines_that_end_as_on_windows() -> None:
    variables = read("NCCL_DEBUG=WARN\r\nNCCL_IB_TC=106\r\n", "w.env").variables
    assert variables == {"NCCL_DEBUG": "WARN", "NCCL_IB_TC": "106"}


def test_of_a_script_what_reaches_the_training_command() -> None:
    script = read(SCRIPT)
    assert script.variables == {
        "NCCL_DEBUG": "WARN",
        "NCCL_IB_TIMEOUT": "22",
        "CUDA_DEVICE_MAX_CONNECTIONS": "1",
        "NCCL_DEBUG_SUBSYS": None,  # only under a condition
        "MASTER_ADDR": None,
        "NCCL_ALGO": "Ring",
    }


def test_the_last_export_counts() -> None:
    text = "export NCCL_DEBUG=INFO\nexport NCCL_DEBUG=WARN\ntorchrun t.py\n"
    assert read(text).variables == {"NCCL_DEBUG": "WARN"}
    text = "NCCL_DEBUG=INFO\nexport NCCL_DEBUG\ntorchrun t.py\n"
    assert read(text).variables == {"NCCL_DEBUG": "INFO"}
    text = "export NCCL_DEBUG=INFO\nunset NCCL_DEBUG\ntorchrun t.py\n"
    assert read(text).variables == {}


def test_what_other_commands_are_given_is_left_out() -> None:
    text = (
        "export NCCL_DEBUG=WARN\n"
        "CUDA_VISIBLE_DEVICES= python prepare.py\n"
        "torchrun --nproc_per_node 8 train.py\n"
        "CUDA_VISIBLE_DEVICES=0 python evaluate.py\n"
    )
    assert read(text).variables == {"NCCL_DEBUG": "WARN"}


def test_launches_with_values_of_their_own() -> None:
    text = (
        "CUDA_VISIBLE_DEVICES=0,1 NCCL_DEBUG=WARN torchrun a.py &\n"
        "CUDA_VISIBLE_DEVICES=2,3 NCCL_DEBUG=WARN torchrun b.py &\n"
    )
    assert read(text).variables == {"CUDA_VISIBLE_DEVICES": None, "NCCL_DEBUG": "WARN"}


@pytest.mark.parametrize(
    "command",
    [
        "env NCCL_ALGO=Ring torchrun t.py",
        "srun --export=ALL,NCCL_ALGO=Ring python t.py",
        "docker run -e NCCL_ALGO=Ring image torchrun t.py",
        "mpirun -np 8 -x NCCL_ALGO=Ring python t.py",
        "srun bash -c 'NCCL_ALGO=Ring torchrun t.py'",
        "set -a\nNCCL_ALGO=Ring\ntorchrun t.py",
    ],
)
def test_ways_to_give_a_variable(command: str) -> None:
    assert read(f"{command}\n").variables["NCCL_ALGO"] == "Ring"


def test_a_file_of_assignments_alone() -> None:
    assert read("NCCL_DEBUG=WARN\nNCCL_ALGO=Ring\n").variables == {
        "NCCL_DEBUG": "WARN",
        "NCCL_ALGO": "Ring",
    }
    assert read("A=1\nexport NCCL_ALGO=Ring\n").variables == {"NCCL_ALGO": "Ring"}


def test_variables_beside_a_launch_are_read_whatever_they_are() -> None:
    text = "export CUDA_LAUNCH_BLOCKING=1\ntorchrun --nproc_per_node=8 train.py\n"
    assert format_of(text) == "torchrun"
    assert read_by_all(text).variables == {"CUDA_LAUNCH_BLOCKING": "1"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nccl.env", "NCCL_DEBUG=WARN\n"),
        (".env", "PORT=80\nTORCH_NCCL_ASYNC_ERROR_HANDLING=1\n"),
        (
            "node_profile.sh",
            "#!/bin/bash\nexport NCCL_IB_HCA=mlx5\nulimit -l unlimited\n",
        ),
        ("entrypoint.sh", '#!/bin/sh\nexport NCCL_DEBUG=WARN\nexec "$@"\n'),
        ("env.sh", "module load nccl\nexport FI_PROVIDER=efa\n"),
        (
            "tests.sh",
            "export NCCL_DEBUG=WARN\nmake -j\nmpirun -np 16 all_reduce_perf\n",
        ),
        ("cluster.conf", "export NCCL_DEBUG=WARN\n"),
        (
            "ddp.sh",
            "export MASTER_ADDR=n0 MASTER_PORT=1 WORLD_SIZE=16\npython train.py\n",
        ),
    ],
)
def test_environments_of_training(name: str, text: str) -> None:
    assert format_of(text, name) == "env"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("install.sh", INSTALL),
        (
            "build.sh",
            "export NCCL_ROOT=/opt/nccl NCCL_DEBUG=INFO\ncmake ..\nmake -j8\nctest\n",
        ),
        ("ci.sh", "export NCCL_P2P_DISABLE=1 OMP_NUM_THREADS=1\npytest -q\n"),
        ("image.sh", "docker build -t train --build-arg NCCL_VERSION=2.20 .\n"),
        ("entrypoint.sh", 'export OMP_NUM_THREADS=1\nexec uvicorn app:main "$@"\n'),
        ("download.sh", "for i in 1 2; do wget $URL/$i; done\n"),
        ("backup.sh", "rsync -av /ckpt/ backup:/ckpt/\n"),
        ("serve.sh", "export CUDA_VISIBLE_DEVICES=0,1\nvllm serve m\n"),
        ("webui.sh", WEB_INTERFACE),
        ("app.env", "DATABASE_URL=postgres://db\nCUDA_VISIBLE_DEVICES=0\nPORT=80\n"),
        ("profile.sh", "export EDITOR=vim PATH=$PATH:~/bin\nalias ll='ls -l'\n"),
        ("notebook.sh", "export OMP_NUM_THREADS=8\njupyter lab --port 8888\n"),
        ("clean.sh", "find . -name '*.pyc' -delete\n"),
    ],
)
def test_everyday_scripts_are_no_environments_of_training(name: str, text: str) -> None:
    assert format_of(text, name) is None


@needs_corpus
def test_published_environments() -> None:
    paths = [*corpus_folder("cases").rglob("*.env")]
    assert len(paths) == 14
    for path in paths:
        source = Source("job.env", path.read_text(encoding="utf-8"))
        assert READER.detect(source) == 0.6, path
        lines = path.read_text(encoding="utf-8").splitlines()
        variables = READER.read(source).variables
        assert len(variables) == sum("=" in line for line in lines), path
        assert all(variable.value is not None for variable in variables), path
