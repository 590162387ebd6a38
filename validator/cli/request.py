"""What the options ask for: shared by the commands that read files."""

import os
import sys
from itertools import pairwise

from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.cli.option_table import Value
from speccheck.validator.cli.options import Parsed, UsageError
from speccheck.validator.cli.settings.names import SettingsError
from speccheck.validator.cli.settled import ForFiles
from speccheck.validator.editions.compose import UnknownProfile
from speccheck.validator.editions.edition import UnknownEdition, load_edition
from speccheck.validator.engine.policy import Policy, TailoringFault, WaiverFault
from speccheck.validator.engine.request import Excluded, Judging, Request
from speccheck.validator.engine.selection import Selection, UnknownSelection, told
from speccheck.validator.evidence.framework_keys import parse_version
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.style import Style
from speccheck.validator.report.write import WriteError
from speccheck.validator.run.run import NoSnapshot
from speccheck.validator.sources.context import ROLES, Context
from speccheck.validator.sources.files import UnknownFormat
from speccheck.validator.sources.reader import PluginFault

PICTURES = ("svg", "png")
USES = ("ci", "preflight", "certify")
# Options that name a file: those that are read, and those that are written.
_READ = ("node", "settings", "waivers", "baseline", "tailor")
_WRITTEN = ("plot", "out", "next", "result")
_DEFAULT_WIDTH = 80
BUG = 4
# What a command line or the files that it names may have wrong: exit code 2.
REFUSALS = (
    UsageError,
    UnknownName,
    UnknownFormat,
    NoSnapshot,
    UnknownProfile,
    UnknownEdition,
    UnknownSelection,
    SettingsError,
    PluginFault,
    WaiverFault,
    TailoringFault,
    WriteError,
)


def passes_on(error: Exception) -> bool:
    """Whether an unexpected exception is for `main`, and no bug to be told in a line.

    The reader of our output went away, or the user asked to see where it comes from.
    """
    is_asked_for = bool(os.environ.get("SPECCHECK_TRACEBACK"))
    return is_asked_for or isinstance(error, BrokenPipeError)


def bug_message(error: Exception) -> str:
    """One line for an exception that nobody expected."""
    return (
        f"a bug of speccheck: {type(error).__name__}: {error}; "
        "SPECCHECK_TRACEBACK=1 shows where"
    )


class Output(Record):
    """One report to write; `path` None means standard output."""

    format: str
    path: str | None


def request_of(parsed: Parsed, use: str = "ci") -> Request:
    """What is to be judged, for that use if no other is named; raises UsageError.

    Raises SettingsError as well, where `with_settings` laid settings under it.
    """
    values = parsed.values
    use, _ = _profiles(_list(values, "profile"), use)
    request = Request(
        arguments=parsed.files,
        use=use,
        spec=_spec(parsed),
        warned=_text(values, "warn"),
        tailoring=_text(values, "tailor"),
        format=_text(values, "format"),
        stdin_name=_text(values, "stdin_filename"),
        skip_unknown="skip_unknown" in values,
        full="full" in values,
        each="each" in values,
        by_folder="by_folder" in values,
        plugins="plugins" in values,
        node=_text(values, "node"),
        excluded=_excluded(parsed),
        force_exclude="force_exclude" in values,
        is_isolated="isolated" in values,
    ).judging_by(_judging(parsed))
    if use == "certify":
        from speccheck.validator.editions.compose import (  # noqa: PLC0415 - seldom
            refuse_draft,
        )

        refuse_draft(load_edition(request.spec))
    if parsed.settled is None:
        return request
    return request._replace(for_files=ForFiles(parsed, parsed.settled, _judging))


def _spec(parsed: Parsed) -> str:
    """The edition that counts: `--enforce` and `--spec` are one; raises UsageError."""
    enforced, named = (_text(parsed.values, name) for name in ("enforce", "spec"))
    own = parsed.settled.own if parsed.settled else parsed.values
    if enforced and "spec" in own and enforced != named:
        message = f"--enforce {enforced} and --spec {named} are one option: give one"
        raise UsageError(message)
    return enforced or named or "1.0"


def _judging(parsed: Parsed) -> Judging:
    """How plans are judged by one layer of settings; raises UsageError."""
    values = parsed.values
    layer = parsed.settled.layer if parsed.settled else None
    role = _text(values, "role")
    if role is not None and role not in ROLES:
        message = f"--role {role}: must be one of {', '.join(ROLES)}"
        raise UsageError(message)
    version = _text(values, "framework_version")
    if version is not None:
        _verify_version(version, _said(parsed, "framework_version"))
    _, profiles = _profiles(_list(values, "profile"), "")
    judging = Judging(
        context=Context(
            nodes=_integer(values, "nodes"),
            gpus_per_node=_integer(values, "gpus_per_node"),
            gpu=_text(values, "gpu"),
            instance=_text(values, "instance"),
            fabric=_text(values, "fabric"),
            nvlink_domain=_integer(values, "nvlink_domain"),
            role=role,
            hours=_number(values, "hours"),
            step_seconds=_number(values, "step_seconds"),
            mtbf_hours=_number(values, "mtbf_hours"),
            framework_version=version,
            nccl_version=_text(values, "nccl_version"),
        ),
        profiles=profiles,
        selection=Selection(
            select=_names(_list(values, "select")),
            ignore=_names([*_list(values, "ignore"), *_list(values, "extend_ignore")]),
            extend_select=_names(_list(values, "extend_select")),
        ),
        policy=Policy(
            waivers=_text(values, "waivers"),
            baseline=_text(values, "baseline"),
            inline_ignores="no_inline_ignores" not in values,
        ),
    )
    if layer is None:
        return judging
    # Most runs have no settings.
    from speccheck.validator.cli.settled_judging import (  # noqa: PLC0415
        with_policy,
    )

    return with_policy(judging, parsed)


def _excluded(parsed: Parsed) -> tuple[Excluded, ...]:
    """What is not searched: patterns of settings from their file, others from here."""
    patterns = _list(parsed.values, "exclude")
    if not patterns:
        return ()
    settled = parsed.settled
    folder, places = os.getcwd(), ["--exclude"] * len(patterns)
    if settled and settled.layer and "exclude" in (settled.places or ()):
        folder = settled.layer.folders["exclude"]
        places = [told(one) for one in settled.layer.places["exclude"]]
    return tuple(
        Excluded(pattern, folder, place)
        for pattern, place in zip(patterns, places, strict=True)
    )


def files_request(parsed: Parsed) -> Request:
    """What of the files that must be given is to be judged; raises UsageError."""
    if not parsed.files:
        message = "no file given: speccheck FILE|FOLDER|- ..."
        raise UsageError(message)
    return request_of(parsed)


def _said(parsed: Parsed, name: str) -> str:
    """How a value is given: by an option, or at a line of settings."""
    settled = parsed.settled
    if settled is not None and settled.places and name in settled.places:
        place = settled.places[name][0]
        return f"{told(place)}: {place.key} ="
    return "--" + name.replace("_", "-")


def _verify_version(text: str, said: str) -> None:
    try:
        parse_version(text)
    except ValueError as error:
        message = f'{said} {text}: {error}; write "transformers 4.57.1"'
        raise UsageError(message) from error


def _profiles(names: list[str], use: str) -> tuple[str, tuple[str, ...]]:
    """The use among the profiles, or that by default, and the others."""
    others: list[str] = []
    for name in _names(names):
        bare = name.removeprefix("use/")
        if bare in USES:
            use = bare
        else:
            others.append(name)
    return use, tuple(others)


def _names(texts: list[str]) -> tuple[str, ...]:
    return tuple(
        name.strip() for text in texts for name in text.split(",") if name.strip()
    )


def outputs_in(words: list[str], formats: tuple[str, ...]) -> list[Output]:
    """The report on standard output that a command line asks for, though it is wrong.

    Who reads JSON is to be told so in JSON. Files are left as they are: that they may
    be written is not known yet.
    """
    flag = "--output"
    texts = [one for before, one in pairwise(words) if before == flag]
    texts += [
        one.removeprefix(flag + "=") for one in words if one.startswith(flag + "=")
    ]
    return [Output(one, None) for one in texts if one in formats][:1]


def outputs_of(parsed: Parsed, formats: tuple[str, ...]) -> list[Output]:
    """The reports to write; raises UsageError, also for files that cannot be."""
    outputs: list[Output] = []
    for text in _list(parsed.values, "output") or ["text"]:
        name, equal, path = text.partition("=")
        if name not in formats:
            said = _said(parsed, "output")
            message = f"{said} {name}: must be one of {', '.join(formats)}"
            raise UsageError(message)
        if equal and not path:
            said = _said(parsed, "output")
            message = f"{said} {name}= needs a file name after the equal sign"
            raise UsageError(message)
        outputs.append(Output(name, path or None))
    if sum(output.path is None for output in outputs) > 1:
        message = "two reports on standard output: give one a file, --output json=FILE"
        raise UsageError(message)
    named = reports_of(parsed)
    if named:
        from speccheck.validator.cli.destinations import (  # noqa: PLC0415 - to files
            verify_destinations,
        )

        inputs = (one for name in _READ for one in _texts(parsed.values, name))
        others = {f"--{name}": _text(parsed.values, name) for name in _WRITTEN}
        verify_destinations(
            named,
            inputs=(*parsed.files, *inputs),
            others={name: path for name, path in others.items() if path},
        )
    return outputs


def reports_of(parsed: Parsed) -> dict[str, str]:
    """The files of reports, by the option that names each; raises UsageError."""
    named: dict[str, str] = {}
    for text in _list(parsed.values, "output"):
        _, _, path = text.partition("=")
        option = f"--output {text}"
        if path and option in named:
            message = f"{option} is given twice"
            raise UsageError(message)
        if path:
            named[option] = path
    return named


def _texts(values: dict[str, Value], name: str) -> list[str]:
    """The texts of an option, however often it may be given."""
    one = _text(values, name)
    return [one] if one else _list(values, name)


def picture_of(parsed: Parsed) -> str | None:
    """Where measured curves are to be drawn; raises UsageError."""
    path = _text(parsed.values, "plot")
    if path is not None and path.rpartition(".")[2] not in PICTURES:
        message = f"--plot {path}: must end in .{' or .'.join(PICTURES)}"
        raise UsageError(message)
    return path


def style_of(parsed: Parsed, *, to_file: bool) -> Style:
    """How to draw the report."""
    when = one_of(parsed, "color", ("auto", "always", "never"))
    is_terminal = not to_file and sys.stdout.isatty()
    colour = when == "always" or (
        when == "auto" and is_terminal and not os.environ.get("NO_COLOR")
    )
    encoding = "utf-8" if to_file else (sys.stdout.encoding or "ascii")
    width = _DEFAULT_WIDTH
    if is_terminal:
        width = max(60, min(os.get_terminal_size().columns, 120))
    return Style(colour, "utf" in encoding.lower(), width)


def one_of(parsed: Parsed, name: str, known: tuple[str, ...]) -> str:
    """The value of an option with a few words, the first of them by default."""
    value = _text(parsed.values, name) or known[0]
    if value not in known:
        flag = "--" + name.replace("_", "-")
        message = f"{flag} {value}: must be one of {', '.join(known)}"
        raise UsageError(message)
    return value


def _text(values: dict[str, Value], name: str) -> str | None:
    value = values.get(name)
    return value if isinstance(value, str) else None


def _integer(values: dict[str, Value], name: str) -> int | None:
    value = values.get(name)
    return value if isinstance(value, int) else None


def _number(values: dict[str, Value], name: str) -> float | None:
    value = values.get(name)
    return float(value) if isinstance(value, int | float) else None


def list_of(parsed: Parsed, name: str) -> list[str]:
    """The texts of an option that may be given several times."""
    return _list(parsed.values, name)


def _list(values: dict[str, Value], name: str) -> list[str]:
    value = values.get(name)
    return value if isinstance(value, list) else []
