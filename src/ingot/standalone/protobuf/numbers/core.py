"""Field numbers of the core group's other kinds."""

TABLE = """
core.v1.AttachedVolume: name=1 devicePath=2
core.v1.Binding: metadata=1 target=2
core.v1.ClientIPConfig: timeoutSeconds=1
core.v1.ConfigMap: metadata=1 data=2 binaryData=3 immutable=4
core.v1.ConfigMapNodeConfigSource: namespace=1 name=2 uid=3 resourceVersion=4 kubeletConfigKey=5
core.v1.ContainerImage: names=1 sizeBytes=2
core.v1.DaemonEndpoint: Port=1
core.v1.EndpointAddress: ip=1 targetRef=2 hostname=3 nodeName=4
core.v1.EndpointPort: name=1 port=2 protocol=3 appProtocol=4
core.v1.EndpointSubset: addresses=1 notReadyAddresses=2 ports=3
core.v1.Endpoints: metadata=1 subsets=2
core.v1.Event: metadata=1 involvedObject=2 reason=3 message=4 source=5 firstTimestamp=6 lastTimestamp=7
  count=8 type=9 eventTime=10 series=11 action=12 related=13 reportingComponent=14 reportingInstance=15
core.v1.EventSeries: count=1 lastObservedTime=2
core.v1.EventSource: component=1 host=2
core.v1.LoadBalancerIngress: ip=1 hostname=2 ipMode=3 ports=4
core.v1.LoadBalancerStatus: ingress=1
core.v1.Namespace: metadata=1 spec=2 status=3
core.v1.NamespaceCondition: type=1 status=2 lastTransitionTime=4 reason=5 message=6
core.v1.NamespaceSpec: finalizers=1
core.v1.NamespaceStatus: phase=1 conditions=2
core.v1.Node: metadata=1 spec=2 status=3
core.v1.NodeAddress: type=1 address=2
core.v1.NodeCondition: type=1 status=2 lastHeartbeatTime=3 lastTransitionTime=4 reason=5 message=6
core.v1.NodeConfigSource: configMap=2
core.v1.NodeConfigStatus: assigned=1 active=2 lastKnownGood=3 error=4
core.v1.NodeDaemonEndpoints: kubeletEndpoint=1
core.v1.NodeFeatures: supplementalGroupsPolicy=1
core.v1.NodeRuntimeHandler: name=1 features=2
core.v1.NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts=1 userNamespaces=2
core.v1.NodeSpec: podCIDR=1 externalID=2 providerID=3 unschedulable=4 taints=5 configSource=6 podCIDRs=7
core.v1.NodeStatus: capacity=1 allocatable=2 phase=3 conditions=4 addresses=5 daemonEndpoints=6 nodeInfo=7
  images=8 volumesInUse=9 volumesAttached=10 config=11 runtimeHandlers=12 features=13
core.v1.NodeSystemInfo: machineID=1 systemUUID=2 bootID=3 kernelVersion=4 osImage=5
  containerRuntimeVersion=6 kubeletVersion=7 kubeProxyVersion=8 operatingSystem=9 architecture=10
core.v1.PortStatus: port=1 protocol=2 error=3
core.v1.Secret: metadata=1 data=2 type=3 stringData=4 immutable=5
core.v1.Service: metadata=1 spec=2 status=3
core.v1.ServiceAccount: metadata=1 secrets=2 imagePullSecrets=3 automountServiceAccountToken=4
core.v1.ServicePort: name=1 protocol=2 port=3 targetPort=4 nodePort=5 appProtocol=6
core.v1.ServiceSpec: ports=1 selector=2 clusterIP=3 type=4 externalIPs=5 sessionAffinity=7 loadBalancerIP=8
  loadBalancerSourceRanges=9 externalName=10 externalTrafficPolicy=11 healthCheckNodePort=12
  publishNotReadyAddresses=13 sessionAffinityConfig=14 ipFamilyPolicy=17 clusterIPs=18 ipFamilies=19
  allocateLoadBalancerNodePorts=20 loadBalancerClass=21 internalTrafficPolicy=22 trafficDistribution=23
core.v1.ServiceStatus: loadBalancer=1 conditions=2
core.v1.SessionAffinityConfig: clientIP=1
core.v1.Taint: key=1 value=2 effect=3 timeAdded=4
core.v1.TopologySelectorLabelRequirement: key=1 values=2
core.v1.TopologySelectorTerm: matchLabelExpressions=1
"""
