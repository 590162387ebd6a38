"""Run logs as tables: of a trainer, of nvidia-smi, of TensorBoard."""

import pytest

from run_logs import DAY, read_log, state_of

SMI = """\
timestamp, index, name, utilization.gpu [%], memory.used [MiB], power.draw [W]
2026/05/04 08:00:00.000, 0, NVIDIA H100 80GB HBM3, 97 %, 71234 MiB, 691.20 W
2026/05/04 08:00:00.000, 1, NVIDIA H100 80GB HBM3, 98 %, 71230 MiB, [N/A]
2026/05/04 08:00:10.000, 0, NVIDIA H100 80GB HBM3, 99 %, 71234 MiB, 690.00 W
"""


def test_a_table_of_a_trainer() -> None:
    text = (
        "step,time,rank,loss,grad_norm,event\n"
        "10,2026-05-04T08:00:00Z,0,2.5,1.25,\n"
        "20,2026-05-04T08:00:42Z,0,nan,1.5,\n"
        "20,2026-05-04T08:00:43Z,3,,,run.oom\n"
    )
    found = read_log(text, "metrics.csv")
    assert found.format == "run-log-csv"
    loss = found.metric("train.loss")
    assert loss.values.value == (2.5, None)
    assert (loss.not_finite.value, loss.rank.value) == (1, 0)
    assert loss.steps.value == (10, 20)
    assert loss.times.value == (DAY, DAY + 42)
    (oom,) = found.events
    assert (oom.event.value, oom.rank.value, oom.step.value) == ("run.oom", 3, 20)
    assert (found.log.lines.value, found.log.unread_lines.value) == (3, 0)


def test_what_nvidia_smi_prints_every_ten_seconds() -> None:
    found = read_log(SMI, "gpus.csv")
    use = [item for item in found.metrics if item.metric.value == "gpu.utilization"]
    assert [(item.gpu.value, item.values.value) for item in use] == [
        (0, (0.97, 0.99)),
        (1, (0.98,)),
    ]
    used = [item for item in found.metrics if item.metric.value == "gpu.memory.used"]
    assert used[0].values.need()[0] == 71_234 * 2**20
    power = found.metric("gpu.power")
    assert (power.gpu.value, power.values.value) == (0, (691.2, 690.0))
    assert power.written.value == "power.draw"
    assert found.log.clock.value == "local"


def test_an_export_of_tensorboard_has_its_name_in_that_of_the_file() -> None:
    text = f"Wall time,Step,Value\n{DAY},10,2.5\n{DAY + 42},20,2.25\n"
    found = read_log(text, "exports/run-a-tag-train_loss.csv")
    loss = found.metric("train.loss")
    assert (loss.values.value, loss.steps.value) == ((2.5, 2.25), (10, 20))


def test_one_number_a_line() -> None:
    text = "time,node,metric,value,unit\n1777881600,n1,gpu.power,691,W\n"
    found = read_log(text, "x.csv")
    assert found.metric("gpu.power").node.value == "n1"


@pytest.mark.parametrize("separator", ["\t", ";"])
def test_other_separators(separator: str) -> None:
    text = "step,loss\n10,2.5\n20,2.25\n".replace(",", separator)
    assert read_log(text, "x.tsv").metric("train.loss").values.value == (2.5, 2.25)


def test_lines_that_do_not_fit_are_counted() -> None:
    text = "step,loss\n10,2.5\n20\n30,2.25,7\n40,2"
    found = read_log(text + "\n50", "x.csv")
    assert (found.log.lines.value, found.log.unread_lines.value) == (5, 3)
    assert found.log.is_complete.value is False
    assert found.metric("train.loss").values.value == (2.5, 2.0)


@pytest.mark.parametrize(
    "text",
    [
        "name,price\napple,3\n",
        "1,2,3\n4,5,6\n",
        "step by step, we train\nand wait\n",
        "time to go\n",
        '"' * 300_000,
    ],
)
def test_other_tables_are_no_logs(text: str) -> None:
    _, format_id = state_of(text, "x.csv")
    assert format_id == ""


def test_a_quote_that_never_ends_is_counted_and_ends() -> None:
    text = 'step,loss\n10,2.5\n20,"' + "x" * 200_000 + "\n"
    found = read_log(text, "x.csv")
    assert found.log.unread_lines.value == 1
    assert found.metric("train.loss").values.value == (2.5,)
