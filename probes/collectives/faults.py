"""Says who is to blame when ranks stop answering, as far as can be told from here."""

from collections.abc import Mapping, Sequence

from speccheck.probes.collectives.meeting import shown_ranks

_MOST_REPORTS = 3


def fault_message(
    own: str,
    hosts: Sequence[str],
    answers: Mapping[int, str],
    reports: Mapping[int, str],
) -> str:
    """Return what happened, in the words of rank 0.

    Args:
        own: what failed at rank 0; empty where nothing did.
        hosts: of the ranks, by number.
        answers: of the other ranks that still answer, what they were doing.
        reports: of those that failed, why.

    """
    names = dict(enumerate(hosts))
    alive = {*answers, *reports}
    silent = [rank for rank in range(1, len(hosts)) if rank not in alive]
    what = own or next(iter(reports.values()), "a rank failed")
    if not silent:
        others = [
            f"rank {rank} ({names[rank]}): {text}"
            for rank, text in list(reports.items())[:_MOST_REPORTS]
        ]
        result = f"; {'; '.join(others)}" if others else ""
        return f"{what}; all ranks still answer rank 0 ({names[0]}){result}"
    named = shown_ranks(silent, names)
    if len(silent) < len(hosts) - 1:
        verb = "answers" if len(silent) == 1 else "answer"
        why = "its process died or its link is cut"
        return f"{what}; {named} no longer {verb}: {why}"
    if len(silent) == 1:
        return (
            f"{what}; {named} no longer answers rank 0 ({names[0]}): one of both or "
            "what lies between them"
        )
    return (
        f"{what}; no other rank answers rank 0 ({names[0]}): look at the link of this "
        f"host first; silent are {named}"
    )
