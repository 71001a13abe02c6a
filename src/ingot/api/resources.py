"""Where the kinds live that Ingot's own parts read and write, cheap to import: no schema comes with them."""

from ingot.api.resource import Resource

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
EVENTS = Resource("", "v1", "events", "Event")
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod")
SECRETS = Resource("", "v1", "secrets", "Secret")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
VOLUME_CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)

ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")

API_SERVICES = Resource("apiregistration.k8s.io", "v1", "apiservices", "APIService", namespaced=False)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)

CDI_CONFIGS = Resource("cdi.kubevirt.io", "v1beta1", "cdiconfigs", "CDIConfig", namespaced=False)
CLONE_SOURCES = Resource("cdi.kubevirt.io", "v1beta1", "volumeclonesources", "VolumeCloneSource")
DATA_IMPORT_CRONS = Resource("cdi.kubevirt.io", "v1beta1", "dataimportcrons", "DataImportCron")
DATA_SOURCES = Resource("cdi.kubevirt.io", "v1beta1", "datasources", "DataSource")
DATA_VOLUMES = Resource("cdi.kubevirt.io", "v1beta1", "datavolumes", "DataVolume")
IMPORT_SOURCES = Resource("cdi.kubevirt.io", "v1beta1", "volumeimportsources", "VolumeImportSource")
UPLOAD_SOURCES = Resource("cdi.kubevirt.io", "v1beta1", "volumeuploadsources", "VolumeUploadSource")
UPLOAD_TOKEN_REQUESTS = Resource("upload.cdi.kubevirt.io", "v1beta1", "uploadtokenrequests", "UploadTokenRequest")

SNAPSHOTS = Resource("snapshot.storage.k8s.io", "v1", "volumesnapshots", "VolumeSnapshot")
SNAPSHOT_CONTENTS = Resource(
    "snapshot.storage.k8s.io", "v1", "volumesnapshotcontents", "VolumeSnapshotContent", namespaced=False
)
SNAPSHOT_CLASSES = Resource(
    "snapshot.storage.k8s.io", "v1", "volumesnapshotclasses", "VolumeSnapshotClass", namespaced=False
)
MACHINE_SNAPSHOTS = Resource("snapshot.kubevirt.io", "v1beta1", "virtualmachinesnapshots", "VirtualMachineSnapshot")
MACHINE_SNAPSHOT_CONTENTS = Resource(
    "snapshot.kubevirt.io", "v1beta1", "virtualmachinesnapshotcontents", "VirtualMachineSnapshotContent"
)
MACHINE_RESTORES = Resource("snapshot.kubevirt.io", "v1beta1", "virtualmachinerestores", "VirtualMachineRestore")

CLASSIC_VMS = Resource("kubevirt.io", "v1", "classicvms", "VM")
MACHINES = Resource("kubevirt.io", "v1", "virtualmachines", "VirtualMachine")
INSTANCES = Resource("kubevirt.io", "v1", "virtualmachineinstances", "VirtualMachineInstance")
REPLICA_SETS = Resource("kubevirt.io", "v1", "virtualmachineinstancereplicasets", "VirtualMachineInstanceReplicaSet")

SSPS = Resource("ssp.kubevirt.io", "v1beta1", "ssps", "SSP")
HYPERCONVERGEDS = Resource("hco.kubevirt.io", "v1beta1", "hyperconvergeds", "HyperConverged")
TEMPLATES = Resource("template.openshift.io", "v1", "templates", "Template")
PROCESSED_TEMPLATES = Resource("template.openshift.io", "v1", "processedtemplates", "Template")
