package web

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/policies"
)

// KumaVersion is the version of Kuma whose API this is: Kuma's client of any other one, by a single
// digit, warns at each command.
const KumaVersion = "2.13.10"

// index says who answers. Kuma's clients work with what calls itself Kuma only
// (spec/kuma.md 5.4).
func (s *server) index(w http.ResponseWriter, _ *http.Request) error {
	product, version := "weft", s.About.Version
	if s.KumaCompat {
		product, version = "Kuma", KumaVersion
	}
	httpapi.Answer(w, http.StatusOK, answering{Hostname: s.About.Hostname, Product: product, Tagline: product, Version: version, BasedOnKuma: KumaVersion,
		Weft: program{s.About.Version}, Instance: s.About.InstanceID, Cluster: s.About.InstanceID, GUI: "/gui"})
	return nil
}

// answering is who answers, as GET / says it.
type answering struct {
	Hostname    string  `json:"hostname"`
	Product     string  `json:"product"`
	Tagline     string  `json:"tagline"`
	Version     string  `json:"version"` // of Product
	BasedOnKuma string  `json:"basedOnKuma"`
	Weft        program `json:"weft"`
	Instance    string  `json:"instanceId"`
	Cluster     string  `json:"clusterId"`
	GUI         string  `json:"gui"` // its path
}

func (s *server) healthz(w http.ResponseWriter, _ *http.Request) error {
	httpapi.Write(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
	return nil
}

// readyz answers whether sidecars and questions are served. That the store takes no writes does not
// keep them from that, so that it is said and no more, unless who asks wants to write.
func (s *server) readyz(w http.ResponseWriter, r *http.Request) error {
	if err := s.Ready(); err != nil {
		return httpapi.Problem{Status: http.StatusServiceUnavailable, Title: "Not ready", Detail: err.Error()}
	}
	purpose := r.URL.Query().Get(readyFor.Name)
	if purpose != "" && purpose != forWrites {
		return httpapi.BadField(readyFor.Name, strconv.Quote(api.Clip(purpose))+" is nothing that can be asked for; write "+forWrites+", or leave it out")
	}
	var err error
	if s.Writes != nil {
		err = s.Writes()
	}
	switch {
	case err == nil:
		return s.healthz(w, nil)
	case purpose == forWrites:
		return httpapi.Problem{Status: http.StatusServiceUnavailable, Title: "No writes", Detail: err.Error()}
	}
	httpapi.Write(w, http.StatusOK, "text/plain; charset=utf-8", []byte("degraded: "+err.Error()+"\n"))
	return nil
}

// forWrites asks whether the store takes writes too.
const forWrites = "writes"

var readyFor = endpoint.Parameter{Name: "for", About: "writes: 503 also while the store takes no writes, though all else is served", Schema: endpoint.OneOf(forWrites)}

func (s *server) metrics(w http.ResponseWriter, r *http.Request) error {
	s.Metrics.ServeHTTP(w, r)
	return nil
}

// config is for administrators: it tells of addresses, files and namespaces that are nobody else's. In a
// cluster those read it whom the cluster lets get the path, which permitted has asked.
func (s *server) config(w http.ResponseWriter, r *http.Request) error {
	if u := rights.CallerOf(r.Context()); !u.InCluster() && !u.Administers() {
		return httpapi.Problem{Status: http.StatusForbidden, Title: "Not allowed", Detail: u.Name + " is not in the group " + rights.Admins + ", which alone reads the configuration; use a token of an administrator"}
	}
	httpapi.Answer(w, http.StatusOK, s.Public)
	return nil
}

func (s *server) whoAmI(w http.ResponseWriter, r *http.Request) error {
	u := rights.CallerOf(r.Context())
	httpapi.Answer(w, http.StatusOK, u)
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

func (h *schemaHandlers) kindOf(name string) *policies.Kind {
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
	Resources []resource `json:"resources"`
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

func (h *schemaHandlers) resources(w http.ResponseWriter, _ *http.Request) error {
	var body resourceTypes
	for _, t := range h.Catalog.Types() {
		r := resource{Name: t.Name, Scope: "Mesh", ReadOnly: h.ReadOnly, Path: t.Plural, Singular: words(t.Name), Plural: plural(words(t.Name)), Short: t.Short, IncludeInFederation: true}
		if t.Global {
			r.Scope = "Global"
		}
		if t.Policy {
			r.Policy = &policyInfo{IsTargetRef: true, HasTo: true}
			if k := h.kindOf(t.Name); k != nil {
				r.Policy.HasFrom, r.Policy.HasRules = k.From, k.Rules
			}
		}
		body.Resources = append(body.Resources, r)
	}
	httpapi.Answer(w, http.StatusOK, body)
	return nil
}

func (h *schemaHandlers) policyTypes(w http.ResponseWriter, _ *http.Request) error {
	list := []policyType{}
	for _, t := range h.Catalog.Types() {
		if !t.Policy {
			continue
		}
		k := h.kindOf(t.Name)
		list = append(list, policyType{Name: t.Name, Path: t.Plural, ReadOnly: h.ReadOnly, Singular: words(t.Name), Plural: plural(words(t.Name)),
			IsTargetRefBased: true, IsInbound: k != nil && (k.From || k.Rules), IsOutbound: true})
	}
	httpapi.Answer(w, http.StatusOK, policyTypes{list})
	return nil
}
