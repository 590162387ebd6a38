"""Finds libraries by the names of their files.

Nothing is loaded: what a library does when it is loaded is not ours to start.
"""

import re
import sys

from speccheck.probes.raw_value import Absence, RawValue, Scalar, Sheet
from speccheck.probes.root import Root
from speccheck.validator.evidence.record import Record

_FOLDERS = (
    "/usr/local/cuda/lib64",
    "/usr/local/nvidia/lib64",
    "/usr/local/lib",
    "/opt/amazon/efa/lib",
    "/opt/amazon/ofi-nccl/lib",
    "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu",
    "/opt/aws-ofi-nccl/lib",
    "/opt/hpcx/nccl_rdma_sharp_plugin/lib",
    "/usr/local/gib/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib64",
)
_LINKER_FOLDER = "/etc/ld.so.conf.d"
_MOST_FOLDERS = 200
_MATTER = re.compile(
    r"lib(cuda\.so\.1|nvidia-ml\.so\.1|nccl\.so\.2|ibverbs\.so\.1|rdmacm\.so\.1|"
    r"mlx5\.so\.1|efa\.so\.1|fabric\.so\.1|gdrapi\.so\.2|cudart\.so\.\d+|"
    r"nvidia-nscq\.so\.\d+|sharp\.so\.\d+|ucp\.so\.0|mpi\.so\.\d+)"
)
_MPI_PROGRAMS = ("mpiexec", "mpirun")
_OF_OFED = "/usr/mpi/gcc"
# HPC-X, Open MPI of EFA and of OFED, packages of distributions, modules of sites.
_MPI_FOLDERS = (
    "/opt/hpcx/ompi/bin",
    "/opt/amazon/openmpi/bin",
    "/opt/amazon/openmpi5/bin",
    "/usr/lib64/openmpi/bin",
    "/usr/lib64/mpich/bin",
    "/usr/local/mpi/bin",
    "/opt/openmpi/bin",
    "/opt/intel/oneapi/mpi/latest/bin",
    "/usr/local/bin",
    "/usr/bin",
)
_PLUGIN = re.compile(r"libnccl-(net|tuner|profiler|env)[\w\-]*\.so")
_NCCL = "libnccl.so.2"
_VERSION = re.compile(r"\.so\.(\d+\.\d+\.\d+)$")
_PACKAGE = re.compile(r"nvidia_nccl(?:_\w+)?-(\d+\.\d+\.\d+)\.dist-info")
_OFI_RELEASE = re.compile(rb"aws-ofi-nccl[ -](?:v)?(\d+\.\d+\.\d+(?:-aws)?)\b")


class LoadedLibrary(Record):
    """One file of a library, with where its links lead."""

    name: str
    path: str
    target: str
    is_empty: bool


def put_libraries(root: Root, sheet: Sheet) -> None:
    """Put down the libraries, NCCL's plugins and the launchers that are there."""
    launchers = mpi_programs(root)
    sheet.put("driver", "mpi_programs", launchers, "files in folders of programs")
    absence = _loaded_libraries(root)
    source = "files in folders of the linker"
    if isinstance(absence, Absence):
        for leaf in (
            "libraries",
            "libraries_empty",
            "nccl_version",
            "nccl_versions",
            "nccl_plugins",
            "nccl_plugin_releases",
        ):
            sheet.put("driver", leaf, absence, source)
        return
    plain = [library for library in absence if _MATTER.fullmatch(library.name)]
    filled = {library.name for library in plain if not library.is_empty}
    empty = {library.path for library in absence if library.is_empty}
    sheet.put("driver", "libraries", [*sorted(filled)], source)
    sheet.put("driver", "libraries_empty", [*sorted(empty)], source)
    versions = nccl_versions(
        root, [library for library in plain if library.name == _NCCL]
    )
    sheet.put("driver", "nccl_versions", [*sorted(set(versions))], source)
    sheet.put("driver", "nccl_version", one_version(versions, source), source)
    plugins: dict[str, LoadedLibrary] = {}
    for library in absence:
        if _PLUGIN.fullmatch(library.name) and not library.is_empty:
            plugins.setdefault(library.name, library)
    names = sorted(plugins)
    releases: list[Scalar | Absence | None] = [
        _release(root, plugins[name]) for name in names
    ]
    sheet.put("driver", "nccl_plugins", [*names], source)
    sheet.put("driver", "nccl_plugin_releases", releases, source)


def mpi_programs(root: Root) -> RawValue:
    """Return which programs start a job under MPI, by name."""
    versions = root.names(_OF_OFED)  # openmpi-4.1.7a1
    named = [] if isinstance(versions, Absence) else versions
    places = [
        *_variable(root, "PATH"),
        *(f"{_OF_OFED}/{version}/bin" for version in named),
        *_MPI_FOLDERS,
    ]
    present = [place for place in dict.fromkeys(places) if root.exists(place)]
    if not present:
        return Absence("absent", "folders of programs")
    return [
        name
        for name in _MPI_PROGRAMS
        if any(root.exists(f"{folder}/{name}") for folder in present)
    ]


def _variable(root: Root, wanted: str) -> list[str]:
    """Return the folders that a variable of this process, or of the copy, lists."""
    environment = root.text("/proc/self/environ")
    for pair in "" if isinstance(environment, Absence) else environment.split("\0"):
        name, _, value = pair.partition("=")
        if name == wanted:
            return [part for part in value.split(":") if part.startswith("/")]
    return []


def one_version(versions: list[str], source: str) -> RawValue:
    """Return the release of NCCL; which of several is loaded, the job decides."""
    different = sorted(set(versions))
    if len(different) == 1:
        return different[0]
    if not different:
        return Absence("absent", source, f"no {_NCCL} whose release is told")
    message = f"several are installed: {', '.join(different)}"
    return Absence("failed", source, message)


def nccl_versions(root: Root, libraries: list[LoadedLibrary]) -> list[str]:
    """Return the versions in names of files, or of Python packages around them."""
    versions: list[str] = []
    for library in libraries:
        matched = _VERSION.search(library.target)
        if matched is not None:
            versions.append(matched.group(1))
            continue
        folder, separator, _ = library.path.partition("/nvidia/nccl/")
        names = root.names(folder) if separator else []
        packages = [] if isinstance(names, Absence) else names
        packed = [_PACKAGE.fullmatch(name) for name in packages]
        versions += [matched.group(1) for matched in packed if matched]
    return versions


def _release(root: Root, plugin: LoadedLibrary) -> Scalar | Absence:
    """Return the release in the file's name, or of the AWS plugin's own text."""
    matched = _VERSION.search(plugin.target)
    if matched is not None and not matched.group(1).startswith("0.0."):
        return matched.group(1)
    data = root.data(plugin.path)
    match = None if isinstance(data, Absence) else _OFI_RELEASE.search(data)
    if match is not None:
        return match.group(1).decode()
    return Absence("absent", plugin.path, "does not tell its release")


def _loaded_libraries(root: Root) -> list[LoadedLibrary] | Absence:
    """Return the libraries by folder, in the order in which a linker would look."""
    libraries: list[LoadedLibrary] = []
    seen: set[str] = set()
    is_any = False
    for folder in folders(root):
        names = root.names(folder)
        if isinstance(names, Absence):
            continue
        is_any = True
        for name in names:
            if not (_MATTER.fullmatch(name) or _PLUGIN.fullmatch(name)):
                continue
            path = f"{folder}/{name}"
            target = root.target(path)
            if isinstance(target, Absence) or target + name in seen:
                continue
            seen.add(target + name)
            is_empty = root.data(target, 1) == b""
            libraries.append(LoadedLibrary(name, path, target, is_empty))
    return libraries if is_any else Absence("absent", "folders of the linker")


def folders(root: Root) -> list[str]:
    """Return folders of LD_LIBRARY_PATH, Python, the linker and the usual places."""
    texts = _variable(root, "LD_LIBRARY_PATH")
    if root.is_live:
        texts += [
            f"{text}/nvidia/nccl/lib" for text in sys.path if text.endswith("-packages")
        ]
    files = root.names(_LINKER_FOLDER)
    for file in [] if isinstance(files, Absence) else files:
        text = root.text(f"{_LINKER_FOLDER}/{file}")
        texts += [] if isinstance(text, Absence) else text.splitlines()
    texts = [text.strip().rstrip("/") for text in [*texts, *_FOLDERS]]
    return [text for text in dict.fromkeys(texts) if text.startswith("/")][
        :_MOST_FOLDERS
    ]
