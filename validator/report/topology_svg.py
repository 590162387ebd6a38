"""The picture of a machine: processors, switches, adapters, GPUs, NVLink, by rails.

A column is a GPU with the adapters below the same switch. What is down is crossed and
named, what is unlike its peers is marked, what is not known is dashed and has a
question mark: nothing of it by colour alone. Whatever is odd is listed below as text.
"""

from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.evidence.record import Record
from speccheck.validator.node.machine_layout import (
    LaidGpu,
    LaidPort,
    MachineLayout,
    Mark,
    worst,
)
from speccheck.validator.report.document import Items, note
from speccheck.validator.report.forms.html_text import escaped
from speccheck.validator.report.style import counted
from speccheck.validator.report.wording import folded_subjects
from speccheck.validator.report.write_html import html

_COLUMN, _GAP, _MARGIN = 104, 20, 14
_TOP, _CPU, _SWITCH = 8, 30, 20
_NIC, _NIC_STEP, _GPU, _FABRIC = 34, 39, 58, 28
_MOST_LETTERS = 13
_MOST_LISTED = 40
_IN_ROW = 8  # ports without a place
_MARKS = {"bad": "\u2717", "unlike": "\u2260", "unknown": "?", "told": ""}


class _Column(Record):
    """A GPU with the adapters of its rail. x: of its left edge."""

    gpu: LaidGpu
    ports: tuple[LaidPort, ...]
    x: int


class _Group(Record):
    """The columns of one NUMA node; numa: None where that is not known."""

    numa: int | None
    columns: tuple[_Column, ...]

    @property
    def left(self) -> int:
        """The left edge."""
        return self.columns[0].x

    @property
    def right(self) -> int:
        """The right edge."""
        return self.columns[-1].x + _COLUMN - 8


def topology_html(layout: MachineLayout) -> str:
    """Return the picture with its caption, and what is odd as a list."""
    groups, unplaced = _groups(layout)
    columns = [column for group in groups for column in group.columns]
    tallest = max((len(column.ports) for column in columns), default=0)
    top = _TOP + _CPU + 22 + _SWITCH + 16
    gpus_at = top + tallest * _NIC_STEP + 8
    end = gpus_at + (_GPU + 36 + _FABRIC + 8 if groups else 0)
    fewest = _MARGIN + _COLUMN * min(_IN_ROW, len(unplaced))
    width = max(groups[-1].right if groups else 0, fewest) + _MARGIN
    drawn = [
        *(text for group in groups for text in _of_group(group, gpus_at)),
        *(text for column in columns for text in _column(column, top, gpus_at)),
        *_fabric(layout, columns, gpus_at + _GPU),
        *_unplaced(unplaced, end, width),
    ]
    end += _strip(unplaced)
    words = _caption(layout)
    odd = list(_odd(layout))
    label = escaped(f"{words}; {counted(len(odd), 'mark')}" if odd else words)
    notes = html(map(note, _notes(layout, is_odd=bool(odd))))
    shown = odd[:_MOST_LISTED]
    if len(odd) > len(shown):
        shown.append(f"and {len(odd) - len(shown):,} more")
    return (
        f'<figure class="topology"><div class="scrolls">'
        f'<svg viewBox="0 0 {width} {end}" width="{width}" role="img" '
        f'aria-label="{label}">\n{"".join(drawn)}</svg></div>\n'
        f"<figcaption>{escaped(words)}</figcaption>\n"
        f"{html(Items(shown, 'odd'))}{notes}</figure>\n"
    )


def _groups(layout: MachineLayout) -> tuple[list[_Group], list[LaidPort]]:
    """Return NUMA nodes with their GPUs in order, each with its ports.

    And other ports.
    """
    gpus = sorted(layout.gpus, key=_order)
    taken: dict[int, list[LaidPort]] = {at: [] for at in range(len(gpus))}
    left: list[LaidPort] = []
    for port in layout.ports:
        near = _nearest(port, gpus, taken)
        if near is None:
            left.append(port)
        else:
            taken[near].append(port)
    parts: dict[int | None, list[tuple[LaidGpu, list[LaidPort]]]] = {}
    for at, gpu in enumerate(gpus):
        parts.setdefault(gpu.numa, []).append((gpu, taken[at]))
    groups, x = [], _MARGIN
    for numa, part in parts.items():
        columns = []
        for gpu, ports in part:
            columns.append(_Column(gpu, tuple(ports), x))
            x += _COLUMN
        groups.append(_Group(numa, tuple(columns)))
        x += _GAP
    return groups, left


def _strip(ports: Sequence[LaidPort]) -> int:
    """Return the height of the ports without a place."""
    return 26 + -(-len(ports) // _IN_ROW) * _NIC_STEP if ports else 0


def _unplaced(ports: Sequence[LaidPort], y: int, width: int) -> Iterator[str]:
    """Yield the ports of which the snapshot does not say where they hang."""
    if not ports:
        return
    height = _strip(ports) - 6
    yield _box(_MARGIN, y, width - 2 * _MARGIN, height, "part unknown")
    words = "? adapters: their place is not told"
    yield _text(_MARGIN + 8, y + 15, words, "small query")
    for at, port in enumerate(ports):
        row, column = divmod(at, _IN_ROW)
        x = _MARGIN + 8 + column * _COLUMN
        yield from _port(port, x, y + 22 + row * _NIC_STEP)


def _order(gpu: LaidGpu) -> tuple[bool, int, bool, int]:
    """Return what sorts by NUMA node, then number; what is not known comes last."""
    return (
        gpu.numa is None,
        gpu.numa or 0,
        gpu.number is None,
        gpu.number or 0,
    )


def _nearest(
    port: LaidPort, gpus: Sequence[LaidGpu], taken: dict[int, list[LaidPort]]
) -> int | None:
    """Return GPU below the same switch, else of its NUMA node, with fewest ports."""
    for same in (
        [at for at, gpu in enumerate(gpus) if gpu.root and gpu.root == port.root],
        [
            at
            for at, gpu in enumerate(gpus)
            if gpu.numa is not None and gpu.numa == port.numa
        ],
    ):
        if same:
            return min(same, key=lambda at: (len(taken[at]), at))
    return None


def _cut(text: str, most: int = _MOST_LETTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"


def _text(x: float, y: float, text: str, name: str = "", anchor: str = "") -> str:
    of_class = f' class="{name}"' if name else ""
    of_anchor = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text{of_class} x="{x:g}" y="{y:g}"{of_anchor}>{escaped(text)}</text>\n'


def _box(x: float, y: float, width: float, height: float, name: str) -> str:
    return (
        f'<rect class="{name}" x="{x:g}" y="{y:g}" width="{width:g}" '
        f'height="{height:g}" rx="3"/>\n'
    )


def _line(name: str, *steps: str) -> str:
    return f'<path class="{name}" d="M{" ".join(steps)}"/>\n'


def _of_group(group: _Group, gpus_at: int) -> Iterator[str]:
    """Yield the processor, and the switches with what hangs below them."""
    is_known = group.numa is not None
    state = "part" if is_known else "part unknown"
    width = group.right - group.left
    title = f"NUMA {group.numa}" if is_known else "? NUMA node not known"
    yield _box(group.left, _TOP, width, _CPU, f"cpu {state}")
    yield _text(group.left + width / 2, _TOP + 19, title, "", "middle")
    below = _TOP + _CPU
    switch_y = below + 22
    for at, columns in enumerate(_by_root(group.columns)):
        left = columns[0].x
        right = columns[-1].x + _COLUMN - 8
        root = columns[0].gpu.root
        middle = left + (14 if len(columns) == 1 else (right - left) / 2)
        wire = "wire" if root else "wire unknown"
        if root:
            has_switch = any(column.gpu.switch for column in columns)
            name = "PCIe switch" if has_switch else "root port"
            yield _line(wire, f"{middle:g} {below}", f"V{switch_y}")
            yield _box(left, switch_y, right - left, _SWITCH, "bridge part")
            yield _text((left + right) / 2, switch_y + 14, name, "small", "middle")
        for column in columns:
            start = switch_y + _SWITCH if root else below
            yield _line(wire, f"{column.x + 6} {start}", f"V{gpus_at}")
        if not root and at == 0:
            yield _text(left + 12, below + 14, "? PCIe path", "small query")


def _by_root(columns: Iterable[_Column]) -> Iterator[list[_Column]]:
    """Yield the neighbours below the same root port together."""
    run: list[_Column] = []
    for column in columns:
        if run and run[0].gpu.root != column.gpu.root:
            yield run
            run = []
        run.append(column)
    if run:
        yield run


def _column(column: _Column, top: int, gpus_at: int) -> Iterator[str]:
    for at, port in enumerate(column.ports):
        y = top + at * _NIC_STEP
        is_near = column.gpu.root and column.gpu.root == port.root
        wire = "wire" if is_near else "wire unknown"
        yield _line(wire, f"{column.x + 6} {y + 17}", f"H{column.x + 14}")
        yield from _port(port, column.x + 14, y)
    yield from _gpu(column.gpu, column.x, gpus_at)


def _port(port: LaidPort, x: int, y: int) -> Iterator[str]:
    state = worst(port.marks)
    yield f"<g>{_title(port.title, port.marks)}"
    yield _box(x, y, _COLUMN - 22, _NIC, f"nic part {state}")
    yield _text(x + 5, y + 14, _cut(port.title.replace(" port 1", ""), 12))
    first = next((mark for mark in port.marks if mark.state == state), None)
    words = (first.short or first.text) if first else port.speed
    shown = _cut(f"{_MARKS[state]} {words}".strip(), 12)
    yield f"{_text(x + 5, y + 27, shown, f'small {state}')}</g>\n"


def _gpu(gpu: LaidGpu, x: int, y: int) -> Iterator[str]:
    state = worst(gpu.marks)
    name = "GPU ?" if gpu.number is None else f"GPU {gpu.number}"
    if gpu.number is None:
        name = "no GPU"
    yield f"<g>{_title(f'{name} {gpu.title} {gpu.address}', gpu.marks)}"
    yield _box(x, y, _COLUMN - 8, _GPU, f"gpu part {state}")
    mark = _MARKS[state]
    yield _text(x + 6, y + 16, f"{name} {mark}".strip(), f"strong {state}")
    yield _text(x + 6, y + 31, _cut(gpu.address.removeprefix("0000:")), "small")
    last = f"PCIe {gpu.pcie}" if gpu.pcie else "PCIe ?"
    if gpu.processor_links is not None:
        up, of = gpu.processor_links
        last = f"C2C {'?' if up is None else up} of {of}"
    yield f"{_text(x + 6, y + 47, _cut(last, 16), 'small')}</g>\n"


def _title(name: str, marks: Sequence[Mark]) -> str:
    """Return what a pointer shows: the whole name and all that is odd."""
    words = f"{name}: {'; '.join(mark.text for mark in marks)}" if marks else name
    return f"<title>{escaped(words)}</title>\n"


def _fabric(layout: MachineLayout, columns: Sequence[_Column], y: int) -> Iterator[str]:
    """Yield NVLink: to switches as a bar below the GPUs, to other GPUs as arcs."""
    if not columns:
        return
    left, right = columns[0].x, columns[-1].x + _COLUMN - 8
    bar = y + 36
    if layout.nvlink != "yes":
        unknown = layout.nvlink == "unknown"
        words = "? NVLink not known" if unknown else "no NVLink: peers over PCIe"
        state = "unknown" if unknown else "absent"
        yield _box(left, bar, right - left, _FABRIC, f"fabric part {state}")
        yield _text((left + right) / 2, bar + 18, words, "", "middle")
        return
    to_switch = any(column.gpu.links.to_switch for column in columns)
    if to_switch:
        count = len(layout.switches)
        name = counted(count, "NVSwitch").replace("Switchs", "Switches")
        words = name if count else "NVSwitches, not on the bus of this node"
        yield _box(left, bar, right - left, _FABRIC, "fabric part")
        yield _text((left + right) / 2, bar + 18, words, "", "middle")
    for column in columns:
        yield from _nvlinks(column.gpu, column.x, y, bar if to_switch else 0)
    yield from _arcs(columns, y)


def _nvlinks(gpu: LaidGpu, x: int, y: int, bar: int) -> Iterator[str]:
    """Yield how many of the links of a GPU are up."""
    links = gpu.links
    if links.of is None:
        yield _text(x + _COLUMN // 2 - 4, y + 22, "? NVLink", "small query", "middle")
        return
    is_whole = links.up == links.of
    state = "unknown" if links.up is None else "" if is_whole else "bad"
    middle = x + (_COLUMN - 8) // 2
    if bar:
        yield _line(f"nvlink {state}", f"{middle} {y}", f"V{bar}")
    up = "?" if links.up is None else f"{links.up}"
    mark = "" if is_whole else " \u2717" if state == "bad" else " ?"
    where = middle + 5 if bar else x + 6
    text = f"{up} of {links.of}{mark}"
    yield _text(where, y + 22 if bar else y + 60, text, f"small {state}".strip())


def _arcs(columns: Sequence[_Column], y: int) -> Iterator[str]:
    """Yield the direct links between GPUs, once for each pair."""
    middles = {column.gpu.number: column.x + (_COLUMN - 8) // 2 for column in columns}
    for column in columns:
        if column.gpu.number is None:
            continue
        for peer, count in column.gpu.links.peers:
            start, end = middles[column.gpu.number], middles.get(peer)
            if end is None or peer <= column.gpu.number:
                continue
            depth = 16 + 10 * min(4, abs(end - start) // _COLUMN)
            yield (
                f'<path class="nvlink" d="M{start} {y}C{start} {y + depth} {end} '
                f'{y + depth} {end} {y}"><title>GPU {column.gpu.number} to GPU {peer}: '
                f"{counted(count, 'link')}</title></path>\n"
            )


def _caption(layout: MachineLayout) -> str:
    listed_gpus = [gpu for gpu in layout.gpus if gpu.number is not None]
    names = dict.fromkeys(
        listed_gpu.title for listed_gpu in listed_gpus if listed_gpu.title
    )
    gpus = f"{len(listed_gpus)} x {', '.join(names) or 'GPU'}"
    if not layout.gpus_known:
        gpus = f"{len(listed_gpus)} GPUs, perhaps not all"
    ports = counted(len(layout.ports), "RDMA port")
    if not layout.ports_known:
        ports = f"{ports}, perhaps not all"
    processor = layout.processor
    if processor and layout.sockets:
        processor = f"{layout.sockets} x {processor}"
    parts = [layout.product, processor, gpus, ports]
    return ", ".join(part for part in parts if part)


def _notes(layout: MachineLayout, *, is_odd: bool) -> Iterator[str]:
    if is_odd:
        yield "\u2717 down or degraded, \u2260 unlike its peers, ? not known."
    roots = [gpu.root for gpu in layout.gpus] + [port.root for port in layout.ports]
    if not all(roots):
        yield (
            "Dashed lines: the snapshot does not tell the PCIe path, as is usual in a "
            "virtual machine; the order is that of the list, not of the wires."
        )
    if layout.left_out:
        yield f"{counted(layout.left_out, 'more part')} not drawn."


def _odd(layout: MachineLayout) -> Iterator[str]:
    """Yield what is odd, in words, the worst first."""
    mark_lists = [
        (mark, "GPU ?" if gpu.number is None else f"GPU {gpu.number}", gpu.address)
        for gpu in layout.gpus
        for mark in gpu.marks
    ]
    mark_lists += [
        (mark, port.title, "") for port in layout.ports for mark in port.marks
    ]
    order = list(_MARKS)
    for mark, name, address in sorted(
        mark_lists, key=lambda marks: order.index(marks[0].state)
    ):
        at = f" ({address})" if address else ""
        yield f"{_MARKS[mark.state]} {name}{at}: {mark.text}"


_MOST = 4


def specimen_pictures(layouts: Sequence[MachineLayout | None]) -> list[str]:
    """Return the pictures, each with the numbers of its machines, counted from 1."""
    alike: dict[MachineLayout, list[int]] = {}
    for number, layout in enumerate(layouts, start=1):
        if layout is not None:
            alike.setdefault(layout, []).append(number)
    shown = list(alike.items())[:_MOST]
    parts = [
        f"<h3>{escaped(_named(numbers))}</h3>\n{topology_html(layout)}"
        for layout, numbers in shown
    ]
    if len(alike) > len(shown):
        more = sum(len(numbers) for _, numbers in list(alike.items())[_MOST:])
        parts.append(f'<p class="note">{more:,} more specimens are not drawn.</p>\n')
    return parts


def _named(numbers: Sequence[int]) -> str:
    word = "Specimen" if len(numbers) == 1 else "Specimens"
    return folded_subjects(f"{word} {number}" for number in numbers)
