"""The smallest changes that do: the fewest levers, each pulled as little as it can be.

Of levers that do more the further they are pulled, whatever fails when all that are
still open are pulled to the end is left out with everything below it.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Generic, TypeVar

from speccheck.validator.changes.what_if.levers import Lever, Step

Candidate = tuple[Step, ...]
Found = TypeVar("Found")

# What a glance says: FAILS, LACKS facts to be judged, or HOLDS.
FAILS, LACKS, HOLDS = range(3)

_MOST_TRIES = 400
_MOST_FOUND = 2
_COST_OF_VERIFYING = 4  # glances; it judges by all rules


class Search(Generic[Found]):
    """Tries candidates, none of them twice, and no more than a fixed number of them."""

    def __init__(
        self,
        glance: Callable[[Candidate], int],
        verified: Callable[[Candidate], Found | None],
        is_clean: Callable[[Found], bool],
    ) -> None:
        """Take the two ways to judge a candidate.

        Args:
            glance: what the rules in question say of it, quickly.
            verified: what comes of it by all rules; None for nothing of use.
            is_clean: whether nothing else fails then; of the others the first is kept
                as `second`, and no larger change is looked for.

        """
        self._glance = glance
        self._verified = verified
        self._is_clean = is_clean
        self.second: Found | None = None
        self._known: dict[Candidate, int] = {}
        self.tries = 0

    def combined(self, levers: Sequence[Lever], most: int) -> list[Found]:
        """One lever before two, then by the order of the levers; cheap ones first.

        Where facts are missing even at the end of all levers, candidates that lack
        them are all that there is to find.
        """
        if not levers:
            return []
        wanted = self._says(_ends(levers))
        for count in range(1, most + 1 if wanted > FAILS else 1):
            found: list[Found] = []
            for chosen in combinations(levers, count):
                one = self._least((), chosen, wanted)
                if one is not None:
                    found.append(one)
                if len(found) == _MOST_FOUND:
                    break
            if found or self.second is not None:
                return found
        return []

    def single(self, levers: Sequence[Lever]) -> list[Found]:
        """The first step of each lever that does."""
        found: list[Found] = []
        for lever in levers:
            tried = (self._tried((step,), HOLDS) for step in lever.steps)
            one = next((one for one in tried if one is not None), None)
            if one is not None and len(found) < _MOST_FOUND:
                found.append(one)
        return found

    def _least(
        self, pulled: Candidate, still: Sequence[Lever], wanted: int
    ) -> Found | None:
        """The candidate that pulls the dearest lever least, then the next."""
        if self._says((*_ends(still), *pulled)) < wanted:
            return None
        if not still:
            return self._tried(pulled, wanted)
        for step in still[-1].steps:
            found = self._least((step, *pulled), still[:-1], wanted)
            if found is not None:
                return found
        return None

    def _tried(self, candidate: Candidate, wanted: int) -> Found | None:
        if self._says(candidate) < wanted or self.tries >= _MOST_TRIES:
            return None
        self.tries += _COST_OF_VERIFYING
        found = self._verified(candidate)
        if found is None or self._is_clean(found):
            return found
        if self.second is None:
            self.second = found
        return None

    def _says(self, candidate: Candidate) -> int:
        known = self._known.get(candidate)
        if known is None:
            if self.tries >= _MOST_TRIES:
                return FAILS
            self.tries += 1
            known = self._known[candidate] = self._glance(candidate)
        return known


def _ends(levers: Sequence[Lever]) -> Candidate:
    return tuple(lever.steps[-1] for lever in levers)
