"""What a plan says of saving, in seconds."""

import pytest

from speccheck.validator.evidence.plan import Checkpoint, Cluster, Recovery, Run
from speccheck.validator.evidence.value import MissingEvidence, Value
from speccheck.validator.models.save_schedule import (
    duration,
    job_mtbf_seconds,
    restart_seconds,
    run_hours,
    run_seconds,
    save_interval_seconds,
)


def _checkpoint(**leaves: float) -> Checkpoint:
    known = {name: Value(f"checkpoint.{name}", v) for name, v in leaves.items()}
    return Checkpoint(**known)


def _run(**leaves: float) -> Run:
    return Run(**{name: Value(f"run.{name}", v) for name, v in leaves.items()})


def test_steps_take_their_time() -> None:
    checkpoint = _checkpoint(interval_steps=500)
    assert save_interval_seconds(checkpoint, _run(step_seconds=4.0)) == 2000


def test_seconds_need_no_step_time() -> None:
    assert save_interval_seconds(_checkpoint(interval_seconds=900.0), _run()) == 900


def test_the_most_frequent_tier_counts() -> None:
    checkpoint = _checkpoint(interval_seconds=9000.0, local_interval_steps=100)
    assert save_interval_seconds(checkpoint, _run(step_seconds=3.0)) == 300


def test_steps_without_a_step_time_are_missing_evidence() -> None:
    with pytest.raises(MissingEvidence) as caught:
        save_interval_seconds(_checkpoint(interval_steps=500), _run())
    assert caught.value.name == "run.step_seconds"


def test_a_stated_mtbf_goes_before_the_rate() -> None:
    nodes = Value("cluster.nodes", 512)
    assert job_mtbf_seconds(Cluster(nodes=nodes), 0.004) == pytest.approx(42187.5)
    stated = Value("cluster.job_mtbf_hours", 2.0)
    assert job_mtbf_seconds(Cluster(nodes=nodes, job_mtbf_hours=stated), 0.004) == 7200


def test_the_length_of_a_run() -> None:
    assert run_seconds(_run(hours=2.0)) == 7200
    assert run_hours(_run(steps=900, step_seconds=4.0)) == 1
    assert run_hours(_run(steps=900)) is None


def test_unknown_phases_of_a_restart_count_nothing() -> None:
    detect = Value("recovery.detect_seconds", 30.0)
    load = Value("recovery.load_seconds", 45.0)
    assert restart_seconds(Recovery(detect_seconds=detect, load_seconds=load)) == 75
    assert restart_seconds(Recovery()) == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (45, "45 s"),
        (90, "90 s"),
        (2400, "40 min"),
        (3600, "1 h"),
        (86400, "24 h"),
        (259200, "3 d"),
    ],
)
def test_durations_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
