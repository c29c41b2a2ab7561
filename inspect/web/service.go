package web

import (
	"net/http"
	"strconv"

	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/inspect/web/sidecars"
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
	httpapi.Answer(w, http.StatusOK, ServerInfo{Hostname: s.About.Hostname, Product: product, Tagline: product, Version: version, BasedOnKuma: KumaVersion,
		Weft: sidecars.Program{Version: s.About.Version}, Instance: s.About.InstanceID, Cluster: s.About.InstanceID, GUI: "/gui"})
	return nil
}

// ServerInfo is who answers, as GET / says it.
type ServerInfo struct {
	Hostname    string           `json:"hostname"`
	Product     string           `json:"product"`
	Tagline     string           `json:"tagline"`
	Version     string           `json:"version"` // of Product
	BasedOnKuma string           `json:"basedOnKuma"`
	Weft        sidecars.Program `json:"weft"`
	Instance    string           `json:"instanceId"`
	Cluster     string           `json:"clusterId"`
	GUI         string           `json:"gui"` // its path
}

func (s *server) healthz(w http.ResponseWriter, _ *http.Request) error {
	httpapi.Write(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
	return nil
}

// readyz answers whether sidecars and questions are served. That the store takes no writes does not
// keep them from that, so that it is said and no more, unless who asks wants to write.
func (s *server) readyz(w http.ResponseWriter, r *http.Request) error {
	if err := s.Ready(); err != nil {
		return httpapi.ProblemDetails{Status: http.StatusServiceUnavailable, Title: "Not ready", Detail: err.Error()}
	}
	purpose := r.URL.Query().Get(readyFor.Name)
	if purpose != "" && purpose != forWrites {
		return httpapi.BadField(readyFor.Name, strconv.Quote(redact.Clip(purpose))+" is nothing that can be asked for; write "+forWrites+", or leave it out")
	}
	var err error
	if s.Writes != nil {
		err = s.Writes()
	}
	switch {
	case err == nil:
		return s.healthz(w, nil)
	case purpose == forWrites:
		return httpapi.ProblemDetails{Status: http.StatusServiceUnavailable, Title: "No writes", Detail: err.Error()}
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

// trafficMetrics is for administrators: it tells of the services of all namespaces.
func (s *server) trafficMetrics(w http.ResponseWriter, r *http.Request) error {
	if err := administers(r, "metrics of traffic"); err != nil {
		return err
	}
	if s.TrafficMetrics == nil {
		p := httpapi.NotFound()
		p.Detail = "metrics of traffic are not served; start the control plane with --traffic-metrics"
		return p
	}
	s.TrafficMetrics.ServeHTTP(w, r)
	return nil
}

// config is for administrators: it tells of addresses, files and namespaces that are nobody else's.
func (s *server) config(w http.ResponseWriter, r *http.Request) error {
	if err := administers(r, "the configuration"); err != nil {
		return err
	}
	httpapi.Answer(w, http.StatusOK, s.Public)
	return nil
}

// administers refuses who does not. In a cluster those may read a path whom the cluster lets get it, which
// permitted has asked.
func administers(r *http.Request, what string) error {
	if u := rights.CallerOf(r.Context()); !u.InCluster() && !u.Administers() {
		return httpapi.ProblemDetails{Status: http.StatusForbidden, Title: "Not allowed", Detail: u.Name + " is not in the group " + rights.Admins + ", which alone reads " + what + "; use a token of an administrator"}
	}
	return nil
}

func (s *server) whoAmI(w http.ResponseWriter, r *http.Request) error {
	u := rights.CallerOf(r.Context())
	httpapi.Answer(w, http.StatusOK, u)
	return nil
}
