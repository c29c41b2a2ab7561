package webhook

const (
	// ConfigurationName is that of both webhook configurations.
	ConfigurationName = "weft"
	// ServiceName is that of the Service and of the account of the control plane.
	ServiceName = "weft-control-plane"
)

// The names of the webhooks beside inject.HookNamespace and inject.HookPod.
const (
	HookDefaults = "defaults.weft.io"
	HookKuma     = "kuma.validator.weft.io"
	HookRoutes   = "routes.validator.weft.io"
)

// The paths at which Handler answers.
const (
	PathInject   = "/inject"
	PathDefaults = "/defaults"
	PathKuma     = "/validate"
	PathRoutes   = "/validate-routes"
)

const (
	// Port is that of webhooks in a cluster (spec/kubernetes.md 6.8).
	Port = 5443
	// Seconds are how long an API server waits for an answer.
	Seconds = 2
	// AnnotationInjectCA lets cert-manager write the authority.
	AnnotationInjectCA = "cert-manager.io/inject-ca-from"
)

// AccountName is how an API server calls a service account.
func AccountName(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}
