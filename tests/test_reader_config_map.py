"""ConfigMaps that hold a launch script."""

from pathlib import Path

from speccheck.validator.engine.assemble import assemble
from speccheck.validator.engine.request import Request
from speccheck.validator.run.run import read_plans
from speccheck.validator.sources.context import Context

PAYLOAD = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: launcher}
data:
  settings: "a: 1"
  launch.sh: |
    #!/bin/bash
    torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py \\
      --tensor-model-parallel-size 2 --num-layers 24 --micro-batch-size 1
"""


def test_the_payload_is_read_as_the_script_that_it_is(tmp_path: Path) -> None:
    path = tmp_path / "launcher.yaml"
    path.write_text(PAYLOAD)
    ((statuses, (group,)),) = read_plans(Request(arguments=(str(path),)))
    assert statuses[0].format == "config-map"
    plan = assemble(group.files, Context()).plan
    nodes = plan.value("cluster.nodes")
    assert (nodes.value, nodes.places[0].span is not None) == (4, True)
    assert plan.value("cluster.gpus_per_node").value == 8
    assert plan.value("parallelism.tensor_parallel_size").value == 2
    assert plan.value("batch.micro_batch_size").value == 1


def test_settings_alone_are_none(tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text(PAYLOAD.replace("torchrun", "echo torchrun"))
    ((statuses, groups),) = read_plans(Request(arguments=(str(path),)))
    assert (statuses[0].state, groups) == ("unrecognised", [])
