"""A real control plane on loopback, with a node that runs containers as local processes."""

from e2e.plane.errors import MissingError, PlaneError
from e2e.plane.plane import Plane

__all__ = ["MissingError", "Plane", "PlaneError"]
