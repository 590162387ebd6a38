"""Containers of scripts: what the process inside gets, whichever engine makes it."""

import json
from pathlib import Path

import pytest

from speccheck.validator.catalogue.containers import engines
from speccheck.validator.cli.main import main
from speccheck.validator.sources.container_commands import containers_of
from speccheck.validator.sources.containers import state_container_options
from speccheck.validator.sources.reader import FactSheet, Source

TRAINING = "torchrun --nproc-per-node=8 train.py"


def facts(script: str) -> dict[str, object]:
    """Return what is known of the containers of a script, and `?` for what is not."""
    result: dict[str, object] = {}
    for options in containers_of(Source("train.sh", script, "shell")):
        sheet = FactSheet("train.sh")
        state_container_options(sheet, options)
        for fact in sheet.facts:
            known = fact.value if fact.value is not None else "?"
            result[fact.name.removeprefix("container.")] = known
    return result


def test_docker_run_with_every_option() -> None:
    read = facts(
        "sudo docker run -it --rm --gpus all --shm-size 16g --ipc=private \\\n"
        " --ulimit memlock=-1 --ulimit stack=67108864 --network host \\\n"
        " --device=/dev/infiniband --cap-add IPC_LOCK -e NCCL_DEBUG=INFO -eHOME \\\n"
        " -v $PWD:/work -v /data:/data:ro -w /work \\\n"
        f" nvcr.io/nvidia/pytorch:25.04-py3 {TRAINING}\n"
    )
    assert read == {
        "engine": "docker",
        "image": "nvcr.io/nvidia/pytorch:25.04-py3",
        "ipc": "private",
        "shared_memory_volume": "memory",
        "shared_memory_bytes": 16 * 2**30,
        "network": "host",
        "accelerators": "all",
        "cluster.accelerator_family": "nvidia",
        "fabric_device": "/dev/infiniband",
        "capabilities": ("IPC_LOCK",),
        "locked_memory_bytes": -1,
        "may_lock_memory": True,
        "takes_environment": False,
        "variables": ("NCCL_DEBUG", "HOME"),
        "mounts": ("/work", "/data"),
    }


def test_docker_run_without_options() -> None:
    assert facts(f"docker run image {TRAINING}\n") == {
        "engine": "docker",
        "image": "image",
        "ipc": "private",
        "shared_memory_volume": "none",
        "shared_memory_bytes": 64 * 2**20,
        "network": "bridge",
        "accelerators": "none",
        "fabric_device": "none",
        "may_lock_memory": False,
        "takes_environment": False,
    }


@pytest.mark.parametrize(
    ("script", "field", "value"),
    [
        ("nvidia-docker run image:1", "accelerators", "all"),
        ("docker run --runtime=nvidia image:1", "accelerators", "all"),
        (
            "docker run --device=/dev/dri --device=/dev/kfd i",
            "accelerators",
            "/dev/kfd",
        ),
        ("docker run -e NVIDIA_VISIBLE_DEVICES=all i", "accelerators", "?"),
        ("docker run --privileged image", "fabric_device", "host"),
        ("docker run -v /dev:/dev image", "fabric_device", "/dev"),
        ("docker run --ipc=container:other i", "shared_memory_volume", "?"),
        ("docker run --tmpfs /dev/shm:size=8g i", "shared_memory_bytes", 2**33),
        ("docker run -v $MOUNTS image", "shared_memory_volume", "?"),
        ("docker run -v $PWD:/work image", "shared_memory_volume", "none"),
        ("docker run $OPTIONS image:1", "network", "?"),
        ("docker run $IMAGE", "network", "bridge"),
        ("docker run --network=$NET image", "network", "?"),
        ("docker run --ulimit memlock=8192 image", "locked_memory_bytes", 8192),
        ("docker run -u root --cap-add=IPC_LOCK image", "may_lock_memory", True),
        ("docker run --env-file a.env image", "takes_environment", "?"),
        ("podman run --env-host image", "takes_environment", True),
        ("docker container run --net host image", "network", "host"),
        ("apptainer exec --nv image.sif", "accelerators", "all"),
        ("apptainer exec image.sif", "accelerators", "devices"),
        ("apptainer exec $OPTIONS /images/a.sif", "image", "/images/a.sif"),
        ("apptainer exec {image}", "image", "?"),
        ("apptainer -q exec -B /a,/b:/c image.sif", "mounts", ("/a", "/c")),
        ("singularity exec --contain image.sif", "shared_memory_volume", "?"),
        ("singularity exec --containall image.sif", "takes_environment", False),
        ("apptainer exec --contain i.sif", "fabric_device", "none"),
        ("enroot start -m /data:/data image", "shared_memory_volume", "host"),
        ("enroot start --net image", "network", "loopback"),
        ("ch-run -b /data:/data image --", "takes_environment", True),
        ("srun --container-image=i.sqsh", "takes_environment", True),
        (
            "srun --container-image i --container-mounts /a:/b,/c",
            "mounts",
            ("/b", "/c"),
        ),
    ],
)
def test_settings(script: str, field: str, value: object) -> None:
    assert facts(f"{script} {TRAINING}\n")[field] == value


def test_a_container_that_is_entered_by_name() -> None:
    read = facts(
        "docker run -d --name work --gpus all --net=host --ipc=host image:1 sleep 1d\n"
        f"docker exec -e NCCL_DEBUG=INFO work {TRAINING}\n"
    )
    assert read["network"] == "host"
    assert read["variables"] == ("NCCL_DEBUG",)


def test_a_step_that_names_the_container_of_another() -> None:
    read = facts(
        "srun --container-image=image.sqsh --container-name=work true\n"
        f"srun --container-name=work --container-mounts=/data:/data {TRAINING}\n"
    )
    assert (read["image"], read["mounts"]) == ("image.sqsh", ("/data",))


def test_the_container_of_the_training_counts_and_no_other() -> None:
    read = facts(
        "docker run --privileged ubuntu sync\n"
        f"docker run --gpus all --ipc=host image:1 bash -c '{TRAINING}'\n"
    )
    assert (read["image"], read["fabric_device"]) == ("image:1", "none")


def test_variables_that_stand_for_options_of_apptainer() -> None:
    read = facts(
        "export APPTAINER_NV=1 SINGULARITY_BIND=/data,/scratch:/work\n"
        f"apptainer exec image.sif {TRAINING}\n"
    )
    assert read["accelerators"] == "all"
    assert read["mounts"] == ("/data", "/work")


def test_directives_that_put_the_whole_script_into_a_container() -> None:
    read = facts(
        "#!/bin/bash\n#SBATCH --container-image=image.sqsh\n"
        f"#SBATCH --container-mounts=/data:/data\n{TRAINING}\n"
    )
    assert (read["engine"], read["mounts"]) == ("pyxis", ("/data",))


def test_commands_that_start_no_container() -> None:
    assert facts(f"docker pull image\necho docker run image\n{TRAINING}\n") == {}


def test_every_engine_says_what_holds_by_default() -> None:
    for engine in engines().values():
        is_isolated = engine.default("shm") == "none"
        assert ("shm_bytes" in engine.defaults) == is_isolated, engine.id
        assert engine.present.keys() <= {*engine.options.values()}, engine.id


@pytest.mark.parametrize(
    ("command", "engine"),
    [
        ("shifter --image=nersc/pytorch:24.06 --module=gpu", "shifter"),
        ("singularity_wrapper exec", "singularity_wrapper"),
    ],
)
def test_wrappers_of_sites_start_containers_of_the_node(
    command: str, engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Give what NERSC and CSC start in an image the memory of the node."""
    script = (
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\n"
        f"srun {command} torchrun --nnodes=2 --nproc_per_node=4 train.py\n"
    )
    path = tmp_path / "job.sbatch"
    path.write_text(script, encoding="utf-8")
    main(["plan", "--output", "json", str(path)])
    values = json.loads(capsys.readouterr().out)["plans"][0]["values"]
    known = {value["name"]: value.get("value") for value in values}
    assert known["container.engine"] == engine
    assert known["container.ipc"] == "host"
    assert known["recovery.processes_per_node"] == 4
