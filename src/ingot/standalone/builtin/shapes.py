"""Which fields of Kubernetes' kinds are written when they are empty.

Kubernetes reads an object into typed memory and writes it out again. What becomes of an empty field then is not
in the published schemas; these tables hold it, as the API of release 1.32 has it. The rule without an entry here:
an optional scalar, list or map is left out when it is empty, an optional structure is written as it was given, and
a required field is always written.

A line is `type: field field …`; a line that starts with a space continues the one before.
"""

from functools import cache

_PREFIXES = {
    "meta": "io.k8s.apimachinery.pkg.apis.meta",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
}

# Optional scalars whose zero means something else than absence: written as given.
_POINTERS = """
coordination.v1.LeaseSpec: holderIdentity leaseDurationSeconds leaseTransitions preferredHolder strategy
core.v1.AppArmorProfile: localhostProfile
core.v1.AzureDiskVolumeSource: cachingMode fsType kind readOnly
core.v1.CSIVolumeSource: fsType readOnly
core.v1.ClientIPConfig: timeoutSeconds
core.v1.ClusterTrustBundleProjection: name optional signerName
core.v1.ConfigMap: immutable
core.v1.ConfigMapEnvSource: optional
core.v1.ConfigMapKeySelector: optional
core.v1.ConfigMapProjection: optional
core.v1.ConfigMapVolumeSource: defaultMode optional
core.v1.Container: restartPolicy
core.v1.ContainerStatus: started
core.v1.DownwardAPIVolumeFile: mode
core.v1.DownwardAPIVolumeSource: defaultMode
core.v1.EndpointAddress: nodeName
core.v1.EndpointPort: appProtocol
core.v1.EphemeralContainer: restartPolicy
core.v1.FCVolumeSource: lun
core.v1.GlusterfsPersistentVolumeSource: endpointsNamespace
core.v1.HostPathVolumeSource: type
core.v1.ISCSIPersistentVolumeSource: initiatorName
core.v1.ISCSIVolumeSource: initiatorName
core.v1.KeyToPath: mode
core.v1.LoadBalancerIngress: ipMode
core.v1.LocalVolumeSource: fsType
core.v1.NodeFeatures: supplementalGroupsPolicy
core.v1.NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts userNamespaces
core.v1.PersistentVolumeClaimSpec: storageClassName volumeAttributesClassName volumeMode
core.v1.PersistentVolumeClaimStatus: currentVolumeAttributesClassName
core.v1.PersistentVolumeSpec: volumeAttributesClassName volumeMode
core.v1.PodDNSConfigOption: value
core.v1.PodResourceClaim: resourceClaimName resourceClaimTemplateName
core.v1.PodResourceClaimStatus: resourceClaimName
core.v1.PodSecurityContext: fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser
  seLinuxChangePolicy supplementalGroupsPolicy
core.v1.PodSpec: activeDeadlineSeconds automountServiceAccountToken enableServiceLinks hostUsers
  preemptionPolicy priority runtimeClassName setHostnameAsFQDN shareProcessNamespace
  terminationGracePeriodSeconds
core.v1.PortStatus: error
core.v1.Probe: terminationGracePeriodSeconds
core.v1.ProjectedVolumeSource: defaultMode
core.v1.SeccompProfile: localhostProfile
core.v1.Secret: immutable
core.v1.SecretEnvSource: optional
core.v1.SecretKeySelector: optional
core.v1.SecretProjection: optional
core.v1.SecretVolumeSource: defaultMode optional
core.v1.SecurityContext: allowPrivilegeEscalation privileged procMount readOnlyRootFilesystem runAsGroup
  runAsNonRoot runAsUser
core.v1.ServiceAccount: automountServiceAccountToken
core.v1.ServiceAccountTokenProjection: expirationSeconds
core.v1.ServicePort: appProtocol
core.v1.ServiceSpec: allocateLoadBalancerNodePorts internalTrafficPolicy ipFamilyPolicy loadBalancerClass
  trafficDistribution
core.v1.Toleration: tolerationSeconds
core.v1.TopologySpreadConstraint: minDomains nodeAffinityPolicy nodeTaintsPolicy
core.v1.TypedObjectReference: namespace
core.v1.VolumeMount: mountPropagation recursiveReadOnly
core.v1.VolumeMountStatus: recursiveReadOnly
core.v1.WindowsSecurityContextOptions: gmsaCredentialSpec gmsaCredentialSpecName hostProcess runAsUserName
scheduling.v1.PriorityClass: preemptionPolicy
storage.v1.CSIDriverSpec: attachRequired fsGroupPolicy podInfoOnMount requiresRepublish seLinuxMount
  storageCapacity
storage.v1.StorageClass: allowVolumeExpansion reclaimPolicy volumeBindingMode
storage.v1.TokenRequest: expirationSeconds
storage.v1.VolumeAttachmentSource: persistentVolumeName
storage.v1.VolumeNodeResources: count
apiextensions.v1.CustomResourceDefinitionVersion: deprecationWarning
apiextensions.v1.CustomResourceSubresourceScale: labelSelectorPath
apiextensions.v1.CustomResourceSubresources: status
apiextensions.v1.JSONSchemaProps: $ref maxItems maxLength maxProperties maximum minItems minLength
  minProperties minimum multipleOf x-kubernetes-list-type x-kubernetes-map-type
  x-kubernetes-preserve-unknown-fields
apiextensions.v1.ServiceReference: path port
apiextensions.v1.ValidationRule: optionalOldSelf reason
apiextensions.v1.WebhookClientConfig: url
meta.v1.DeleteOptions: gracePeriodSeconds ignoreStoreReadErrorWithClusterBreakingPotential orphanDependents
  propagationPolicy
meta.v1.ObjectMeta: deletionGracePeriodSeconds
meta.v1.OwnerReference: blockOwnerDeletion controller
meta.v1.Preconditions: resourceVersion uid
"""

# Optional fields that are always written: structures as {}, times and lists as null.
_VALUES = """
authentication.v1.SelfSubjectReview: status
authentication.v1.SelfSubjectReviewStatus: userInfo
authentication.v1.TokenRequest: status
authentication.v1.TokenReview: status
authentication.v1.TokenReviewStatus: user
authorization.v1.LocalSubjectAccessReview: status
authorization.v1.SelfSubjectAccessReview: status
authorization.v1.SelfSubjectRulesReview: status
authorization.v1.SubjectAccessReview: status
coordination.v1.Lease: spec
core.v1.Container: resources
core.v1.ContainerImage: names
core.v1.ContainerStateRunning: startedAt
core.v1.ContainerStateTerminated: finishedAt startedAt
core.v1.ContainerStatus: lastState state
core.v1.EphemeralContainer: resources
core.v1.Event: eventTime firstTimestamp lastTimestamp reportingComponent reportingInstance source
core.v1.EventSeries: lastObservedTime
core.v1.LimitRange: spec
core.v1.Namespace: spec status
core.v1.NamespaceCondition: lastTransitionTime
core.v1.Node: spec status
core.v1.NodeCondition: lastHeartbeatTime lastTransitionTime
core.v1.NodeDaemonEndpoints: kubeletEndpoint
core.v1.NodeRuntimeHandler: name
core.v1.NodeStatus: daemonEndpoints nodeInfo
core.v1.PersistentVolume: spec status
core.v1.PersistentVolumeClaim: spec status
core.v1.PersistentVolumeClaimCondition: lastProbeTime lastTransitionTime
core.v1.PersistentVolumeClaimSpec: resources
core.v1.PersistentVolumeClaimTemplate: metadata
core.v1.Pod: spec status
core.v1.PodCondition: lastProbeTime lastTransitionTime
core.v1.ProjectedVolumeSource: sources
core.v1.ResourceFieldSelector: divisor
core.v1.ResourceQuota: spec status
core.v1.Service: spec status
core.v1.ServicePort: targetPort
core.v1.ServiceStatus: loadBalancer
events.v1.Event: deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedSource regarding
rbac.v1.ClusterRole: rules
rbac.v1.Role: rules
storage.v1.CSINodeDriver: topologyKeys
storage.v1.VolumeAttachment: status
storage.v1.VolumeError: time
apiextensions.v1.CustomResourceDefinition: status
apiextensions.v1.CustomResourceDefinitionCondition: lastTransitionTime
apiextensions.v1.CustomResourceDefinitionStatus: acceptedNames conditions storedVersions
meta.v1.ObjectMeta: creationTimestamp
"""

# Fields that are written as null when they are absent.
_NULLS = """
authentication.v1.TokenRequestSpec: boundObjectRef expirationSeconds
core.v1.AzureFilePersistentVolumeSource: secretNamespace
core.v1.GRPCAction: service
core.v1.ScaleIOPersistentVolumeSource: secretRef
core.v1.ScaleIOVolumeSource: secretRef
core.v1.TypedLocalObjectReference: apiGroup
core.v1.TypedObjectReference: apiGroup
"""


def full_name(short: str) -> str:
    """`io.k8s.api.core.v1.Pod` for `core.v1.Pod`."""
    group, _, rest = short.partition(".")
    return f"{_PREFIXES.get(group, f'io.k8s.api.{group}')}.{rest}"


def parse(table: str) -> dict[str, list[str]]:
    """The fields of each type that a table names."""
    lines = table.strip().replace("\n ", " ").splitlines()
    pairs = (line.split(": ") for line in lines)
    return {full_name(short): names.split() for short, names in pairs}


@cache
def pointers() -> dict[str, list[str]]:
    return parse(_POINTERS)


@cache
def values() -> dict[str, list[str]]:
    return parse(_VALUES)


@cache
def nulls() -> dict[str, list[str]]:
    return parse(_NULLS)
