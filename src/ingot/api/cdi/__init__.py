"""The kinds of cdi.kubevirt.io: volumes that are filled, and the golden images that they are filled from."""

from ingot.api.cdi.config import CdiConfig
from ingot.api.cdi.dataimportcron import DataImportCron, DataImportCronSpec
from ingot.api.cdi.datasource import DataSource, DataSourceSpec
from ingot.api.cdi.datavolume import DataVolume, DataVolumeSpec
from ingot.api.cdi.populators import VolumeCloneSource, VolumeImportSource, VolumeUploadSource

__all__ = [
    "CdiConfig",
    "DataImportCron",
    "DataImportCronSpec",
    "DataSource",
    "DataSourceSpec",
    "DataVolume",
    "DataVolumeSpec",
    "VolumeCloneSource",
    "VolumeImportSource",
    "VolumeUploadSource",
]
