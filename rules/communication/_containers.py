"""Engines of containers, by how a user changes what a container gets."""

from speccheck.validator.evidence.plan import Container

POD = "kubernetes"
WITH_OPTIONS = ("docker", "nerdctl", "podman")


def noun(container: Container) -> str:
    """Return what a container is called in the words of its engine."""
    return "pod" if container.engine.or_else(POD) == POD else "container"


def is_isolated(container: Container) -> bool:
    """Return whether the engine of a container gives it nothing of the node."""
    engine = container.engine.value
    return engine == "compose" or engine in WITH_OPTIONS
