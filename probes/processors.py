"""Reads the processors: model, sockets, cores, NUMA nodes, clock and governors."""

import re

from speccheck.probes.raw_value import Absence, RawValue, Sheet
from speccheck.probes.root import Root

_PROCESSORS = "/sys/devices/system/cpu"
_INFO = "/proc/cpuinfo"
_STATUS = "/proc/self/status"
_NODES = "/sys/devices/system/node"
_KILOHERTZ_PER_MHZ = 1000


def put_processors(root: Root, sheet: Sheet) -> None:
    """Put down what the host has to compute with."""
    info = root.text(_INFO)
    model = info if isinstance(info, Absence) else _model(info)
    sheet.put("host", "processor_model", model, _INFO)
    _topology(root, sheet)
    _clock(root, sheet, info)
    status = root.text(_STATUS)
    allowed = (
        status
        if isinstance(status, Absence)
        else labelled(status, "Cpus_allowed_list", _STATUS)
    )
    sheet.put("host", "processors_allowed", allowed, _STATUS)
    # Memory of a GPU that the kernel manages is a node of its own, without processors
    # (Grace): such nodes are not counted.
    path = f"{_NODES}/has_cpu"
    sheet.put("host", "numa_nodes", _listed(root, path), path)


def labelled(text: str, label: str, path: str) -> str | Absence:
    """Return what stands behind a label and a colon: the first such line."""
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        if colon and name.strip() == label:
            return rest.strip()
    return Absence("absent", path, f"has no {label}")


def _model(info: str) -> str | Absence:
    """Return the model: x86 has a name, Arm the numbers of designer and design."""
    named = labelled(info, "model name", _INFO)
    if not isinstance(named, Absence):
        return named
    numbers = [labelled(info, text, _INFO) for text in ("CPU implementer", "CPU part")]
    texts = [number for number in numbers if not isinstance(number, Absence)]
    return f"Arm {' '.join(texts)}" if len(texts) == len(numbers) else named


def numbers_of(text: str) -> list[int] | None:
    """Return a list of the kernel, `0-3,8`, number by number.

    None for any other text.
    """
    result: list[int] = []
    for part in text.split(","):
        matched = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip())
        if matched is None:
            return None
        first = int(matched.group(1))
        result += range(first, int(matched.group(2) or first) + 1)
    return result


def _listed(root: Root, path: str) -> int | Absence:
    text = root.line(path)
    if isinstance(text, Absence):
        return text
    numbers = numbers_of(text)
    if numbers is None:
        return Absence("failed", path, f"holds {text[:40]!r}, no list of numbers")
    return len(numbers)


def _topology(root: Root, sheet: Sheet) -> None:
    """Put sockets and cores.

    What one processor does not state leaves them uncounted.
    """
    path = f"{_PROCESSORS}/online"
    text = root.line(path)
    sheet.put("host", "processors", _listed(root, path), path)
    numbers = [] if isinstance(text, Absence) else numbers_of(text) or []
    sockets: set[int] = set()
    cores: set[tuple[int, int, int]] = set()
    why = text if isinstance(text, Absence) else None
    for number in numbers:
        folder = f"{_PROCESSORS}/cpu{number}/topology"
        package = root.number(f"{folder}/physical_package_id")
        core = root.number(f"{folder}/core_id")
        die = root.number(f"{folder}/die_id")
        if isinstance(package, Absence):
            why = package
        elif isinstance(core, Absence):
            why = core
        else:
            if package >= 0:  # -1: the firmware does not say
                sockets.add(package)
            cores.add((package, 0 if isinstance(die, Absence) else die, core))
    for leaf, count, file in (
        ("sockets", len(sockets), "physical_package_id"),
        ("cores", len(cores), "core_id"),
    ):
        source = f"{_PROCESSORS}/cpu*/topology/{file}"
        absent = why or Absence("absent", source)
        sheet.put("host", leaf, absent if why or not count else count, source)


def _clock(root: Root, sheet: Sheet, info: str | Absence) -> None:
    """Put the clock: x86 has it in /proc/cpuinfo, Arm only in the governor's files."""
    policies = root.names(f"{_PROCESSORS}/cpufreq")
    source = f"{_PROCESSORS}/cpufreq/policy*/scaling_governor"
    folders = [] if isinstance(policies, Absence) else policies
    folders = [folder for folder in folders if folder.startswith("policy")]
    named = [
        root.line(f"{_PROCESSORS}/cpufreq/{folder}/scaling_governor")
        for folder in folders
    ]
    governors = sorted({text for text in named if not isinstance(text, Absence)})
    unread = [absence for absence in named if isinstance(absence, Absence)]
    result: RawValue = [*governors, *unread[:1]]
    absent = policies if isinstance(policies, Absence) else Absence("absent", source)
    sheet.put("host", "governors", result if named else absent, source)
    numbers = [] if isinstance(info, Absence) else _megahertz(info)
    source = _INFO
    if not numbers:
        source = f"{_PROCESSORS}/cpufreq/policy*/scaling_cur_freq"
        read = [
            root.number(f"{_PROCESSORS}/cpufreq/{folder}/scaling_cur_freq")
            for folder in folders
        ]
        numbers = [
            number / _KILOHERTZ_PER_MHZ for number in read if isinstance(number, int)
        ]
    mean = (
        round(sum(numbers) / len(numbers), 1) if numbers else Absence("absent", source)
    )
    sheet.put("host", "processor_mhz", mean, source)
    sheet.put("host", "processor_base_mhz", *_base_clock(root))


def _base_clock(root: Root) -> tuple[float | Absence, str]:
    """Return the clock that all cores hold at rated power, and its file.

    Sources: kernel, admin-guide/pm/intel_pstate.rst (base_frequency, in kHz) and
    admin-guide/acpi/cppc_sysfs.rst (nominal_freq, in MHz).
    """
    path = f"{_PROCESSORS}/cpu0/cpufreq/base_frequency"
    base = root.number(path)
    if not isinstance(base, Absence):
        return base / _KILOHERTZ_PER_MHZ, path
    nominal_path = f"{_PROCESSORS}/cpu0/acpi_cppc/nominal_freq"
    nominal = root.number(nominal_path)
    # Some firmware names no frequency and leaves zero there.
    if isinstance(nominal, Absence) or not nominal:
        return base, path
    return float(nominal), nominal_path


def _megahertz(info: str) -> list[float]:
    result = re.findall(r"^cpu MHz\s*: (\d{1,6}(?:\.\d+)?)$", info, re.MULTILINE)
    return [float(item) for item in result]
