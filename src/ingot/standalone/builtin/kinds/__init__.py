"""The kinds of Kubernetes that Ingot serves on one machine.

They are those that the system works with. Kinds that nothing here would act upon, such as Deployment, ResourceQuota
or PodDisruptionBudget, are absent: a client is told so, instead of waiting for ever.
"""

from ingot.standalone.builtin.kinds import csi, event, rbac, reviews
from ingot.standalone.builtin.kinds.claim import CLAIM
from ingot.standalone.builtin.kinds.configmap import CONFIG_MAP
from ingot.standalone.builtin.kinds.crd import CUSTOM_RESOURCE_DEFINITION
from ingot.standalone.builtin.kinds.endpoints import ENDPOINTS
from ingot.standalone.builtin.kinds.lease import LEASE
from ingot.standalone.builtin.kinds.namespace import NAMESPACE
from ingot.standalone.builtin.kinds.node import NODE
from ingot.standalone.builtin.kinds.persistentvolume import VOLUME
from ingot.standalone.builtin.kinds.pod import POD
from ingot.standalone.builtin.kinds.priorityclass import PRIORITY_CLASS
from ingot.standalone.builtin.kinds.secret import SECRET
from ingot.standalone.builtin.kinds.service import SERVICE
from ingot.standalone.builtin.kinds.serviceaccount import SERVICE_ACCOUNT
from ingot.standalone.builtin.kinds.storageclass import STORAGE_CLASS
from ingot.standalone.resources.definition import Definition

DEFINITIONS: list[Definition] = [
    NAMESPACE,
    NODE,
    POD,
    CLAIM,
    VOLUME,
    SECRET,
    CONFIG_MAP,
    SERVICE,
    ENDPOINTS,
    SERVICE_ACCOUNT,
    event.EVENT,
    event.NEW_EVENT,
    STORAGE_CLASS,
    csi.CSI_DRIVER,
    csi.CSI_NODE,
    csi.VOLUME_ATTACHMENT,
    LEASE,
    rbac.ROLE,
    rbac.CLUSTER_ROLE,
    rbac.ROLE_BINDING,
    rbac.CLUSTER_ROLE_BINDING,
    reviews.TOKEN_REVIEW,
    reviews.SELF_SUBJECT_REVIEW,
    reviews.SUBJECT_ACCESS_REVIEW,
    reviews.LOCAL_SUBJECT_ACCESS_REVIEW,
    reviews.SELF_SUBJECT_ACCESS_REVIEW,
    reviews.SELF_SUBJECT_RULES_REVIEW,
    reviews.SENT["binding"],
    PRIORITY_CLASS,
    CUSTOM_RESOURCE_DEFINITION,
]
