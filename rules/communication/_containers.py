"""Engines of containers, by how a user changes what a container gets."""

from speccheck.validator.evidence.plan import Container

POD = "kubernetes"


def noun(container: Container) -> str:
    """Return what a container is called in the words of its engine."""
    return "pod" if container.engine.or_else(POD) == POD else "container"
