package api

// Types are the base types: all but the kinds of policies and the routes.
func Types() []Type {
	return []Type{
		{Name: KindMesh, Plural: "meshes", Short: "m", Global: true, Flat: true, DNSLabel: true, New: func() Spec { return new(Mesh) }, Custom: openDefinition(false)},
		{Name: KindDataplane, Plural: "dataplanes", Short: "dp", Flat: true, New: func() Spec { return new(Dataplane) }, Custom: openDefinition(true)},
		{Name: KindMeshService, Plural: "meshservices", Short: "msvc", DNSLabel: true,
			New: func() Spec { return new(MeshService) }, NewStatus: newServiceStatus, Custom: serviceDefinition()},
		{Name: KindMeshExternalService, Plural: "meshexternalservices", Short: "extsvc", DNSLabel: true,
			New: func() Spec { return new(MeshExternalService) }, NewStatus: newServiceStatus, Custom: serviceDefinition()},
		{Name: KindMeshMultiZoneService, Plural: "meshmultizoneservices", Short: "mzsvc", DNSLabel: true,
			New: func() Spec { return new(MeshMultiZoneService) }, NewStatus: newServiceStatus, Custom: serviceDefinition()},
		{Name: KindHostnameGenerator, Plural: "hostnamegenerators", Short: "hg", Global: true, New: func() Spec { return new(HostnameGenerator) }, Custom: generatorDefinition()},
		{Name: KindService, Plural: "services", Short: "svc", Group: CoreGroup, Version: "v1", DNSLabel: true, Meta: true, Annotations: ServiceAnnotations(), New: func() Spec { return new(Service) }},
		{Name: KindEndpointSlice, Plural: "endpointslices", Short: "eps", Group: "discovery.k8s.io", Version: "v1", Flat: true, Beside: true,
			New: func() Spec { return new(EndpointSlice) }},
		{Name: KindNamespace, Plural: "namespaces", Short: "ns", Group: CoreGroup, Version: "v1", Unscoped: true, Meta: true, New: func() Spec { return new(Namespace) }},
		{Name: KindPod, Plural: "pods", Short: "po", Group: CoreGroup, Version: "v1", Flat: true, Beside: true, Cluster: true, Meta: true,
			New: func() Spec { return new(Pod) }},
		{Name: KindNode, Plural: "nodes", Short: "no", Group: CoreGroup, Version: "v1", Flat: true, Beside: true, Global: true, Cluster: true,
			New: func() Spec { return new(Bystander) }},
		{Name: KindReplicaSet, Plural: "replicasets", Short: "rs", Group: "apps", Version: "v1", Flat: true, Beside: true, Cluster: true, Meta: true,
			New: func() Spec { return new(Bystander) }},
		{Name: KindJob, Plural: "jobs", Short: "job", Group: "batch", Version: "v1", Flat: true, Beside: true, Cluster: true, Meta: true,
			New: func() Spec { return new(Bystander) }},
		{Name: KindSecret, Plural: "secrets", Short: "sec", Group: CoreGroup, Version: "v1", Flat: true, Beside: true, Secret: true,
			New: func() Spec { return new(Secret) }},
		{Name: KindMeshIdentity, Plural: "meshidentities", Short: "mid", Reported: true, New: func() Spec { return new(MeshIdentity) }, Custom: identityDefinition("Domain", ".spec.spiffeID.trustDomain")},
		{Name: KindMeshTrust, Plural: "meshtrusts", Short: "mtrust", Reported: true, New: func() Spec { return new(MeshTrust) }, Custom: trustDefinition()},
		{Name: KindMeshOpenTelemetryBackend, Plural: "meshopentelemetrybackends", Short: "motb", Reported: true,
			New: func() Spec { return new(MeshOpenTelemetryBackend) }, Custom: collectorDefinition()},
		{Name: KindMeshGateway, Plural: "meshgateways", Short: "mgw", Flat: true, MeshBeside: true, New: func() Spec { return new(MeshGateway) }},
	}
}

func newServiceStatus() any { return new(ServiceStatus) }
