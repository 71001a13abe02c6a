"""The kind of template.openshift.io: objects with parameters, to be made from a form."""

from ingot.api.template.template import Parameter, Template

__all__ = ["Parameter", "Template"]
