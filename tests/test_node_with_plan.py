"""A configuration judged on a machine: `speccheck config.yaml --node node.json`."""

import json
from pathlib import Path
from typing import Any

import pytest

from speccheck.validator.cli.main import main
from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Judging, Request
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.evidence.value import Value
from speccheck.validator.run.run import read_plans, run
from speccheck.validator.simulation.healthy import Snapshot, healthy_node
from speccheck.validator.sources.context import Context

NOTHING_TOLD = Context()
CONFIG = """\
speccheck: 1
cluster: {nodes: 4}
parallelism: {tensor_parallel_size: 8}
"""


def written(folder: Path, config: str, node: Snapshot | None) -> tuple[str, str]:
    """Return the files of a configuration and of a snapshot."""
    (folder / "config.yaml").write_text(config, encoding="utf-8")
    (folder / "node.json").write_text(json.dumps(node), encoding="utf-8")
    return str(folder / "config.yaml"), str(folder / "node.json")


def plan_on(
    folder: Path, config: str, node: Snapshot, context: Context = NOTHING_TOLD
) -> tuple[TrainingPlan, Environment]:
    """Return the plan of a configuration on a machine, and its variables."""
    path, snapshot = written(folder, config, node)
    request = Request(
        arguments=(path,), node=snapshot, judging=Judging(context=context)
    )
    ((_, groups),) = read_plans(request)
    ((group),) = groups
    evidence = assemble(group.files, request.judging.context)
    environment = evidence[Environment]
    assert isinstance(environment, Environment)
    return evidence.plan, environment


def leaf(plan: TrainingPlan, name: str) -> Value[Any]:
    return plan.value(f"cluster.{name}")


def test_a_plan_takes_from_the_machine_what_no_file_says(tmp_path: Path) -> None:
    plan, _ = plan_on(tmp_path, CONFIG, healthy_node("dgx-h100"))
    assert leaf(plan, "gpus_per_node").value == 8
    assert leaf(plan, "world_size").value == 32
    assert leaf(plan, "accelerator").value == "h100-sxm5-80gb"
    assert leaf(plan, "compute_capability").value == (9, 0)
    assert leaf(plan, "nvlink_domain_size").value == 8
    assert leaf(plan, "instance_type").value == "dgx-h100"


def test_memory_is_that_of_the_smallest_gpu(tmp_path: Path) -> None:
    node = healthy_node("dgx-h100")
    node["gpus"][3]["memory_total_bytes"] = 70 * 2**30
    plan, _ = plan_on(tmp_path, CONFIG, node)
    memory = leaf(plan, "accelerator_memory_bytes")
    assert memory.value == 70 * 2**30
    assert memory.places[0].key == "gpus[3].memory_total_bytes"


def test_hardware_that_nobody_knows_has_what_was_measured(tmp_path: Path) -> None:
    node = healthy_node("dgx-h100")
    for gpu in node["gpus"]:
        gpu.update(name="NVIDIA Graphics Device", pci_device_id="0x777710de")
    node["host"]["instance_type"] = "sun-ultra-5"
    plan, _ = plan_on(tmp_path, CONFIG, node)
    assert leaf(plan, "accelerator").status == "unknown"
    assert leaf(plan, "accelerator_memory_bytes").value == 85_520_809_984
    assert leaf(plan, "compute_capability").value == (9, 0)
    assert leaf(plan, "nvlink_domain_size").value == 8


def test_a_job_may_take_less_than_the_node_has(tmp_path: Path) -> None:
    config = CONFIG.replace("nodes: 4", "nodes: 4, gpus_per_node: 4")
    plan, _ = plan_on(tmp_path, config, healthy_node("dgx-h100"))
    assert leaf(plan, "gpus_per_node").value == 4
    plan, _ = plan_on(
        tmp_path, CONFIG, healthy_node("dgx-h100"), Context(gpus_per_node=2)
    )
    assert leaf(plan, "gpus_per_node").value == 2
    config = CONFIG.replace("nodes: 4", "nodes: 4, world_size: 16")
    plan, _ = plan_on(tmp_path, config, healthy_node("dgx-h100"))
    assert leaf(plan, "gpus_per_node").value == 4


def test_files_that_name_another_gpu_are_in_conflict(tmp_path: Path) -> None:
    node = healthy_node("dgx-h100")
    plan, _ = plan_on(tmp_path, CONFIG, node, Context(gpu="A100-SXM4-80GB"))
    assert leaf(plan, "accelerator").status == "conflict"


@pytest.mark.parametrize(
    ("instance", "domain"),
    [
        ("dgx-h100", 8),
        ("azure-nc80adis-h100-v5", 2),
        ("azure-nc96ads-a100-v4", 2),  # two pairs
        ("aws-g5-12xlarge", 1),
        ("dgx-gb200", 72),  # of the rack: the type tells it, not the node
    ],
)
def test_the_nvlink_domain_is_what_the_gpus_reach(
    tmp_path: Path, instance: str, domain: int
) -> None:
    plan, _ = plan_on(tmp_path, CONFIG, healthy_node(instance))
    assert leaf(plan, "nvlink_domain_size").value == domain


def test_a_rack_without_its_type_has_no_known_domain(tmp_path: Path) -> None:
    node = healthy_node("dgx-gb200")
    del node["host"]["instance_type"]
    plan, _ = plan_on(tmp_path, CONFIG, node)
    assert not leaf(plan, "nvlink_domain_size").is_known


@pytest.mark.parametrize(
    ("vendor", "product", "instance"),
    [
        ("NVIDIA", "DGXA100 920-23687-2530-000", "dgx-a100"),
        ("NVIDIA", "DGXH100", "dgx-h100"),
        ("Amazon EC2", "p5.48xlarge", "aws-p5"),
        ("Google", "Google Compute Engine", None),
        ("Supermicro", "p5.48xlarge", None),
    ],
)
def test_firmware_of_some_makers_tells_the_type(
    tmp_path: Path, vendor: str, product: str, instance: str | None
) -> None:
    node = healthy_node("dgx-h100")
    node["host"].update(vendor=vendor, product=product)
    node["host"]["instance_type"] = {"status": "absent", "source": "metadata"}
    plan, _ = plan_on(tmp_path, CONFIG, node)
    assert leaf(plan, "instance_type").value == instance


def test_a_script_sets_anew_what_was_set_on_the_machine(tmp_path: Path) -> None:
    node = healthy_node("dgx-h100")
    node["variables"] = [
        {"name": "NCCL_DEBUG", "value": "INFO", "layer": "environment"},
        {"name": "NCCL_ALGO", "value": "Ring", "layer": "environment"},
    ]
    (tmp_path / "env.sh").write_text("export NCCL_DEBUG=WARN\n", encoding="utf-8")
    _, snapshot = written(tmp_path, CONFIG, node)
    request = Request(arguments=(str(tmp_path / "env.sh"),), node=snapshot)
    ((_, (group,)),) = read_plans(request)
    environment = assemble(group.files, Context())[Environment]
    assert isinstance(environment, Environment)
    values = {variable.name: variable.value for variable in environment.variables}
    assert values == {"NCCL_DEBUG": "WARN", "NCCL_ALGO": "Ring"}


def test_each_plan_is_judged_on_the_machine(tmp_path: Path) -> None:
    _, snapshot = written(tmp_path, CONFIG, healthy_node("dgx-h100"))
    folder = tmp_path / "jobs"
    for name in ("one", "two"):
        (folder / name).mkdir(parents=True)
        (folder / name / "config.yaml").write_text(CONFIG, encoding="utf-8")
    found = run(Request(arguments=(str(folder),), node=snapshot))
    assert len(found.plans) == 2
    for plan in found.plans:
        rules = {finding.finding.rule for finding in plan.findings}
        assert {"memory_fault_pending", "fewer_gpus_present_than_asked"} <= rules
        assert plan.grouping == (f"judged on the machine of {snapshot}",)


def test_the_snapshot_itself_is_no_plan_beside_the_others(tmp_path: Path) -> None:
    path, snapshot = written(tmp_path, CONFIG, healthy_node("dgx-h100"))
    found = run(Request(arguments=(path, snapshot), node=snapshot, each=True))
    assert [plan.files[0].path for plan in found.plans] == [path]


def test_tensor_parallelism_beyond_the_machine_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = CONFIG.replace("8", "16")
    path, snapshot = written(tmp_path, config, healthy_node("azure-nd96asr-v4"))
    main([path, "--node", snapshot, "--select", "TOPO-001", "--output", "concise"])
    printed = capsys.readouterr().out
    assert "tensor-parallel size 16 exceeds the 8 GPUs that fast links join" in printed


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"speccheck": 1, "cluster": {"nodes": 4}}', "it is native"),
        ("hello", "no snapshot"),
        ('{"schema": "speccheck-snapshot/99"}', "newer speccheck"),
        ('{"schema": "speccheck-snapshot/1", "gpus": [', "no snapshot"),
        (None, "no such file"),
    ],
)
def test_what_is_no_snapshot_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, problem: str
) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    node = tmp_path / "node.json"
    if text is not None:
        node.write_text(text, encoding="utf-8")
    assert main([str(tmp_path / "config.yaml"), "--node", str(node)]) == 2
    result = capsys.readouterr().err
    assert result.count("\n") == 1
    assert "--node" in result
    assert problem in result
