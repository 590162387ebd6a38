"""Whether places on the bus tell anything of a machine."""

from speccheck.validator.evidence.fleet import Fleet

_BARE = "none"


def are_places_fixed(fleet: Fleet) -> bool:
    """Whether slots decide; a hypervisor deals places out as it likes."""
    found = fleet.shared.get("host.virtualisation")
    return found is not None and {one.value for one in found.groups} == {_BARE}
