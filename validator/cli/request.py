"""What a command line asks the engine to judge, with what settings say."""

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from speccheck.validator.catalogue.names import UnknownName
from speccheck.validator.cli.command_line import (
    CommandLine,
    SettingsForFiles,
    UsageError,
    flag_of,
)
from speccheck.validator.cli.settings.files import SettingsError
from speccheck.validator.editions.compose import UnknownProfile, find_profile
from speccheck.validator.editions.edition import (
    DEFAULT_EDITION,
    Edition,
    load_edition,
)
from speccheck.validator.engine.request import (
    Excluded,
    Judging,
    Policy,
    Request,
    Selection,
)
from speccheck.validator.engine.selection import place_text
from speccheck.validator.evidence.framework_keys import parse_version
from speccheck.validator.evidence.value import Place
from speccheck.validator.report.style import printable
from speccheck.validator.report.verdict import Demands
from speccheck.validator.sources.context import ROLES, Context

if TYPE_CHECKING:
    from speccheck.validator.cli.settings.layer import Layer

USES = ("ci", "preflight", "certify")
_WHOLE = 100  # percent
_LISTS = {
    "select": "select",
    "extend_select": "extend-select",
    "ignore": "ignore",
    "extend_ignore": "ignore",
}


def request_of(line: CommandLine, use: str = "ci") -> Request:
    """Return the request of that use if no other is named; raises UsageError.

    Raises SettingsError as well, where `with_settings` laid settings under it.
    """
    use, _ = _profiles(line.texts("profile"), use)
    request = Request(
        arguments=line.files,
        use=use,
        spec=_spec(line),
        warned=line.text("warn"),
        tailoring=line.text("tailor"),
        format=line.text("format"),
        stdin_name=line.text("stdin_filename"),
        skip_unknown=line.has("skip_unknown"),
        full=line.has("full"),
        each=line.has("each"),
        by_folder=line.has("by_folder"),
        plugins=line.has("plugins"),
        node=line.text("node"),
        excluded=_excluded(line),
        force_exclude=line.has("force_exclude"),
        is_isolated=line.has("isolated"),
    ).judging_by(_judging(line))
    if use == "certify":
        from speccheck.validator.editions.compose import (  # noqa: PLC0415 - seldom
            refuse_draft,
        )

        refuse_draft(load_edition(request.spec))
    if line.settings is None:
        return request
    return request._replace(for_files=SettingsForFiles(line, _judging))


def _spec(line: CommandLine) -> str:
    """Return the edition that counts, of `--enforce` and `--spec`.

    Raises UsageError.
    """
    enforced, named = line.text("enforce"), line.text("spec")
    if enforced and "spec" in line.stated and enforced != named:
        message = f"--enforce {enforced} and --spec {named} are one option: give one"
        raise UsageError(message)
    return enforced or named or DEFAULT_EDITION


def _judging(line: CommandLine) -> Judging:
    """Return how plans are judged by one layer of settings; raises UsageError."""
    role = line.text("role")
    if role is not None and role not in ROLES:
        message = f"--role {role}: must be one of {', '.join(ROLES)}"
        raise UsageError(message)
    version = line.text("framework_version")
    if version is not None:
        try:
            parse_version(version)
        except ValueError as error:
            message = f"{said_of(line, 'framework_version')} {version}: {error}; "
            raise UsageError(message + 'write "transformers 4.57.1"') from error
    _, profiles = _profiles(line.texts("profile"), "")
    judging = Judging(
        context=Context(
            nodes=line.integer("nodes"),
            gpus_per_node=line.integer("gpus_per_node"),
            gpu=line.text("gpu"),
            instance=line.text("instance"),
            fabric=line.text("fabric"),
            nvlink_domain=line.integer("nvlink_domain"),
            role=role,
            hours=line.number("hours"),
            step_seconds=line.number("step_seconds"),
            mtbf_hours=line.number("mtbf_hours"),
            framework_version=version,
            nccl_version=line.text("nccl_version"),
        ),
        profiles=profiles,
        selection=Selection(
            select=_names(line.texts("select")),
            ignore=_names([*line.texts("ignore"), *line.texts("extend_ignore")]),
            extend_select=_names(line.texts("extend_select")),
        ),
        policy=Policy(
            waivers=line.text("waivers"),
            baseline=line.text("baseline"),
            inline_ignores=not line.has("no_inline_ignores"),
        ),
    )
    return judging if line.layer is None else _with_policy(judging, line, line.layer)


def _excluded(line: CommandLine) -> tuple[Excluded, ...]:
    """Return what is not searched: patterns from settings' files and from options."""
    patterns = line.texts("exclude")
    if not patterns:
        return ()
    folder, places = os.getcwd(), ["--exclude"] * len(patterns)
    if line.layer and "exclude" in (line.places or ()):
        folder = line.layer.folders["exclude"]
        places = [place_text(place) for place in line.layer.places["exclude"]]
    return tuple(
        Excluded(pattern, folder, place)
        for pattern, place in zip(patterns, places, strict=True)
    )


def files_request(line: CommandLine) -> Request:
    """Return the request for files that must be given; raises UsageError."""
    if not line.files:
        message = "no file given: speccheck FILE|FOLDER|- ..."
        raise UsageError(message)
    return request_of(line)


def demands_of(line: CommandLine, edition: Edition) -> Demands:
    """Return what is wanted of a run beside that nothing fails; raises UsageError.

    Args:
        line: the command line, over settings.
        edition: whose clauses may be named.

    """
    names = tuple(name.upper() for name in _names(line.texts("require")))
    for name in names:
        if name not in edition.clauses:
            raise UsageError(_no_clause(line, name, edition))
    share = line.number("min_coverage")
    if share is not None and not 1 <= share <= _WHOLE:
        result = said_of(line, "min_coverage")
        message = f"{result} {share:g}: must be a percentage from 1 to {_WHOLE}"
        raise UsageError(message)
    return Demands(
        tuple(dict.fromkeys(names)), share, allows_nothing=line.has("allow_nothing")
    )


def _no_clause(line: CommandLine, name: str, edition: Edition) -> str:
    """Return why a clause cannot be required."""
    start = f"--require {name}: "
    for text, place in zip(
        line.texts("require"), (line.places or {}).get("require", ()), strict=False
    ):
        if name in _names([text.upper()]):
            start = f"{place_text(place)}: {place.key} = {name}: "
    if name in edition.withdrawn:
        return start + edition.withdrawn[name].text
    if name in edition.areas:
        return f"{start}an area: name its clauses one by one (speccheck spec list)"
    from speccheck.validator.evidence.spelling import nearest  # noqa: PLC0415 - rare

    close = nearest(name, edition.clauses)
    hint = f"did you mean {close}?" if close else "speccheck spec list shows them"
    return f"{start}no clause of edition {edition.id}: {hint}"


def said_of(line: CommandLine, name: str) -> str:
    """Return how a value is given: by an option, or at a line of settings."""
    if line.places and name in line.places:
        place = line.places[name][0]
        return f"{place_text(place)}: {place.key} ="
    return flag_of(name)


def _profiles(names: list[str], use: str) -> tuple[str, tuple[str, ...]]:
    """Return the use among the profiles, or that by default, and the others."""
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


def _with_policy(judging: Judging, line: CommandLine, layer: "Layer") -> Judging:
    """Add what only settings say, and the places of what they say.

    Raises SettingsError for the name of a GPU, a fabric, an instance type or a profile
    that nobody knows, and for a file of waivers or of a baseline that is not there.
    """
    places = line.places or {}
    context = judging.context._replace(
        places=tuple(
            (name, places[name][0]) for name in Context._fields if name in places
        )
    )
    _verify_names(context)
    _verify_profiles(line, places)
    selection = judging.selection._replace(
        mandatory=layer.policy.mandatory,
        places=tuple(_named(line, places)),
    )
    return judging._replace(
        context=context,
        selection=selection,
        policy=_policy(judging.policy, line, layer),
        settings=layer.files,
    )


def _policy(own: Policy, line: CommandLine, layer: "Layer") -> Policy:
    """Return the policy of settings under what options say; raises SettingsError."""
    policy = layer.policy
    for name, path in (("waivers", policy.waivers), ("baseline", policy.baseline)):
        is_written = name == "baseline" and line.writes_baseline
        is_own = name in line.stated
        if path is None or is_own or is_written or os.path.isfile(path):
            continue
        place = layer.places[name][0]
        message = f"{place_text(place)}: {place.key}: no such file: {printable(path)}"
        raise SettingsError(message)
    return policy._replace(
        waivers=own.waivers or policy.waivers,
        baseline=own.baseline or policy.baseline,
        inline_ignores=own.inline_ignores and policy.inline_ignores,
    )


def _named(
    line: CommandLine, places: Mapping[str, tuple[Place, ...]]
) -> Iterator[tuple[str, str, Place]]:
    """Return option, name and place of each name that settings select or ignore."""
    for name, option in _LISTS.items():
        for text, place in zip(line.texts(name), places.get(name, ()), strict=False):
            for part in text.split(","):
                yield option, part.strip(), place


def _verify_names(context: Context) -> None:
    """Raise SettingsError for a name of settings that stands in no catalogue."""
    named = dict(context.places)
    if named.keys().isdisjoint({"gpu", "fabric", "instance"}):
        return
    from speccheck.validator.catalogue.hardware import (  # noqa: PLC0415 - seldom
        resolve_accelerator,
        resolve_fabric,
        resolve_instance,
    )

    for field, text, resolve in (
        ("gpu", context.gpu, resolve_accelerator),
        ("fabric", context.fabric, resolve_fabric),
        ("instance", context.instance, resolve_instance),
    ):
        place = named.get(field)
        if place is None or text is None:
            continue
        try:
            resolve(text)
        except UnknownName as error:
            message = f"{place_text(place)}: {place.key}: {error}"
            raise SettingsError(message) from error


def _verify_profiles(
    line: CommandLine, places: Mapping[str, tuple[Place, ...]]
) -> None:
    """Raise SettingsError for a profile of settings that the edition does not have."""
    if "profile" not in places:
        return
    edition = load_edition(line.text("spec") or DEFAULT_EDITION)
    for name, place in zip(line.texts("profile"), places["profile"], strict=False):
        try:
            find_profile(edition, name)
        except UnknownProfile as error:
            message = f"{place_text(place)}: {place.key}: {error}"
            raise SettingsError(message) from error
