package bootstrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/auth"
	"github.com/weftmesh/weft/control/storage"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/bootstrap/render"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/server/authn"
)

// Source is the file of Dataplanes that their sidecars brought along.
const Source = "bootstrap"

// Handler answers POST /bootstrap (spec/kuma.md 6): a sidecar says who it
// is, and gets what its Envoy must know to begin.
type Handler struct {
	Catalog *api.Catalog
	Into    store.Store
	// Admission is what Dataplanes that come along go through.
	Admission     *admission.Chain
	Model         func(context.Context) (*resolve.Model, error)
	Authenticator authn.Authenticator
	CA            func() string // in PEM; empty for plaintext
	// Arrived is told of each Dataplane that came along.
	Arrived func(*api.Object)
	// Skewed is told by how much the clock of a sidecar is ahead; nil tells nobody.
	Skewed func(dp api.Ref, by time.Duration)
	// Refused is told which dataplanes were refused, as their sidecars say, and why; nil tells nobody.
	Refused func(dp api.Ref, err error)
	Log     *slog.Logger
}

// request is Kuma's, as far as weft uses it; the rest is ignored, so
// that newer and older clients work.
type request struct {
	Mesh              string            `json:"mesh"`
	Name              string            `json:"name"`
	ProxyType         string            `json:"proxyType"`
	DataplaneToken    string            `json:"dataplaneToken"`
	TokenPath         string            `json:"tokenPath"` // weft's: a file on the sidecar's host, which is renewed
	DataplaneResource string            `json:"dataplaneResource"`
	AdminPort         uint32            `json:"adminPort"`
	AdminSocket       string            `json:"adminSocket"`
	XDSAddress        string            `json:"xdsAddress"` // weft's: where the sidecar finds the control plane
	CACert            string            `json:"caCert"`     // the authority that the sidecar trusts
	CAPath            string            `json:"caPath"`     // weft's: a file on the sidecar's host with what it trusts from now on
	SystemCA          string            `json:"systemCaPath"`
	AgentSocket       string            `json:"agentSocket"`     // weft's: where its agent serves the certificate of the workload
	MetricsSocket     string            `json:"metricsSocket"`   // weft's: where its agent serves metrics
	MetricsCertPath   string            `json:"metricsCertPath"` // weft's: by which certificate Envoy serves them
	MetricsKeyPath    string            `json:"metricsKeyPath"`
	DynamicMetadata   map[string]string `json:"dynamicMetadata"`
	Version           map[string]any    `json:"version"`
	Features          []string          `json:"features"`
	ReadinessPort     uint32            `json:"readinessPort"`
	Workdir           string            `json:"workdir"`
	Clock             time.Time         `json:"clock"` // weft's: what the sidecar's host takes for the time
}

// ServeHTTP answers.
func (b *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var ask request
	dp, text, err := b.answer(w, r, &ask)
	log := b.Log.With("address", r.RemoteAddr, "mesh", telemetry.Truncate(ask.Mesh), "dataplane", telemetry.Truncate(ask.Name))
	if err != nil {
		log.Warn("refused a bootstrap", "error", telemetry.Truncate(err.Error()))
		httpapi.Refuse(w, err)
		return
	}
	form := "envoy"
	if wantsEnvelope(r) {
		form, text = "kuma-dp", envelope(text, dp)
	}
	log.Info("bootstrap", "form", form, "brought", ask.DataplaneResource != "", "version", telemetry.Truncate(fmt.Sprint(ask.Version)))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store") // it carries the token
	_, _ = w.Write(text)
}

func (b *Handler) answer(w http.ResponseWriter, r *http.Request, ask *request) (*api.Object, []byte, error) {
	body, err := httpapi.Body(w, r, largestBootstrap)
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(body, ask); err != nil {
		return nil, nil, httpapi.Refusal(http.StatusBadRequest, "the request is not JSON of the right form: "+err.Error())
	}
	if ask.Mesh == "" {
		ask.Mesh = api.DefaultMesh
	}
	model, err := b.Model(r.Context())
	if err != nil {
		return nil, nil, err
	}
	objects := model.Snapshot() // with the Dataplanes of pods
	ref := api.Ref{Kind: api.KindDataplane, Mesh: ask.Mesh, Name: ask.Name}.Resolve(objects.Has)
	token := ask.DataplaneToken
	if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && token == "" {
		token = given
	}
	who, err := auth.AuthenticateAs(r.Context(), b.Authenticator, token, ref, objects)
	if err != nil {
		if b.Refused != nil {
			b.Refused(ref.AsNode(), err)
		}
		return nil, nil, err
	}
	warnUnknown(w, body)
	if ask.ProxyType != "" && ask.ProxyType != "dataplane" {
		return nil, nil, httpapi.Refusal(http.StatusBadRequest, fmt.Sprintf("proxyType %q is unknown; use dataplane", ask.ProxyType))
	}
	dp, err := b.dataplane(r.Context(), who, ref, ask.DataplaneResource, objects)
	if err != nil {
		return nil, nil, err
	}
	config, err := b.config(r.Host, *ask, token, dp)
	if err != nil {
		return nil, nil, err
	}
	if b.Skewed != nil && !ask.Clock.IsZero() {
		b.Skewed(dp.Ref, time.Until(ask.Clock))
	}
	text, err := render.Bootstrap(config)
	return dp, text, err
}

// dataplane is the object of the sidecar: the one that it brought along, now
// stored, or the one that is there.
func (b *Handler) dataplane(ctx context.Context, who authn.Identity, ref api.Ref, brought string, objects *snapshot.Snapshot) (*api.Object, error) {
	if !objects.Has(api.Ref{Kind: api.KindMesh, Name: ref.Mesh}) {
		return nil, noMesh(ref.Mesh)
	}
	there, exists := objects.Get(ref)
	switch {
	case brought == "" && !exists:
		return nil, httpapi.Refusal(http.StatusNotFound, fmt.Sprintf("there is no %s; apply it, or start the sidecar with --dataplane-file", ref))
	case brought == "":
		if err := admittedTo(objects, there); err != nil {
			return nil, err
		}
		return there, nil
	}
	o, err := b.decode(brought, ref)
	if err != nil {
		return nil, err
	}
	if exists && (there.Ref != o.Ref || there.From != nil) {
		return b.unchangedFrom(there, o)
	}
	c := *o
	c.Source.File, c.Owner = Source, api.Ephemeral
	if who.Dataplane.Name != "" { // else nobody is asked for a proof
		c.Proof = &who.Proof
	}
	after, _, err := b.Into.Apply(storage.WithActor(ctx, "sidecar "+ref.FullName()), func(now *snapshot.Snapshot) ([]store.Write, error) {
		mesh, ok := now.Get(api.Ref{Kind: api.KindMesh, Name: c.Mesh})
		if !ok {
			return nil, noMesh(c.Mesh)
		}
		there, ok := now.Get(c.Ref)
		if ok && there.Owner != api.Ephemeral {
			return nil, nil
		}
		if err := admittedTo(now, &c); err != nil {
			return nil, err
		}
		if err := auth.CheckClaims(who, &c, there, mesh); err != nil {
			return nil, err
		}
		admitted, err := b.Admission.Admit(admission.Sidecar, now, admission.WriteRequest{Writes: []store.Write{{Put: &c}}})
		return admitted.Writes, err
	})
	if err != nil {
		return nil, err
	}
	if there, ok := after.Get(c.Ref); ok && there.Owner != api.Ephemeral {
		return b.unchangedFrom(there, o)
	}
	b.Arrived(&c)
	return &c, nil
}

// admittedTo refuses a sidecar of a namespace that takes no part in its mesh.
func admittedTo(s *snapshot.Snapshot, dp *api.Object) error {
	mesh, _ := s.Get(api.Ref{Kind: api.KindMesh, Name: dp.Mesh})
	if home := dp.Home(); !api.TenancyOf(mesh).Admits(home) {
		return httpapi.Refusal(http.StatusForbidden, fmt.Sprintf("namespace %s is not part of mesh %s; add it to tenancy.namespaces of Mesh %s, or start the sidecar with another --mesh", home.Namespace, dp.Mesh, dp.Mesh))
	}
	return nil
}

func noMesh(name string) error {
	return httpapi.Refusal(http.StatusNotFound, "there is no mesh "+name+"; create it, or start the sidecar with another --mesh")
}

// unchangedFrom is what somebody else keeps there, which a sidecar may repeat but
// not change.
func (b *Handler) unchangedFrom(there, brought *api.Object) (*api.Object, error) {
	if store.Same(there, b.Admission.Form(there, brought)) {
		return there, nil
	}
	return nil, httpapi.Refusal(http.StatusConflict, fmt.Sprintf("%s exists and differs from what the sidecar brings along; delete it, or start the sidecar without --dataplane-file", there.Ref))
}

// decode reads the document of a sidecar that calls itself ref, which a
// document with a namespace does by its full name.
func (b *Handler) decode(text string, ref api.Ref) (*api.Object, error) {
	named := api.Ref{Kind: ref.Kind, Mesh: ref.Mesh, Name: ref.FullName()}
	long := named.Resolve(func(r api.Ref) bool { return r.Namespace != "" })
	o, err := decode.One(b.Catalog, "", []byte(text), long)
	if o == nil && long != named {
		o, err = decode.One(b.Catalog, "", []byte(text), named)
	}
	switch {
	case errors.Is(err, syntax.ErrNoDocuments):
		return nil, httpapi.Refusal(http.StatusBadRequest, "the dataplane document is empty")
	case o == nil:
		return nil, err
	case o.FullName() != named.Name:
		return nil, httpapi.Refusal(http.StatusBadRequest, fmt.Sprintf("the document is that of %s; start the sidecar with --name %s", o.Ref, o.FullName()))
	}
	return o, nil
}

func (b *Handler) config(host string, ask request, token string, dp *api.Object) (render.Config, error) {
	name, text, err := net.SplitHostPort(host)
	if err != nil {
		return render.Config{}, httpapi.Refusal(http.StatusBadRequest, "the request's Host has no port; ask with the port of --xds")
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return render.Config{}, httpapi.Refusal(http.StatusBadRequest, "the request's Host has no port; ask with the port of --xds")
	}
	ca := b.CA()
	if _, err := netip.ParseAddr(ask.XDSAddress); ask.XDSAddress != "" && (err != nil || ca == "") {
		return render.Config{}, httpapi.Refusal(http.StatusBadRequest, "xdsAddress is no IP address, or sidecars are served without TLS; leave out --xds-fallback")
	}
	if ca != "" && ask.CACert != "" {
		ca = ask.CACert
	}
	if ca == "" {
		ask.CAPath = ""
	}
	c := render.Config{Mesh: ask.Mesh, Name: ask.Name, XDSHost: name, XDSPort: uint32(number), XDSAddress: ask.XDSAddress, CA: ca, CAPath: ask.CAPath, Token: token, TokenPath: ask.TokenPath,
		AdminPort: ask.AdminPort, AdminSocket: ask.AdminSocket, SystemCA: ask.SystemCA, AgentSocket: ask.AgentSocket, MetricsSocket: ask.MetricsSocket,
		MetricsCertificate: ask.MetricsCertPath, MetricsKey: ask.MetricsKeyPath, Metadata: map[string]any{"dataplane.proxyType": "dataplane"}}
	if spec, ok := dp.Spec.(*api.Dataplane); ok && spec.Networking != nil {
		c.Service = serviceOf(spec.Networking)
		if spec.Networking.Admin != nil && c.AdminPort == 0 {
			c.AdminPort, c.AdminSocket = spec.Networking.Admin.Port, ""
		}
	}
	for key, label := range map[string]string{naming.NodeZone: api.LabelZone, naming.NodeWorkload: api.LabelWorkload} {
		if value := dp.Labels[label]; value != "" { // access logs name them
			c.Metadata[key] = value
		}
	}
	if len(ask.DynamicMetadata) > 0 {
		extra := map[string]any{}
		for k, v := range ask.DynamicMetadata {
			extra[k] = v
		}
		c.Metadata["dynamicMetadata"] = extra
	}
	if len(ask.Version) > 0 {
		c.Metadata["version"] = ask.Version
	}
	ask.describe(c)
	return c, nil
}

// describe adds to the node what Kuma's own tools read there, as Kuma spells it
// (spec/kuma.md 6): ports are texts.
func (ask *request) describe(c render.Config) {
	features := make([]any, len(ask.Features)) // empty is said too: the GUI reads the list
	for i, f := range ask.Features {
		features[i] = f
	}
	c.Metadata["features"] = features
	for key, port := range map[string]uint32{"dataplane.admin.port": c.AdminPort, "dataplane.readinessPort": ask.ReadinessPort} {
		if port != 0 {
			c.Metadata[key] = strconv.FormatUint(uint64(port), 10)
		}
	}
	if ask.Workdir != "" {
		c.Metadata["workdir"] = ask.Workdir
	}
}

// serviceOf is the first service of a dataplane: the cluster of its node.
func serviceOf(n *api.Networking) string {
	for i := range n.Inbound {
		if name := n.Inbound[i].Tags[api.TagService]; name != "" {
			return name
		}
	}
	if n.Gateway != nil {
		return n.Gateway.Tags[api.TagService]
	}
	return ""
}
