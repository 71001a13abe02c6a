"""The names that Kubernetes' types have in Go, where its messages show them.

A wrong JSON type is told as `cannot unmarshal number into Go struct field PodSpec.spec.dnsPolicy of type
v1.DNSPolicy`. The type follows from the schema, but for the fields in this table. Its lines are those of `shapes`.
"""

from functools import cache

from ingot.api.object import Object
from ingot.standalone.builtin import schemas, shapes

_NAMED = """
authentication.v1.BoundObjectReference: uid=types.UID
authentication.v1.UserInfo: extra=map[string]v1.ExtraValue
authorization.v1.SubjectAccessReviewSpec: extra=map[string]v1.ExtraValue
coordination.v1.LeaseSpec: strategy=v1.CoordinatedLeaseStrategy
core.v1.AppArmorProfile: type=v1.AppArmorProfileType
core.v1.AttachedVolume: name=v1.UniqueVolumeName
core.v1.AzureDiskVolumeSource: cachingMode=v1.AzureDataDiskCachingMode kind=v1.AzureDataDiskKind
core.v1.Capabilities: add=[]v1.Capability drop=[]v1.Capability
core.v1.ConfigMapNodeConfigSource: uid=types.UID
core.v1.Container: imagePullPolicy=v1.PullPolicy restartPolicy=v1.ContainerRestartPolicy
  terminationMessagePolicy=v1.TerminationMessagePolicy
core.v1.ContainerPort: protocol=v1.Protocol
core.v1.ContainerResizePolicy: resourceName=v1.ResourceName restartPolicy=v1.ResourceResizeRestartPolicy
core.v1.ContainerStatus: allocatedResources=v1.ResourceList
core.v1.EmptyDirVolumeSource: medium=v1.StorageMedium
core.v1.EndpointPort: protocol=v1.Protocol
core.v1.EphemeralContainer: imagePullPolicy=v1.PullPolicy restartPolicy=v1.ContainerRestartPolicy
  terminationMessagePolicy=v1.TerminationMessagePolicy
core.v1.HTTPGetAction: scheme=v1.URIScheme
core.v1.HostPathVolumeSource: type=v1.HostPathType
core.v1.ImageVolumeSource: pullPolicy=v1.PullPolicy
core.v1.LimitRangeItem: default=v1.ResourceList defaultRequest=v1.ResourceList max=v1.ResourceList
  maxLimitRequestRatio=v1.ResourceList min=v1.ResourceList type=v1.LimitType
core.v1.LoadBalancerIngress: ipMode=v1.LoadBalancerIPMode
core.v1.ModifyVolumeStatus: status=v1.PersistentVolumeClaimModifyVolumeStatus
core.v1.NamespaceCondition: status=v1.ConditionStatus type=v1.NamespaceConditionType
core.v1.NamespaceSpec: finalizers=[]v1.FinalizerName
core.v1.NamespaceStatus: phase=v1.NamespacePhase
core.v1.NodeAddress: type=v1.NodeAddressType
core.v1.NodeCondition: status=v1.ConditionStatus type=v1.NodeConditionType
core.v1.NodeSelectorRequirement: operator=v1.NodeSelectorOperator
core.v1.NodeStatus: allocatable=v1.ResourceList capacity=v1.ResourceList phase=v1.NodePhase
  volumesInUse=[]v1.UniqueVolumeName
core.v1.ObjectReference: uid=types.UID
core.v1.PersistentVolumeClaimCondition: status=v1.ConditionStatus type=v1.PersistentVolumeClaimConditionType
core.v1.PersistentVolumeClaimSpec: accessModes=[]v1.PersistentVolumeAccessMode
  volumeMode=v1.PersistentVolumeMode
core.v1.PersistentVolumeClaimStatus: accessModes=[]v1.PersistentVolumeAccessMode
  allocatedResourceStatuses=map[v1.ResourceName]v1.ClaimResourceStatus allocatedResources=v1.ResourceList
  capacity=v1.ResourceList phase=v1.PersistentVolumeClaimPhase
core.v1.PersistentVolumeSpec: accessModes=[]v1.PersistentVolumeAccessMode capacity=v1.ResourceList
  persistentVolumeReclaimPolicy=v1.PersistentVolumeReclaimPolicy volumeMode=v1.PersistentVolumeMode
core.v1.PersistentVolumeStatus: phase=v1.PersistentVolumePhase
core.v1.PodCondition: status=v1.ConditionStatus type=v1.PodConditionType
core.v1.PodOS: name=v1.OSName
core.v1.PodReadinessGate: conditionType=v1.PodConditionType
core.v1.PodSecurityContext: fsGroupChangePolicy=v1.PodFSGroupChangePolicy
  seLinuxChangePolicy=v1.PodSELinuxChangePolicy supplementalGroupsPolicy=v1.SupplementalGroupsPolicy
core.v1.PodSpec: dnsPolicy=v1.DNSPolicy overhead=v1.ResourceList preemptionPolicy=v1.PreemptionPolicy
  restartPolicy=v1.RestartPolicy
core.v1.PodStatus: phase=v1.PodPhase qosClass=v1.PodQOSClass resize=v1.PodResizeStatus
core.v1.PortStatus: protocol=v1.Protocol
core.v1.ResourceHealth: health=v1.ResourceHealthStatus resourceID=v1.ResourceID
core.v1.ResourceQuotaSpec: hard=v1.ResourceList scopes=[]v1.ResourceQuotaScope
core.v1.ResourceQuotaStatus: hard=v1.ResourceList used=v1.ResourceList
core.v1.ResourceRequirements: limits=v1.ResourceList requests=v1.ResourceList
core.v1.ResourceStatus: name=v1.ResourceName
core.v1.ScopedResourceSelectorRequirement: operator=v1.ScopeSelectorOperator scopeName=v1.ResourceQuotaScope
core.v1.SeccompProfile: type=v1.SeccompProfileType
core.v1.Secret: type=v1.SecretType
core.v1.SecurityContext: procMount=v1.ProcMountType
core.v1.ServicePort: protocol=v1.Protocol
core.v1.ServiceSpec: externalTrafficPolicy=v1.ServiceExternalTrafficPolicy
  internalTrafficPolicy=v1.ServiceInternalTrafficPolicy ipFamilies=[]v1.IPFamily
  ipFamilyPolicy=v1.IPFamilyPolicy sessionAffinity=v1.ServiceAffinity type=v1.ServiceType
core.v1.Taint: effect=v1.TaintEffect
core.v1.Toleration: effect=v1.TaintEffect operator=v1.TolerationOperator
core.v1.TopologySpreadConstraint: nodeAffinityPolicy=v1.NodeInclusionPolicy
  nodeTaintsPolicy=v1.NodeInclusionPolicy whenUnsatisfiable=v1.UnsatisfiableConstraintAction
core.v1.VolumeMount: mountPropagation=v1.MountPropagationMode recursiveReadOnly=v1.RecursiveReadOnlyMode
core.v1.VolumeMountStatus: recursiveReadOnly=v1.RecursiveReadOnlyMode
core.v1.VolumeResourceRequirements: limits=v1.ResourceList requests=v1.ResourceList
scheduling.v1.PriorityClass: preemptionPolicy=v1.PreemptionPolicy
storage.v1.CSIDriverSpec: fsGroupPolicy=v1.FSGroupPolicy volumeLifecycleModes=[]v1.VolumeLifecycleMode
storage.v1.StorageClass: reclaimPolicy=v1.PersistentVolumeReclaimPolicy
  volumeBindingMode=v1.VolumeBindingMode
apiextensions.v1.CustomResourceConversion: strategy=v1.ConversionStrategyType
apiextensions.v1.CustomResourceDefinitionCondition: status=v1.ConditionStatus
  type=v1.CustomResourceDefinitionConditionType
apiextensions.v1.CustomResourceDefinitionSpec: scope=v1.ResourceScope
apiextensions.v1.JSONSchemaProps: $schema=v1.JSONSchemaURL definitions=v1.JSONSchemaDefinitions
  dependencies=v1.JSONSchemaDependencies x-kubernetes-validations=v1.ValidationRules
apiextensions.v1.ValidationRule: reason=v1.FieldValueErrorReason
meta.v1.Condition: status=v1.ConditionStatus
meta.v1.DeleteOptions: propagationPolicy=v1.DeletionPropagation
meta.v1.FieldSelectorRequirement: operator=v1.FieldSelectorOperator
meta.v1.LabelSelectorRequirement: operator=v1.LabelSelectorOperator
meta.v1.ManagedFieldsEntry: operation=v1.ManagedFieldsOperationType
meta.v1.ObjectMeta: uid=types.UID
meta.v1.OwnerReference: uid=types.UID
meta.v1.Preconditions: uid=types.UID
"""


@cache
def _named() -> dict[str, dict[str, str]]:
    pairs = {name: (field.split("=") for field in given) for name, given in shapes.parse(_NAMED).items()}
    return {name: dict(given) for name, given in pairs.items()}


def struct_name(schema: Object) -> str:
    """`PodSpec`, for the schema of a structure."""
    return schemas.name_of(schema).rpartition(".")[2]


def type_of(struct: Object, field: str, nested: int) -> str:
    """The Go type of a field of `struct`, or of what is `nested` lists and maps deep in it."""
    schema = struct["properties"][field]
    name = _named().get(schemas.name_of(struct), {}).get(field) or _derived(schema)
    for _ in range(nested):
        schema = schema.get("items") or schema["additionalProperties"]
        if name.startswith("[]"):
            name = name[2:]
        elif name.startswith("map["):
            name = name[name.index("]") + 1 :]
        else:
            name = _derived(schema)
    return name


def _derived(schema: Object) -> str:
    if schemas.name_of(schema):
        return f"v1.{struct_name(schema)}"
    kind = schema.get("type")
    if kind == "array":
        return f"[]{_derived(schema['items'])}"
    if kind == "object":
        return f"map[string]{_derived(schema['additionalProperties'])}"
    if kind == "string":
        return "[]uint8" if schema.get("format") == "byte" else "string"
    if kind == "integer":
        return str(schema.get("format", "int64"))
    return {"boolean": "bool", "number": "float64"}.get(str(kind), "")
