"""The dictionary of metrics: sound, complete, and sure only where a name is."""

from pathlib import Path

import pytest
import yaml

from compile_metrics import compile_metrics
from speccheck.validator.catalogue.files import CATALOGUES
from speccheck.validator.catalogue.metrics import metric_dictionary, metric_names

FOLDER = Path(CATALOGUES, "metrics")
NOBODY: frozenset[str] = frozenset()
OURS = {"run.failure_injected", "run.node_replaced", "run.checkpoint_started"}


def raw(name: str) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = yaml.safe_load(
        (FOLDER / f"{name}.yaml").read_bytes()
    )
    return found


def test_every_metric_has_a_unit_an_interval_and_a_level() -> None:
    entries = metric_dictionary().entries
    assert len(entries) == 74
    for entry in entries.values():
        has_interval = entry.interval_seconds or entry.interval_steps
        is_event = entry.id.startswith("ckpt.") or entry.id == "train.global_batch"
        assert bool(has_interval) != is_event, entry.id
        assert entry.unit


def test_the_core_metrics_of_the_edition_are_in_it() -> None:
    dictionary = metric_dictionary()
    core = ("gpu.utilization", "gpu.memory.pressure", "net.internode.latency")
    for name in (*core, "train.gradient.variance"):
        entry = dictionary.entry(name)
        assert entry is not None
        assert entry.level == "must"
    stand_ins = dictionary.stand_ins("train.gradient.variance")
    assert stand_ins == ("train.grad_norm", "train.noise_scale")


def test_events_that_no_project_has_are_ours() -> None:
    events = {str(row["id"]): row for row in raw("events")["events"]}
    assert events.keys() > OURS
    assert {row["source"] for row in events.values()} == {"ours"}


@pytest.mark.parametrize(
    ("name", "metric", "scale"),
    [
        ("DCGM_FI_DEV_GPU_UTIL", "gpu.utilization", 0.01),
        ("DCGM_FI_DEV_FB_USED", "gpu.memory.used", 2**20),
        ("mfu(%)", "train.mfu", 0.01),
        ("memory/max_active(GiB)", "gpu.memory.peak", 2**30),
        ("lm loss", "train.loss", 1),
        ("tracked_stats.train_step_time", "train.step_time", 1),
        ("train_loss", "train.loss", 1),
        ("system.gpu.3.gpu", "gpu.utilization", 0.01),
    ],
)
def test_a_name_of_one_meaning_is_that_metric(
    name: str, metric: str, scale: float
) -> None:
    alias = metric_names().meaning(name, NOBODY).alias
    assert alias is not None
    assert (alias.metric, alias.scale) == (metric, scale)


def test_the_number_of_a_gpu_may_stand_in_the_name() -> None:
    assert metric_names().meaning("system.gpu.3.gpu", NOBODY).gpu == 3


@pytest.mark.parametrize(
    ("name", "candidates"),
    [
        # Several metrics, which attributes tell apart.
        ("hw.network.io", ("net.port.rx", "net.port.tx")),
        # One metric, of which no value follows from that name.
        ("tracked_stats.throughput", ("train.tokens_per_second_per_gpu",)),
        ("tracked_stats.max_memory_usage", ("gpu.memory.peak",)),
        ("DCGM_FI_DEV_POWER_VIOLATION", ("gpu.throttle.power",)),
        ("DCGM_FI_DEV_GPU_UTIL_RATIO", ("gpu.utilization",)),
        ("step_time", ("train.step_time",)),
        # Too common a name.
        ("throughput", ("train.tflops_per_gpu",)),
        ("my_own_number", ()),
    ],
)
def test_a_name_that_is_not_sure_is_a_candidate(
    name: str, candidates: tuple[str, ...]
) -> None:
    found = metric_names().meaning(name, NOBODY)
    assert found.alias is None
    assert found.candidates == candidates


def test_other_names_of_a_log_tell_what_a_common_one_means() -> None:
    names = metric_names()
    dialects = names.dialects_of(["lm loss", "throughput", "grad-norm"])
    assert dialects == {"megatron-lm"}
    alias = names.meaning("throughput", dialects).alias
    assert alias is not None
    assert alias.metric == "train.tflops_per_gpu"


def test_events_are_known_by_id_by_their_word_and_by_alias() -> None:
    names = metric_names()
    for written in ("run.eval_start", "eval_start"):
        assert names.event_id(written) == "run.eval_start"
    assert names.event_id("run_stop") == "run.stop"
    assert names.event_id("oom") == "run.oom"
    assert names.event_id("block_start") is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "loss"}, "words and dots"),
        ({"kind": "sum"}, "no such kind"),
        ({"level": "will"}, "no such level"),
        ({"interval": {}}, "interval"),
        ({"colour": "red"}, "unknown fields: colour"),
        ({"aliases": [{"name": "x", "dialect": "none"}]}, "no dialect none"),
        ({"aliases": [{"name": "x", "dialect": "d", "unit": "ms"}]}, "needs a scale"),
        ({"aliases": [{"name": "x", "dialect": "d"}] * 2}, "twice in one dialect"),
    ],
)
def test_a_malformed_row_is_refused(change: dict[str, object], message: str) -> None:
    row: dict[str, object] = {
        "id": "a.b",
        "unit": "s",
        "kind": "gauge",
        "group": "training",
        "level": "may",
        "interval": {"seconds": 1},
        "means": "X",
        "aliases": [],
        **change,
    }
    dialects = {"dialects": [{"id": "d", "source": "s", "confidence": "verified"}]}
    with pytest.raises(ValueError, match=message):
        compile_metrics(dialects, [row], {"events": []})


def test_a_metric_that_is_tabulated_twice_is_refused() -> None:
    rows = raw("training")["metrics"]
    dialects = raw("dialects")
    with pytest.raises(ValueError, match=r"train\.loss: tabulated twice"):
        compile_metrics(dialects, [rows[0], rows[0]], {"events": []})
