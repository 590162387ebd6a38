"""The command line. `speccheck FILE...` stays off typer, pydantic and rich."""

import gc
import os
import sys
from collections.abc import Callable

from speccheck.validator import VERSION

COMMANDS = ("spec", "rules", "explain", "schema")
_SIGNAL_INTERRUPT = 130
_READER_GONE = 141
_NOT_PRINTED = 2

USAGE = """\
usage: speccheck FILE|FOLDER|- ... [options]
       speccheck COMMAND ...

Judges the configuration of a large-scale training run - any of its files, together -
against the edition of the specification, and says what to change.

Commands:
  plan FILE|FOLDER ...       the values that the files make together, from where, what
                             they predict; with --what-if tp=4 also what would change
  probe [--out node.json]    a snapshot of this machine, to be judged here or elsewhere
  preflight [FILE ...]       go or no-go: this machine, the files and both together
  fleet FOLDER|RESULTS ...   go or no-go for all nodes of a job, side by side
  baseline FILE|FOLDER ...   write down what fails today: only new failures count then
  history FILE               what became of a fleet over days
  diff A.json B.json         what differs: two machines, days, certificates, reports
  bench KIND                 measure collectives, copies or products; find slow nodes
  evidence pack|list DIR     what a certificate is to rest on, and what is missing
  certify --profile TYPE     a signed certificate of a type of machine; --plan
  verify CERTIFICATE         a certificate looked at, and its evidence judged again
  telemetry LOG ...          what a run logged: metrics, intervals, events
  simulate --nodes N         snapshots of machines that do not exist, with faults
  keygen --out key.pem       a key that signs certificates
  explain RULE|CLAUSE        requirement, reason, example and source
  rules                      all rules with clause and area
  spec render [--out FILE]   the edition as a document: Markdown, or --format html
  spec list                  all clauses of the edition
  spec show [CLAUSE]         the edition, or one clause with its numbers and sources
  spec coverage              which rules judge each clause, and their fixtures
  spec diff A B              what differs between two editions, and for a report
  schema NAME                JSON Schema: native, report, ..., deepspeed, axolotl, ...
  completion SHELL           completes the command line in bash, zsh or fish
  ./rules                    a folder or file that is called like a command
"""

EXIT_CODES = """\

Exit codes:
  0  every must that was judged holds, and nothing the profile requires is missing
  1  findings at or above --fail-on
  2  usage or settings are wrong, or an input could not be read
  3  inconclusive: required evidence is missing, or there was nothing to judge
  4  a bug of speccheck
  130  interrupted
  141  the reader of the output went away
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    if arguments is not None:
        return _ending(arguments)
    # The process is ours and short, and what a run makes holds itself nowhere: the
    # collector would look at each of its objects several times, and once more at the
    # end, and find nothing. That is a sixth of the time for one file.
    gc.disable()
    code = _ending(sys.argv[1:])
    gc.freeze()
    return code


def _ending(words: list[str]) -> int:
    try:
        return _dispatch(words)
    except KeyboardInterrupt:
        return _SIGNAL_INTERRUPT
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nobody is left to tell, and a
        # verdict that nobody read is no pass. The code is that of other programs.
        sys.stderr.close()
        return _READER_GONE


def run() -> None:
    """The program: `main`, and an end without taking the interpreter apart.

    To free every module and object one by one costs a tenth of a short run, and the
    process is about to end anyway; mypy ends the same way.
    """
    code = main()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _READER_GONE
    except OSError:
        code = code or _NOT_PRINTED  # a full disk, which was told where it was met
    os._exit(code)


def _dispatch(words: list[str]) -> int:
    if words in (["--version"], ["-V"]):
        print(f"speccheck {VERSION}")  # noqa: T201 - the command line prints
        return 0
    wants_help = words[:1] == ["plan"] and words[1:2] in (["-h"], ["--help"])
    if not words or wants_help or words[0] in {"-h", "--help", "help"}:
        print(_help(), end="")  # noqa: T201
        return 0 if words else 2
    command = _command(words[0])
    if command is not None:
        return command(words[1:])
    if words[0] in COMMANDS:
        from speccheck.validator.cli.commands import run_command  # noqa: PLC0415

        return run_command(words)
    from speccheck.validator.cli.plain import judge_files  # noqa: PLC0415

    return judge_files(words)


# Commands that read files or the machine, each the function of a module.
_FUNCTIONS = {
    "plan": ("show_plan", "show_plan"),
    "probe": ("take_snapshot", "take_snapshot"),
    "preflight": ("preflight", "preflight"),
    "fleet": ("fleet", "fleet"),
    "bench": ("bench", "bench"),
    "diff": ("diff", "diff"),
    "history": ("history", "history"),
    "baseline": ("baseline", "baseline"),
    "simulate": ("simulate", "simulate"),
    "keygen": ("keygen", "keygen"),
    "certify": ("certify", "certify_command"),
    "verify": ("verify", "verify"),
    "evidence": ("evidence", "evidence"),
    "telemetry": ("telemetry", "telemetry"),
    "completion": ("completion.command", "completion"),
}


def _command(name: str) -> Callable[[list[str]], int] | None:
    """The command of that name that reads files or the machine; None for others."""
    if name not in _FUNCTIONS:
        return None
    from importlib import import_module  # noqa: PLC0415 - not for `speccheck FILE`

    module, function = _FUNCTIONS[name]
    found: Callable[[list[str]], int] = getattr(
        import_module(f"speccheck.validator.cli.{module}"), function
    )
    return found


def _help() -> str:
    from speccheck.validator.changes.what_if.assignments import names_help  # noqa: PLC0415
    from speccheck.validator.cli.options import options_help  # noqa: PLC0415
    from speccheck.validator.report.form import FORMS  # noqa: PLC0415

    forms = "\n".join(f"  {form.name:<26} {form.help}" for form in FORMS.values())
    return (
        f"{USAGE}{options_help()}\n\nForms of a report (--output):\n{forms}\n\n"
        f"{names_help()}\n{EXIT_CODES}"
    )


if __name__ == "__main__":
    run()
