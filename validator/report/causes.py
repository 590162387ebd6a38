"""Which failure explains which: a cause stands before what it brings about.

Only where the first by itself makes the second expected. What is explained keeps its
verdict and its level; a report says it below its cause, without a remedy of its own: to
mend the symptom first would send the reader the wrong way.
"""

from collections.abc import Mapping, Sequence

from speccheck.validator.report.merge_findings import Shown

_SLOW_NETWORK = (
    "all_reduce_below_floor",
    "all_reduce_below_usual",
    "all_to_all_below_floor",
    "gather_below_floor",
    "gradient_exchange_outlasts_step",
)
_SLOW_NVLINK = ("all_reduce_below_floor", "all_reduce_below_usual", "peer_copy_slow")
_SLOW_GPU = ("matrix_products_slow", "product_slower_than_peers", "unlike_its_peers")
_SLOW_COPY = ("host_copy_slow", "copies_slower_than_peers")
_NO_GPU = (
    "cuda_does_not_start",
    "fewer_gpus_present_than_asked",
    "gpu_inventory_differs_across_nodes",
    "gpus_unlike_machine_type",
)
# By the rule that names the cause, the rules of what it explains.
EXPLAINS: Mapping[str, tuple[str, ...]] = {
    # Between nodes.
    "ran_over_sockets": (*_SLOW_NETWORK, "network_without_gpudirect"),
    "fast_transport_disabled": (*_SLOW_NETWORK, "ran_over_sockets"),
    "network_without_gpudirect": _SLOW_NETWORK,
    "efa_without_gpudirect": _SLOW_NETWORK,
    "plugin_not_in_run": (*_SLOW_NETWORK, "ran_over_sockets"),
    "plugin_not_found": (*_SLOW_NETWORK, "ran_over_sockets", "plugin_not_in_run"),
    "gpudirect_rdma_missing": (*_SLOW_NETWORK, "network_without_gpudirect"),
    "one_port_down_among_equals": (*_SLOW_NETWORK, "rail_missing"),
    "adapter_broke_down": (
        *_SLOW_NETWORK,
        "rail_missing",
        "one_port_down_among_equals",
    ),
    "adapter_link_below_slot": ("write_bandwidth_low", "adapter_slower_than_peers"),
    "adapter_limited_by_slot": ("write_bandwidth_low", "adapter_slower_than_peers"),
    "rdma_modules_missing": ("gpudirect_rdma_missing", "ran_over_sockets"),
    # Within a node.
    "fabric_manager_of_other_release": ("fabric_manager_down", "fabric_not_registered"),
    "fabric_manager_down": (
        "fabric_not_registered",
        "cuda_does_not_start",
        "peer_access_missing",
        "nvlink_down",
    ),
    "nvswitch_missing": ("nvlink_down", "gpus_apart", "fabric_not_registered"),
    "nvlink_down": _SLOW_NVLINK,
    "nvlink_slow": _SLOW_NVLINK,
    "nvlink_bandwidth_reduced": _SLOW_NVLINK,
    "peer_access_disabled": ("host_memory_between_gpus", *_SLOW_NVLINK),
    "gpu_link_below_slot": _SLOW_COPY,
    # Of one GPU.
    "driver_and_library_differ": ("cuda_does_not_start", "management_library_stuck"),
    "nouveau_loaded": ("driver_library_missing", "cuda_does_not_start"),
    "gpu_missing": _NO_GPU,
    "gpu_needs_recovery": (*_NO_GPU, "gpu_missing"),
    "fatal_xid": ("gpu_needs_recovery",),
    "power_limited": _SLOW_GPU,
    "gpu_too_hot": ("slowed_by_hardware", *_SLOW_GPU),
    "power_brake_active": ("slowed_by_hardware", *_SLOW_GPU),
    "slowed_by_hardware": _SLOW_GPU,
    "auto_boost_changed": _SLOW_GPU,
    # Of settings.
    "variable_lost_on_the_way": ("setting_did_not_arrive",),
    "watchdog_in_effect_off": ("watchdog_longer_than_recovery",),
}


def with_effects(shown: Sequence[Shown]) -> list[Shown]:
    """Return the findings that no other explains, each with what it explains.

    A cause explains what is wrong in its own plan, and of parts of a machine what is
    wrong with the same parts. Of a chain each link hangs below its first.
    """
    effects: dict[int, list[Shown]] = {}
    causes = {id(item): cause for item in shown if (cause := _cause_of(item, shown))}
    first: list[Shown] = []
    for item in shown:
        cause = _first_cause(item, causes)
        if cause is item:
            first.append(item)
        else:
            effects.setdefault(id(cause), []).append(item)
    return [item._replace(effects=tuple(effects.get(id(item), ()))) for item in first]


def _cause_of(effect: Shown, shown: Sequence[Shown]) -> Shown | None:
    return next((item for item in shown if _explains(item, effect)), None)


def _first_cause(item: Shown, causes: Mapping[int, Shown]) -> Shown:
    """Return the beginning of the chain; of a circle, the finding itself."""
    cause, seen = item, {id(item)}
    while (above := causes.get(id(cause))) is not None:
        if id(above) in seen:
            return item
        seen.add(id(above))
        cause = above
    return cause


def _explains(cause: Shown, effect: Shown) -> bool:
    if effect.finding.rule not in EXPLAINS.get(cause.finding.rule, ()):
        return False
    if cause.finding.outcome != "fail" or effect.finding.outcome != "fail":
        return False
    if cause.plan_name != effect.plan_name or effect.plans > cause.plans:
        return False
    is_of_parts = bool(cause.subjects and effect.subjects)
    return not is_of_parts or not {*cause.subjects}.isdisjoint(effect.subjects)
