package install

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/unsupported"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/world"
)

// RBACRule is a right to do something with some resources of one group, or with paths of the control plane.
type RBACRule struct {
	Group     string // empty is that of Kubernetes without a name
	Resources []string
	Paths     []string // in place of resources
	Names     []string // of the only objects that it is for; none is all
	Verbs     []string
	Why       string // what for, in a few words
}

// Role is a set of rights that somebody gets.
type Role struct {
	Name string
	Rules
	// Labels say which roles of Kubernetes it is added to.
	Labels map[string]string
}

// Rules are rights.
type Rules []RBACRule

var (
	follows = []string{"list", "watch"}
	reads   = []string{"get", "list", "watch"}
	writes  = []string{"create", "delete", "deletecollection", "patch", "update"}
	states  = []string{"patch"}
)

// Name is that of the control plane's objects: Deployment, Service, account, roles.
const Name = "weft-control-plane"

// RoleSecrets is the role of the control plane where it may read Secrets.
const RoleSecrets = "weft-secrets"

// RoleDataplanes is the role of the control plane where it writes Dataplanes.
const RoleDataplanes = "weft-dataplanes"

// SecretAuthority is the Secret with the roots of the control planes of a cluster.
const SecretAuthority = "weft-ca"

// SecretServing is the Secret with the certificate that cert-manager makes.
const SecretServing = "weft-control-plane-tls"

// Lease is by which the control planes elect their leader.
const Lease = "weft-leader"

// ClusterRole are the rights of the control plane in the whole cluster (spec/kubernetes.md
// 6.7): the least with which it works, as tests hold. No Secret is among them.
func ClusterRole() Role {
	var rules Rules
	for _, group := range groups() {
		if group == "" {
			rules = append(rules, RBACRule{Resources: []string{"namespaces", "nodes", "pods", "services"}, Verbs: follows, Why: "what runs where"})
			continue
		}
		rules = append(rules, RBACRule{Group: group, Resources: plurals(group, func(api.Type) bool { return true }), Verbs: follows, Why: "what is served"})
		if status := statuses(group); len(status) > 0 {
			rules = append(rules, RBACRule{Group: group, Resources: status, Verbs: states, Why: "conditions"})
		}
		if whole := plurals(group, func(t api.Type) bool { return t.Custom != nil && t.Custom.Annotated }); len(whole) > 0 {
			rules = append(rules, RBACRule{Group: group, Resources: whole, Verbs: states, Why: "conditions in an annotation, where the published definition has no place for them"})
		}
	}
	return Role{Name: Name, Rules: append(rules,
		RBACRule{Group: "apiextensions.k8s.io", Resources: []string{"customresourcedefinitions"}, Verbs: follows, Why: "which kinds are installed"},
		RBACRule{Group: kumaGroup, Resources: foreign(), Verbs: follows, Why: "kinds of Kuma that weft does not serve, to say so"},
		RBACRule{Group: kumaGroup, Resources: []string{"meshservices"}, Verbs: []string{"create", "delete", "patch"}, Why: "a MeshService for each Service"},
		RBACRule{Group: kumaGroup, Resources: []string{"meshes"}, Verbs: []string{"create"}, Why: "mesh default, once"},
		RBACRule{Resources: []string{"namespaces"}, Verbs: []string{"get"}, Why: "a label too new to be known, before a pod stays without a sidecar"},
		RBACRule{Group: kumaGroup, Resources: []string{"meshes"}, Verbs: []string{"get"}, Why: "a mesh too new to be known, before a document is refused"},
		RBACRule{Group: "events.k8s.io", Resources: []string{"events"}, Verbs: []string{"create"}, Why: "what happened to an object"},
		RBACRule{Group: "authentication.k8s.io", Resources: []string{"tokenreviews"}, Verbs: []string{"create"}, Why: "who a sidecar or a user is"},
		RBACRule{Group: "authorization.k8s.io", Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}, Why: "what a user may see"},
		RBACRule{Group: "admissionregistration.k8s.io", Resources: []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"},
			Names: []string{"weft"}, Verbs: []string{"list", "patch", "watch"}, Why: "the authority of its own webhooks"},
	)}
}

// SystemRole are the rights of the control plane in its own namespace.
func SystemRole() Role {
	return Role{Name: Name, Rules: Rules{
		{Group: "coordination.k8s.io", Resources: []string{"leases"}, Verbs: []string{"create"}, Why: "to elect a leader"},
		{Group: "coordination.k8s.io", Resources: []string{"leases"}, Names: []string{Lease}, Verbs: []string{"get", "update"}, Why: "to elect a leader"},
		// What the authorities of meshes are made of has names that follow from documents.
		{Resources: []string{"secrets"}, Verbs: []string{"create", "delete", "list", "patch", "watch"}, Why: "the authority, and those of meshes"},
		{Group: kumaGroup, Resources: []string{"meshtrusts"}, Verbs: []string{"create", "delete", "patch"}, Why: "whom the workloads of a mesh believe"},
		{Resources: []string{"secrets"}, Names: []string{SecretAuthority}, Verbs: []string{"update"}, Why: "the authority"},
		{Group: kumaGroup, Resources: defaultPolicies(), Verbs: []string{"create"}, Why: "default policies of meshes"},
		{Group: kumaGroup, Resources: rewrittenPolicies(), Verbs: []string{"patch"}, Why: "default policies of earlier releases"},
	}}
}

// SecretsRole are the rights of the control plane in the namespaces of the value
// secrets.namespaces.
func SecretsRole() Role {
	return Role{Name: RoleSecrets, Rules: Rules{{Resources: []string{"secrets"}, Verbs: follows, Why: "certificates of listeners"}}}
}

// DataplanesRole are the rights of the control plane with the value writeDataplanes.
func DataplanesRole() Role {
	return Role{Name: RoleDataplanes, Rules: Rules{{Group: kumaGroup, Resources: []string{"dataplanes"}, Verbs: []string{"create", "delete", "patch"}, Why: "a mirror of the Dataplane of each pod"}}}
}

// RoleTrafficMetrics is the role of who collects metrics of traffic.
const RoleTrafficMetrics = "weft-traffic-metrics"

// TrafficMetricsRole are the rights of who collects metrics of traffic, which name the services of all namespaces;
// with the value trafficMetrics it is there, and nobody has it.
func TrafficMetricsRole() Role {
	return Role{Name: RoleTrafficMetrics, Rules: Rules{{Paths: []string{"/metrics/traffic"}, Verbs: []string{"get"}, Why: "requests by service, route and rule, of all namespaces"}}}
}

// UserRoles are added to the roles view, edit and admin of Kubernetes. Kinds that live in
// system namespaces are for the administrators of the cluster alone.
func UserRoles() []Role {
	var view, edit Rules
	for _, group := range groups() {
		own := plurals(group, func(t api.Type) bool { return t.Custom != nil && !t.Global && !systemOnly[t.Name] })
		if len(own) == 0 {
			continue
		}
		view = append(view, RBACRule{Group: group, Resources: own, Verbs: reads, Why: "documents of the namespace"})
		// Who a workload is, is not for its neighbours to say: a hand-written Dataplane has any
		// address and any tag, and stands among the endpoints of whoever selects those.
		edit = append(edit, RBACRule{Group: group, Resources: without(own, "dataplanes"), Verbs: writes, Why: "documents of the namespace"})
	}
	view = append(view, RBACRule{Group: kumaGroup, Resources: []string{"dataplanes/explain"}, Verbs: []string{"get"}, Why: "weft explain, simulate, status"})
	view = append(view, RBACRule{Group: kumaGroup, Resources: []string{"dataplanes/requests"}, Verbs: []string{"get"}, Why: "weft why: requests that failed, without queries, headers and bodies"})
	edit = append(edit, RBACRule{Group: kumaGroup, Resources: []string{"dataplanes/envoy"}, Verbs: []string{"get"}, Why: "weft inspect"})
	to := func(role string) map[string]string {
		return map[string]string{"rbac.authorization.k8s.io/aggregate-to-" + role: "true"}
	}
	admin := append(slices.Clone(edit), RBACRule{Group: kumaGroup, Resources: []string{"dataplanes/requests"}, Verbs: []string{"tap"}, Why: "weft tap: every request while somebody watches"})
	return []Role{{"weft-admin", admin, to("admin")}, {"weft-edit", edit, to("edit")}, {"weft-view", view, to("view")}}
}

func without(list []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == one })
}

const kumaGroup = "kuma.io"

// defaultPolicies are the resources of what comes with a new mesh.
func defaultPolicies() (out []string) {
	for _, p := range append(admission.DefaultPolicies("default", nil), admission.DefaultPermission("default")) {
		if t, ok := world.Catalog().Type(p.Kind); ok {
			out = append(out, t.Plural)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// rewrittenPolicies are the resources of those that an earlier release wrote otherwise.
func rewrittenPolicies() []string {
	earlier := map[string]bool{admission.DefaultPermission("default").Kind: true}
	for _, k := range world.Kinds() {
		earlier[k.Name] = earlier[k.Name] || k.Initial != nil && len(k.Initial.Earlier) > 0
	}
	var out []string
	for _, t := range world.Catalog().Types() {
		if earlier[t.Name] {
			out = append(out, t.Plural)
		}
	}
	slices.Sort(out)
	return out
}

// systemOnly are the kinds of documents that only system namespaces hold (spec/kubernetes.md 1).
var systemOnly = map[string]bool{api.KindMeshExternalService: true, api.KindMeshMultiZoneService: true, api.KindHostnameGenerator: true, api.KindMeshIdentity: true, api.KindMeshTrust: true, api.KindMeshOpenTelemetryBackend: true}

// groups are those of the resources that are read, sorted; without a name the core's.
func groups() []string {
	var out []string
	for _, t := range world.Catalog().Types() {
		out = append(out, groupOf(t))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func groupOf(t api.Type) string {
	if t.Group == api.CoreGroup {
		return ""
	}
	return cmp.Or(t.Group, kumaGroup)
}

// plurals are the resources of a group, sorted.
func plurals(group string, of func(api.Type) bool) (out []string) {
	for _, t := range world.Catalog().Types() {
		if groupOf(t) == group && of(t) {
			out = append(out, t.Plural)
		}
	}
	slices.Sort(out)
	return out
}

// statuses are the subresources in which weft says what became of an object.
func statuses(group string) []string {
	out := plurals(group, api.Type.HasStatus)
	for i := range out {
		out[i] += "/status"
	}
	return out
}

// foreign are the resources of Kuma that weft has not, beside those that are no custom
// resources of a cluster.
func foreign() (out []string) {
	for _, kind := range unsupported.Kinds() {
		name := strings.ToLower(kind)
		switch {
		case strings.HasSuffix(kind, "Secret"):
			continue
		case strings.HasSuffix(name, "y"):
			name = strings.TrimSuffix(name, "y") + "ies"
		case strings.HasSuffix(name, "s"), strings.HasSuffix(name, "ch"):
			name += "es"
		default:
			name += "s"
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
