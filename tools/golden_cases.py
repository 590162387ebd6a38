"""The cases that golden.py runs: files, and command lines in their folder.

Names are PART/...; a part is a folder of the project's fixtures or of a corpus, or
`commands`. Reports are written to ../out, which no command judges.
"""

import base64
import gzip
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures"
EXAMPLES = FIXTURES / "examples"
NOW = 1795327200  # what the clock shows: 2026-11-22T06:00:00Z, hours after simulations
FORMS = ("html", "markdown", "json", "sarif", "junit")
ALL_FORMS = (*FORMS, "concise", "jsonl", "csv", "github", "gitlab", "azure", "rdjson")
FLEET_FORMS = ("html", "json")
Words = tuple[str, ...]
_NO_CONFIGURATIONS = (".md", ".tsv")


@dataclass(frozen=True)
class Case:
    """Files, and the command lines that are run beside them.

    Attributes:
        name: PART/...
        commands: command lines, without the name of the program.
        files: contents by their path in the folder.
        epoch: what the clock shows, seconds since 1970.
        stdin: standard input.
        fleet: how to change the snapshots of the first command before the second.

    """

    name: str
    commands: tuple[Words, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    epoch: int = NOW
    stdin: str = ""
    fleet: dict[str, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> str:
        """A digest of all that the case consists of."""
        text = repr((self.commands, self.files, self.epoch, self.stdin, self.fleet))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def preparations(self) -> int:
        """How many commands prepare the folder, and are not recorded."""
        return 1 if self.fleet else 0

    def prepare(self, folder: Path) -> None:
        """Change the snapshots that the first command wrote."""
        change_fleet(self.fleet, folder / "fleet")


@dataclass(frozen=True)
class Draft:
    """A case by its name; None comes of what no command line can say."""

    name: str
    make: Callable[[], Case | None]


def materialise(case: Case, folder: Path) -> dict[Path, bytes]:
    """Write the files of a case; returns their contents by path."""
    written = {folder / name: content for name, content in case.files.items()}
    folder.mkdir(parents=True)
    for path, content in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o600)  # as a private key must be
    return written


def judge(words: Words, forms: Words = FORMS) -> Words:
    """Return a command line that writes reports in many forms."""
    outputs = [f"--output={form}=../out/report.{form}" for form in forms]
    return (*words, "--output=text", *outputs)


def drafts() -> list[Draft]:
    """Return all cases."""
    corpus = _corpus()
    made = [*_examples(), *_commands(), *_settings(), *_simulations()]
    for part, folder in (("rules", FIXTURES / "rules"), ("traps", FIXTURES / "traps")):
        for path in sorted(folder.rglob("*.yaml")):
            name = path.relative_to(FIXTURES).with_suffix("")
            made.append(Draft(str(name), partial(_fixture, str(name), part, path)))
    return made + ([*_of_corpus(corpus)] if corpus.is_dir() else [])


def _corpus() -> Path:
    """Return where published files lie: beside the checkout, or beside a worktree's."""
    given = os.environ.get("SPECCHECK_CORPUS")
    if given:
        return Path(given)
    words = ["git", "-C", str(ROOT), "rev-parse", "--git-common-dir"]
    process = subprocess.run(words, capture_output=True, text=True, check=True)
    return (ROOT / process.stdout.strip()).resolve().parents[1] / "shared" / "corpus"


def _read(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder, or one file, by their path; unpacked."""
    paths = [folder] if folder.is_file() else sorted(folder.rglob("*"))
    top = folder.parent if folder.is_file() else folder
    files: dict[str, bytes] = {}
    for path in paths:
        if path.is_file() and path.suffix == ".gz":
            files[str(path.relative_to(top).with_suffix(""))] = gzip.decompress(
                path.read_bytes()
            )
        elif path.is_file():
            files[str(path.relative_to(top))] = path.read_bytes()
    return files


def _loaded(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
    return result


def _flags(context: dict[str, Any]) -> Words:
    """Return the options for what a fixture says of its job."""
    names = {"instance_type": "instance"}
    flags: list[str] = []
    for name, value in context.items():
        for text in value if isinstance(value, list) else [value]:
            flag = "--" + names.get(name, name).replace("_", "-")
            flags.append(f"{flag}={text}")
    return tuple(flags)


# --- Fixtures of rules, and traps -----------------------------------------------------


def _fixture(name: str, part: str, path: Path) -> Case | None:
    given = _loaded(path)
    if "declaration" in given:
        return None  # what a judgement for a certificate says of itself
    flags = _flags(given.get("context", {}))
    flags += (f"--spec={given['spec']}",) if "spec" in given else ()
    if "fleet" in given:
        return _fleet_fixture(name, given["fleet"], flags)
    files = {at: text.encode() for at, text in given["files"].items()}
    policy = given.get("policy", {})
    if "mandatory" in policy:
        files["speccheck.toml"] = (
            f"mandatory = {json.dumps(policy['mandatory'])}\n".encode()
        )
    flags += tuple(
        f"--{key}={policy[key]}" for key in ("waivers", "baseline") if key in policy
    )
    epoch = NOW
    if "today" in given:
        noon = datetime.fromisoformat(f"{given['today']}T12:00:00+00:00")
        epoch = int(noon.timestamp())
    judged = [
        at for at in files if at not in policy.values() and at != "speccheck.toml"
    ]
    words = (*judged, *flags)
    if part == "rules":
        names = (path.parent.name, *given.get("also", ()))
        words += (f"--extend-select={','.join(names)}",)
    commands = [judge(words, ALL_FORMS if part == "traps" else FORMS)]
    if "\n    fix:" in path.read_text("utf-8"):
        commands.append((*words, "--diff", "--unsafe-fixes"))
    return Case(name, tuple(commands), files, epoch)


def _fleet_fixture(name: str, given: dict[str, Any], flags: Words) -> Case:
    """Return a fleet of synthetic nodes by what is odd about them."""
    size, profile = given.get("nodes", 8), given.get("profile", "dgx-h100")
    simulate = (
        "simulate",
        f"--nodes={size}",
        f"--profile={profile}",
        "--out=fleet",
        "--quiet",
    )
    flags = tuple(flag for flag in flags if not flag.startswith("--nodes="))
    flags += (f"--expect={given['expect']}",) if "expect" in given else ()
    fleet = judge(("fleet", "fleet", "--cores=1", *flags), FLEET_FORMS)
    taken = datetime.fromisoformat("2026-11-21T18:00:00+00:00")
    now = taken + timedelta(hours=given.get("hours_later", 1))
    return Case(name, (simulate, fleet), epoch=int(now.timestamp()), fleet=given)


def change_fleet(given: dict[str, Any], folder: Path) -> None:
    """Change the snapshots of healthy nodes as a fixture says."""
    (folder / "simulation.json").unlink(missing_ok=True)
    for path in sorted(folder.glob("*.json")):
        node = json.loads(path.read_text("utf-8"))
        name = node["launch"]["node"]
        _change(node, name, given.get("with", {}))
        for who, parts in given.get("parts", {}).items():
            if who == "all" or name in _unfolded(who):
                node.update(parts)
        _change(node, name, given.get("measured", {}))
        node["launch"]["node"] = given.get("names", {}).get(name, name)
        path.write_text(json.dumps(node), encoding="utf-8")
        if name in _unfolded(given.get("absent", "")):
            path.unlink()
    for file, text in given.get("texts", {}).items():
        (folder / file).write_text(text, encoding="utf-8")


def _change(node: dict[str, Any], name: str, given: dict[str, Any]) -> None:
    for who, leaves in given.items():
        for path, value in (
            leaves.items() if who == "all" or name in _unfolded(who) else ()
        ):
            if path == "variables":
                for key, text in value.items():
                    row = {"name": key, "value": str(text), "layer": "environment"}
                    node["variables"].append(row)
            elif path == "earlier_hours":
                taken = datetime.fromisoformat(node["taken"])
                node["taken"] = (taken - timedelta(hours=value)).isoformat()
            else:
                _set(node, path.split("."), value)


def _set(part: Any, steps: list[str], value: object) -> None:  # noqa: ANN401 - JSON
    """Set a leaf by its path; `*` stands for all parts, a null takes one away."""
    step, *rest = steps
    if step == "*":
        for each in part:
            _set(each, rest, value)
        return
    key: Any = int(step) if isinstance(part, list) else step
    if rest:
        _set(part[key], rest, value)
    elif value is None:
        del part[key]
    else:
        part[key] = value


@cache
def _unfolded(text: str) -> tuple[str, ...]:
    """Return the names of a list such as `node[0003-0004,0007],node0009`."""
    names: list[str] = []
    for stem, inside in re.findall(r"([^\s,\[]+)(?:\[([^\]]*)\])?", text):
        if not inside:
            names.append(stem)
        for piece in inside.split(",") if inside else ():
            first, _, last = piece.partition("-")
            numbers = range(int(first), int(last or first) + 1)
            names += [f"{stem}{number:0{len(first)}d}" for number in numbers]
    return tuple(names)


# --- The corpus -----------------------------------------------------------------------


def _of_corpus(corpus: Path) -> Iterator[Draft]:
    for part in ("configs", "captures", "logs", "nodes", "topology"):
        for path in sorted((corpus / part).rglob("*")):
            if path.is_file() and path.suffix not in _NO_CONFIGURATIONS:
                name = str(path.relative_to(corpus))
                yield Draft(name, partial(_file_of_corpus, name, part, path))
    for part in ("cases", "field"):
        for path in sorted((corpus / part).glob("*/case.yaml")):
            for side in ("bad", "good"):
                folder = path.parent / side
                if folder.is_dir():
                    name = str(folder.relative_to(corpus))
                    yield Draft(name, partial(_case_of_corpus, name, path, folder))


def _file_of_corpus(name: str, part: str, path: Path) -> Case:
    files = _read(path)
    commands = [judge((*files, "--isolated"))]
    if part == "configs":
        commands.append(("plan", *files))
    if part == "logs":
        commands.append(
            ("telemetry", *files, "--output=text", "--output=json=../out/logs.json")
        )
    return Case(name, tuple(commands), files)


def _case_of_corpus(name: str, path: Path, folder: Path) -> Case:
    meta = _loaded(path)
    files = _read(folder)
    words = (*sorted(files), *_flags(meta.get("command_context") or {}))
    fixes = (*words, "--diff", "--unsafe-fixes")
    return Case(name, (judge(words, ALL_FORMS), fixes), files)


# --- Examples and published plans -----------------------------------------------------

# Ways to judge, beside the plain one.
_WAYS: dict[str, Words] = {
    "full": ("--full", "--statistics"),
    "facts": (
        *("--gpu=H100-80GB", "--nodes=8", "--gpus-per-node=8", "--role=pretrain"),
        *("--hours=200", "--step-seconds=11", "--mtbf-hours=50", "--fabric=infiniband"),
    ),
    "select": ("--select=COMM,MEM,BATCH", "--ignore=COMM-001", "--fail-on=warning"),
    "extend": ("--extend-select=OBS", "--extend-ignore=MEM", "--fail-on=never"),
    "draft": ("--spec=1.2-draft",),
    "two-editions": ("--enforce=1.0", "--warn=1.2-draft"),
    "each": ("--each",),
    "size": ("--profile=size/L",),
    "certify": ("--profile=certify",),
    "preflight": ("--profile=preflight",),
    "sarif": ("--sarif-include-waived", "--no-inline-ignores", "--isolated"),
}
_WHAT_IF: tuple[Words, ...] = (
    ("--what-if=tp=4",),
    ("--what-if=nodes=2", "--what-if=zero=3"),
    ("--what-if=micro_batch=1", "--what-if=recompute=full"),
)


_LOGS = ("run-logs", "slow-all-reduce")  # folders are not searched for logs


def _examples() -> Iterator[Draft]:
    tops = [*EXAMPLES.iterdir(), *(FIXTURES / "published").iterdir()]
    tops += [*(EXAMPLES / "native").iterdir(), *(EXAMPLES / "run-logs").iterdir()]
    for top in sorted(tops):
        name = str(top.relative_to(FIXTURES))
        files = _read(top)
        is_searched = top.is_dir() and top.name not in _LOGS
        words: Words = (".",) if is_searched else tuple(files)
        if top.parent.name == "published":
            given = _loaded(top)
            files = {at: text.encode() for at, text in given["files"].items()}
            words = (*files, *_flags(given.get("context", {})))
        out = "--output=json=../out/answer.json"
        yield _draft(f"{name}/plain", judge(words, ALL_FORMS), files)
        for way, flags in _WAYS.items():
            yield _draft(f"{name}/{way}", judge((*words, *flags)), files)
        plan = ("plan", *words, "--output=text", out)
        yield _draft(f"{name}/plan", plan, files)
        for number, flags in enumerate(_WHAT_IF, 1):
            yield _draft(f"{name}/what-if-{number}", (*plan, *flags), files)
        seen = [
            (*words, "--show-files"),
            (*words, "--show-settings"),
            (*words, "--diff"),
        ]
        fixes = [(*words, "--fix"), (*words, "--fix", "--unsafe-fixes"), words]
        yield _draft(f"{name}/shown", seen, files)
        yield _draft(f"{name}/fixes", fixes, files)
        kept = "--baseline=speccheck-baseline.json"
        yield _draft(
            f"{name}/baseline", [("baseline", *words), judge((*words, kept))], files
        )


def _draft(name: str, commands: Words | list[Words], files: dict[str, bytes]) -> Draft:
    many = (commands,) if isinstance(commands, tuple) else tuple(commands)
    return Draft(name, partial(Case, name, many, files))


# --- Commands -------------------------------------------------------------------------

_COMMANDS: Words = (
    *("plan", "probe", "preflight", "fleet", "baseline", "history", "diff", "bench"),
    *("bench all-reduce", "bench memory", "bench gemm", "bench expect", "bench plan"),
    *("bench judge", "evidence", "certify", "verify", "telemetry", "simulate"),
    *("keygen", "explain", "rules", "spec", "spec render", "spec list", "spec show"),
    *("spec coverage", "spec diff", "schema", "completion"),
)
# What is looked up, and what is refused.
_LINES = """
rules
rules --spec 1.2-draft
spec list
spec list --spec 1.2-draft
spec show
spec show --spec 1.2-draft
spec coverage
spec coverage --output json
spec diff 1.0 1.2-draft
spec diff 1.0 1.2-draft --output json
spec render
spec render --format html --out ../out/edition.html
spec render --spec 1.2-draft
completion bash
completion zsh
completion fish
completion tcsh
simulate --list-faults
simulate --list-profiles
certify --dry-run
certify --plan --profile instance/azure-nd96isr-h100-v5
certify --plan --profile instance/aws-p5 --nodes 4 --engine mpi
certify --plan --profile instance/dgx-h100 --nodes 2 --engine torchrun
bench expect all-reduce --instance p5.48xlarge --nodes 4
bench expect all-to-all --instance p5.48xlarge --nodes 16 --size 1GiB
bench expect all-reduce --instance p5.48xlarge --nodes 4 --threshold 800
bench plan --nodes node[001-012]
bench plan --nodes node[001-064] --kind groups --format lines
--version

--no-such-option
missing.yaml
missing.yaml --output json
missing.yaml --output sarif --output junit=../out/report.xml
. --gpu NoSuchGPU --output json
. --nodes many
. --profile nothing
. --spec 9.9
. --select NOSUCH-001
. --output nothing
. --what-if tp=4
plan . --what-if nothing=1
explain nothing
explain comm-001
spec show nothing
schema nothing
history missing.db
diff a.json b.json
verify missing.json --key missing.pem
telemetry missing.log
fleet missing
baseline missing
simulate --nodes 0 --out fleet
""".strip("\n").split("\n")


def _commands() -> Iterator[Draft]:
    files = _read(EXAMPLES / "several-files")
    for line in (*_LINES, "--help", *(f"{name} --help" for name in _COMMANDS)):
        yield _draft(f"commands/{line or 'nothing'}", tuple(line.split()), files)
    clauses: set[str] = set()
    for path in (ROOT / "schemas").glob("*/clauses/*.yaml"):
        clauses.update(
            re.findall(r"^  - id: (\S+)", path.read_text("utf-8"), re.MULTILINE)
        )
    for clause in sorted(clauses):
        lines = [("explain", clause), ("spec", "show", clause)]
        lines.append(("explain", clause, "--spec=1.2-draft"))
        yield _draft(f"explain/{clause}", lines, {})
    for path in sorted((FIXTURES / "rules").iterdir())[::5]:
        yield _draft(f"explain/{path.name}", ("explain", path.name), {})
    for path in sorted((ROOT / "schemas" / "json").rglob("*.schema.json")):
        name = path.name.removesuffix(".schema.json")
        yield _draft(f"commands/schema {name}", ("schema", name), {})
    for path in sorted((EXAMPLES / "run-logs").iterdir()):
        out = "--output=json=../out/logs.json"
        words = ("telemetry", path.name, "--full", "--output=text", out)
        yield _draft(f"commands/telemetry {path.name}", words, _read(path))
    text = (EXAMPLES / "several-files" / "sft.yaml").read_text("utf-8")
    stdin = judge(("-", "--stdin-filename=sft.yaml"))
    yield Draft("commands/stdin", partial(Case, "commands/stdin", (stdin,), stdin=text))


# --- Settings and waivers -------------------------------------------------------------

_TUNED = b"""\
# speccheck: ignore-file[CKPT-001] a trial of an hour; until=2027-01-31
speccheck: 1
optimizer:
  warmup_steps: 2000  # speccheck: ignore[CONF-011] resumed with 5,000 more steps
  # speccheck: ignore[adam_beta_out_of_range] as in the paper; owner=pretraining
  adam_beta1: 0.5
run:
  steps: 1000
checkpoint:
  interval_steps: 900
"""
_SETTINGS: dict[str, dict[str, str]] = {
    "none": {},
    "chosen": {
        "speccheck.toml": 'select = ["COMM", "MEM", "BATCH", "CONF"]\n'
        'fail-on = "warning"\nignore = ["MEM-020"]\n'
        '[facts]\ngpu = "H100-80GB"\nhours = 100\n'
        '[facts-for."job/**"]\nrole = "sft"\nnodes = 4\n[levels]\nCONF = "error"\n'
        '[per-file-ignores]\n"*.json" = ["BATCH-001"]\n',
    },
    "locked": {
        "pyproject.toml": '[tool.speccheck]\nmandatory = ["CONF-011", "FT"]\n'
        '[tool.speccheck.facts]\ninstance = "p5.48xlarge"\n',
        "job/speccheck.toml": 'extend = "../pyproject.toml"\nignore = ["FT-003"]\n',
    },
    "waived": {
        "speccheck.toml": 'waivers = "waivers.yaml"\ntailoring = "own.yaml"\n',
        "waivers.yaml": "schema: speccheck-waivers/1\nwaivers:\n"
        "  - {clause: BATCH-001, files: job/*, reason: a trial, owner: us,"
        " until: 2027-01-31}\n  - {rule: [error_handling_off], files: job/*,"
        " reason: known, owner: us, until: 2026-11-01}\n",
        "own.yaml": "schema: speccheck-tailoring/1\ntailoring:\n"
        "  - {clause: CKPT-001, number: max_unsaved, value: 12, unit: h,"
        " reason: nights, owner: us@example.com, expires: 2027-01-31}\n",
    },
    "wrong": {"speccheck.toml": 'select = ["COMM"]\nfail_on = "warning"\n'},
}


def _settings() -> Iterator[Draft]:
    job = {f"job/{at}": text for at, text in _read(EXAMPLES / "several-files").items()}
    for name, texts in _SETTINGS.items():
        files = {at: text.encode() for at, text in texts.items()}
        lines = [
            judge((".",), ALL_FORMS),
            judge(("job", "--gpu=H100-80GB", "--full")),
            judge((".", "--no-inline-ignores", "--by-folder")),
            ("plan", "."),
            (
                ".",
                "--show-settings",
                "--output=text",
                "--output=json=../out/shown.json",
            ),
            ("job/sft.yaml", "--show-settings"),
            (".", "--show-files"),
            ("baseline", "."),
        ]
        yield _draft(f"settings/{name}", lines, {**job, "tuned.yaml": _TUNED, **files})


# --- Machines that do not exist -------------------------------------------------------

_PLANS = {
    "sound": "schema: speccheck-faults/1\nfaults: []\n",
    "few": "schema: speccheck-faults/1\nmeasurements: true\nfaults:\n"
    "  - {fault: gpu_missing, nodes: [2]}\n  - {fault: row_remap_pending, count: 1}\n"
    "  - {fault: driver_drift, nodes: [5], version: 570.124.06}\n"
    "  - {fault: damaged, nodes: [7]}\n  - {fault: missing, nodes: [9]}\n",
}
_SOUND = ("dgx-h100", "gcp-a3-mega", "azure-nd96isr-h100-v5")
_TYPES = (*_SOUND, "aws-p5", "gb200-nvl72", "dgx-a100", "oci-h100-8", "aws-g5-xlarge")
_KIT = "instance/azure-nd96isr-h100-v5"
# A key pair that protects nothing: test 1 of RFC 8032, section 7.1.
_SEED = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
_PUBLIC = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


def _pem(kind: str, prefix: str, raw: str) -> bytes:
    body = base64.b64encode(bytes.fromhex(prefix + raw)).decode()
    return f"-----BEGIN {kind} KEY-----\n{body}\n-----END {kind} KEY-----\n".encode()


def _simulations() -> Iterator[Draft]:
    job = _read(EXAMPLES / "simulated-fleet" / "job.sbatch")
    for plan, text in _PLANS.items():
        for machine in _SOUND if plan == "sound" else _TYPES:
            files = {**job, "plan.yaml": text.encode()}
            made = ("simulate", "--nodes=10", f"--profile={machine}", "--quiet")
            make = (*made, "--faults=plan.yaml")
            look = ("fleet", "--cores=1", "--job=job.sbatch", "--expect=10", "--need=8")
            drain = "--drain-list=slurm=../out/drain.sh"
            lines = [
                (*make, "--out=week1"),
                judge((*look, "week1", drain), FLEET_FORMS),
                ("fleet", "week1", "--cores=1", "--baseline=own.yaml"),
                (*make, "--out=week2", "--day=8", "--seed=1"),
                ("fleet", "week1", "--cores=1", "--history=fleet.db"),
                judge(("fleet", "week2", "--cores=1", "--full", "--diff=week1"), ()),
                (
                    "fleet",
                    "week2",
                    "--cores=1",
                    "--history=fleet.db",
                    "--golden=own.yaml",
                ),
                ("history", "fleet.db", "--full"),
                ("history", "fleet.db", "--output=json"),
                ("diff", "week1/node0001.json", "week2/node0001.json"),
                ("diff", "week1/node0001.json", "week1/node0003.json", "--output=json"),
                judge(("week1/node0002.json",)),
                judge(("job.sbatch", "--node=week1/node0001.json")),
                (*make, "--results", "--out=results.jsonl.gz"),
                ("fleet", "results.jsonl.gz", "--cores=1"),
            ]
            yield _draft(f"simulated/{plan}-{machine}", lines, files)
    yield from _certificates()


def _certificates() -> Iterator[Draft]:
    private = _pem("PRIVATE", "302e020100300506032b657004220420", _SEED)
    public = _pem("PUBLIC", "302a300506032b6570032100", _PUBLIC)
    kit = {
        f"kit/{name}": data for name, data in _read(EXAMPLES / "certification").items()
    }
    files = {**kit, "key.pem": private, "pub.pem": public}
    made = ("--spec=1.0", "--synthetic", f"--profile={_KIT}", "--evidence=kit")
    verify = ("verify", "a.json", "--key=pub.pem", "--synthetic")
    lines = [
        ("evidence", "pack", "kit", f"--profile={_KIT}", "--now=2026-11-22"),
        ("evidence", "list", "kit"),
        ("certify", *made),
        (
            "certify",
            *made,
            "--level=L1",
            "--key=key.pem",
            "--out=a.json",
            "--html=a.html",
        ),
        ("certify", *made, "--level=L2", "--key=key.pem", "--out=b.json"),
        (*verify, "--evidence=kit", "--now=2026-11-23", "--html=v.html"),
        (*verify, "--now=2027-03-01", "--quiet"),
        ("diff", "a.json", "b.json"),
        ("certify", "--compare", "a.json", "b.json"),
        ("certify", "--compare", "a.json", "b.json", "--output=json"),
    ]
    yield _draft("simulated/certificate", lines, files)
    yield _draft("simulated/keygen", [("keygen", "--out=new.pem")] * 2, {})
    make = ("simulate", "--evidence", "--nodes=2", "--profile=azure-nd96isr-h100-v5")
    for flags in ((), ("--spoil=slow_all_reduce",), ("--spoil=stale_snapshot",)):
        words = [
            (*make, *flags, "--out=kit"),
            ("evidence", "pack", "kit", f"--profile={_KIT}", "--now=2026-11-22"),
            ("certify", *made, *(() if flags else ("--level=L1",))),
        ]
        yield _draft(f"simulated/kit{''.join(flags)}", words, {})
    measured = _read(EXAMPLES / "certification")
    results = tuple(name for name in measured if name.startswith("measured/all-"))
    judged = [("bench", "judge", *results, "--full"), judge(results)]
    judged.append(("bench", "judge", *results, "--output=json", "--next=next.json"))
    judged.append(("bench", "plan", "--after", results[0]))
    yield _draft("simulated/bench-judge", judged, measured)
