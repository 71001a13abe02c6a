"""Names, labels and annotations of volumes: CDI's own where it has one, so that its tools find what they look for."""

from ingot.api.object import Object, uid_of

GROUP = "cdi.kubevirt.io"

# Labels of all that is made for a volume.
APP_LABELS = {"app": "containerized-data-importer", "app.kubernetes.io/component": "storage"}
COMPONENT = "cdi.kubevirt.io"
# A worker pod that moves bytes, and so counts among those that may do so at once.
TRANSFER = "ingot.io/transfer"

# What a person may say of a DataVolume or a claim.
IMMEDIATE = "cdi.kubevirt.io/storage.bind.immediate.requested"
ADOPT = "cdi.kubevirt.io/allowClaimAdoption"
POPULATED_FOR = "cdi.kubevirt.io/storage.populatedFor"
PRIORITY_CLASS = "cdi.kubevirt.io/storage.pod.priorityclass"
CLONE_STRATEGY = "cdi.kubevirt.io/clone-strategy"
# Of a claim that names no source: it takes an upload itself, as CDI's clients ask for it.
UPLOAD_TARGET = "cdi.kubevirt.io/storage.upload.target"
RETAIN_POD = "cdi.kubevirt.io/storage.pod.retainAfterCompletion"
DELETE_WHEN_DONE = "cdi.kubevirt.io/storage.deleteAfterCompletion"
# A claim of the same namespace with an earlier version of the disk: what that has is not fetched from a registry again.
DELTA_FROM = "ingot.io/delta-from"

# What a volume holds: a disk, or the files of an archive.
DISK, FILES = "kubevirt", "archive"

# What a claim tells of the work on it.
CONTENT_TYPE = "cdi.kubevirt.io/storage.contentType"
PREALLOCATION = "cdi.kubevirt.io/storage.preallocation.requested"
POD_PHASE = "cdi.kubevirt.io/storage.pod.phase"
POD_NAME = "cdi.kubevirt.io/storage.import.importPodName"
POD_RESTARTS = "cdi.kubevirt.io/storage.pod.restarts"
POD_READY = "cdi.kubevirt.io/storage.pod.ready"
RUNNING = "cdi.kubevirt.io/storage.condition.running"
RUNNING_MESSAGE = "cdi.kubevirt.io/storage.condition.running.message"
RUNNING_REASON = "cdi.kubevirt.io/storage.condition.running.reason"
CLONE_TYPE = "cdi.kubevirt.io/cloneType"
PROGRESS = "ingot.io/progress"
FAILURE = "ingot.io/failure"
# A reason in FAILURE: the claim was bound to a volume that was not filled for it.
FOREIGN_VOLUME = "ForeignVolume"
QUEUED = "ingot.io/queued"
# What was `fetched` for it and what was `reused` of the claim in DELTA_FROM, in bytes.
DELTA = "ingot.io/delta"
# Of a claim: the uid of the DataVolume that it was made for. Of a DataVolume: its claim was there, filled, before it.
CREATED_FOR = "cdi.kubevirt.io/createdForDataVolume"
PRE_POPULATED = "cdi.kubevirt.io/storage.prePopulated"
# Of a claim: the uid of the DataVolume that was done with it, and is to be deleted without it.
RELEASED_BY = "ingot.io/released-by"
# Which claim a prime, or what is between a claim and its clone, is made for: by its namespace and name.
PRIME_FOR = "ingot.io/prime-for"
# Of a claim: the claim or snapshot that it is a clone of, as NAMESPACE/NAME. What it was made from may be gone since.
CLONED_FROM = "ingot.io/cloned-from"
# Of a prime: a digest of what its source said when it was made.
MADE_FROM = "ingot.io/made-from"
# Of a prime: the claim in DELTA_FROM keeps its worker from starting, and is done without.
DELTA_WITHOUT = "ingot.io/delta-without"
# Of a volume: the uid of the claim that it was filled for, and given to.
FILLED_FOR = "ingot.io/filled-for"
# How far the storage itself is with a copy that a claim asked for: `bytes done/bytes in all`.
CLONE_PROGRESS = "ingot.io/clone-progress"
# Of a VolumeCloneSource: where its source is, believed only if its DataVolume names the same source.
SOURCE_NAMESPACE = "ingot.io/source-namespace"
# Of a node: whether copies of its local volumes share blocks with the original.
SHARES_BLOCKS = "ingot.io/shares-blocks"

# Golden images. Of all that a DataImportCron made, and of the DataSource that it manages: the cron's name.
IMPORT_CRON = "cdi.kubevirt.io/dataImportCron"
CRON_FINALIZER = "cdi.kubevirt.io/dataImportCronFinalizer"
# Of an import: which version of the source it is, by digest and by the name that people have for it, and when the
# DataSource was last moved to it. Of a cron: the newest version that was seen.
DESIRED_DIGEST = "cdi.kubevirt.io/storage.import.sourceDesiredDigest"
LAST_USE = "cdi.kubevirt.io/storage.import.lastUseTime"
VERSION = "ingot.io/version"
# Of an import: a digest of what its cron said of the source, but for the version.
IMPORT_SOURCE = "ingot.io/import-source"
NEWEST_VERSION = "ingot.io/newest-version"
# Of a registry source without a tag: the last look was at its list of tags, and not at `latest`.
TAGS_LISTED = "ingot.io/tags-listed"
# Of a web source: what the newest version must have, where its checksum is published; else its size, if that is told.
NEWEST_CHECKSUM = "ingot.io/newest-checksum"
NEWEST_SIZE = "ingot.io/newest-size"
# Of a cron: when its source was last asked and is asked next, and the StorageClass of its imports.
NEXT_CRON_TIME = "cdi.kubevirt.io/storage.import.nextCronTime"
LAST_CRON_TIME = "cdi.kubevirt.io/storage.import.lastCronTime"
CRON_STORAGE_CLASS = "cdi.kubevirt.io/storage.import.storageClass"
# Of a cron whose source does not answer: since when, and why.
UNREACHABLE_SINCE = "ingot.io/unreachable-since"
UNREACHABLE_WHY = "ingot.io/unreachable-why"
# What a person may say of a cron: stay at this digest; count pre-releases; where checksums are published; look now.
PINNED = "ingot.io/pinned"
PRERELEASES = "ingot.io/prereleases"
CHECKSUM_FILE = "ingot.io/checksum-file"
CHECK_NOW = "ingot.io/check-now"
# The value of CHECK_NOW that was last answered.
CHECKED = "ingot.io/checked"
# Of a cron of an SSP: which of its labels and annotations its template gave it.
FROM_TEMPLATE = "ingot.io/from-template"
# Of a DataSource: all that a person said of the cron that an SSP is making anew.
CRON_SAID = "ingot.io/cron-said"
# Of a DataSource that somebody keeps from a cron which an SSP is making anew: the cron's name.
KEPT_FROM = "ingot.io/kept-from"

# Kubernetes' own words for where a claim's volume comes from, and the provisioner of volumes of one machine.
SELECTED_NODE = "volume.kubernetes.io/selected-node"
LOCAL_PROVISIONER = "ingot.io/local"

PRIME_PREFIX = "prime-"
IMPORTER_PREFIX, UPLOADER_PREFIX, CLONER_PREFIX = "importer-", "cdi-upload-", "cloner-"
IMPORT_SOURCE_PREFIX = "volume-import-source-"
UPLOAD_SOURCE_PREFIX = "volume-upload-source-"
CLONE_SOURCE_PREFIX = "volume-clone-source-"
SIZE_PREFIX = "size-detection-"

# Where a worker finds what it works on.
DATA_PATH, DISK_NAME = "/data", "disk.img"
DEVICE_PATH = "/dev/volume"
SOURCE_PATH, SOURCE_DEVICE_PATH = "/source", "/dev/source"
SECRET_PATH, CERTS_PATH, HEADERS_PATH, TLS_PATH, STATE_PATH = "/secret", "/certs", "/headers", "/tls", "/state"
# In HEADERS_PATH, beside Secrets: what the source says itself.
PLAIN_HEADERS = "extraHeaders"
REPORT_PATH = "/dev/termination-log"
PROGRESS_PORT, UPLOAD_PORT = 8444, 8443


def prime_name(claim: Object) -> str:
    """The name of the claim that is filled in place of this one."""
    return f"{PRIME_PREFIX}{uid_of(claim)}"
