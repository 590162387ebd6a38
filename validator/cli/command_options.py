"""The rows of the table of options that commands other than `speccheck FILE...` add."""

from speccheck.validator.cli.option_table import COLORS, Option, row, rows

# What `speccheck list` lists.
KINDS = ("gpus", "instances", "fabrics", "profiles", "formats", "models", "rules")

_MACHINE = rows(
    "Machine",
    {"probe", "preflight"},
    row("--out PATH", "write the snapshot to a file, or as NODE.json"),
    row("--budget SECONDS", "stop after so long (default 10s)", commands={"probe"}),
    row("--budget SECONDS", "stop after so long (default 60s)", commands={"preflight"}),
    row("--sysroot DIR", "read copied files, and a tape, in DIR"),
    row("--record DIR", "keep a tape of all calls of NVML there"),
    row("--imds", "ask the cloud's metadata service for the instance"),
    row("--salt TEXT", "of the digests of serials and UUIDs"),
    row("--keep-identifiers", "leave serials and UUIDs as they are"),
)
_ONE_OF_MANY_NODES = rows(
    "One of many nodes",
    {"preflight"},
    row(
        "--tier TIER",
        "0 (default) reads, 1 to 3 measure, too",
        words=("0", "1", "2", "3"),
    ),
    row(
        "--result PATH", "write the result in one line; - writes it here, and no report"
    ),
    row("--nagios", "one line and codes of Nagios"),
    row("--exit-zero", "0 whatever came of it: where one failure ends all"),
    row("--every-rank", "look also where another rank of the node does"),
)
_MEASUREMENT_COLLECTIVE = rows(
    "Measurement",
    {"collective"},
    row("--ranks N", "processes to start here (one a GPU)", "integer"),
    row("--backend NAME", "nccl (where GPUs are) or gloo"),
    row("--min-size SIZE", "smallest message (1MiB)"),
    row("--max-size SIZE", "largest message (8GiB; gloo 64MiB)"),
    row("--data-type TYPE", "float32, bfloat16, float16, float64, int32 (float32)"),
    row("--iterations N", "timed repetitions of each size (20)", "integer"),
    row("--warm-up N", "repetitions before these (5)"),
    row("--no-compare", "do not compare results with the right ones"),
    row("--budget SECONDS", "end after so long, all in all (no limit)"),
    row("--deadline SECONDS", "for all ranks to come (120s)"),
    row("--timeout SECONDS", "for one repetition (60s)"),
    row("--plan FILE", "rounds of `speccheck bench plan`"),
    row("--out FILE", "write the measurement to a file"),
)
_MEASUREMENT_OF_MACHINE = rows(
    "Measurement",
    {"bench memory", "bench gemm"},
    row("--out FILE", "keep the measurement in a file"),
    row("--budget SECONDS", "stop after so long (default 120s)"),
    row("--device WHERE", "cuda (default), or cpu for the host alone"),
)
_MEASUREMENT_MEMORY = rows(
    "Measurement",
    {"bench memory"},
    row("--size MIB", "MiB of each copy (default 256)", "integer"),
    row("--iterations N", "timed copies (default 20)", "integer"),
)
_MEASUREMENT_GEMM = rows(
    "Measurement",
    {"bench gemm"},
    row("--size N", "rows of each square matrix (default 8192)", "integer"),
    row("--iterations N", "timed products (default 50)", "integer"),
    row("--types TYPES", "of bfloat16, float16, float8_e4m3 (default without float16)"),
)
_PLAN = rows(
    "Plan",
    {"bench plan"},
    row("--nodes LIST", "node[001-064], or @FILE, a name a line"),
    row("--kind KIND", "pairs (default) or groups"),
    row("--group-size N", "nodes of a group (default up to 32)", "integer"),
    row("--rounds N", "default: each node meets three others", "integer"),
    row("--after RESULT ...", "results so far: plan what comes next"),
    row("--round-seconds S", "how long one takes (default 60)", "number"),
    row("--format FORMAT", "json (default), or lines: round set hosts"),
    row("--out FILE", "write the plan to a file"),
)
_JUDGEMENT = rows(
    "Judgement",
    {"bench judge"},
    row("--plan FILE ...", "what was to be measured: who is missing"),
    row("--next FILE", "write the rounds that come next"),
    row("--output FORMAT[=FILE] ...", "text or json", words="reports"),
    row("--full", "show every node, also those that are cleared"),
    row("--color WHEN", "auto (default), always or never", words=COLORS),
)
_EXPECTATION = rows(
    "Expectation",
    {"bench expect"},
    row("--size SIZE", "of the message (default 1GiB to 16GiB)"),
    row("--threshold GB/S", "refuse it where nobody can reach it", "number"),
)
_LOGS = rows(
    "Logs",
    {"telemetry"},
    row("--job FILE ...", "a configuration or script of the job"),
    row("--use USE", "ci (default), preflight or certify", words="uses"),
    row("--output FORMAT[=FILE] ...", "text or json", words="reports"),
)
_FLEET = rows(
    "Fleet",
    {"fleet"},
    row("--job FILE ...", "a file of the job that is to run on it"),
    row("--expect NODES", "nodes: a number, node[001-064] or @FILE"),
    row("--need N", "nodes that the job takes; the others are spare"),
    row("--drain-list FORM[=FILE]", "slurm, kubernetes or plain"),
    row("--cores N", "to judge on (default: all)"),
    row("--output FORMAT[=FILE] ...", "text, json or html", words="reports"),
)
_COMPARISON_FLEET = rows(
    "Comparison",
    {"fleet"},
    row("--diff OLD", "what changed since then: its evidence"),
    row("--golden FILE", "as each node should be: a snapshot, a profile"),
    row("--history FILE", "keep this run in a file, for speccheck history"),
    row("--baseline FILE", "write the profile of this fleet: what is usual"),
)
_HISTORY = rows(
    "History",
    {"history"},
    row("--node NAME", "tell of this node alone"),
    row("--leaf LEAF", "of this leaf or counter alone"),
    row("--days N", "before the newest run (30)", "number"),
    row("--full", "all rows of each part"),
    row("--output FORMAT[=FILE] ...", "text or json", words="reports"),
    row("--color WHEN", "auto (default), always or never", words=COLORS),
)
_COMPARISON_DIFF = rows(
    "Comparison",
    {"diff"},
    row("--one-machine", "both are of one machine, whatever their digests say"),
    row("--exit-code", "0 the same, 1 differs"),
    row("--full", "also what is never the same twice"),
    row("--output FORMAT[=FILE] ...", "text or json", words="reports"),
    row("--color WHEN", "auto (default), always or never", words=COLORS),
)
_SYNTHETIC_FLEET = rows(
    "Synthetic fleet",
    {"simulate"},
    row("--nodes N", "how many", "integer"),
    row("--out PATH", "DIR gets a file a node; FILE.jsonl[.gz] a line a node"),
    row("--faults PLAN.YAML", "a plan of faults: what is wrong on which nodes"),
    row("--profile TYPE", "type of the machines (default dgx-h100)", words="machines"),
    row("--seed N", "another fleet of the same kind (default 1)", "integer"),
    row("--day N", "the same machines that many days on (default 1)", "integer"),
    row("--job NAME", "name of the job that the snapshots tell"),
    row("--evidence", "a kit for a certificate: measurements, job, logs, drills"),
    row("--spoil NAME ...", "what is wrong with the kit: --list-faults"),
    row("--results", "the lines of their pre-flights, in place of snapshots"),
    row("--list-faults", "all faults with the rules that find them, and stop"),
    row("--list-profiles", "all types of machines, and stop"),
    row("--quiet", "print no progress and no summary"),
)
_CERTIFICATION = rows(
    "Certification",
    {"certify"},
    row("--plan", "what to run for a certificate, and stop"),
    row("--dry-run", "what published figures would settle, and stop"),
    row("--compare", "a table of the certificates that are given, and stop"),
    row(
        "--profile P ...",
        "type of machine: instance/azure-nd96isr-h100-v5; others beside it",
        words="profiles",
    ),
    row("--evidence DIR", "the folder of the evidence"),
    row("--level LEVEL", "L1, L2 or L3 (default): what every track must reach"),
    row("--track NAME ...", "only this track must reach it"),
    row("--expect N", "machines that there should be", "integer"),
    row("--key KEY", "what signs: FILE, env:NAME or cmd:COMMAND"),
    row("--public FILE", "public half of the key; cmd: needs it"),
    row("--passphrase-env NAME", "variable with the passphrase of the key"),
    row("--out FILE", "the certificate (default certificate.json)"),
    row("--html FILE", "the same as a page"),
    row("--derive KIND=FILE ...", "test-result or svr=FILE"),
    row("--verifier NAME", "who judges, in the certificate"),
    row("--third-party", "the key is not of who runs the machines"),
    row("--revocation URL", "where a revocation would be told"),
    row("--synthetic", "certify machines that do not exist; marked as such"),
    row("--tailor FILE", "own numbers, a file in the folder of the evidence"),
    row("--nodes N", "with --plan: to run on", "integer"),
    row("--engine NAME", "with --plan: slurm (default), mpi or torchrun"),
    row("--spec EDITION", "edition, or a folder with one", words="editions"),
    row("--plugins", "rules and readers of other packages as well"),
)
_VERIFICATION = rows(
    "Verification",
    {"verify"},
    row("--key FILE ...", "public key of whom you trust to certify"),
    row("--evidence DIR", "judge this evidence again"),
    row("--live", "look whether this machine is of the type"),
    row("--node FILE", "with --live: a snapshot in place of this machine"),
    row("--now DATE", "as of another day: 2027-01-31"),
    row("--synthetic", "take one of machines that do not exist"),
    row("--html FILE", "certificate and verification as a page"),
    row("--quiet", "say only what does not hold"),
)
_OUTPUT = rows(
    "Output",
    {"certify"},
    row(
        "--output FORMAT[=FILE] ...",
        "with --compare: text, json or markdown",
        words="reports",
    ),
    row(
        "--color WHEN",
        "auto, always or never",
        words=COLORS,
        commands={"certify", "verify"},
    ),
)
_EVIDENCE = rows(
    "Evidence",
    {"evidence pack"},
    row(
        "--profile P ...",
        "type of machine: instance/azure-nd96isr-h100-v5",
        words="profiles",
    ),
    row("--level LEVEL", "L1, L2 or L3 (default)"),
    row("--expect N", "machines that there should be", "integer"),
    row("--now T", "time that counts as now: 2026-11-22"),
    row("--out FILE", "default DIR/evidence.json"),
    row("--spec EDITION", "edition, or a folder with one", words="editions"),
)
_KEYS = rows(
    "Keys",
    {"keygen"},
    row("--out FILE", "the private key, which signs"),
    row("--public FILE", "the public key (FILE.pub.pem)"),
    row("--passphrase-env NAME", "variable with a passphrase: encrypt by it"),
)
_EDITION = rows(
    "Edition",
    {
        "rules",
        "list",
        "explain",
        "spec list",
        "spec render",
        "spec show",
        "spec coverage",
        "spec diff",
    },
    row(
        "--spec EDITION",
        "edition, or a folder that holds one (default 1.1)",
        words="editions",
        commands=frozenset(
            {
                *("rules", "list", "explain", "spec list", "spec render"),
                *("spec show", "spec coverage"),
            }
        ),
    ),
    row(
        "--format FORM",
        "markdown (default) or html, one file",
        words=("markdown", "html"),
        commands={"spec render"},
    ),
    row("--out FILE", "a file; standard output without it", commands={"spec render"}),
    row(
        "--on REPORT",
        "a JSON report by the first: what would come out otherwise",
        commands={"spec diff"},
    ),
    row(
        "--output FORMAT",
        "text (default) or json",
        words=("text", "json"),
        commands={"spec coverage", "spec diff"},
    ),
    row(
        "--output FORMAT[=FILE] ...",
        "text (default) or json",
        words="reports",
        commands={"list", "rules"},
    ),
    row(
        "--plugins",
        "also the rules and readers of installed packages",
        commands={"explain", "list", "rules"},
    ),
)
OWN: tuple[Option, ...] = (
    *_MACHINE,
    *_ONE_OF_MANY_NODES,
    *_MEASUREMENT_COLLECTIVE,
    *_MEASUREMENT_OF_MACHINE,
    *_MEASUREMENT_MEMORY,
    *_MEASUREMENT_GEMM,
    *_PLAN,
    *_JUDGEMENT,
    *_EXPECTATION,
    *_LOGS,
    *_FLEET,
    *_COMPARISON_FLEET,
    *_HISTORY,
    *_COMPARISON_DIFF,
    *_SYNTHETIC_FLEET,
    *_CERTIFICATION,
    *_VERIFICATION,
    *_OUTPUT,
    *_EVIDENCE,
    *_KEYS,
    *_EDITION,
)
