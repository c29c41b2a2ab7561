package web

import (
	"net/http"
	"strings"

	"github.com/weftmesh/weft/policies"
)

// KumaVersion is the version of Kuma whose API this is.
const KumaVersion = "2.13.0"

// index says who answers. Kuma's clients work with what calls itself Kuma only
// (spec/kuma.md 5.4).
func (s *server) index(w http.ResponseWriter, _ *http.Request) error {
	product, version := "weft", s.About.Version
	if s.KumaCompat {
		product, version = "Kuma", KumaVersion
	}
	answer(w, http.StatusOK, map[string]any{"hostname": s.About.Hostname, "product": product, "tagline": product, "version": version,
		"basedOnKuma": KumaVersion, "weft": map[string]string{"version": s.About.Version},
		"instanceId": s.About.InstanceID, "clusterId": s.About.InstanceID, "gui": "/gui"})
	return nil
}

func (s *server) healthz(w http.ResponseWriter, _ *http.Request) error {
	write(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
	return nil
}

func (s *server) readyz(w http.ResponseWriter, _ *http.Request) error {
	if err := s.Ready(); err != nil {
		return problem{Status: http.StatusServiceUnavailable, Title: "Not ready", Detail: err.Error()}
	}
	return s.healthz(w, nil)
}

func (s *server) config(w http.ResponseWriter, _ *http.Request) error {
	answer(w, http.StatusOK, s.Public)
	return nil
}

func (s *server) whoAmI(w http.ResponseWriter, r *http.Request) error {
	u, _ := r.Context().Value(userKey{}).(user)
	answer(w, http.StatusOK, u)
	return nil
}

// resource is one type in GET /_resources.
type resource struct {
	Name                string      `json:"name"`
	Scope               string      `json:"scope"`
	ReadOnly            bool        `json:"readOnly"`
	Path                string      `json:"path"`
	Singular            string      `json:"singularDisplayName"`
	Plural              string      `json:"pluralDisplayName"`
	Short               string      `json:"shortName"`
	IncludeInFederation bool        `json:"includeInFederation"`
	Policy              *policyInfo `json:"policy,omitempty"`
}

type policyInfo struct {
	IsTargetRef   bool `json:"isTargetRef"`
	HasTo         bool `json:"hasToTargetRef"`
	HasFrom       bool `json:"hasFromTargetRef"`
	IsFromAsRules bool `json:"isFromAsRules"`
	HasRules      bool `json:"hasRulesTargetRef"`
}

func (s *server) kindOf(name string) *policies.Kind {
	for _, k := range s.Kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// words is MeshRetry as people read it: Mesh Retry.
func words(kind string) string {
	var b strings.Builder
	for i, r := range kind {
		upper := r >= 'A' && r <= 'Z'
		if upper && i > 0 && (kind[i-1] < 'A' || kind[i-1] > 'Z') {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func plural(text string) string {
	switch {
	case strings.HasSuffix(text, "y") && !strings.HasSuffix(text, "ay"): // gateways
		return strings.TrimSuffix(text, "y") + "ies"
	case strings.HasSuffix(text, "sh"):
		return text + "es"
	}
	return text + "s"
}

func (s *server) resources(w http.ResponseWriter, _ *http.Request) error {
	var body struct {
		Resources []resource `json:"resources"`
	}
	for _, t := range s.Catalog.Types() {
		r := resource{Name: t.Name, Scope: "Mesh", ReadOnly: s.ReadOnly, Path: t.Plural, Singular: words(t.Name), Plural: plural(words(t.Name)), Short: t.Short, IncludeInFederation: true}
		if t.Global {
			r.Scope = "Global"
		}
		if t.Policy {
			r.Policy = &policyInfo{IsTargetRef: true, HasTo: true}
			if k := s.kindOf(t.Name); k != nil {
				r.Policy.HasFrom, r.Policy.HasRules = k.From, k.Rules
			}
		}
		body.Resources = append(body.Resources, r)
	}
	answer(w, http.StatusOK, body)
	return nil
}

func (s *server) policyTypes(w http.ResponseWriter, _ *http.Request) error {
	list := []map[string]any{}
	for _, t := range s.Catalog.Types() {
		if !t.Policy {
			continue
		}
		k := s.kindOf(t.Name)
		list = append(list, map[string]any{"name": t.Name, "path": t.Plural, "readOnly": s.ReadOnly, "singularDisplayName": words(t.Name),
			"pluralDisplayName": plural(words(t.Name)), "isExperimental": false, "isTargetRefBased": true,
			"isInbound": k != nil && (k.From || k.Rules), "isOutbound": true})
	}
	answer(w, http.StatusOK, map[string]any{"policies": list})
	return nil
}

// count is one figure of GET /global-insight.
