package api

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Labels are the labels of one object as readers see them, and therefore as
// selectors do (spec/kuma.md 1.2): what its document says, and where it says
// nothing, what a control plane computes. Priorities and the zone of a selector
// go by Written alone.
type Labels struct {
	Written map[string]string
	// Zone has the labels that every object of the control plane's zone has; it
	// is one map for all of them.
	Zone map[string]string
	// Display, Namespace and Role are computed for the object; empty is none.
	Display, Namespace, Role string
}

// Zone is what a control plane knows of where it is.
type Zone struct {
	Name string // empty: outside a zone
	// Environment is EnvUniversal or EnvKubernetes; empty is the first.
	Environment string
	// Secrets are the namespaces whose Secrets are read in a cluster, as SecretsOf has them.
	Secrets string
	// Unselecting are the labels without which a Service still names the inbounds of a pod, as
	// Unselecting has them.
	Unselecting string
}

// Unselecting are labels as Zone has them.
func Unselecting(labels ...string) string { return strings.Join(labels, ",") }

// UnselectingLabels are those of Unselecting.
func (z Zone) UnselectingLabels() []string {
	return strings.FieldsFunc(z.Unselecting, func(r rune) bool { return r == ',' })
}

// SecretsOf are namespaces as Zone has them.
func SecretsOf(namespaces ...string) string { return "," + strings.Join(namespaces, ",") + "," }

// ReadsSecrets reports whether Secrets of a namespace are read.
func (z Zone) ReadsSecrets(namespace string) bool {
	return z.Environment != EnvKubernetes || strings.Contains(z.Secrets, ","+namespace+",")
}

// The environments of a zone, by where its documents are kept.
const (
	EnvUniversal  = "universal"
	EnvKubernetes = "kubernetes"
)

// Labels are those that a control plane of the zone computes for each object that
// belongs to it; none outside a zone.
func (z Zone) Labels() map[string]string {
	if z.Name == "" {
		return nil
	}
	return map[string]string{LabelOrigin: "zone", LabelZone: z.Name, LabelEnv: cmp.Or(z.Environment, EnvUniversal)}
}

// LabelsOf are the labels of o, whose control plane computes those of zone.
func LabelsOf(o *Object, zone map[string]string) Labels {
	l := Labels{Written: o.Labels, Zone: zone, Display: o.Name, Namespace: o.Namespace}
	if s, ok := o.Spec.(Roled); ok {
		if role := s.RoleIn(o.Home()); role != RoleSystem {
			l.Role = role
		}
	}
	return l
}

// Get is the label under key; not ok where there is none.
func (l *Labels) Get(key string) (value string, ok bool) {
	if value, ok = l.Written[key]; value != "" {
		return value, true
	}
	if computed := l.computed(key); computed != "" {
		return computed, true
	}
	return value, ok
}

func (l *Labels) computed(key string) string {
	switch key {
	case LabelDisplayName:
		return l.Display
	case LabelNamespace:
		return l.Namespace
	case LabelPolicyRole:
		return l.Role
	}
	return l.Zone[key]
}

// All has every label.
func (l *Labels) All() map[string]string {
	all := make(map[string]string, len(l.Written)+len(l.Zone)+3)
	for _, key := range l.keys(nil) {
		all[key], _ = l.Get(key)
	}
	return all
}

// keys appends the keys of all labels, some twice.
func (l *Labels) keys(to []string) []string {
	for key := range l.Written {
		to = append(to, key)
	}
	for _, key := range [...]string{LabelDisplayName, LabelNamespace, LabelPolicyRole} {
		if l.computed(key) != "" {
			to = append(to, key)
		}
	}
	for key := range l.Zone {
		to = append(to, key)
	}
	return to
}

// MarshalJSON writes all labels as an object, by key.
func (l *Labels) MarshalJSON() ([]byte, error) {
	var room [16]string
	keys := l.keys(room[:0])
	slices.Sort(keys)
	out := append(make([]byte, 0, 64*len(keys)+len("{}")), '{')
	for i, key := range slices.Compact(keys) {
		if i > 0 {
			out = append(out, ',')
		}
		value, _ := l.Get(key)
		out = appendJSON(append(appendJSON(out, key), ':'), value)
	}
	return append(out, '}'), nil
}

// appendJSON appends a text as JSON.
func appendJSON(to []byte, text string) []byte {
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || strings.IndexByte(`"\<>&`, c) >= 0 {
			quoted, _ := json.Marshal(text) // of a string it does not fail
			return append(to, quoted...)
		}
	}
	return append(append(append(to, '"'), text...), '"')
}

// Carry reports whether the labels are what a selector wants, and perhaps more.
func (l *Labels) Carry(want map[string]string) bool {
	for key, value := range want {
		if have, ok := l.Get(key); !ok || have != value {
			return false
		}
	}
	return true
}
