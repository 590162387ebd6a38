"""Slurm batch scripts."""

import pytest

from corpus import corpus_folder, needs_corpus
from script_text import ReadScript, format_of, read_by_all, read_script
from speccheck.validator.evidence.key_forms import FORMS
from speccheck.validator.sources.formats.slurm import (
    READER,
    gpu_counts,
    gres_counts,
    wall_time_seconds,
)
from speccheck.validator.sources.reader import Source

TRAINING = """\
#!/bin/bash
#SBATCH --job-name=pt-30b
#SBATCH --nodes=64
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=112
#SBATCH --time=7-00:00:00
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --signal=B:USR1@300

srun --kill-on-bad-exit=1 torchrun --nnodes=64 --nproc-per-node=8 pretrain.py
"""


def read(text: str) -> ReadScript:
    return read_script(READER, text)


def batch(*lines: str, command: str = "srun python train.py") -> ReadScript:
    """Return a batch script of these options, one a line, and a command."""
    head = "".join(f"#SBATCH {line}\n" for line in lines)
    return read(f"#!/bin/bash\n{head}{command}\n")


def test_states_what_the_job_asks_for() -> None:
    script = read(TRAINING)
    assert script.values("stated", "derived", "default") == {
        "cluster.nodes": 64,
        "cluster.gpus_per_node": 8,
        "recovery.tasks_per_node": 1,
        "recovery.walltime_seconds": 604_800.0,
        "recovery.requeue": True,
        "recovery.exit_before_walltime": True,
        "cluster.placement_requested": False,
    }
    assert script.line("cluster.nodes") == 3
    assert script.line("recovery.walltime_seconds") == 7


@pytest.mark.parametrize(
    ("lines", "leaf", "value"),
    [
        (["-N 4"], "cluster.nodes", 4),
        (["-N4"], "cluster.nodes", 4),
        (["-N 4 -t 10"], "recovery.walltime_seconds", 600.0),
        (['--nodes="4"'], "cluster.nodes", 4),
        (["--nodes=4-4"], "cluster.nodes", 4),
        (["--nodes=2", "--nodes=4"], "cluster.nodes", 4),
        (["--ntasks=32", "--ntasks-per-node=8"], "cluster.nodes", 4),
        (["-n 32", "-N 4"], "recovery.tasks_per_node", 8),
        (["-n 30", "-N 4"], "recovery.tasks_per_node", None),
        (["-N 4", "--ntasks-per-node=8*"], "recovery.tasks_per_node", 8),
        (["-N 4"], "recovery.tasks_per_node", 1),
        (["--gres=gpu:8"], "cluster.gpus_per_node", 8),
        (["--gres=gpu:h100:8"], "cluster.gpus_per_node", 8),
        (["--gres=nvme:1,gpu:a100:4(S:0-1)"], "cluster.gpus_per_node", 4),
        (["--gres=gpu"], "cluster.gpus_per_node", 1),
        (["--gres=gpu:h100"], "cluster.gpus_per_node", 1),
        (["--gres=gpu:a100:2,gpu:v100:2"], "cluster.gpus_per_node", 4),
        (["--gres=fpga:2"], "cluster.gpus_per_node", None),
        (["--gpus-per-node=a100:4"], "cluster.gpus_per_node", 4),
        (["-G 32"], "cluster.world_size", 32),
        (["--gpus=h100:16"], "cluster.world_size", 16),
        (["-N 4", "-n 4", "--gpus-per-task=8"], "cluster.gpus_per_node", 8),
        (
            ["-N 4", "--ntasks-per-node=8", "--gpus-per-task=1"],
            "cluster.gpus_per_node",
            8,
        ),
        (["-n 30", "-N 4", "--gpus-per-task=1"], "cluster.gpus_per_node", None),
        (["-n 32", "--gpus-per-task=1"], "cluster.world_size", 32),
        (["-n 32", "-N 4", "--gpus-per-task=1"], "cluster.world_size", None),
        (["--requeue", "--no-requeue"], "recovery.requeue", False),
        (["--nodes=4"], "recovery.requeue", None),
        (["--time=0"], "recovery.walltime_seconds", None),
        (["--time=UNLIMITED"], "recovery.walltime_seconds", None),
    ],
)
def test_options_in_all_their_forms(lines: list[str], leaf: str, value: object) -> None:
    assert batch(*lines).value(leaf) == value


def test_a_range_of_nodes_is_the_choice_of_the_scheduler() -> None:
    script = batch("--nodes=2-4", "--gpus-per-node=8")
    assert script.note("cluster.nodes") == "2-4 nodes: as many as Slurm can grant"
    assert script.value("recovery.minimum_nodes") == 2
    assert script.value("recovery.maximum_nodes") == 4


def test_what_cannot_be_read_is_said() -> None:
    script = batch("--nodes=$NODES", "--gpus-per-node={{ gpus }}")
    assert script.note("cluster.nodes") == "'$NODES' is no number of nodes"
    assert script.status("cluster.gpus_per_node") == "unknown"
    script = batch("--nodes=4")
    assert script.note("recovery.requeue").endswith("slurm.conf decides")


def test_the_type_of_a_gres_names_the_gpu() -> None:
    script = batch("--gres=gpu:h100:8")
    assert script.value("cluster.accelerator_family") == "nvidia"
    assert script.value("cluster.compute_capability") == (9, 0)
    for name in ("gpu:big:8", "gpu:1g.10gb:2", "gpu:a100:2,gpu:v100:2"):
        script = batch(f"--gres={name}")
        assert script.status("cluster.accelerator_family") is None, name
        assert script.status("cluster.gpus_per_node") == "stated", name


def test_components_of_a_heterogeneous_job_are_no_conflict() -> None:
    script = batch("--nodes=1 --gpus-per-node=1", "hetjob", "--nodes=16")
    assert script.note("cluster.nodes") == "the job has several components"
    assert script.status("cluster.nodes") == "unknown"


def test_the_training_step_counts_before_the_job() -> None:
    options = ("-N 4", "--ntasks-per-node=8", "--gpus-per-node=8")
    command = (
        "srun --nodes=1 --ntasks=1 hostname\n"
        "srun -N 2 --ntasks-per-node=1 torchrun --nnodes=2 train.py"
    )
    script = batch(*options, command=command)
    assert script.value("recovery.tasks_per_node") == 1
    assert script.value("cluster.nodes") == 2
    command = "srun --nodes=64 --ntasks-per-node=8 --gpus-per-node=8 python train.py"
    script = batch("-J gpt", command=command)
    assert script.value("cluster.nodes") == 64
    assert script.value("recovery.tasks_per_node") == 8
    assert script.line("cluster.nodes") == 3


def test_a_step_on_one_of_the_hosts_says_how_many_tasks_it_has() -> None:
    options = ("--nodes 2", "--ntasks=4")
    command = (
        'for host in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do\n'
        "  srun --nodes=1 --ntasks=1 --gres=gpu:4 --nodelist=$host \\\n"
        "    torchrun --nnodes $SLURM_NNODES --nproc_per_node 4 train.py &\n"
        "done\nwait"
    )
    script = batch(*options, command=command)
    assert script.value("recovery.tasks_per_node") == 1
    assert script.value("cluster.nodes") == 2
    plain = batch(*options, command=command.replace(" --ntasks=1", ""))
    assert plain.value("recovery.tasks_per_node") == 2


def test_a_job_with_a_host_of_its_own_for_generation_trains_on_the_others() -> None:
    command = (
        "TRAINS=$((SLURM_NNODES - 1))\n"
        'srun --nodes=$TRAINS --ntasks=$TRAINS --nodelist="$HOSTS" '
        "torchrun --nnodes $TRAINS --nproc_per_node 8 train.py &\n"
        'srun --nodes=1 --ntasks=1 --nodelist="$LAST" vllm serve model &\nwait'
    )
    script = batch("--nodes=9", "--ntasks-per-node 1", command=command)
    assert script.value("cluster.nodes") == 8
    assert script.value("recovery.tasks_per_node") == 1


def test_a_script_whose_srun_alone_says_what_it_asks_for() -> None:
    text = "srun -N 64 --ntasks-per-node=8 --gpus-per-node=8 python pretrain.py\n"
    script = read_by_all(text)
    assert format_of(text) == "slurm"
    assert script.value("cluster.nodes") == 64
    assert script.value("cluster.gpus_per_node") == 8
    assert script.status("recovery.requeue") is None
    assert format_of("srun -N 1 hostname\n") is None


def test_a_launcher_outside_srun_runs_once() -> None:
    options = ("-N 1", "--ntasks-per-node=8", "--gres=gpu:8")
    script = batch(*options, command="torchrun --nproc_per_node 8 train.py")
    assert script.value("recovery.tasks_per_node") == 1
    script = batch(*options, command='srun bash -c "torchrun --nproc_per_node 8 t.py"')
    assert script.value("recovery.tasks_per_node") == 8
    script = batch(*options, command="bash run.sh")
    assert script.status("recovery.tasks_per_node") is None


def test_variables_of_the_allocation_reach_the_launcher() -> None:
    script = read_by_all(
        "#SBATCH --nodes=4\n#SBATCH --gres=gpu:8\n"
        "srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=$SLURM_GPUS_ON_NODE "
        "train.py\n"
    )
    assert script.value("cluster.nodes") == 4
    assert script.value("cluster.gpus_per_node") == 8
    assert script.value("recovery.processes_per_node") == 8


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5_400.0),
        ("30:00", 1_800.0),
        ("72:00:00", 259_200.0),
        ("2-0", 172_800.0),
        ("1-12:30", 131_400.0),
        ("7-00:00:00", 604_800.0),
        ("0", None),
        ("INFINITE", None),
        ("$TIME", None),
        ("1-", None),
    ],
)
def test_wall_times(text: str, seconds: float | None) -> None:
    assert wall_time_seconds(text) == seconds


def test_requests_for_gpus() -> None:
    assert gpu_counts("8") == [("", 8)]
    assert gpu_counts("a100:4,h100:4") == [("a100", 4), ("h100", 4)]
    assert gpu_counts("$N") == [("", None)]
    assert gres_counts("nvme:1") == []
    assert gres_counts("gres/gpu:h100:8") == [("h100", 8)]


@pytest.mark.parametrize(
    ("feature", "capability", "gigabytes"),
    [
        ("a100_80gb", (8, 0), 86),
        ('"h100&80gb"', (9, 0), 86),
        ("gpu-a100*4", (8, 0), None),
        ("ib&v100-32g", (7, 0), 34),
        ("a100|h100", None, None),  # either will do
        ("gpu&hbm80g", None, None),  # names of a site
        ("$GPU", None, None),
    ],
)
def test_a_feature_that_names_a_gpu(
    feature: str, capability: tuple[int, int] | None, gigabytes: int | None
) -> None:
    known = batch("--gpus-per-node=4", f"--constraint={feature}").values("derived")
    assert known.get("cluster.compute_capability") == capability
    memory = known.get("cluster.accelerator_memory_bytes")
    assert memory is None or isinstance(memory, int)
    assert (None if memory is None else round(memory / 1e9)) == gigabytes


@pytest.mark.parametrize(
    "text",
    [
        "#SBATCH --gres=gpu:1\npython train.py\n",
        "#SBATCH -N 4\nsrun python train.py\n",
        "#SBATCH -N 4\nsrun --container-image=x.sqsh bash train.sh\n",
        "#SBATCH -p gpu\npython train.py\n",
        "#SBATCH -N 1\naccelerate launch train.py\n",
        "#SBATCH -N 2 --constraint=a100\nbash train.sh\n",
    ],
)
def test_jobs_that_may_train(text: str) -> None:
    assert format_of(f"#!/bin/bash\n{text}") in {"slurm", "torchrun"}


@pytest.mark.parametrize(
    "text",
    [
        "#SBATCH -n 64 -t 12:00:00\nmpirun ./solver -in case.in\n",
        "#SBATCH --cpus-per-task=64\npython tools/preprocess_data.py --workers 64\n",
        "#SBATCH -N 1\nrsync -av /a /b\n",
        "##SBATCH --gres=gpu:8\npython plot_training.py\n",
    ],
)
def test_other_jobs(text: str) -> None:
    assert format_of(f"#!/bin/bash\n{text}") is None


@needs_corpus
def test_published_scripts_state_their_nodes() -> None:
    paths = [
        path
        for path in sorted(corpus_folder("cases").rglob("*"))
        if path.suffix in {".sbatch", ".slurm"}
    ]
    assert len(paths) == 13
    for path in paths:
        source = Source("job", path.read_text(encoding="utf-8"))
        assert READER.detect(source) >= 0.6, path
        facts = {fact.name: fact.value for fact in READER.read(source).facts.facts}
        assert isinstance(facts["cluster.nodes"], int), path


@pytest.mark.parametrize(
    ("command", "leaf", "value"),
    [
        ("salloc --nodes 4 --gpus-per-node 8 srun python train.py", "nodes", 4),
        ("salloc -N4 --gres=gpu:h100:8 bash train.sh", "gpus_per_node", 8),
        ("nohup salloc -N 2 -G 16 bash train.sh", "world_size", 16),
        ("srun -N 4 --gpus-per-node=8 python train.py", "gpus_per_node", 8),
        ("srun -N 4 -G 32 python train.py", "world_size", 32),
        ("sbatch --nodes=8 jobs/train.sbatch", "nodes", 8),
        ("salloc -N $NODES srun python train.py", "nodes", None),
        ("echo salloc -N 4 python train.py", "nodes", None),
    ],
)
def test_allocations_on_the_command_line(
    command: str, leaf: str, value: object
) -> None:
    assert read(f"{command}\n").value(f"cluster.{leaf}") == value


def test_salloc_sizes_the_job_and_srun_its_step() -> None:
    script = read(
        "salloc -N 4 --gpus-per-node=8 -t 2:00:00 --requeue \\\n"
        "  srun --ntasks-per-node=8 python train.py\n"
    )
    assert script.values("stated") == {
        "cluster.nodes": 4,
        "cluster.gpus_per_node": 8,
        "recovery.tasks_per_node": 8,
        "recovery.walltime_seconds": 7200.0,
        "recovery.requeue": True,
    }
    assert script.line("cluster.nodes") == 1
    assert script.line("recovery.tasks_per_node") == 2


def test_sbatch_on_the_command_line_wins_over_the_batch_script() -> None:
    script = read("sbatch --nodes=8 --time=60 jobs/train.sbatch\n")
    (named,) = script.reading.references
    assert named.target == "jobs/train.sbatch"
    assert named.replaces == ("cluster.nodes", "recovery.walltime_seconds")


def test_several_submissions_share_what_is_alike() -> None:
    script = read(
        "sbatch -N 2 --gpus-per-node=8 a.sbatch\n"
        "sbatch -N 4 --gpus-per-node=8 b.sbatch\n"
    )
    assert script.value("cluster.nodes") is None
    assert script.value("cluster.gpus_per_node") == 8


def test_directives_say_what_the_job_gets() -> None:
    """A batch script may submit others; they are no part of its own job."""
    text = f"{TRAINING}sbatch --nodes=2 next.sbatch\n"
    assert read(text).value("cluster.nodes") == 64


@pytest.mark.parametrize(
    ("lines", "leaf", "value"),
    [
        (["-N 4 --switches=1@60"], "placement_requested", True),
        (["-N 4"], "placement_requested", False),
        (["-N 4 --ntasks-per-node=8 -c 12"], "job_cpus_per_node", 96),
        (["-N 4 --ntasks-per-node=8 -c 12 --exclusive"], "job_cpus_per_node", None),
        (["-N 4 --ntasks-per-node=8 -c $CPUS"], "job_cpus_per_node", None),
        (["-N 4 -c 12"], "job_cpus_per_node", 12),
    ],
)
def test_placement_and_processors(lines: list[str], leaf: str, value: object) -> None:
    assert batch(*lines).value(f"cluster.{leaf}") == value


def test_a_step_alone_asks_for_no_placement() -> None:
    script = read("srun -N 4 python train.py\n")
    assert "cluster.placement_requested" not in script.leaves


def keyed(*lines: str, tail: str = "srun python train.py") -> dict[str, object]:
    """Return the options that the rules on configuration hygiene see."""
    text = "".join(f"{line}\n" for line in ("#!/bin/bash", *lines, tail))
    found = READER.read(Source("job.sbatch", text)).keyed
    return {} if found is None else {str(key.path[0]): key.value for key in found.keys}


def test_options_of_a_job_are_keys_by_their_long_names() -> None:
    found = keyed("#SBATCH -N 4 --mem=100G --exclusive", "#SBATCH --requeue yes")
    assert found == {
        "--nodes": "4",
        "--mem": "100G",
        "--exclusive": True,
        "--requeue": True,
    }


def test_a_beginning_of_an_option_stands_for_it() -> None:
    assert keyed("#SBATCH --cpus-per-t=8", "#SBATCH --ntasks-per=8") == {
        "--cpus-per-task": "8",
        "--ntasks-per": "8",  # of several
    }


def test_the_last_of_equal_options_counts() -> None:
    assert keyed("#SBATCH --nodes=4", "#SBATCH -N2") == {"--nodes": "2"}


def test_words_of_no_option_belong_to_the_one_before() -> None:
    assert keyed("#SBATCH --time 10 minutes # not more") == {"--time": "10 minutes"}


@pytest.mark.parametrize("text", ["{LIMIT}", "<hours>", "__TIME__", "TIME_LIMIT"])
def test_what_another_tool_fills_in_is_not_sure(text: str) -> None:
    found = READER.read(Source("a.sh", f"#!/bin/bash\n#SBATCH -t {text}\n")).keyed
    assert found is not None
    assert [key.is_sure for key in found.keys] == [False]


def test_components_of_a_job_have_options_of_their_own() -> None:
    assert keyed("#SBATCH --nodes=4", "#SBATCH hetjob", "#SBATCH --mem=1G") == {}


def not_read(*lines: str) -> list[tuple[str, int]]:
    """Name and line of what looks like an option and is none."""
    text = "".join(f"{line}\n" for line in ("#!/bin/bash", "#SBATCH -N 4", *lines))
    found = READER.read(Source("job.sbatch", text)).keyed
    assert found is not None
    spans = [(key.place.key, key.place.span) for key, _ in found.not_read]
    return [(name, span.line if span else 0) for name, span in spans]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["# SBATCH --time=10"], [("--time", 3)]),
        (["# SBATCH -N 8"], []),  # the line above counts
        (["##SBATCH --time=10", "# SBATCH lines follow"], []),
        (["#SLURM -t 10"], [("--time", 3)]),
        (["cd work", "#SBATCH --time=10"], [("--time", 4)]),
        (["cd work", "# SBATCH --time=10", "#SLURM -t 10"], []),
        (["cat > a.sh <<'EOF'", "#SBATCH --time=10", "EOF"], []),
        (["echo '", "#SBATCH --time=10", "' > a.sh"], []),
    ],
)
def test_lines_that_look_like_options(
    lines: list[str], expected: list[tuple[str, int]]
) -> None:
    assert not_read(*lines) == expected


def test_lines_of_the_old_word_are_options() -> None:
    script = read("#!/bin/bash\n#SLURM --nodes=4\nsrun python train.py\n")
    assert script.values("stated") == {"cluster.nodes": 4}


def test_a_job_of_a_container_that_its_caller_sizes() -> None:
    text = (
        "#!/bin/bash\n#SBATCH --exclusive\n"
        'srun --ntasks="$((N * DGXNGPU))" --container-image="$CONT" ./run_and_time.sh\n'
    )
    assert format_of(text, "run.sub") == "slurm"
    assert format_of(text.replace("DGXNGPU", "2"), "run.sub") != "slurm"


@pytest.mark.parametrize(
    ("form", "right", "wrong"),
    [
        (
            "slurm_nodes",
            ["4", "2-8", "0", "1k", "2,4", "-8"],
            ["four", "8-4", "2-", ""],
        ),
        ("slurm_time", ["90", "1:30", "1-", "1-12:00", "UNLIMITED"], ["1h", ":30", ""]),
        ("slurm_memory", ["0", "100G", "16gb", "4096"], ["1.5G", "16GiB", "1P", "-1"]),
        ("torchrun_nodes", ["4", "2:4", "4:4"], ["0", "0:4", "4:2", "1:2:3", "all"]),
    ],
)
def test_forms_of_launchers(form: str, right: list[str], wrong: list[str]) -> None:
    assert [text for text in right if not FORMS[form](text)] == []
    assert [text for text in wrong if FORMS[form](text)] == []
