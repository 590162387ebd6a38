"""The one table of faults: plans name them, tests plant each of them."""

from speccheck.validator.simulation import (
    faults_of_collection,
    faults_of_gpus,
    faults_of_hosts,
    faults_of_links,
    faults_of_networks,
)
from speccheck.validator.simulation.fault import Fault

# By what they are faults of, as the documentation has them.
AREAS: dict[str, dict[str, Fault]] = {
    "GPUs": faults_of_gpus.FAULTS,
    "links and buses": faults_of_links.FAULTS,
    "networks": faults_of_networks.FAULTS,
    "hosts": faults_of_hosts.FAULTS,
    "the collection": faults_of_collection.FAULTS,
}
FAULTS: dict[str, Fault] = {
    name: fault for area in AREAS.values() for name, fault in area.items()
}
