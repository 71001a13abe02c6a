"""The kind of ssp.kubevirt.io, which installs common templates and the golden images they start from."""

from ingot.api.ssp.ssp import SSP, CommonTemplates, CronTemplate, SSPSpec

__all__ = ["SSP", "CommonTemplates", "CronTemplate", "SSPSpec"]
