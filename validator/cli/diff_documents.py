"""`speccheck diff` of two certificates, or of two reports."""

from collections.abc import Mapping, Sequence

from speccheck.validator.cli.options import Parsed, UsageError
from speccheck.validator.cli.request import Output, style_of
from speccheck.validator.report.document_diff.compared import Compared, Kind
from speccheck.validator.report.document_diff.kinds import kind_of

_NOTHING = 3
_WORDS: Mapping[Kind | None, str] = {
    "certificate": "a certificate",
    "report": "a report",
    None: "none",
}
_ASKED = "two snapshots, two certificates or two reports are compared"

Reports = list[tuple[tuple[str, ...], str | None]]


def kind_of_both(texts: Sequence[str], paths: Sequence[str]) -> Kind | None:
    """What both are; None where neither is one; raises UsageError for a mixed pair."""
    kinds: list[Kind | None] = [kind_of(text) for text in texts]
    kind: Kind | None = kinds[0]
    if kind == kinds[1]:
        return kind
    told = [f"{path} is {_WORDS[one]}" for path, one in zip(paths, kinds, strict=True)]
    message = f"{' and '.join(told)}: {_ASKED}"
    raise UsageError(message)


def diff_documents(
    parsed: Parsed, kind: Kind, texts: Sequence[str], outputs: Sequence[Output]
) -> tuple[Reports, int]:
    """What is written where, and the exit code; raises what reading them raises."""
    found = _compared(kind, texts, (parsed.files[0], parsed.files[1]))
    code = _NOTHING if found.verdict == "nothing_compared" else 0
    if found.verdict == "differs" and "exit_code" in parsed.values:
        code = 1
    reports: Reports = []
    for output in outputs:
        if output.format == "json":
            from speccheck.validator.report.document_diff.json_form import (  # noqa: PLC0415 - of few
                document_diff_json,
            )

            text = document_diff_json(found, code)
        else:
            from speccheck.validator.report.document_diff.text import (  # noqa: PLC0415 - of few
                document_diff_text,
            )

            style = style_of(parsed, to_file=output.path is not None)
            text = document_diff_text(found, style, full="full" in parsed.values)
        reports.append(((text,), output.path))
    return reports, code


def _compared(kind: Kind, texts: Sequence[str], paths: tuple[str, str]) -> Compared:
    from speccheck.validator.report.document_diff.reading import (  # noqa: PLC0415 - of few
        certificate_of,
        report_of,
    )

    if kind == "report":
        from speccheck.validator.report.document_diff.reports import (  # noqa: PLC0415 - of few
            compare_reports,
        )

        a, b = (report_of(text, path) for text, path in zip(texts, paths, strict=True))
        return compare_reports(a, b, paths)
    from speccheck.validator.report.document_diff.certificates import (  # noqa: PLC0415 - of few
        compare_certificates,
    )

    one, other = (
        certificate_of(text, path) for text, path in zip(texts, paths, strict=True)
    )
    return compare_certificates(one, other, paths)
