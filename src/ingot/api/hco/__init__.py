"""The kind of hco.kubevirt.io, where an administrator says which golden images a cluster has."""

from ingot.api.hco.hyperconverged import HyperConverged, HyperConvergedSpec

__all__ = ["HyperConverged", "HyperConvergedSpec"]
