"""The rooms of the program: each is named, and imports run one way."""

import pytest

import rooms as architecture
from rooms import ROOT, imported, python_files, room_of

# Rooms from the ground up: each imports only of those before it.
FLOORS = (
    "schemas",
    "validator/evidence",
    "validator/signing",
    "probes",
    "validator/models",
    "validator/node",
    "validator/rule",
    "validator/catalogue",
    "validator/editions",
    "validator/comparison",
    "validator/straggler_search",
    "validator/sources",
    "validator/forecast",
    "validator/measurements",
    "rules",
    "validator/engine",
    "validator/changes",
    "validator/run",
    "validator/fleet",
    "validator/simulation",
    "validator/certification",
    "validator/report",
    "validator/cli",
)
# What judges must not read, and what reads must not judge.
_JUDGES = {"rule", "models", "forecast", "comparison", "straggler_search"}
MAY_IMPORT = {
    "rules": {f"validator/{name}" for name in ("evidence", *_JUDGES)},
    "probes": {"validator/evidence"},
    "validator/evidence": set[str](),
    "validator/models": {"validator/evidence"},
    "validator/rule": {"validator/evidence"},
    "validator/sources": {
        *("validator/evidence", "validator/catalogue", "validator/models")
    },
}
MOST_ROOMS = 24


@pytest.fixture(scope="module")
def rooms() -> dict[str, architecture.Room]:
    return {room.name: room for room in architecture.rooms()}


def test_every_room_has_its_floor(rooms: dict[str, architecture.Room]) -> None:
    assert rooms.keys() == set(FLOORS)
    assert sum(name.startswith("validator/") for name in rooms) <= MOST_ROOMS
    assert [name for name, room in rooms.items() if not room.about] == []


def test_nothing_lies_loose() -> None:
    loose = {path.name for path in (ROOT / "validator").glob("*.py")}
    assert loose == {"__init__.py", "__main__.py"}


def test_imports_run_down(rooms: dict[str, architecture.Room]) -> None:
    wrong = []
    for path in python_files(*architecture.PACKAGES):
        parts = path.relative_to(ROOT).with_suffix("").parts
        room = room_of(".".join(parts))
        if room not in rooms:
            continue
        below = MAY_IMPORT.get(room, set(FLOORS[: FLOORS.index(room)]))
        for line, module in imported(path):
            target = room_of(module)
            inside = module.startswith("speccheck.") and target != "validator"
            if inside and target != room and target not in below:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_no_files_import_each_other() -> None:
    wrong = [" <-> ".join(circle) for circle in architecture.circles()]
    assert not wrong, "\n".join(wrong)


def test_the_map_is_up_to_date() -> None:
    written = architecture.PAGE.read_text(encoding="utf-8")
    assert written == architecture.page_with_table(), "python tools/rooms.py"
