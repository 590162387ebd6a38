"""The texts of nvidia-smi, as the elements that `nvidia-smi -q -x` writes.

`-q`, the plain table and `--query-gpu` print the values of the XML under other labels:
the tables here name the element of each. What is cut off is missing, and stays so.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

from speccheck.validator.evidence.lazy_pattern import lazy_pattern
from speccheck.validator.evidence.value import Span
from speccheck.validator.sources.capture import line_span
from speccheck.validator.sources.documents.xml_elements import Element

ROOT = "nvidia_smi_log"
_GPU_HEAD = lazy_pattern(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)$")
# nvidia-smi aligns its colons, also where a name holds one
_PAIR = lazy_pattern(r"(\S(?:.*?\S)?)\s+:(?:\s+(.*))?$")
_NO_HANDLE = lazy_pattern(
    r".*Unable to determine the device handle for (?:GPU ?\d*:? ?|gpu )?"
    r"((?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d): *(.+)$"
)
NO_HANDLE = "Unable to determine the device handle for"
_INFOROM = lazy_pattern(
    r"WARNING: infoROM is corrupted at gpu (\S+:[0-9A-Fa-f]{2}\.\d)"
)
INFOROM = "infoROM is corrupted at gpu"
_LONGEST_SHARED = len("0000:1B:00.0")  # of a domain of four digits and one of eight
_SKIPPED = lazy_pattern(r"[^A-Za-z0-9 ]")

# Of `-q`: labels whose element is not their own words in lower case, by the element
# that they stand in. A path makes elements within each other.
_LABELS: dict[str, dict[str, str]] = {
    "": {
        "gpu_uuid": "uuid",
        "serial_number": "serial",
        "module_id": "gpu_module_id",
        "platform_info": "platformInfo",
    },
    "pci": {
        "bus_id": "pci_bus_id",
        "device_id": "pci_device_id",
        "sub_system_id": "pci_sub_system_id",
        "gpu_link_info": "pci_gpu_link_info",
        "replays_since_reset": "replay_counter",
    },
    "pci_gpu_link_info": {"pcie_generation": "pcie_gen", "link_width": "link_widths"},
    "pcie_gen": {
        "max": "max_link_gen",
        "current": "current_link_gen",
        "device_max": "max_device_link_gen",
    },
    "link_widths": {"max": "max_link_width", "current": "current_link_width"},
    "mig_mode": {"current": "current_mig", "pending": "pending_mig"},
    "ecc_mode": {"current": "current_ecc", "pending": "pending_ecc"},
    "remapped_rows": {
        "correctable_error": "remapped_row_corr",
        "uncorrectable_error": "remapped_row_unc",
        "pending": "remapped_row_pending",
        "remapping_failure_occurred": "remapped_row_failure",
        "bank_remap_availability_histogram": "row_remapper_histogram",
    },
    "row_remapper_histogram": {
        level: f"row_remapper_histogram_{level}"
        for level in ("max", "high", "partial", "low", "none")
    },
    "retired_pages": {
        "single_bit_ecc": "multiple_single_bit_retirement/retired_count",
        "double_bit_ecc": "double_bit_retirement/retired_count",
        "pending_page_blacklist": "pending_blacklist",
        "pending_page_retirement": "pending_retirement",
        "pending": "pending_retirement",
    },
    "temperature": {
        "gpu_current_temp": "gpu_temp",
        "gpu_tlimit_temp": "gpu_temp_tlimit",
        "gpu_shutdown_temp": "gpu_temp_max_threshold",
        "gpu_slowdown_temp": "gpu_temp_slow_threshold",
        "memory_current_temp": "memory_temp",
        "memory_max_operating_temp": "gpu_temp_max_mem_threshold",
    },
    "gpu_power_readings": {"instantaneous_power_draw": "instant_power_draw"},
    "fabric": {"cliqueid": "cliqueId", "clusteruuid": "clusterUuid"},
    "processes": {"process_id": "process_info"},
    **{
        block: {"graphics": "graphics_clock", "sm": "sm_clock", "memory": "mem_clock"}
        for block in (
            "clocks",
            "max_clocks",
            "applications_clocks",
            "default_applications_clocks",
        )
    },
}
_REASON_BLOCKS = {
    "clocks_event_reasons": "clocks_event_reason_",
    "clocks_throttle_reasons": "clocks_throttle_reason_",
}
_REASON_LABELS = {"idle": "gpu_idle", "display_clock_setting": "display_clocks_setting"}
_VERSIONS = {
    "Driver Version": "driver_version",
    "KMD Version": "driver_version",
    "CUDA Version": "cuda_version",
    "CUDA UMD Version": "cuda_version",
}
_ATTACHED = "Attached GPUs"


# Labels that no other tool prints with a colon behind them.
SECTION_MARKS = ("VBIOS Version", "GPU Part Number", "GPU UUID", "Persistence Mode")


def is_of_sections(text: str) -> bool:
    """Return whether a text is from the middle of what `-q` prints."""
    pairs = (_PAIR.match(line.strip()) for line in text.splitlines() if line[:1] == " ")
    return sum(pair is not None and pair[1] in SECTION_MARKS for pair in pairs) > 0


def is_of_table(text: str) -> bool:
    """Return whether a text is from the middle of the table."""
    return any(_ROW_1.match(line.strip()) for line in text.splitlines())


def put(element: Element, path: str, text: str, span: Span) -> Element:
    """Put a text at a path within an element; return the innermost."""
    for tag in path.split("/"):
        inner = element.find(tag)
        if inner is None:
            inner = Element(tag, {}, span)
            element.children.append(inner)
        element = inner
    element.text = text
    return element


def started(name: str) -> Element:
    """Return the root of a text without anything in it."""
    return Element(name, {}, Span(1, 1, 1))


def new_gpu(root: Element, address: str, span: Span) -> Element:
    """Add a GPU to the root."""
    gpu = Element("gpu", {"id": address}, span)
    root.children.append(gpu)
    if address:
        put(gpu, "pci/pci_bus_id", address, span)
    return gpu


def refused_handles(root: Element, lines: Sequence[str]) -> None:
    """Put what nvidia-smi says beside its tables of GPUs that do not answer."""
    known = {
        at.text.upper()[-_LONGEST_SHARED:]: gpu
        for gpu in root.each("gpu")
        if (at := gpu.find("pci/pci_bus_id")) is not None
    }
    for number, line in enumerate(lines, 1):
        span, text = line_span(number, line), line.strip()
        for mark, pattern in ((NO_HANDLE, _NO_HANDLE), (INFOROM, _INFOROM)):
            match = pattern.search(text) if mark in text else None
            if match is None:
                continue
            key = match[1].upper()[-_LONGEST_SHARED:]
            gpu = known.get(key) or new_gpu(root, match[1], span)
            if mark == INFOROM:
                put(gpu, "inforom_version/checksum_validation", "invalid", span)
            else:
                put(gpu, "device_handle", match[2], span)


def of_query(name: str, text: str) -> Element:
    """Return what `nvidia-smi -q` prints, whole or some of its sections."""
    root = started(name)
    at: list[tuple[int, Element]] = []  # the open elements, each with its indentation
    gpu: Element | None = None
    for number, line in enumerate(text.splitlines(), 1):
        bare, span = line.strip(), line_span(number, line)
        if match := _GPU_HEAD.match(bare):
            gpu = new_gpu(root, match[1], span)
            at = []
            continue
        pair = _PAIR.match(bare)
        label, value = (pair[1], (pair[2] or "").strip()) if pair else (bare, "")
        indent = len(line) - len(line.lstrip())
        if not indent and (label in _VERSIONS or label in {_ATTACHED, "Timestamp"}):
            put(root, _VERSIONS.get(label, _tag(label)), _plain(value), span)
            continue
        if not bare or not indent or (gpu is None and pair is None):
            continue
        gpu = gpu or new_gpu(root, "", span)  # the middle of a capture
        while at and at[-1][0] >= indent:
            at.pop()
        parent = at[-1][1] if at else gpu
        block = next((item for _, item in at if item.tag in _REASON_BLOCKS), None)
        parent = block or parent
        path = _path(parent, [element.tag for _, element in at], _tag(label))
        if path == "process_info":  # one of several with that name
            element = Element(path, {}, span)
            element.text = value
            parent.children.append(element)
        else:
            element = put(parent, path, value, span)
        at.append((indent, element))
    return root


def _plain(value: str) -> str:
    """Return a value without the notice that newer drivers put behind it."""
    return value.partition(" [")[0]


def _tag(label: str) -> str:
    return _SKIPPED.sub("", label).strip().lower().replace(" ", "_")


def _path(parent: Element, above: Sequence[str], tag: str) -> str:
    block = next((tag for tag in above if tag in _REASON_BLOCKS), "")
    if block:
        return f"{_REASON_BLOCKS[block]}{_REASON_LABELS.get(tag, tag)}"
    return _LABELS.get(parent.tag if above else "", {}).get(tag, tag)


# Of the table.

TABLE = lazy_pattern(r"\|?\s*NVIDIA-SMI\s+(\S+).*?(?:Driver|KMD) Version:\s*(\S+)")
_CUDA = lazy_pattern(r"CUDA (?:UMD )?Version:\s*(\S+)")
_ROW_1 = lazy_pattern(
    r"\|\s*(\d+)\s+(\S.*?)\s+(On|Off|N/A|ERR!|WDDM|TCC|MCDM)\s*\|"
    r"\s*([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d|\S+)\s+(\S+)\s*\|\s*(\S.*?)\s*\|"
)
_ROW_2 = lazy_pattern(
    r"\|\s*(\S+)\s+(\S+)\s+(\S+)\s+(\S.*?)\s*/\s*(\S.*?)\s*\|"
    r"\s*(\S.*?)\s*/\s*(\S.*?)\s*\|\s*(\S+)\s+(\S.*?)\s*\|"
)
_ROW_3 = lazy_pattern(r"\|\s*\|\s*\|\s*(\S+)\s*\|$")
_PROCESS = lazy_pattern(
    r"\|\s+(\d+)\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(\d+)\s+([CGM]\+?[CGM]?)\s+\S"
)
_NO_PROCESSES = "No running processes found"
_MODES = {"On": "Enabled", "Off": "Disabled"}
_COMPUTE = {"E. Process": "Exclusive_Process", "E. Thread": "Exclusive_Thread"}
_TEMPERATURE, _POWER = "temperature/gpu_temp", "gpu_power_readings"
_ECC = "ecc_errors/volatile/double_bit/total"
_UNIT = lazy_pattern(r"(\d+(?:\.\d+)?)\s*(MiB|W|C)$")


def of_table(name: str, text: str) -> Element:
    """Return what nvidia-smi prints without arguments, the last of several."""
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines) if TABLE.search(line)]
    begin = heads[-1] if heads else 0
    root = started(name)
    gpus: dict[int, Element] = {}
    current: Element | None = None
    rows = 0  # of the GPU, after its first
    for number, line in enumerate(lines[begin:], begin + 1):
        span, bare = line_span(number, line), line.strip()
        if match := TABLE.search(bare):
            put(root, "driver_version", match[2], span)
            if cuda := _CUDA.search(bare):
                put(root, "cuda_version", cuda[1], span)
        elif (match := _ROW_1.match(bare)) and int(match[1]) not in gpus:
            current, rows = new_gpu(root, match[4], span), 0
            gpus[int(match[1])] = current
            _first_row(current, match.groups(), span)
        elif current is not None:
            rows += 1
            current = _row_below(current, bare, span, rows)
        else:
            _process(gpus, bare, span)
    if gpus:
        _put_count(root, [*gpus], _GPUS_CUT if current is not None else "")
    return root


def _row_below(gpu: Element, line: str, span: Span, rows: int) -> Element | None:
    """Put a row below the first of a GPU; return None where the GPU ends."""
    if not line.startswith("|"):
        return None
    if rows == 1 and (match := _ROW_2.match(line)):
        _second_row(gpu, match.groups(), span)
    elif match := _ROW_3.match(line):
        _modes(gpu, match[1], span)
    return gpu


_GPUS_CUT = "cut off after a GPU"


def _put_count(root: Element, numbers: Sequence[int], cut: str = "") -> None:
    """Put how many GPUs there are: all, where their numbers begin at 0 without gaps."""
    is_whole = not cut and sorted(numbers) == [*range(len(numbers))]
    put(root, "attached_gpus", str(len(numbers)) if is_whole else "N/A", root.span)


def _first_row(gpu: Element, cells: Sequence[str], span: Span) -> None:
    _, name, mode, _, _, ecc = cells
    if not name.endswith("..."):
        put(gpu, "product_name", name, span)
    if mode in _MODES or mode == "ERR!":
        put(gpu, "persistence_mode", _MODES.get(mode, mode), span)
    if ecc.isdecimal():
        put(gpu, "ecc_mode/current_ecc", "Enabled", span)
        put(gpu, _ECC, ecc, span)
    elif ecc == "Off" and not name.endswith("..."):  # some boards are shipped so
        put(gpu, "ecc_mode/current_ecc", "Disabled", span)
    else:
        put(gpu, "ecc_errors/volatile/double_bit/state", ecc, span)


def _modes(gpu: Element, mode: str, span: Span) -> None:
    """Put the mode of instances; an asterisk says that another one waits."""
    now = mode.removesuffix("*")
    other = {"Enabled": "Disabled", "Disabled": "Enabled"}.get(now, now)
    put(gpu, "mig_mode/current_mig", now, span)
    put(gpu, "mig_mode/pending_mig", now if now == mode else other, span)


def _second_row(gpu: Element, cells: Sequence[str], span: Span) -> None:
    fan, temperature, state, power, limit, used, total, _, compute = cells
    shown = {
        "fan_speed": fan,
        _TEMPERATURE: temperature,
        "performance_state": state,
        f"{_POWER}/instant_power_draw": power,
        f"{_POWER}/current_power_limit": limit,
        "fb_memory_usage/used": used,
        "fb_memory_usage/total": total,
        "compute_mode": _COMPUTE.get(compute, compute),
    }
    for path, cell in shown.items():
        match = _UNIT.match(cell)
        put(gpu, path, f"{match[1]} {match[2]}" if match else cell, span)


def _process(gpus: Mapping[int, Element], line: str, span: Span) -> None:
    if _NO_PROCESSES in line:
        for gpu in gpus.values():
            put(gpu, "processes", "", span)
    elif (match := _PROCESS.match(line)) and int(match[1]) in gpus:
        for number, gpu in gpus.items():
            section = gpu.find("processes") or put(gpu, "processes", "", span)
            if number == int(match[1]):
                info = Element("process_info", {}, span)
                put(info, "type", match[3], span)
                section.children.append(info)


# Of --query-gpu and --query-compute-apps.

_OF_SRAM = ("sram_uncorrectable_parity", "sram_uncorrectable_secded")


def _errors(since: str) -> dict[str, str]:
    here, there = f"ecc.errors.%s.{since}.", f"ecc_errors/{since}/"
    uncorrected, corrected = here % "uncorrected", here % "corrected"
    return {
        f"{corrected}dram": f"{there}dram_correctable",
        f"{corrected}sram": f"{there}sram_correctable",
        f"{corrected}total": f"{there}single_bit/total",
        f"{uncorrected}dram": f"{there}dram_uncorrectable",
        f"{uncorrected}sram": f"{there}sram_uncorrectable",
        f"{uncorrected}sram.parity": f"{there}{_OF_SRAM[0]}",
        f"{uncorrected}sram.secded": f"{there}{_OF_SRAM[1]}",
        f"{uncorrected}total": f"{there}double_bit/total",
        f"{uncorrected}sram.thresholdexceeded": f"{there}sram_threshold_exceeded",
    }


_REASONS = (
    "gpu_idle",
    "applications_clocks_setting",
    "sw_power_cap",
    "hw_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
    "sw_thermal_slowdown",
    "sync_boost",
)
# Source: nvidia-smi --help-query-gpu of drivers 470 to 595; names in lower case.
COLUMNS: dict[str, str] = {
    "name": "product_name",
    "gpu_name": "product_name",
    "serial": "serial",
    "gpu_serial": "serial",
    "uuid": "uuid",
    "gpu_uuid": "uuid",
    "pci.bus_id": "pci/pci_bus_id",
    "gpu_bus_id": "pci/pci_bus_id",
    "pci.device_id": "pci/pci_device_id",
    "pci.sub_device_id": "pci/pci_sub_system_id",
    "pcie.link.gen.current": "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
    "pcie.link.gen.gpucurrent": "pci/pci_gpu_link_info/pcie_gen/current_device_gen",
    "pcie.link.gen.max": "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    "pcie.link.gen.gpumax": "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen",
    "pcie.link.width.current": "pci/pci_gpu_link_info/link_widths/current_link_width",
    "pcie.link.width.max": "pci/pci_gpu_link_info/link_widths/max_link_width",
    "vbios_version": "vbios_version",
    "inforom.checksum_validation": "inforom_version/checksum_validation",
    "persistence_mode": "persistence_mode",
    "gpu_recovery_action": "gpu_recovery_action",
    "pstate": "performance_state",
    "memory.total": "fb_memory_usage/total",
    "memory.reserved": "fb_memory_usage/reserved",
    "memory.used": "fb_memory_usage/used",
    "compute_mode": "compute_mode",
    "ecc.mode.current": "ecc_mode/current_ecc",
    "ecc.mode.pending": "ecc_mode/pending_ecc",
    **_errors("volatile"),
    **_errors("aggregate"),
    "retired_pages.single_bit_ecc.count": (
        "retired_pages/multiple_single_bit_retirement/retired_count"
    ),
    "retired_pages.sbe": "retired_pages/multiple_single_bit_retirement/retired_count",
    "retired_pages.double_bit.count": (
        "retired_pages/double_bit_retirement/retired_count"
    ),
    "retired_pages.dbe": "retired_pages/double_bit_retirement/retired_count",
    "retired_pages.pending": "retired_pages/pending_retirement",
    "remapped_rows.correctable": "remapped_rows/remapped_row_corr",
    "remapped_rows.uncorrectable": "remapped_rows/remapped_row_unc",
    "remapped_rows.pending": "remapped_rows/remapped_row_pending",
    "remapped_rows.failure": "remapped_rows/remapped_row_failure",
    **{
        f"remapped_rows.histogram.{level}": (
            f"remapped_rows/row_remapper_histogram/row_remapper_histogram_{level}"
        )
        for level in ("max", "high", "partial", "low", "none")
    },
    "temperature.gpu": _TEMPERATURE,
    "temperature.gpu.tlimit": "temperature/gpu_temp_tlimit",
    "temperature.memory": "temperature/memory_temp",
    "power.draw": f"{_POWER}/power_draw",
    "power.draw.average": f"{_POWER}/average_power_draw",
    "power.draw.instant": f"{_POWER}/instant_power_draw",
    "power.limit": f"{_POWER}/current_power_limit",
    "enforced.power.limit": "power_readings/enforced_power_limit",
    "power.default_limit": f"{_POWER}/default_power_limit",
    "power.min_limit": f"{_POWER}/min_power_limit",
    "power.max_limit": f"{_POWER}/max_power_limit",
    "clocks.current.sm": "clocks/sm_clock",
    "clocks.sm": "clocks/sm_clock",
    "clocks.current.memory": "clocks/mem_clock",
    "clocks.mem": "clocks/mem_clock",
    "clocks.max.sm": "max_clocks/sm_clock",
    "clocks.max.memory": "max_clocks/mem_clock",
    "clocks.max.mem": "max_clocks/mem_clock",
    "clocks.applications.graphics": "applications_clocks/graphics_clock",
    "clocks.default_applications.graphics": (
        "default_applications_clocks/graphics_clock"
    ),
    "mig.mode.current": "mig_mode/current_mig",
    "mig.mode.pending": "mig_mode/pending_mig",
    "fabric.state": "fabric/state",
    "fabric.status": "fabric/status",
    "fabric.cliqueid": "fabric/cliqueId",
    "fabric.clusteruuid": "fabric/clusterUuid",
    **{
        f"fabric.health.{word}": f"fabric/health/{word}"
        for word in (
            "summary",
            "bandwidth",
            "route_recovery_in_progress",
            "route_unhealthy",
            "access_timeout_recovery",
        )
    },
    **{
        f"{block}.{reason}": f"{block}/{prefix}{reason}"
        for block, prefix in _REASON_BLOCKS.items()
        for reason in _REASONS
    },
    **{f"{block}.active": f"{block}/active" for block in _REASON_BLOCKS},
}
# What says how a GPU is, not only how busy: its table is a look at a machine.
_OF_STATE = (
    *("ecc.", "remapped_rows.", "retired_pages.", "clocks_event_reasons."),
    *("clocks_throttle_reasons.", "fabric.", "mig.", "pcie.link.", "inforom."),
    *("gpu_recovery_action", "pci.bus_id", "gpu_bus_id", "persistence_mode"),
    *("compute_mode", "pstate"),
)
_OF_PROCESSES = frozenset({"pid", "process_name", "used_gpu_memory", "used_memory"})
_BY = ("pci.bus_id", "gpu_bus_id", "uuid", "gpu_uuid", "index", "serial")
_HEAD_UNIT = lazy_pattern(r"(.{1,80}?)\s*\[([^\[\]]{1,20})\]$")
_BARE_NUMBER = lazy_pattern(r"\d+(?:\.\d+)?$")
_LONGEST_HEAD = 100_000


def columns_of(text: str) -> list[str]:
    """Return the names of the columns of a --query table; empty for another text."""
    first = text.lstrip("\ufeff\r\n ").partition("\n")[0]
    if "," not in first or len(first) > _LONGEST_HEAD:
        return []
    names = [_column(part)[0] for part in first.split(",")]
    is_of_state = any(name.startswith(_OF_STATE) for name in names)
    known = sum(name in COLUMNS or name == "index" for name in names)
    is_of_gpus = is_of_state and known >= 2  # noqa: PLR2004 - a GPU and a state
    is_of_apps = {"pid"} < _OF_PROCESSES.intersection(names)
    return names if is_of_gpus or is_of_apps else []


def _column(head: str) -> tuple[str, str]:
    head = head.strip().strip('"')
    match = _HEAD_UNIT.match(head)
    name, unit = (match[1], match[2]) if match else (head, "")
    return name.lower(), unit


def of_columns(name: str, text: str) -> tuple[Element, bool]:
    """Return what a --query table says, and whether GPUs have several rows each.

    Of several rows of a GPU the last is its state; what any says of a loss stays.
    """
    root = started(name)
    rows = _records(text)
    head = [_column(cell) for cell in next(rows, (0, []))[1]]
    names = [name for name, _ in head]
    gpus: dict[str, Element] = {}
    indexes: dict[str, None] = {}
    is_series = False
    for number, cells in rows:
        span = Span(number, 1, max(1, sum(map(len, cells)) + len(cells) - 1))
        record = dict(zip(names, cells, strict=False))
        key = next((record[name] for name in _BY if record.get(name)), str(number))
        indexes.setdefault(record.get("index", ""))
        is_series |= key in gpus and "pid" not in names
        gpu = gpus[key] = gpus.get(key) or new_gpu(root, "", span)
        if len(cells) != len(head):  # cut off, or a sentence in place of the values
            put(gpu, "row", ", ".join(cells), span)
        _put_cells(root, gpu, [*zip(head, cells, strict=False)], span)
    of_apps = "pid" in names
    if root.find("attached_gpus") is None and not of_apps:
        numbers = [int(key) for key in indexes if key.isdecimal()]
        _put_count(root, numbers or [*range(len(gpus))])
    return root, is_series


def _put_cells(
    root: Element,
    gpu: Element,
    cells: Sequence[tuple[tuple[str, str], str]],
    span: Span,
) -> None:
    """Put the cells of a row: values of a GPU, or a program on it."""
    names = {name for (name, _), _ in cells}
    if "pid" in names:
        section = gpu.find("processes") or put(gpu, "processes", "", span)
        info = Element("process_info", {}, span)
        put(info, "type", "C", span)
        section.children.append(info)
    for (column, unit), cell in cells:
        if column == "driver_version":
            put(root, column, _plain(cell), span)
        elif column in COLUMNS:
            put(gpu, COLUMNS[column], _with_unit(column, unit, cell), span)
        elif column == "count" and "pid" not in names:
            put(root, "attached_gpus", cell, span)


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(StringIO(text.lstrip("\ufeff")), skipinitialspace=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            continue
        if any(cell.strip() for cell in cells):
            yield reader.line_num, [cell.strip() for cell in cells]


def _with_unit(column: str, unit: str, cell: str) -> str:
    if column.startswith("memory.") and _BARE_NUMBER.match(cell):
        return f"{cell} {unit or 'MiB'}"
    return cell
