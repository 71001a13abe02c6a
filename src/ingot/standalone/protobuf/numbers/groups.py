"""Field numbers of the groups beside the core."""

TABLE = """
authentication.v1.BoundObjectReference: kind=1 apiVersion=2 name=3 uid=4
authentication.v1.SelfSubjectReview: metadata=1 status=2
authentication.v1.SelfSubjectReviewStatus: userInfo=1
authentication.v1.TokenRequest: metadata=1 spec=2 status=3
authentication.v1.TokenRequestSpec: audiences=1 boundObjectRef=3 expirationSeconds=4
authentication.v1.TokenRequestStatus: token=1 expirationTimestamp=2
authentication.v1.TokenReview: metadata=1 spec=2 status=3
authentication.v1.TokenReviewSpec: token=1 audiences=2
authentication.v1.TokenReviewStatus: authenticated=1 user=2 error=3 audiences=4
authentication.v1.UserInfo: username=1 uid=2 groups=3 extra=4
authorization.v1.FieldSelectorAttributes: rawSelector=1 requirements=2
authorization.v1.LabelSelectorAttributes: rawSelector=1 requirements=2
authorization.v1.LocalSubjectAccessReview: metadata=1 spec=2 status=3
authorization.v1.NonResourceAttributes: path=1 verb=2
authorization.v1.NonResourceRule: verbs=1 nonResourceURLs=2
authorization.v1.ResourceAttributes: namespace=1 verb=2 group=3 version=4 resource=5 subresource=6 name=7
  fieldSelector=8 labelSelector=9
authorization.v1.ResourceRule: verbs=1 apiGroups=2 resources=3 resourceNames=4
authorization.v1.SelfSubjectAccessReview: metadata=1 spec=2 status=3
authorization.v1.SelfSubjectAccessReviewSpec: resourceAttributes=1 nonResourceAttributes=2
authorization.v1.SelfSubjectRulesReview: metadata=1 spec=2 status=3
authorization.v1.SelfSubjectRulesReviewSpec: namespace=1
authorization.v1.SubjectAccessReview: metadata=1 spec=2 status=3
authorization.v1.SubjectAccessReviewSpec: resourceAttributes=1 nonResourceAttributes=2 user=3 groups=4
  extra=5 uid=6
authorization.v1.SubjectAccessReviewStatus: allowed=1 reason=2 evaluationError=3 denied=4
authorization.v1.SubjectRulesReviewStatus: resourceRules=1 nonResourceRules=2 incomplete=3 evaluationError=4
autoscaling.v1.Scale: metadata=1 spec=2 status=3
autoscaling.v1.ScaleSpec: replicas=1
autoscaling.v1.ScaleStatus: replicas=1 selector=2
coordination.v1.Lease: metadata=1 spec=2
coordination.v1.LeaseSpec: holderIdentity=1 leaseDurationSeconds=2 acquireTime=3 renewTime=4
  leaseTransitions=5 strategy=6 preferredHolder=7
events.v1.Event: metadata=1 eventTime=2 series=3 reportingController=4 reportingInstance=5 action=6 reason=7
  regarding=8 related=9 note=10 type=11 deprecatedSource=12 deprecatedFirstTimestamp=13
  deprecatedLastTimestamp=14 deprecatedCount=15
events.v1.EventSeries: count=1 lastObservedTime=2
policy.v1.Eviction: metadata=1 deleteOptions=2
rbac.v1.AggregationRule: clusterRoleSelectors=1
rbac.v1.ClusterRole: metadata=1 rules=2 aggregationRule=3
rbac.v1.ClusterRoleBinding: metadata=1 subjects=2 roleRef=3
rbac.v1.PolicyRule: verbs=1 apiGroups=2 resources=3 resourceNames=4 nonResourceURLs=5
rbac.v1.Role: metadata=1 rules=2
rbac.v1.RoleBinding: metadata=1 subjects=2 roleRef=3
rbac.v1.RoleRef: apiGroup=1 kind=2 name=3
rbac.v1.Subject: kind=1 apiGroup=2 name=3 namespace=4
scheduling.v1.PriorityClass: metadata=1 value=2 globalDefault=3 description=4 preemptionPolicy=5
storage.v1.CSIDriver: metadata=1 spec=2
storage.v1.CSIDriverSpec: attachRequired=1 podInfoOnMount=2 volumeLifecycleModes=3 storageCapacity=4
  fsGroupPolicy=5 tokenRequests=6 requiresRepublish=7 seLinuxMount=8
storage.v1.CSINode: metadata=1 spec=2
storage.v1.CSINodeDriver: name=1 nodeID=2 topologyKeys=3 allocatable=4
storage.v1.CSINodeSpec: drivers=1
storage.v1.StorageClass: metadata=1 provisioner=2 parameters=3 reclaimPolicy=4 mountOptions=5
  allowVolumeExpansion=6 volumeBindingMode=7 allowedTopologies=8
storage.v1.TokenRequest: audience=1 expirationSeconds=2
storage.v1.VolumeAttachment: metadata=1 spec=2 status=3
storage.v1.VolumeAttachmentSource: persistentVolumeName=1 inlineVolumeSpec=2
storage.v1.VolumeAttachmentSpec: attacher=1 source=2 nodeName=3
storage.v1.VolumeAttachmentStatus: attached=1 attachmentMetadata=2 attachError=3 detachError=4
storage.v1.VolumeError: time=1 message=2
storage.v1.VolumeNodeResources: count=1
"""
