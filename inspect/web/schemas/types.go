package schemas

import (
	"net/http"
	"strings"

	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/policies"
)

// resourceType is one type in GET /_resources.
type resourceType struct {
	Name                string              `json:"name"`
	Scope               string              `json:"scope"`
	ReadOnly            bool                `json:"readOnly"`
	Path                string              `json:"path"`
	Singular            string              `json:"singularDisplayName"`
	Plural              string              `json:"pluralDisplayName"`
	Short               string              `json:"shortName"`
	IncludeInFederation bool                `json:"includeInFederation"`
	Policy              *resourceTypePolicy `json:"policy,omitempty"`
}

type resourceTypePolicy struct {
	IsTargetRef   bool `json:"isTargetRef"`
	HasTo         bool `json:"hasToTargetRef"`
	HasFrom       bool `json:"hasFromTargetRef"`
	IsFromAsRules bool `json:"isFromAsRules"`
	HasRules      bool `json:"hasRulesTargetRef"`
	// Explains are the fields whose values are behind how Envoy ends requests, by the words for that, as
	// of a request that failed.
	Explains map[policies.EndWords][]string `json:"explains,omitempty"`
}

func (h *Handlers) kindOf(name string) *policies.Kind {
	for _, k := range h.Kinds {
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

// resourceTypes are all types of documents.
type resourceTypes struct {
	Resources []resourceType `json:"resources"`
}

// policyType is one kind of policy in GET /policies.
type policyType struct {
	Name             string `json:"name"`
	Path             string `json:"path"`
	ReadOnly         bool   `json:"readOnly"`
	Singular         string `json:"singularDisplayName"`
	Plural           string `json:"pluralDisplayName"`
	IsExperimental   bool   `json:"isExperimental"`
	IsTargetRefBased bool   `json:"isTargetRefBased"`
	IsInbound        bool   `json:"isInbound"`
	IsOutbound       bool   `json:"isOutbound"`
}

// policyTypes are all kinds of policies.
type policyTypes struct {
	Policies []policyType `json:"policies"`
}

func (h *Handlers) resources(w http.ResponseWriter, _ *http.Request) error {
	var body resourceTypes
	for _, t := range h.Catalog.Types() {
		r := resourceType{Name: t.Name, Scope: "Mesh", ReadOnly: h.ReadOnly, Path: t.Plural, Singular: words(t.Name), Plural: plural(words(t.Name)), Short: t.Short, IncludeInFederation: true}
		if t.Global {
			r.Scope = "Global"
		}
		if t.Policy {
			r.Policy = &resourceTypePolicy{IsTargetRef: true, HasTo: true}
			if k := h.kindOf(t.Name); k != nil {
				r.Policy.HasTo = !k.Single
				r.Policy.HasFrom, r.Policy.HasRules, r.Policy.Explains = k.From, k.Rules, k.Explains
			}
		}
		body.Resources = append(body.Resources, r)
	}
	httpapi.Answer(w, http.StatusOK, body)
	return nil
}

func (h *Handlers) policyTypes(w http.ResponseWriter, _ *http.Request) error {
	list := []policyType{}
	for _, t := range h.Catalog.Types() {
		if !t.Policy {
			continue
		}
		k := h.kindOf(t.Name)
		list = append(list, policyType{Name: t.Name, Path: t.Plural, ReadOnly: h.ReadOnly, Singular: words(t.Name), Plural: plural(words(t.Name)),
			IsTargetRefBased: true, IsInbound: k != nil && (k.From || k.Rules), IsOutbound: k == nil || !k.Single})
	}
	httpapi.Answer(w, http.StatusOK, policyTypes{list})
	return nil
}
