"""Every command: what it says of itself, what it takes, and the function that it runs.

The help, completion in shells, the manual page and docs/command-line.md are made of
these rows and of those of the options.
"""

from speccheck.probes.collectives.settings import OPERATIONS
from speccheck.validator.cli.command_options import KINDS, OWN
from speccheck.validator.cli.option_table import ROWS, Option, options_help
from speccheck.validator.evidence.measurement.cost import BUDGET_SECONDS
from speccheck.validator.evidence.record import Record


class Command(Record):
    """One command, or a group of commands.

    Attributes:
        words: that lead to it; none for `speccheck FILE...`.
        help: what it does, in a line.
        synopsis: what follows the words in the list of commands; empty: not listed.
        usage: what its help says before the options; empty: that of its group.
        run: `module:function` of this package; empty for a group. The function takes
            the command line and returns the exit code. `REFUSED` of the module: the
            exceptions by which it says that the command line or a file is wrong.
        key: by which the table of options knows it; its words by default.
        takes: what stands on its line besides options: "files", or the name of what
            lists the words.
        formats: of its reports, the first by default; none: those of judgements.
        takes_words: whether the function takes its words before they are parsed.
        is_empty_help: whether it shows its help when nothing follows.
        names_itself: whether what it refuses begins with its words.

    """

    words: tuple[str, ...]
    help: str
    synopsis: str = ""
    usage: str = ""
    run: str = ""
    key: str = ""
    takes: str = ""
    formats: tuple[str, ...] = ()
    takes_words: bool = False
    is_empty_help: bool = False
    names_itself: bool = False

    @property
    def name(self) -> str:
        """Its words, as they are written."""
        return " ".join(self.words)

    @property
    def options(self) -> tuple[Option, ...]:
        """What it takes, in the order in which its help lists it."""
        key = self.key or self.name
        return tuple(option for option in (*OWN, *ROWS) if key in option.commands)


_COLLECTIVE = f"""\
usage: speccheck bench KIND [options]
KIND:  {", ".join(OPERATIONS)}

Measures a collective over torch.distributed, in messages that double in size,
and judges what it measured as `speccheck FILE` does. Alone it starts one
process a GPU of this machine, or --ranks N of them; over several machines start
it with torchrun, srun or mpirun, one process a GPU:

  srun --ntasks-per-node=8 speccheck bench all-reduce --out run.json

Exit codes: 0 to 4 as `speccheck FILE`; 1 also for wrong values in results; 3
also when the measurement was cut short, by its budget or a fault, and where no
rank has a GPU and nobody asked for --backend gloo; 130 interrupted. What had
been measured is kept and judged, in the profile preflight unless --profile
names another.
"""
_JUDGING = """\
usage: speccheck [check] FILE|FOLDER|- ... [options]

Judges the files of a training run together - configuration, launch script,
manifest, snapshot of a machine, result of a measurement, log - and says what is
wrong, where, and what to change. The word check may be omitted. A folder is
searched; `-` is standard input; ./plan is a folder or file that is called like
a command.

  speccheck train.yaml ds_config.json job.sbatch --gpu H100-80GB
  speccheck configs/ --each --output concise --fail-on warning
  speccheck train.yaml --nodes 8 --gpus-per-node 8 --fix --diff

Exit codes: 0 nothing wrong was found; 1 findings at or above --fail-on; 2
usage, or a file that could not be read; 3 not enough was seen; 4 a bug of
speccheck.
"""
COMMANDS: tuple[Command, ...] = (
    Command(
        (),
        "judge files",
        usage=_JUDGING,
        run="plain:judge_files",
        takes="files",
        key="FILE",
        takes_words=True,
    ),
    Command(
        ("check",),
        "judge files: what is wrong, where, and what to change",
        synopsis="FILE|FOLDER ...",
        usage=_JUDGING,
        run="plain:judge_files",
        takes="files",
        key="FILE",
        takes_words=True,
    ),
    Command(
        ("plan",),
        "will it fit, how long will it take; with --what-if tp=4 what would change",
        synopsis="FILE|FOLDER ...",
        usage="""\
usage: speccheck plan FILE|FOLDER|- ... [options]

Says what the files make together: whether it fits into memory, what it predicts
of time, traffic and failures, and each value with where it is from. --what-if
changes values and says what would come out otherwise; `speccheck help what-if`
lists their names.

  speccheck plan train.yaml --nodes 8 --gpus-per-node 8 --gpu H100-80GB
  speccheck plan train.yaml --what-if micro_batch=2 --what-if recompute=full

Exit codes: 0 there is a plan; 2 usage, or a file that could not be read; 3
there is no plan.
""",
        run="show_plan:show_plan",
        takes="files",
        formats=("text", "json"),
    ),
    Command(
        ("probe",),
        "a snapshot of this machine, to be judged here or elsewhere",
        synopsis="[--out node.json]",
        usage="""\
usage: speccheck probe [options]

Reads what this machine is and how it is, and changes nothing. Judge the
snapshot with `speccheck node.json`, or at once with `speccheck probe |
speccheck -`. Serial numbers, UUIDs and addresses become digests; their salt is
--salt, or the variable SPECCHECK_SALT, or a new one each time.

`--record DIR` writes what NVML answered to DIR, to be sent to somebody else:
with `--sysroot DIR` the same snapshot can be taken of it anywhere.
""",
        run="take_snapshot:take_snapshot",
    ),
    Command(
        ("preflight",),
        "go or no-go: this machine, the files and both together",
        synopsis="[FILE ...]",
        usage=f"""\
usage: speccheck preflight [FILE|FOLDER|- ...] [options]

Probes this machine, changing nothing, and judges it together with the files of
the job that is to run on it; without files, the machine alone. What a file sets
of NCCL's and CUDA's variables counts as in the job; what none sets, as it is
where this is run. Local paths that the files name for checkpoints and data are
looked at. The profile is preflight unless --profile names another use.

Where an engine starts it on each node - Slurm, Kubernetes, mpirun, torchrun -,
the name of the node, job and rank are taken from its variables, and of several
ranks on a node the first one looks at it. `--out` and `--result` take a folder
for NODE.json and NODE.result.json.

Tiers, and their budget for all probes and measurements together:
  0  reads, and puts no load on the machine ({BUDGET_SECONDS[0]} s)
  1  also copies between host and GPUs ({BUDGET_SECONDS[1]} s)
  2  also products, and all-reduce over the GPUs of the node ({BUDGET_SECONDS[2]} s)
  3  also all-reduce over all ranks of the engine ({BUDGET_SECONDS[3]} s)
What is not measured in time is killed, and unknown. `speccheck explain RULE`
tells the tier of a rule.

Exit codes: 0 go; 1 no-go; 2 the command line or a file is wrong; 3 evidence is
missing that a must needs; 4 a bug of speccheck; 130 interrupted. With --nagios:
0 go; 1 go with warnings; 2 no-go; 3 all others. mpirun and torchrun end all
processes when one fails: with --exit-zero and --result each node tells its
verdict.
""",
        run="preflight:preflight",
        takes="files",
        takes_words=True,
    ),
    Command(
        ("fleet",),
        "go or no-go for all nodes of a job, side by side",
        synopsis="FOLDER|RESULTS ...",
        usage="""\
usage: speccheck fleet FOLDER|SNAPSHOT|RESULTS.jsonl ... [options]

Judges the snapshots and result lines that `speccheck preflight --out` and
`--result` wrote on many nodes: each node by itself, as part of the job of
--job, and all of them beside each other. Says go or no-go, which nodes are not
fit, and why.

Exit codes: 0 go; 1 no-go; 2 the command line or a file is wrong; 3 evidence is
missing, and whenever fewer nodes reported than were expected; 4 a bug of
speccheck; 130 interrupted.
""",
        run="fleet:fleet",
        takes="files",
        formats=("text", "json", "html"),
        is_empty_help=True,
    ),
    Command(
        ("baseline",),
        "write down what fails today: only new failures count then",
        synopsis="FILE|FOLDER ...",
        usage="""\
usage: speccheck baseline FILE|FOLDER|- ... [options]

Writes down what fails today, so that only what is new counts from now on: judge
with --baseline speccheck-baseline.json. Called again it drops what is not found
any more, and refuses what is new: a baseline only shrinks. Entries are kept by
rule, file, key and value, never by line. What waivers silence already and what
the settings make mandatory is not written down.

Exit codes: 0 written; 1 there are new findings, which are not taken; 2 the
command line or a file is wrong, and nothing is written; 3 there was nothing to
judge.
""",
        run="baseline:baseline",
        takes="files",
    ),
    Command(
        ("history",),
        "what became of a fleet over days",
        synopsis="FILE",
        usage="""\
usage: speccheck history FILE [options]

Says what became of a fleet over days, by the file that `speccheck fleet
--history FILE` keeps: which nodes flipped, which values changed, which counters
grew, how numbers went.

Exit codes: 0; 2 the command line or the file is wrong; 3 there is no run of
that time; 4 a bug of speccheck.
""",
        run="fleet:history",
        takes="files",
        formats=("text", "json"),
    ),
    Command(
        ("diff",),
        "what differs: two machines, days, certificates, reports",
        synopsis="A.json B.json",
        usage="""\
usage: speccheck diff A.json B.json [options]

Says what differs between two snapshots, of two machines or of one on two days,
by what matters: identity and software, topology, health, limits and settings,
measurements. Give the older one first: of one machine it says by how much each
counter grew, and how much an hour. Parts are known again by address and name.
What is never the same twice, such as temperatures, is one line. Digests made
with different salts are not compared.

Of two certificates, or two reports (--output json), it says which track has
another level and why, which clause came out otherwise, what the machines no
longer are, which numbers moved beyond their spread, and what came or went of
evidence, waivers and machines. Signatures are not verified: speccheck verify
does that.

Exit codes: 0; with --exit-code 1 where something differs; 2 the command line or
a file is wrong; 3 nothing is in both; 4 a bug of speccheck.
""",
        run="diff:diff",
        takes="files",
        formats=("text", "json"),
    ),
    Command(
        ("bench",),
        "measure collectives, copies or products; find slow nodes",
        synopsis="KIND",
        usage="""\
usage: speccheck bench KIND [options]

Measures, and judges what it measured as `speccheck FILE` does; `--out FILE`
keeps it.

  all-reduce, all-gather, reduce-scatter, all-to-all, send-recv
                     bandwidth of a collective: alone, or under torchrun, srun,
                     mpirun
  memory             copies between host and GPUs, and within each GPU
  gemm               products of dense matrices on each GPU
  expect COLLECTIVE  what one should reach on nodes of a type, unmeasured
  plan               who measures with whom, round by round, to find a slow node
  judge RESULT ...   which nodes the results of these rounds speak against

`speccheck bench KIND --help` tells the options. Results of nccl-tests,
nvbandwidth, perftest and others are judged by `speccheck FILE`.
""",
    ),
    Command(
        ("bench", "all-reduce"),
        "bandwidth of a collective",
        usage=_COLLECTIVE,
        run="bench_collectives:measure_collective",
        key="collective",
        takes_words=True,
    ),
    Command(
        ("bench", "all-gather"),
        "bandwidth of a collective",
        usage=_COLLECTIVE,
        run="bench_collectives:measure_collective",
        key="collective",
        takes_words=True,
    ),
    Command(
        ("bench", "reduce-scatter"),
        "bandwidth of a collective",
        usage=_COLLECTIVE,
        run="bench_collectives:measure_collective",
        key="collective",
        takes_words=True,
    ),
    Command(
        ("bench", "all-to-all"),
        "bandwidth of a collective",
        usage=_COLLECTIVE,
        run="bench_collectives:measure_collective",
        key="collective",
        takes_words=True,
    ),
    Command(
        ("bench", "send-recv"),
        "bandwidth of a collective",
        usage=_COLLECTIVE,
        run="bench_collectives:measure_collective",
        key="collective",
        takes_words=True,
    ),
    Command(
        ("bench", "memory"),
        "copies between host and GPUs, and within each GPU",
        usage="""\
usage: speccheck bench memory [options]

Times copies from the host to each GPU and back, within each GPU, and between
each pair of GPUs, one at a time, and judges the rates by the type of the GPUs.
Memory of the host is pinned and lies near the GPU. Run it while no job does.

Exit codes: as those of speccheck FILE, with the profile preflight; 2 also
without PyTorch, 3 also without a GPU; 130 when interrupted, with what was
measured so far.
""",
        run="bench_node:bench_memory",
        takes_words=True,
    ),
    Command(
        ("bench", "gemm"),
        "products of dense matrices on each GPU",
        usage="""\
usage: speccheck bench gemm [options]

Times products of square matrices of random numbers on each GPU, in bf16, and in
fp8 where it has it (compute capability 8.9), compares products of whole numbers
with exact ones of the host and the first timed product with the last, and
judges rates and values by the type of the GPUs. Run it while no job does.

Exit codes: as those of speccheck FILE, with the profile preflight; 2 also
without PyTorch, 3 also without a GPU; 130 when interrupted, with what was
measured so far.
""",
        run="bench_node:bench_gemm",
        takes_words=True,
    ),
    Command(
        ("bench", "plan"),
        "who measures with whom, round by round, to find a slow node",
        usage="""\
usage: speccheck bench plan --nodes LIST [options]
       speccheck bench plan --after RESULT ... [options]

Writes rounds of disjoint sets of nodes: all sets of a round measure at the same
time. A slow node shows as the one whose sets are all slow. Groups need fewer
rounds where there are many nodes; after them, suspects are measured again with
nodes that are cleared.

  speccheck bench plan --nodes "$SLURM_JOB_NODELIST" --out plan.json
  srun speccheck bench all-reduce --plan plan.json --out results.json
  speccheck bench judge results.json --plan plan.json --next next.json
""",
        run="bench_search:bench_plan",
        takes="files",
        names_itself=True,
    ),
    Command(
        ("bench", "judge"),
        "which nodes the results of these rounds speak against",
        usage="""\
usage: speccheck bench judge RESULT ... [options]

Reads the results of sets of nodes - of `speccheck bench`, of nccl-tests and of
any other tool whose results name their hosts - and says which nodes are slow. A
node is blamed when two sets with different partners were slow, and these
partners were fast elsewhere. Give all results of all rounds together. Sets of
different size, collective or message are never compared with each other.

Exit codes: 0 no node is slow, and each planned one was measured; 1 a node is
slow; 2 the command line or a file is wrong; 3 not decided: measure the rounds
of --next.
""",
        run="bench_search:bench_judge",
        takes="files",
        formats=("text", "json"),
        names_itself=True,
    ),
    Command(
        ("bench", "expect"),
        "what a collective should reach on nodes, unmeasured",
        usage=f"""\
usage: speccheck bench expect COLLECTIVE --instance NAME [--nodes N] [options]

Says what bus bandwidth a collective should reach on so many nodes of a type of
machine: the ceiling of the wires, what healthy machines reach, and the floors
below which
`speccheck` warns and fails. COLLECTIVE is one of
{", ".join(OPERATIONS)}.

Exit codes: 0; 1 nobody can reach the threshold; 2 the command line is wrong; 3
nothing is known of such machines.
""",
        run="bench_collectives:bench_expect",
        takes="collectives",
        names_itself=True,
    ),
    Command(
        ("evidence",),
        "what a certificate is to rest on, and what is missing",
        synopsis="pack|list DIR",
        usage="""\
usage: speccheck evidence pack DIR [options]
       speccheck evidence list DIR

pack looks through a folder - snapshots of speccheck probe and preflight,
results of speccheck bench, logs of nccl-tests and of runs, configurations and
scripts of the job - and writes evidence.json: each file with its hash, what it
is, of which machine and when it was taken. It says what is missing for the
level that is asked for, which evidence is too old, and where a credential
stands. list shows what there is, and which files are missing, changed or new
since they were packed.

Hidden files are passed over, and links are not followed. What is to be measured
for a level, and how, says speccheck certify --plan.

Exit codes: 0 all there; 3 something is missing, or does not serve; 2 the
command line is wrong or a file cannot be read: then nothing is written; 4 a bug
of speccheck.
""",
    ),
    Command(
        ("evidence", "pack"),
        "look through a folder, and write down what a certificate is to rest on",
        run="certify:pack",
        takes="files",
    ),
    Command(
        ("evidence", "list"),
        "what a kit holds, and what is missing, changed or new",
        run="certify:show_kit",
        takes="files",
    ),
    Command(
        ("certify",),
        "a signed certificate of a type of machine; --plan",
        synopsis="--profile TYPE",
        usage="""\
usage: speccheck certify --plan --profile instance/TYPE [options]
       speccheck certify --dry-run [--profile instance/TYPE ...]
       speccheck certify --profile instance/TYPE --evidence DIR [--key KEY]
       speccheck certify --compare A.json B.json ... [--output json]

--plan says what to run, on how many nodes, with the commands of the engine, and
which clauses of which track and level each step settles. --dry-run says what
the figures that were published of a type would settle: it certifies nothing.
--compare lays 2 to 8 certificates side by side; it verifies no signature.

Without it the evidence is judged (speccheck evidence pack, list): each track
gets the level up to which every must of it passes or does not apply, none is
unknown, and enough was judged. With --key the certificate is signed and
written, where every track that is asked for has the level that is asked for, or
the highest that it can have; otherwise nothing is written, and it is said why.
speccheck verify judges it again.

Exit codes: 0 certified, or would be; 1 a track is denied by what fails; 2 the
command line, the key or a file is wrong; 3 a track is denied for want of
evidence; 4 a bug of speccheck.
""",
        run="certify:certify_command",
        takes="files",
        formats=("text", "json", "markdown"),
        is_empty_help=True,
    ),
    Command(
        ("verify",),
        "a certificate looked at, and its evidence judged again",
        synopsis="CERTIFICATE",
        usage="""\
usage: speccheck verify CERTIFICATE --key pub.pem [--evidence DIR] [options]

Looks whether a certificate was signed by one of the keys and is as it was
signed; is valid today; names the edition and the program that are here; and
follows from its own judgements. With --evidence every file is held to its
SHA-256, and all of it is judged again: the verdict must come out again. With
--live this machine must be of the type that is certified. No network is used.

Exit codes: 0 all of it holds; 1 something does not: it says otherwise than it
should; 2 the command line, the certificate or a key is wrong; 3 it has expired,
or something could not be looked at; 4 a bug of speccheck.
""",
        run="verify:verify",
        takes="files",
        is_empty_help=True,
    ),
    Command(
        ("telemetry",),
        "what a run logged: metrics, intervals, events",
        synopsis="LOG ...",
        usage="""\
usage: speccheck telemetry LOG ... [options]

Says what the logs of a run hold - metrics of the dictionary with their
intervals, core metrics that are missing, events - and judges them: as one job
together, with its files where --job names them. Reads JSON lines, CSV (also of
nvidia-smi and TensorBoard), MLPerf's :::MLLOG lines and the text format of
Prometheus. `speccheck LOG` gives the same findings.

Exit codes: 0 nothing wrong was found; 1 findings at or above --fail-on; 2 the
command line or a file is wrong, or is no log; 3 evidence is missing; 4 a bug of
speccheck.
""",
        run="telemetry:telemetry",
        takes="files",
        formats=("text", "json"),
    ),
    Command(
        ("simulate",),
        "snapshots of machines that do not exist, with faults",
        synopsis="--nodes N",
        usage="""\
usage: speccheck simulate --nodes N --out DIR|FILE.jsonl[.gz] [options]

Writes snapshots of machines that do not exist: healthy ones of one type, which
differ as machines do, and faults where a plan plants some. The same command
writes the same bytes, and a node is the same in fleets of any size. --day makes
the same machines of a later day: their counters have grown. Every file says
that it is synthetic; simulation.json beside them says what is wrong with which
node. --results writes what the pre-flight of each node would have said, as
`speccheck fleet` reads it.

  speccheck simulate --nodes 64 --out fleet/ --faults plan.yaml
  speccheck fleet fleet/

--evidence writes a whole evidence kit (docs/evidence.md) of machines of one
type; --spoil makes one thing wrong with it.

A plan:

  schema: speccheck-faults/1
  faults:
    - {fault: gpu_missing, nodes: [17, 40-45]}
    - {fault: nvlink_down, count: 3}
    - {fault: driver_drift, share: 0.01, version: 570.124.06}

Exit codes: 0 written; 2 the command line or the plan is wrong, or the files
could not be written; 4 a bug of speccheck.
""",
        run="simulate:simulate",
    ),
    Command(
        ("keygen",),
        "a key that signs certificates",
        synopsis="--out key.pem",
        usage="""\
usage: speccheck keygen --out key.pem [--public pub.pem] [--passphrase-env NAME]

Makes an Ed25519 key: the private half (PEM, PKCS8) for `speccheck certify
--key`, which only its owner may read, and the public half (PEM) for `speccheck
verify --key`. Prints the key id, the SHA-256 of the public half: tell it to
verifiers by another way than that of the certificates. A file that is there is
never overwritten.

Needs `pip install 'speccheck[certify]'`.

Exit codes: 0; 2 the command line is wrong, or a file cannot be written; 4 a bug
of speccheck.
""",
        run="certify:keygen",
    ),
    Command(
        ("explain",),
        "what a rule, a clause, a variable or an error message is about",
        synopsis="RULE|CLAUSE|WORD ...",
        usage="""\
usage: speccheck explain RULE|CLAUSE|WORD ... [options]

Explains a rule or a clause: requirement, reason, example, source. Any other
words are searched for in all of them: a variable, a setting, the text of an
error.

  speccheck explain BATCH-001
  speccheck explain NCCL_IB_HCA
  speccheck explain "Watchdog caught collective operation timeout"

Exit codes: 0; 2 nothing is known of it.
""",
        run="edition_commands:explain_topic",
        takes="topics",
    ),
    Command(
        ("list",),
        "names that options take: GPUs, instances, rules, ...",
        synopsis="KIND [WORD ...]",
        usage=f"""\
usage: speccheck list KIND [WORD ...] [options]
KIND:  {", ".join(KINDS)}

Lists the names that speccheck knows, with what it knows of each. Words narrow
the list: a row has all of them.

  speccheck list gpus h100
  speccheck list instances azure h200
  speccheck list rules nccl --output json

Exit codes: 0; 2 the command line is wrong; 3 no row has all words.
""",
        run="listing:listing",
        takes="kinds",
        formats=("text", "json"),
        is_empty_help=True,
    ),
    Command(
        ("rules",),
        "all rules with clause and area: speccheck list rules",
        synopsis="[WORD ...]",
        usage="""\
usage: speccheck rules [WORD ...] [options]

Lists all rules with the clause and the level that they judge by: the same as
`speccheck list rules`.
""",
        run="listing:rules",
        formats=("text", "json"),
    ),
    Command(
        ("spec",),
        "the edition of the specification",
        usage="""\
usage: speccheck spec render|list|show|coverage|diff [options]

The edition of the specification.

  render    the edition as a document that reads as a standard
  list      all clauses by area
  show      the edition, or one clause with its numbers and their sources
  coverage  which rules judge each clause, and what their fixtures hold them to
  diff      what differs between two editions, how much it weighs, and why

`speccheck spec NAME --help` tells the options.
""",
    ),
    Command(
        ("spec", "render"),
        "the edition as a document: Markdown, or --format html",
        synopsis="[--out FILE]",
        usage="""\
usage: speccheck spec render [options]

Writes the edition as a document that reads as a standard.
""",
        run="edition_commands:spec_render",
    ),
    Command(
        ("spec", "list"),
        "all clauses of the edition",
        synopsis=" ",
        usage="""\
usage: speccheck spec list [options]

Lists all clauses of the edition by area.
""",
        run="edition_commands:spec_list",
    ),
    Command(
        ("spec", "show"),
        "the edition, or one clause with its numbers and sources",
        synopsis="[CLAUSE]",
        usage="""\
usage: speccheck spec show [CLAUSE] [options]

Shows the edition, or one clause (such as COMM-001) with its numbers and their
sources.
""",
        run="edition_commands:spec_show",
        takes="clauses",
    ),
    Command(
        ("spec", "coverage"),
        "which rules judge each clause, and their fixtures",
        synopsis=" ",
        usage="""\
usage: speccheck spec coverage [options]

Shows which rules judge each clause, and what their fixtures hold them to.
""",
        run="edition_commands:spec_coverage",
    ),
    Command(
        ("spec", "diff"),
        "what differs between two editions, and for a report",
        synopsis="A B",
        usage="""\
usage: speccheck spec diff A B [options]

Shows what differs between two editions, how much it weighs, and why. A and B
are each the id of an edition, a folder or a compiled file.
""",
        run="edition_commands:spec_diff",
        takes="editions",
    ),
    Command(
        ("schema",),
        "JSON Schema: native, report, ..., deepspeed, axolotl, ...",
        synopsis="NAME",
        usage="""\
usage: speccheck schema NAME

Prints a JSON Schema, of speccheck's own files (native, report, ...) or a
framework's (deepspeed, axolotl, ...), for editors.
""",
        run="edition_commands:schema",
        takes="schemas",
    ),
    Command(
        ("completion",),
        "completes the command line in bash, zsh, fish or PowerShell",
        synopsis="SHELL",
        usage="""\
usage: speccheck completion bash|zsh|fish|powershell

Prints a script that completes commands, options and their values. It is made of
the tables that the program reads, so it fits the version that printed it:

  bash   eval "$(speccheck completion bash)"         in ~/.bashrc
  zsh    eval "$(speccheck completion zsh)"          in ~/.zshrc, after compinit
  fish   speccheck completion fish | source          in config.fish
  powershell
         speccheck completion powershell | Out-String | Invoke-Expression
                                                     in $PROFILE
""",
        run="completion:completion",
        takes="shells",
    ),
    Command(
        ("help",),
        "more of: facts, judging, output, settings, machines, ...",
        synopsis="[TOPIC|COMMAND]",
        usage="""\
usage: speccheck help [TOPIC|COMMAND]

Prints a topic of the help, or the help of a command. Without a word it is that
of `speccheck --help`, which lists the topics.
""",
        run="help:show_help",
        takes="help",
    ),
)


def command_of(words: list[str]) -> Command | None:
    """Return the command, or the group, to which the first words lead."""
    for length in (2, 1):
        for command in COMMANDS:
            if command.words and command.words == tuple(words[:length]):
                return command
    return None


def named(name: str) -> Command:
    """Return the command of that name; raises StopIteration for none."""
    return next(command for command in COMMANDS if command.name == name)


def members_of(group: Command) -> tuple[Command, ...]:
    """Return the commands of a group."""
    return tuple(
        command
        for command in COMMANDS
        if command.run and command.words[:-1] == group.words != ()
    )


def help_of(command: Command) -> str:
    """Return what `--help` prints."""
    usage = command.usage
    if not usage:
        group = command_of([*command.words[:-1]])
        return help_of(group) if group else ""
    shown = command.options
    if not command.run:
        several = [member for member in members_of(command) if not member.usage]
        shown = tuple(option for command in several for option in command.options)
    return f"{usage}{options_help(shown)}\n" if shown else usage
