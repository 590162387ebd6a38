"""Ways by which a variable reaches a training: each is read, or leaves it open."""

from pathlib import Path

import pytest

from speccheck.validator.engine.request import Request
from speccheck.validator.run.run import run

_NAME = "TORCH_NCCL_ASYNC_ERROR_HANDLING"
_SETTING = f"{_NAME}=0"
_EXPORT = f"export {_SETTING}\n"
_TRAINING = "torchrun --nproc_per_node 8 --nnodes 2 --rdzv_endpoint h:1 train.py"
_HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n"
_LAUNCH = f"srun {_TRAINING}\n"
_RUN = f"#!/bin/bash\n{_EXPORT}{_TRAINING}\n"
_POD = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: nvcr.io/nvidia/pytorch:24.07-py3
          command: [torchrun, --nproc_per_node=8, --nnodes=2, --rdzv_endpoint=h:1, train.py]
          envFrom:
            - {SOURCE}
          resources: {limits: {nvidia.com/gpu: 8}}
"""  # noqa: E501 - as people write it
_MAP = f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: nccl}}
data:
  {_SETTING.replace("=", ': "')}"
"""


def job(body: str, launch: str = _LAUNCH) -> str:
    """Return a batch script with these lines before its launch."""
    return f"{_HEAD}{body}\n{launch}"


def pod(source: str) -> str:
    """Return a Job whose container takes its variables from there."""
    return _POD.replace("{SOURCE}", source)


ENV, SH, DOTENV = {"env.sh": _EXPORT}, {"r.sh": _RUN}, {".env": f"{_SETTING}\n"}
MAP_REF = "configMapRef: {name: nccl}"

# Name of the channel: the file that is given, what it holds, and what lies beside it.
READ: dict[str, tuple[str, dict[str, str]]] = {
    "source": (job("source env.sh"), ENV),
    "dot": (job(". ./env.sh"), ENV),
    "source beside the script": (job('. "$(dirname "$0")/env.sh"'), ENV),
    "source beside the script, by bash": (
        job('source "${BASH_SOURCE[0]%/*}/env.sh"'),
        ENV,
    ),
    "source by a variable": (
        job(
            'HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\n'
            'source "$HERE/env.sh"'
        ),
        ENV,
    ),
    "source from the working folder": (job('source "$PWD/env.sh"'), ENV),
    "source within a sourced file": (
        job("source first.sh"),
        {"first.sh": "source env.sh\n", **ENV},
    ),
    "source if it is there": (job("[ -f env.sh ] && source env.sh"), ENV),
    "allexport": (job("set -a; source .env; set +a"), DOTENV),
    "export of a file": (job("export $(grep -v '^#' .env | xargs)"), DOTENV),
    "export of a file by cat": (job("export $(cat .env | xargs)"), DOTENV),
    "export of a file in backticks": (job("export `cat .env`"), DOTENV),
    "eval of a file": (job('eval "$(cat env.sh)"'), ENV),
    "source of what is printed": (job(f"source <(echo export {_SETTING})"), {}),
    "source of a file that is filtered": (job("source <(grep NCCL env.sh)"), ENV),
    "directive": (_HEAD + f"#SBATCH --export=ALL,{_SETTING}\n" + _LAUNCH, {}),
    "directive with a file": (
        _HEAD + "#SBATCH --export-file=vars\n" + _LAUNCH,
        {"vars": f"{_SETTING}\n"},
    ),
    "docker, file": (
        job("", f"srun docker run --env-file .env image {_TRAINING}\n"),
        DOTENV,
    ),
    "singularity": (
        job("", f"srun singularity exec --nv --env {_SETTING} i.sif {_TRAINING}\n"),
        {},
    ),
    "apptainer": (
        job("", f"srun apptainer exec --nv --env {_SETTING} i.sif {_TRAINING}\n"),
        {},
    ),
    "apptainer, prefix": (
        job(
            f"export APPTAINERENV_{_SETTING}",
            f"srun apptainer exec i.sif {_TRAINING}\n",
        ),
        {},
    ),
    "singularity, prefix": (
        job(
            f"export SINGULARITYENV_{_SETTING}",
            f"srun singularity exec i.sif {_TRAINING}\n",
        ),
        {},
    ),
    "enroot": (job("", f"srun enroot start -e {_SETTING} image {_TRAINING}\n"), {}),
    "called": (job("", "srun bash r.sh\n"), SH),
    "called by its path": (job("", "srun ./r.sh\n"), SH),
    "called within a shell": (job("", "srun bash -c './r.sh'\n"), SH),
    "written, then run": (
        job(f"cat > r.sh <<'EOF'\n{_RUN}EOF", "srun bash r.sh\n"),
        {},
    ),
    "written by tee, then sourced": (
        job(f"tee env.sh <<'EOF'\n{_EXPORT}EOF\nsource env.sh"),
        {},
    ),
    "list of Open MPI": (
        job(
            "", f'mpirun --mca mca_base_env_list "{_SETTING};A=1" -np 16 {_TRAINING}\n'
        ),
        {},
    ),
    "sudo": (job("", f"srun sudo -E {_SETTING} {_TRAINING}\n"), {}),
    "flux": ("#!/bin/bash\n" + f"flux run -N2 --env={_SETTING} {_TRAINING}\n", {}),
    "file of DeepSpeed": (
        job("", "deepspeed --hostfile h --num_gpus 8 --num_nodes 2 train.py\n"),
        {".deepspeed_env": f"{_SETTING}\n"},
    ),
    "env": (job("", f"srun env {_SETTING} {_TRAINING}\n"), {}),
    "env of a file": (job("", f"srun env $(cat .env | xargs) {_TRAINING}\n"), DOTENV),
    "srun": (job("", f"srun --export=ALL,{_SETTING} {_TRAINING}\n"), {}),
    "mpirun": (job("", f"mpirun -x {_SETTING} -np 16 {_TRAINING}\n"), {}),
    "docker": (job("", f"srun docker run -e {_SETTING} image {_TRAINING}\n"), {}),
    "declare": (job(f"declare -x {_SETTING}"), {}),
    "quoted by its number": (
        job("export TORCH_NCCL_ASYNC_ERROR_HANDLING=$'\\x30'"),
        {},
    ),
    "env of one text": (job("", f"srun env -S '{_SETTING} {_TRAINING}'\n"), {}),
    "genv": (job("", f"mpiexec -genv {_NAME} 0 -n 16 {_TRAINING}\n"), {}),
    "ssh": (job("", f"ssh node1 '{_SETTING} {_TRAINING}'\n"), {}),
    "ssh, words": (job("", f"ssh -p 22 node1 {_SETTING} {_TRAINING}\n"), {}),
    "ssh, words of each host": (
        job("", f"for h in a b; do ssh -n $h {_SETTING} {_TRAINING} & done; wait\n"),
        {},
    ),
    "ssh, env": (job("", f"ssh node1 env {_SETTING} {_TRAINING}\n"), {}),
    "ssh, its own here-document": (
        job("", f"ssh node1 <<'EOF'\n{_EXPORT}{_TRAINING}\nEOF\n"),
        {},
    ),
    "pdsh, words": (job("", f"pdsh -w n[1-2] {_SETTING} {_TRAINING}\n"), {}),
    "ssh of a here-document": (
        job("", f"ssh node1 bash -s <<'EOF'\n{_EXPORT}{_TRAINING}\nEOF\n"),
        {},
    ),
    "pdsh": (job("", f"pdsh -w n[1-2] '{_EXPORT.strip()}; {_TRAINING}'\n"), {}),
    "shell": (job("", f"srun bash -c '{_EXPORT.strip()}; {_TRAINING}'\n"), {}),
    "loop": (job(f"for value in 0; do export {_NAME}=$value; done"), {}),
    "arithmetic": (job(f"export {_NAME}=$((1 - 1))"), {}),
    "carriage returns": (job(_EXPORT).replace("\n", "\r\n"), {}),
    "array": (job(f"V=(1 0)\nexport {_NAME}=${{V[1]}}"), {}),
    "arguments": (job(f"set -- 0\nexport {_NAME}=$1"), {}),
    "function": (job(f"setup() {{ {_EXPORT}}}\nsetup"), {}),
    "default": (job(f": ${{{_NAME}:=0}}\nexport {_NAME}"), {}),
    "ConfigMap of the file": (pod(MAP_REF) + "---\n" + _MAP, {}),
    "ConfigMap of the folder": (pod(MAP_REF), {"map.yaml": _MAP}),
}
# How launch scripts read their own arguments; without any, FILE stays empty.
_ARGUMENTS = """FILE=""
while [[ $# -gt 0 ]]; do
  case $1 in
    --file) FILE="$2"; shift 2 ;;
    *) echo "unknown option: $1"; exit 1 ;;
  esac
done
"""
OPEN: dict[str, tuple[str, str]] = {
    "source an argument, in if": (
        job(_ARGUMENTS + 'if [ -n "$FILE" ]; then source "$FILE"; fi'),
        "$FILE, which job.sbatch sources, is not here",
    ),
    "source an argument, behind a check": (
        job(
            _ARGUMENTS
            + 'if [ -n "$FILE" ]; then\n  if [ ! -f "$FILE" ]; then echo no\n'
            '  else source "$FILE"\n  fi\nfi'
        ),
        "$FILE, which job.sbatch sources, is not here",
    ),
    "source an argument, after &&": (
        job(_ARGUMENTS + '[[ -n "$FILE" ]] && . "$FILE"'),
        "$FILE, which job.sbatch sources, is not here",
    ),
    "source": (job("source env.sh"), "env.sh, which job.sbatch sources, is not here"),
    "source, where a fallback skips it": (
        job('if [ "${DEBUG:-0}" = 1 ]; then source debug.sh; fi'),
        "debug.sh, which job.sbatch sources, is not here",
    ),
    "source, where a case of a fallback skips it": (
        job('case "${SITE:-none}" in\n  a) source a.sh ;;\nesac'),
        "a.sh, which job.sbatch sources, is not here",
    ),
    "source, after a test of a fallback": (
        job('[ "${DEBUG:-0}" = 1 ] && source debug.sh'),
        "debug.sh, which job.sbatch sources, is not here",
    ),
    "source of another folder": (
        job("source $HOME/env.sh"),
        "$HOME/env.sh, which job.sbatch sources, is not here",
    ),
    "source of another machine": (
        job("source /opt/site/env.sh"),
        "/opt/site/env.sh, which job.sbatch sources, is not here",
    ),
    "module": (
        job("module load nccl/2.19"),
        "module load nccl/2.19 in job.sbatch changes the environment",
    ),
    "ml": (job("ml nccl"), "ml nccl in job.sbatch changes the environment"),
    "eval": (
        job('eval "$(site-env --shell bash)"'),
        "what `site-env --shell bash` prints, which job.sbatch takes in",
    ),
    "eval of an argument, in a loop over them": (
        job(_ARGUMENTS.replace('FILE="$2"', 'eval "$2"')),
        "$2, which job.sbatch evaluates, is not known",
    ),
    "export of an argument, in a loop over them": (
        job(_ARGUMENTS.replace('FILE="$2"', 'export "$2"')),
        "export $2 in job.sbatch sets more",
    ),
    "source an argument, in a loop over them": (
        job(_ARGUMENTS.replace('FILE="$2"', 'source "$2"')),
        "$2, which job.sbatch sources, is not here",
    ),
    "export": (
        job("export $(grep -v '^#' .env | xargs)"),
        "export $(grep -v '^#' .env | xargs) in job.sbatch sets more",
    ),
    "printed": (
        job("source <(make-env)"),
        "what `make-env` prints, which job.sbatch takes in",
    ),
    "directive": (
        _HEAD + "#SBATCH --export-file=vars\n" + _LAUNCH,
        "vars, which job.sbatch gives the job, is not here",
    ),
    "docker": (
        job("", f"docker run --env-file prod.env image {_TRAINING}\n"),
        "prod.env, which docker takes by --env-file, is not here",
    ),
    "called": (
        job("", "srun bash r.sh\n"),
        "r.sh, which job.sbatch starts, was not read",
    ),
    "Secret": (
        pod("secretRef: {name: keys}"),
        "Secret keys, which the container takes in, is not read",
    ),
    "ConfigMap": (
        pod(MAP_REF),
        "ConfigMap nccl, which the container takes in, is not here",
    ),
    "script of a container": (
        pod(MAP_REF).replace(
            "[torchrun, --nproc_per_node=8, --nnodes=2, --rdzv_endpoint=h:1, train.py]",
            f"[bash, -c, 'source /env.sh; {_TRAINING}']",
        )
        + "---\n"
        + _MAP.replace("TORCH_NCCL_ASYNC_ERROR_HANDLING", "A"),
        "/env.sh, which job.yaml sources, is not here",
    ),
}
_SWITCH = """OFF=false VALUE=1
for argument in "$@"; do
  case $argument in
    --off*) SET ;;
  esac
done
"""
UNDECIDED = {
    "case": f"case $HOSTNAME in a*) {_EXPORT.strip()};; esac",
    "test": f'[ "$SITE" = a ] || {_EXPORT.strip()}',
    "test of an argument": f'if [ "$1" = off ]; then {_EXPORT.strip()}; fi',
    "switch of an argument": _SWITCH.replace("SET", "OFF=true")
    + f"if $OFF; then {_EXPORT.strip()}; fi",
    "value by an argument": _SWITCH.replace("SET", 'VALUE="${argument#*=}"')
    + f"export {_NAME}=$VALUE",
    **{
        f"loop over arguments: {loop}": f"{loop}; do\n  case {subject} in\n"
        f"    {option}) {_EXPORT.strip()}; shift ;;\n    *) shift ;;\n  esac\ndone"
        for loop, subject, option in (
            ("while [[ $# -gt 0 ]]", "$1", "--off"),
            ("while [ $# -gt 0 ]", "$1", "--off"),
            ("while test $# -gt 0", "$1", "--off"),
            ("while (( $# ))", "$1", "--off"),
            ("while (( $# > 0 ))", "$1", "--off"),
            ('while [ -n "$1" ]', "$1", "--off"),
            ('while [ "$1" != "" ]', "$1", "--off"),
            ('until [ -z "$1" ]', "$1", "--off"),
            ("while :", "$1", "--off"),
            ('for argument in "$@"', "$argument", "--off"),
            ("for argument", "$argument", "--off"),
            ('while getopts "oh" option', "$option", "o"),
        )
    },
}
LOGIN = (
    "source ~/.bashrc",
    "source /etc/profile.d/modules.sh",
    "source $HOME/venv/bin/activate",
    "source /opt/conda/etc/profile.d/conda.sh; conda activate train",
    'eval "$(conda shell.bash hook)"',
    "source activate train",
    "module purge",
)


def outcomes(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Return what is said of error handling and of removed variables."""
    result: dict[str, list[tuple[str, str]]] = {"FT-003": [], "COMM-004": []}
    for plan in run(Request((str(path),))).plans:
        for located in plan.findings:
            finding = located.finding
            if finding.clause in result:
                result[finding.clause].append((finding.outcome, finding.message))
    return result


def lay(folder: Path, text: str, beside: dict[str, str]) -> Path:
    """Write a file and those beside it, in a repository."""
    (folder / ".git").mkdir()
    for name, content in beside.items():
        (folder / name).write_text(content, "utf-8")
    given = folder / ("job.yaml" if text.startswith("apiVersion") else "job.sbatch")
    given.write_text(text, "utf-8")
    return given


@pytest.mark.parametrize("way", READ)
def test_what_is_here_is_read(way: str, tmp_path: Path) -> None:
    """A file given alone, and its folder: error handling that is off is seen."""
    text, beside = READ[way]
    given = lay(tmp_path, text, beside)
    for path in (given, tmp_path):
        judged = [outcome for outcome, _ in outcomes(path)["FT-003"]]
        assert "fail" in judged, path
        assert "pass" not in judged, path


@pytest.mark.parametrize("way", OPEN)
def test_what_is_not_here_leaves_both_open(way: str, tmp_path: Path) -> None:
    """Nothing passes because a variable is not set; the reason says why."""
    text, reason = OPEN[way]
    given = lay(tmp_path, text, {})
    expected = [("unknown", reason)]
    assert outcomes(given) == {"FT-003": expected, "COMM-004": expected}


@pytest.mark.parametrize("way", UNDECIDED)
def test_what_the_job_decides_is_no_pass(way: str, tmp_path: Path) -> None:
    """A branch that the text does not decide."""
    given = lay(tmp_path, job(UNDECIDED[way]), {})
    assert [outcome for outcome, _ in outcomes(given)["FT-003"]] == ["unknown"]


@pytest.mark.parametrize("line", LOGIN)
def test_activations_leave_nothing_open(line: str, tmp_path: Path) -> None:
    """What a login reads anyway, and what sets PATH alone, is no reason to doubt."""
    given = lay(tmp_path, job(line), {})
    assert outcomes(given)["FT-003"] == [("pass", "")]


def test_a_failure_by_what_is_set_stands(tmp_path: Path) -> None:
    """What was seen to be wrong is wrong, whatever else is set."""
    given = lay(tmp_path, job(f"module load nccl\n{_EXPORT}"), {})
    assert [outcome for outcome, _ in outcomes(given)["FT-003"]] == ["fail"]


def test_nothing_outside_the_repository_is_read(tmp_path: Path) -> None:
    """A file above the repository counts as one that is not here."""
    (tmp_path / "env.sh").write_text(_EXPORT, "utf-8")
    (tmp_path / "link").mkdir()
    inside = tmp_path / "repository"
    inside.mkdir()
    given = lay(inside, job("source ../env.sh"), {})
    reason = "../env.sh, which job.sbatch sources, is not here"
    assert outcomes(given)["FT-003"] == [("unknown", reason)]
    (inside / "env.sh").symlink_to(tmp_path / "env.sh")
    given.write_text(job("source env.sh"), "utf-8")
    reason = "env.sh, which job.sbatch sources, is not here"
    assert outcomes(given)["FT-003"] == [("unknown", reason)]
