package api

import (
	"strconv"
	"strings"
)

// The roles of a policy or route (spec/kuma.md 4.2).
const (
	RoleSystem        = "system"
	RoleProducer      = "producer"
	RoleConsumer      = "consumer"
	RoleWorkloadOwner = "workload-owner"
)

// Roled is the Spec of a kind that has roles. Where an object shows none it is
// RoleSystem.
type Roled interface{ RoleIn(home Home) string }

// Home is where an object lives.
type Home struct {
	Namespace string // empty outside Kubernetes
	// System says that the mesh's operators write there: outside namespaces, or in one of
	// the system namespaces of the control plane.
	System bool
}

// RoleOf is the role of a policy or route of namespace home. It follows from
// where the object lives and what it targets. A policy on a route of its own
// namespace goes where the route goes, as a producer's does.
func RoleOf(home Home, top TargetRef, to []TargetRef) string {
	switch {
	case home.System:
		return RoleSystem
	case top.IsRoute():
		return RoleProducer
	case len(to) == 0:
		return RoleWorkloadOwner
	case Produces(home.Namespace, to) == len(to):
		return RoleProducer
	}
	return RoleConsumer
}

// Produces counts the refs that name one service or route of namespace home:
// what is said about them is for their callers everywhere.
func Produces(home string, to []TargetRef) int {
	n := 0
	for _, ref := range to {
		named := ref.Name != "" || ref.Labels[LabelDisplayName] != ""
		if (ref.Kind == KindMeshService || ref.IsRoute()) && named && !ref.Elsewhere(home) {
			n++
		}
	}
	return n
}

// Elsewhere reports whether the ref names another namespace than home.
func (t TargetRef) Elsewhere(home string) bool {
	n := t.HomeNamespace()
	return n != "" && n != home
}

// HomeNamespace is the namespace that the ref itself names, empty where it names none.
func (t TargetRef) HomeNamespace() string {
	if t.Namespace != "" {
		return t.Namespace
	}
	if n := t.Labels[LabelNamespace]; n != "" {
		return n
	}
	if _, n, _, ok := KubeName(t.Name); ok && t.Kind == KindMeshService {
		return n
	}
	return ""
}

// MixedRoles is the violation of an object of namespace home whose entries of
// to belong to two roles; nil where they do not.
func MixedRoles(at Path, home Home, top TargetRef, to []TargetRef) error {
	n := Produces(home.Namespace, to)
	if RoleOf(home, top, to) != RoleConsumer || n == 0 {
		return nil
	}
	return at.Breaks("%d of %d items are for the callers of a service or route of namespace %s, the others for calls of its workloads; "+
		"write two objects", n, len(to), home.Namespace)
}

// KubeName reads the classic name of a Kubernetes service, <name>_<namespace>_svc_<port>.
func KubeName(text string) (name, namespace string, port uint32, ok bool) {
	parts := strings.Split(text, "_")
	if len(parts) != 4 || parts[2] != "svc" {
		return "", "", 0, false
	}
	n, err := strconv.ParseUint(parts[3], 10, 16)
	return parts[0], parts[1], uint32(n), err == nil
}
