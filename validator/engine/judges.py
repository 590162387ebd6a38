"""The judges of a request: one edition and selection, by the profiles of each job."""

from collections.abc import Sequence

from speccheck.validator.editions.compose import ComposedEdition, JudgedClause, compose
from speccheck.validator.editions.edition import Edition, load_edition
from speccheck.validator.engine.applicability import plan_size_class
from speccheck.validator.engine.judge import Judge
from speccheck.validator.engine.request import Policy, Request
from speccheck.validator.engine.rule_index import RuleEntry, RulesByClause, rule_entries
from speccheck.validator.engine.selection import (
    narrowed,
    selected_rules,
    verified,
    with_levels,
)
from speccheck.validator.evidence.plan import TrainingPlan
from speccheck.validator.rule import OF_FILES, Scope

Scopes = tuple[Scope, ...]
# Of size, fabric, accelerator (or those that it may be) and type of instance.
_Profiles = tuple[str | None, str | None, str | tuple[str, ...] | None, str | None]
# Judged by themselves, after all plans and after all nodes.
OF_WAIVERS: Scopes = ("waiver",)
OF_FLEETS: Scopes = ("fleet",)
_CERTIFIED: Scopes = ("node", "environment", "measurement", "fleet")
# What a snapshot of a machine gives, in the words of the edition.
_OF_NODES = (
    "node.gpus",
    "node.nvlink",
    "node.pcie",
    "node.fabric",
    "node.driver",
    "node.health",
    "node.system",
    "node.nccl_env",
)


class Judges:
    """Judges by one edition and one selection, made for the jobs that come.

    Attributes:
        request: what is judged, and how.
        edition: to judge by, with own numbers where there are some.
        entries: all rules, also those that are not selected.
        selected: the rules that are.
        warnings: what settings and command line say in vain.
        unselected: of each judge by all clauses, the edition before the selection
            narrowed it, and the scopes of the rules.

    """

    def __init__(self, request: Request) -> None:
        """Load the edition and list the rules.

        Raises UnknownEdition, TailoringFault, PluginFault or UnknownSelection.
        """
        self.request = request
        self.edition = edition_of(request)
        self.entries = _all_rules(request)
        judging = request.judging
        self.warnings = (
            *_lapsed_numbers(self.edition),
            *verified(judging, self.edition, self.entries),
        )
        self.selected = selected_rules(judging.selection, self.entries)
        self.unselected: dict[Judge, tuple[ComposedEdition, Scopes]] = {}
        self._judges: dict[tuple[object, ...], Judge] = {}
        self._rules: dict[Scopes, RulesByClause] = {}
        self._by_all_rules: Judges | None = None
        self._of_fleets: set[str] | None = None  # clauses that compare nodes alone

    def by_all_rules(self) -> "Judges":
        """Return judges by all rules that are not ignored, raised or waived."""
        if self._by_all_rules is None:
            judging = self.request.judging
            selection = judging.selection._replace(select=(), extend_select=())
            judging = judging._replace(selection=selection, policy=Policy())
            self._by_all_rules = Judges(self.request._replace(judging=judging))
        return self._by_all_rules

    def of(
        self,
        plan: TrainingPlan,
        clauses: Sequence[str] = (),
        scopes: Scopes = OF_FILES,
        measured: tuple[str, ...] = (),
    ) -> Judge:
        """Return the judge by the profiles that fit a plan.

        Args:
            plan: tells the profiles.
            clauses: the only ones to judge by; none for all.
            scopes: of the rules for which there is evidence.
            measured: kinds of measurements at hand.

        Raises what `compose` raises.

        """
        profiles: _Profiles = (
            plan_size_class(plan),
            plan.value("cluster.fabric").value,
            plan.value("cluster.accelerator").value or _forms(plan),
            plan.value("cluster.instance_type").value,
        )
        key = (profiles, scopes, measured, *clauses)
        judge = self._judges.get(key)
        if judge is None:
            judge = self._made(profiles, clauses, scopes, measured)
            self._judges[key] = judge
        return judge

    def _made(
        self,
        profiles: _Profiles,
        clauses: Sequence[str],
        scopes: Scopes,
        measured: tuple[str, ...],
    ) -> Judge:
        judging, use = self.request.judging, self.request.use
        size, fabric, accelerator, instance = profiles
        before = compose(
            self.edition,
            use=use,
            size=size,
            fabric=fabric,
            accelerator=accelerator,
            instance=instance,
            profiles=judging.profiles,
            evidence=live_evidence(scopes, measured),
        )
        needed, needed_evidence = _needed_by(use, scopes, measured)
        is_of_one_node = "fleet" not in needed
        if is_of_one_node:  # so that no selection is said to leave them out
            before = before.selecting(self._is_for_one_node)
        after = narrowed(judging.selection, before, self.entries)
        if is_of_one_node:  # also where one is selected by its name
            after = after.selecting(self._is_for_one_node)
        if judging.selection.select and scopes != OF_WAIVERS:
            after = after.selecting(_concerns_no_waivers)
        if clauses:
            after = after.selecting(lambda judged: judged.clause.id in clauses)
        if "plan" not in scopes:
            before, after = (
                edition.selecting(
                    lambda judged: self._concerns_live(judged, needed_evidence, needed)
                )
                for edition in (before, after)
            )
        after = with_levels(after, judging.policy.levels, self.entries)
        if needed not in self._rules:
            entries = [rule for rule in self.selected if rule.scope in needed]
            self._rules[needed] = RulesByClause(entries)
        judge = Judge(after, self._rules[needed])
        if not clauses:
            self.unselected[judge] = before, needed
        return judge

    def _is_for_one_node(self, judged: JudgedClause) -> bool:
        """Return whether a selected clause asks for more than to compare many nodes."""
        if self._of_fleets is None:
            scopes: dict[str, set[Scope]] = {}
            for rule in self.entries:
                scopes.setdefault(rule.clause, set()).add(rule.scope)
            self._of_fleets = {name for name in scopes if scopes[name] == {"fleet"}}
        return judged.is_selected and judged.clause.id not in self._of_fleets

    def _concerns_live(
        self, judged: JudgedClause, evidence: tuple[str, ...], by: Scopes
    ) -> bool:
        """Return whether a clause is judged, by such rules, without any file."""
        clause = judged.clause
        if not judged.is_selected or set(evidence).isdisjoint(clause.evidence):
            return False
        scopes = {rule.scope for rule in self.entries if rule.clause == clause.id}
        return not scopes or not scopes.isdisjoint(by)


def _concerns_no_waivers(judged: JudgedClause) -> bool:
    """Return whether a selected clause is judged with the plans, not after them."""
    return judged.is_selected and "waivers" not in judged.clause.evidence


def edition_of(request: Request) -> Edition:
    """Return the edition of a request; raises UnknownEdition or TailoringFault."""
    edition = load_edition(request.spec)
    if request.tailoring is None:
        return edition
    from speccheck.validator.engine.tailoring import (  # noqa: PLC0415 - seldom
        tailored_by,
    )

    return tailored_by(edition, request.tailoring)


def _lapsed_numbers(edition: Edition) -> tuple[str, ...]:
    """Return that own numbers have no effect any more, a line for each."""
    if not edition.lapsed:
        return ()
    from speccheck.validator.engine.tailoring import lapsed_text  # noqa: PLC0415 - seldom

    return tuple(map(lapsed_text, edition.lapsed))


def _all_rules(request: Request) -> tuple[RuleEntry, ...]:
    if not request.plugins:
        return rule_entries()
    from speccheck.validator.engine.rule_index import plugin_rules  # noqa: PLC0415 - seldom

    return (*rule_entries(), *plugin_rules())


def _needed_by(
    use: str, scopes: Scopes, measured: tuple[str, ...]
) -> tuple[Scopes, tuple[str, ...]]:
    """Return the scopes of the rules to run, and the live evidence that they need.

    A certificate needs machine and measurements whether they are at hand or not: what
    is missing is unknown, and never passed over.
    """
    if use != "certify" or scopes in {OF_WAIVERS, OF_FLEETS}:
        return scopes, live_evidence(scopes, measured)
    from speccheck.validator.evidence.node.node import MEASURED  # noqa: PLC0415

    wide: Scopes = (*scopes, *(scope for scope in _CERTIFIED if scope not in scopes))
    return wide, (*live_evidence(wide, tuple(MEASURED)), "report")


def live_evidence(scopes: Scopes, measured: tuple[str, ...]) -> tuple[str, ...]:
    """Return the kinds of live evidence of a plan, in the words of the edition.

    Args:
        scopes: of the rules that can judge it.
        measured: the kinds of measurements that it has.

    """
    result: dict[str, None] = dict.fromkeys(_OF_NODES if "node" in scopes else ())
    if scopes == OF_WAIVERS:
        result["waivers"] = None
    if "fleet" in scopes:
        result["fleet"] = None
    if measured:
        # Seldom, and the module knows all parts of a node.
        from speccheck.validator.evidence.node.node import MEASURED  # noqa: PLC0415

        result.update(
            dict.fromkeys(kind for name in measured for kind in MEASURED[name])
        )
    return (*result,)


def _forms(plan: TrainingPlan) -> tuple[str, ...]:
    """Return the GPUs that a name fits which several have; none where it names one."""
    generation = plan.value("cluster.compute_capability").value
    if generation is None:
        return ()
    from speccheck.validator.catalogue.hardware import (  # noqa: PLC0415 - seldom
        accelerators_of,
    )

    return accelerators_of(generation)
