"""`speccheck certify --dry-run`: what published figures would settle."""

from collections.abc import Iterator

from speccheck.validator.catalogue.published_runs import published_types
from speccheck.validator.certification.published import dry_run
from speccheck.validator.cli.options import Parsed, UsageError
from speccheck.validator.cli.request import list_of, style_of
from speccheck.validator.editions.compose import find_profile
from speccheck.validator.editions.edition import load_edition
from speccheck.validator.report.certification_text import dry_run_text

_OF_OTHERS = ("evidence", "key", "out", "html", "derive", "track", "level")


def dry_runs(parsed: Parsed) -> Iterator[str]:
    """The text on each type of machine that is asked for; all, where none is."""
    for option in _OF_OTHERS:
        if option in parsed.values:
            message = f"--dry-run takes no --{option}: it judges published figures"
            raise UsageError(message)
    spec = parsed.values.get("spec")
    edition = spec if isinstance(spec, str) else "1.0"
    style = style_of(parsed, to_file=False)
    for number, name in enumerate(_types(parsed, edition)):
        if number:
            yield "\n"
        yield from dry_run_text(dry_run(name, edition), style)


def _types(parsed: Parsed, spec: str) -> tuple[str, ...]:
    loaded = load_edition(spec)
    found = [find_profile(loaded, one) for one in list_of(parsed, "profile")]
    others = [one.id for one in found if one.kind != "instance"]
    if others:
        message = f"--profile {others[0]}: --dry-run takes types of machines, instance/"
        raise UsageError(message)
    return tuple(dict.fromkeys(one.id for one in found)) or published_types()
