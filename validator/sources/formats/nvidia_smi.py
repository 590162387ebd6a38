"""What nvidia-smi prints: the GPUs of a node, as XML, text, table or CSV.

The names are those of the XML of drivers 470 to 595, which the other forms are brought
to; where they changed, a leaf has several paths. The meaning of each value is that of
the same leaf read through NVML.
"""

from collections.abc import Iterator, Mapping

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.sources.capture import (
    Capture,
    CapturedValue,
    Convert,
    absence_of,
    converted,
    mebibytes,
    number,
    pci_address,
    whole,
    word,
)
from speccheck.validator.sources.documents.document import ReadError
from speccheck.validator.sources.documents.xml_elements import Element, load_xml
from speccheck.validator.sources.formats import _nvidia_smi_text as texts
from speccheck.validator.sources.formats.run_log_csv import logged
from speccheck.validator.sources.formats.snapshot import node_reading
from speccheck.validator.sources.reader import CaptureReader, FactSheet, Reading, Source

_SWITCH = word({"enabled": True, "disabled": False})
_BOOST = word({"on": True, "off": False})
_ANSWER = word({"yes": True, "no": False, "1": True, "0": False})
_CHECKSUM = word({"valid": True, "invalid": False})
# nvml.h, nvmlComputeMode_t
_COMPUTE_MODES = {
    "default": 0,
    "exclusive_thread": 1,
    "prohibited": 2,
    "exclusive_process": 3,
}
# nvml.h, NVML_GPU_RECOVERY_ACTION_*
_RECOVERY_ACTIONS = {
    "none": 0,
    "reset": 1,
    "gpu reset": 1,
    "reboot": 2,
    "node reboot": 2,
    "drain p2p": 3,
    "drain and reset": 4,
}
# nvml.h, NVML_GPU_FABRIC_STATE_* and NVML_GPU_FABRIC_HEALTH_SUMMARY_*
_FABRIC_STATES = {
    "not supported": 0,
    "not started": 1,
    "in progress": 2,
    "completed": 3,
}
_HEALTH_SUMMARIES = {"healthy": 1, "unhealthy": 2, "limited capacity": 3}
# nvml.h, nvmlClocksEventReason*
_IDLE = 0x1
_REASONS = {
    "gpu_idle": _IDLE,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "display_clocks_setting": 0x100,
}
# nvml.h, NVML_PCIE_ATOMICS_CAP_*
_ATOMICS = {
    "FETCHADD_32": 0x1,
    "FETCHADD_64": 0x2,
    "SWAP_32": 0x4,
    "SWAP_64": 0x8,
    "CAS_32": 0x10,
    "CAS_64": 0x20,
    "CAS_128": 0x40,
}
# nvml.h, NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_*: of two bits, 1 true and 2 false.
_HEALTH_BITS = {
    "bandwidth": 0,
    "route_recovery_in_progress": 2,
    "route_unhealthy": 4,
    "access_timeout_recovery": 6,
}
_HEALTH_WORDS = {"degraded": 1, "true": 1, "full": 2, "false": 2}
_COMMAND = "nvidia-smi"
_ROOT_TAG = lazy_pattern(r"<nvidia_smi_log[\s>]")
_ERROR = lazy_pattern(r"\[?(?:ERR!|[Uu]nknown [Ee]rror)\]?\.?")
_LOST, _NEEDS_RESET = "gpu is lost", "gpu requires reset"
_ACTIVE = {"active": True, "not active": False}
# drivers before 535 call them reasons to throttle
_REASON_BLOCKS = (
    ("clocks_event_reasons", "clocks_event_reason_"),
    ("clocks_throttle_reasons", "clocks_throttle_reason_"),
)


_SECTIONED = "NVSMI LOG"
_HEADS = ("Attached GPUs", "Driver Version")
_FIRST_LINES = 3000  # characters in which a capture begins; a log of a job goes on
_WITHIN_A_LOG = 0.8


def _detect(source: Source) -> float:
    text = source.text
    if _ROOT_TAG.search(text) or texts.columns_of(text) or _is_sectioned(text):
        return 1.0
    shown = texts.TABLE.search(text)
    if shown is not None:
        return 1.0 if shown.start() < _FIRST_LINES else _WITHIN_A_LOG
    is_middle = texts.is_of_table(text) or texts.NO_HANDLE in text
    return 1.0 if is_middle else 0.0


def _is_sectioned(text: str) -> bool:
    has_head = all(f"\n{head}" in f"\n{text}" for head in _HEADS)
    return _SECTIONED in text or has_head or texts.is_of_sections(text)


def _read(source: Source) -> Reading:
    """Return the GPUs and the driver; raises ReadError for XML that is cut off."""
    text = source.text
    is_series = False
    if _ROOT_TAG.search(text):
        root, command = _xml(source), f"{_COMMAND} -q -x"
    elif texts.columns_of(text):
        root, is_series = texts.of_columns(source.name, text)
        command = f"{_COMMAND} --query-gpu"
    elif _is_sectioned(text):
        root, command = texts.of_query(source.name, text), f"{_COMMAND} -q"
    else:
        root, command = texts.of_table(source.name, text), _COMMAND
    if texts.NO_HANDLE in text or texts.INFOROM in text:
        texts.refused_handles(root, text.splitlines())
    capture = Capture(source.name, command)
    _driver(capture, root)
    gpus = [*root.each("gpu")]
    attached = root.find("attached_gpus")
    capture.listed("gpus", root.span if attached is None else attached.span)
    for gpu in gpus:
        _gpu(capture, gpu)
    count = None if attached is None else converted(attached.text, whole)
    if isinstance(count, int) and attached is not None:
        capture.put("driver", "gpus_attached", count, attached.span, "attached_gpus")
    if count != len(gpus):
        listed = "an unknown number" if not isinstance(count, int) else f"{count}"
        capture.partial("gpus", f"shows {len(gpus)} of {listed} GPUs")
    if any(gpu.find("temperature/gpu_temp") is not None for gpu in gpus):
        unit = {"status": "not_supported", "message": "nvidia-smi prints no times"}
        capture.put("driver", "management_library_status", 0, root.span, "it printed")
        capture.put("driver", "longest_answer_seconds", unit, root.span)
    if is_series:
        logged(source, capture)
    timestamp = root.find("timestamp")
    node = capture.node(timestamp.text if timestamp else "")
    return node_reading(node, FactSheet(source.name))


def _xml(source: Source) -> Element:
    root = load_xml(source.name, source.text)
    if root.tag != texts.ROOT:
        problem = f"its first element is <{root.tag}>, not <{texts.ROOT}>"
        at = root.span.line, root.span.column
        raise ReadError(source.name, "syntax", problem, "capture it anew", at)
    return root


def _driver(capture: Capture, root: Element) -> None:
    for leaf, tag in (("version", "driver_version"), ("cuda_version", "cuda_version")):
        element = root.find(tag)
        if element is not None:
            capture.put("driver", leaf, converted(element.text, str), element.span, tag)


def _gpu(capture: Capture, gpu: Element) -> None:
    part = "gpus", capture.add("gpus", gpu.span)

    def put(leaf: str, entry: CapturedValue, at: Element, source: str) -> None:
        capture.put_at(part, leaf, entry, at.span, source)

    for leaf, paths, convert in _SIMPLE:
        shown = [
            (path, result) for path in paths if (result := gpu.find(path)) is not None
        ]
        if shown:
            valued = [row for row in shown if absence_of(row[1].text) is None]
            path, element = (valued or shown)[0]
            put(leaf, converted(element.text, convert), element, path)
    for leaf, sets in _SUMS.items():
        _put_sum(capture, part, gpu, leaf, sets)
    _put_clock_reasons(capture, part, gpu)
    _put_banks(capture, part, gpu)
    pending = gpu.find("mig_mode/pending_mig")
    current = gpu.find("mig_mode/current_mig")
    if pending is not None and current is not None:
        absence = absence_of(pending.text) or absence_of(current.text)
        differs = pending.text != current.text
        put("mig_is_pending", absence or differs, pending, "mig_mode")
    health = gpu.find("fabric/health")
    if health is not None:
        put("fabric_health_mask", _health_mask(health), health, "fabric/health")
    _put_processes(capture, part, gpu)
    _put_state(capture, part, gpu)


def _put_sum(
    capture: Capture,
    part: tuple[str, int],
    gpu: Element,
    leaf: str,
    sets: tuple[tuple[str, ...], ...],
) -> None:
    """Put the sum of the first set of elements that are all there and tell numbers.

    A part that this board does not have adds nothing; one that fails hides the sum.
    """
    absent: tuple[CapturedValue, Element] | None = None
    best: tuple[int, Element] | None = None
    for paths in sets:
        elements = [
            element for path in paths if (element := gpu.find(path)) is not None
        ]
        if len(elements) < len(paths):
            continue
        values = [converted(item.text, whole) for item in elements]
        numbers = [value for value in values if isinstance(value, int)]
        failed = [
            value
            for value in values
            if isinstance(value, Mapping) and value["status"] == "failed"
        ]
        if not any(numbers) and (failed or not numbers):
            absent = absent or ((failed or values)[0], elements[0])
            continue
        # A line with a count tells more than one with a zero.
        at = next((e for e, v in zip(elements, values, strict=True) if v), elements[0])
        # Of a total and its parts beside each other the larger counts.
        if best is None or sum(numbers) > best[0]:
            best = sum(numbers), at
    if best is not None:
        capture.put_at(part, leaf, best[0], best[1].span, sets[0][0])
    elif absent is not None:
        capture.put_at(part, leaf, absent[0], absent[1].span, sets[0][0])


def _put_clock_reasons(capture: Capture, part: tuple[str, int], gpu: Element) -> None:
    """Put the reasons as bits; none of them may be unknown."""
    for tag, prefix in _REASON_BLOCKS:
        section = gpu.find(tag)
        if section is None:
            continue
        bits, at = 0, section
        absent: CapturedValue | None = None
        for name, bit in _REASONS.items():
            element = section.find(f"{prefix}{name}")
            if element is None:
                continue
            is_active = _ACTIVE.get(element.text.lower())
            if is_active is None:
                absent = absence_of(element.text) or {"status": "failed"}
                if absent == {"status": "failed"}:
                    break
            elif is_active:
                bits |= bit
                at = element
        active = section.find("active")
        if active is not None and absence_of(active.text) is None:
            coded = converted(active.text, _bits)
            bits |= coded if isinstance(coded, int) else 0
        # A reason that this board does not tell hides none of those that it does.
        is_slowed = bits & ~_IDLE and absent != {"status": "failed"}
        result = absent if absent is not None and not is_slowed else bits
        if not section.children:
            continue
        capture.put_at(part, "clock_event_reasons", result, at.span, tag)
        return


def _put_banks(capture: Capture, part: tuple[str, int], gpu: Element) -> None:
    path = "remapped_rows/row_remapper_histogram"
    section = gpu.find(path)
    if section is None:
        return
    names = ("max", "high", "partial", "low", "none")
    texts = [
        "" if element is None else element.text
        for element in (
            section.find(f"row_remapper_histogram_{name}") for name in names
        )
    ]
    absence = absence_of(texts[0])
    banks = [converted(text, whole) for text in texts]
    result: CapturedValue = [bank if isinstance(bank, int) else None for bank in banks]
    capture.put_at(part, "remap_banks", absence or result, section.span, path)


def _put_processes(capture: Capture, part: tuple[str, int], gpu: Element) -> None:
    section = gpu.find("processes")
    if section is None:
        return
    kinds = [
        "" if (kind := element.find("type")) is None else kind.text.upper()
        for element in section.each("process_info")
    ]
    absence = absence_of(section.text) if section.text else None
    for leaf, letter in (("compute_processes", "C"), ("graphics_processes", "G")):
        count = sum(letter in kind.split("+") for kind in kinds)
        capture.put_at(part, leaf, absence or count, section.span, "processes")


def _put_state(capture: Capture, part: tuple[str, int], gpu: Element) -> None:
    """Put what the GPU says in place of values: that it is lost, or hangs."""
    reset = gpu.find("gpu_reset_status/reset_required")
    outcome = {"is_lost": gpu, "needs_reset": gpu}
    result = {"is_lost": False, "needs_reset": False}
    for element in _all(gpu):
        text = element.text.lower()
        for leaf, words in (("is_lost", _LOST), ("needs_reset", _NEEDS_RESET)):
            if words in text and not result[leaf]:
                result[leaf], outcome[leaf] = True, element
    if reset is not None and reset.text.lower() == "yes":
        result["needs_reset"], outcome["needs_reset"] = True, reset
    failed = [item for item in _all(gpu) if _ERROR.fullmatch(item.text)]
    fabric = gpu.find("fabric/status")
    failed = [item for item in failed if item is not fabric]  # has a leaf of its own
    if failed or gpu.find("temperature/gpu_temp") is not None:
        labels: CapturedValue = [item.tag for item in failed]
        at = failed[0].span if failed else gpu.span
        capture.put_at(part, "readings_failed", labels, at, "its values")
    if gpu.find("temperature/gpu_temp") is None and not any(result.values()):
        return  # too little of it is shown to say that it answers
    for leaf, value in result.items():
        capture.put_at(part, leaf, value, outcome[leaf].span, "texts of all values")


def _all(element: Element) -> Iterator[Element]:
    for child in element.children:
        yield child
        yield from _all(child)


def _bits(text: str) -> CapturedValue:
    return int(text[:20], 16)  # 0x and 64 bits


def _device_id(text: str) -> CapturedValue:
    return f"0x{int(text.removeprefix('0x'), 16):08x}"


def _atomics(text: str) -> CapturedValue:
    names = set(text.split())
    if not names <= _ATOMICS.keys():
        raise ValueError(text)
    return sum(_ATOMICS[name] for name in names)


def _lanes(text: str) -> CapturedValue:
    return int(text.removesuffix("x"))


def _state(text: str) -> CapturedValue:
    return int(text.removeprefix("P"))


def _cluster(text: str) -> CapturedValue:
    digits = text.replace("-", "").lower()
    int(digits, 16)
    return digits


# nvml.h, nvmlReturn_t, in the words of nvmlErrorString
_CODES = {
    "success": 0,
    "uninitialized": 1,
    "invalid argument": 2,
    "not supported": 3,
    "insufficient permissions": 4,
    "timeout": 10,
    "gpu is lost": 15,
    "insufficient resources": 19,
    "in use": 19,
    "insufficient memory": 20,
}
_UNKNOWN_CODE = 999


def _return_code(text: str) -> CapturedValue:
    """Return the code of an answer; what is no success is a fault in any words."""
    return _CODES.get(text.strip().lower(), _UNKNOWN_CODE)


# leaf, paths of which the first with a value counts, form
_SIMPLE: tuple[tuple[str, tuple[str, ...], Convert], ...] = (
    ("name", ("product_name",), str),
    ("brand", ("product_brand",), str),
    ("uuid", ("uuid",), str),
    ("serial", ("serial",), str),
    ("vbios_version", ("vbios_version",), str),
    ("board_part_number", ("board_part_number",), str),
    ("gsp_firmware_version", ("gsp_firmware_version",), str),
    ("minor_number", ("minor_number",), whole),
    ("module_id", ("platformInfo/module_id", "gpu_module_id"), whole),
    ("pci_address", ("pci/pci_bus_id",), pci_address),
    ("pci_device_id", ("pci/pci_device_id",), _device_id),
    ("pci_subsystem_id", ("pci/pci_sub_system_id",), _device_id),
    ("inforom_is_valid", ("inforom_version/checksum_validation",), _CHECKSUM),
    ("persistence_is_on", ("persistence_mode",), _SWITCH),
    ("compute_mode", ("compute_mode",), word(_COMPUTE_MODES)),
    ("recovery_action", ("gpu_recovery_action",), word(_RECOVERY_ACTIONS)),
    ("mig_is_on", ("mig_mode/current_mig",), _SWITCH),
    ("performance_state", ("performance_state",), _state),
    ("memory_total_bytes", ("fb_memory_usage/total",), mebibytes),
    ("memory_used_bytes", ("fb_memory_usage/used",), mebibytes),
    ("memory_reserved_bytes", ("fb_memory_usage/reserved",), mebibytes),
    ("bar1_total_bytes", ("bar1_memory_usage/total",), mebibytes),
    ("ecc_is_on", ("ecc_mode/current_ecc",), _SWITCH),
    ("ecc_is_on_after_reboot", ("ecc_mode/pending_ecc",), _SWITCH),
    (
        "sram_threshold_exceeded",
        ("ecc_errors/aggregate/sram_threshold_exceeded",),
        _ANSWER,
    ),
    ("memory_is_unrepairable", ("ecc_errors/unrepairable_memory",), _ANSWER),
    ("remapped_rows_correctable", ("remapped_rows/remapped_row_corr",), whole),
    ("remapped_rows_uncorrectable", ("remapped_rows/remapped_row_unc",), whole),
    ("remap_is_pending", ("remapped_rows/remapped_row_pending",), _ANSWER),
    ("remap_has_failed", ("remapped_rows/remapped_row_failure",), _ANSWER),
    (
        "retired_pages_single_bit",
        ("retired_pages/multiple_single_bit_retirement/retired_count",),
        whole,
    ),
    (
        "retired_pages_double_bit",
        ("retired_pages/double_bit_retirement/retired_count",),
        whole,
    ),
    (
        "retirement_is_pending",
        ("retired_pages/pending_retirement", "retired_pages/pending_blacklist"),
        _ANSWER,
    ),
    ("sm_clock_mhz", ("clocks/sm_clock",), whole),
    ("sm_clock_maximum_mhz", ("max_clocks/sm_clock",), whole),
    ("memory_clock_mhz", ("clocks/mem_clock",), whole),
    ("memory_clock_maximum_mhz", ("max_clocks/mem_clock",), whole),
    ("application_sm_clock_mhz", ("applications_clocks/graphics_clock",), whole),
    (
        "application_sm_clock_default_mhz",
        ("default_applications_clocks/graphics_clock",),
        whole,
    ),
    (
        "power_watts",
        (
            "gpu_power_readings/average_power_draw",
            "gpu_power_readings/instant_power_draw",
            "gpu_power_readings/power_draw",
            "power_readings/power_draw",
        ),
        number,
    ),
    (
        "power_limit_watts",
        (
            "power_readings/enforced_power_limit",
            "gpu_power_readings/current_power_limit",
            "power_readings/power_limit",
        ),
        number,
    ),
    (
        "power_limit_default_watts",
        (
            "gpu_power_readings/default_power_limit",
            "power_readings/default_power_limit",
        ),
        number,
    ),
    (
        "power_limit_least_watts",
        ("gpu_power_readings/min_power_limit", "power_readings/min_power_limit"),
        number,
    ),
    (
        "power_limit_most_watts",
        ("gpu_power_readings/max_power_limit", "power_readings/max_power_limit"),
        number,
    ),
    ("temperature_celsius", ("temperature/gpu_temp",), whole),
    ("temperature_margin_celsius", ("temperature/gpu_temp_tlimit",), whole),
    ("temperature_slowdown_celsius", ("temperature/gpu_temp_slow_threshold",), whole),
    ("temperature_shutdown_celsius", ("temperature/gpu_temp_max_threshold",), whole),
    ("memory_temperature_celsius", ("temperature/memory_temp",), whole),
    (
        "memory_temperature_maximum_celsius",
        ("temperature/gpu_temp_max_mem_threshold",),
        whole,
    ),
    ("pcie_generation", ("pci/pci_gpu_link_info/pcie_gen/current_link_gen",), whole),
    (
        "pcie_generation_maximum",
        ("pci/pci_gpu_link_info/pcie_gen/max_link_gen",),
        whole,
    ),
    (
        "pcie_generation_maximum_of_gpu",
        ("pci/pci_gpu_link_info/pcie_gen/max_device_link_gen",),
        whole,
    ),
    ("pcie_width", ("pci/pci_gpu_link_info/link_widths/current_link_width",), _lanes),
    (
        "pcie_width_maximum",
        ("pci/pci_gpu_link_info/link_widths/max_link_width",),
        _lanes,
    ),
    ("pcie_replays", ("pci/replay_counter",), whole),
    ("pcie_atomics_to_gpu", ("pci/atomic_caps_inbound",), _atomics),
    ("pcie_atomics_from_gpu", ("pci/atomic_caps_outbound",), _atomics),
    ("auto_boost_is_on", ("clock_policy/auto_boost",), _BOOST),
    ("auto_boost_is_on_by_default", ("clock_policy/auto_boost_default",), _BOOST),
    ("fabric_state", ("fabric/state",), word(_FABRIC_STATES)),
    ("fabric_status", ("fabric/status",), _return_code),
    ("fabric_cluster", ("fabric/clusterUuid",), _cluster),
    ("fabric_clique", ("fabric/cliqueId",), whole),
    ("fabric_health_summary", ("fabric/health/summary",), word(_HEALTH_SUMMARIES)),
)


def _sums(since: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    unit = f"ecc_errors/{since}"
    dram = f"{unit}/dram_uncorrectable"
    sram = (f"{unit}/sram_uncorrectable_parity", f"{unit}/sram_uncorrectable_secded")
    sram_before = (f"{unit}/sram_uncorrectable",)  # drivers before 535
    corrected = f"{unit}/sram_correctable", f"{unit}/dram_correctable"
    return {
        # The totals are those of GPUs before Ampere.
        f"ecc_corrected_{since}": (corrected, (f"{unit}/single_bit/total",)),
        f"ecc_uncorrected_{since}": (
            (*sram, dram),
            (*sram_before, dram),
            (f"{unit}/double_bit/total",),
        ),
        f"sram_uncorrected_{since}": (sram, sram_before),
    }


# Leaves that are sums: sets of paths, of which the first that is there counts.
_SUMS = {**_sums("volatile"), **_sums("aggregate")}


def _health_mask(health: Element) -> CapturedValue:
    """Return the words of the fabric's health as the mask of NVML.

    A fault that has no word here makes the mask unknown, not healthy.
    """
    mask = 0
    absence: Mapping[str, str] | None = None
    for child in health.children:
        if child.tag == "summary":
            continue
        absent = absence_of(child.text)
        if absent is not None:
            absence = absence or absent
            continue
        value = converted(child.text, word(_HEALTH_WORDS))
        if child.tag not in _HEALTH_BITS or not isinstance(value, int):
            message = f"printed {child.tag} {child.text[:40]!r}"
            return {"status": "failed", "message": message}
        mask |= value << _HEALTH_BITS[child.tag]
    return mask or absence or {"status": "absent"}


READER = CaptureReader(
    "nvidia-smi",
    (
        f"<{texts.ROOT}",
        _SECTIONED,
        "Attached GPUs",
        "NVIDIA-SMI",
        texts.NO_HANDLE,
        "pci.bus_id",
        "gpu_bus_id",
        "gpu_uuid",
        "ecc.",
        "remapped_rows.",
        "retired_pages.",
        "clocks_event_reasons",
        "clocks_throttle_reasons",
        "pcie.link.",
        "mig.mode",
        "pstate",
        "persistence_mode",
        "compute_mode",
        "pid,",
        "MiB |",
        *texts.SECTION_MARKS,
    ),
    _detect,
    _read,
)
