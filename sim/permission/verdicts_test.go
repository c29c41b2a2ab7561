package permission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// guardedWorld is a mesh whose authority signs, with the dataplanes web, ops and backend (at
// 80 http, at 90 tcp), and documents. The first two call backend, and have proved who they are.
func guardedWorld(t *testing.T, mode string, documents ...string) *resolve.Model {
	t.Helper()
	documents = append(documents, fmt.Sprintf(`{"type":"Mesh","name":"default","mtls":{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin","mode":%q}]}}`, mode))
	var objects []*api.Object
	const plane = `{"type":"Dataplane","mesh":"default","name":%q,"networking":{"address":"10.0.0.%d","inbound":[%s],"outbound":[
		{"port":1080,"tags":{"kuma.io/service":"backend"}},{"port":1090,"tags":{"kuma.io/service":"database"}}]}}`
	for i, name := range []string{"web", "ops", "backend"} {
		inbound := fmt.Sprintf(`{"port":80,"tags":{"kuma.io/service":%q,"kuma.io/protocol":"http"}}`, name)
		if name == "backend" {
			inbound += `,{"port":90,"tags":{"kuma.io/service":"database","kuma.io/protocol":"tcp"}}`
		}
		documents = append(documents, fmt.Sprintf(plane, name, i+1, inbound))
	}
	for _, text := range documents {
		o, err := decode.Objects(world.Catalog(), "f", []byte(text))
		if api.Refuses(err) {
			t.Fatal(err)
		}
		if o[0].Kind == api.KindDataplane {
			objects = append(objects, &api.Object{Ref: api.InsightRef(o[0].Ref), Spec: &api.DataplaneInsight{Identity: true, TLS: true}})
		}
		objects = append(objects, o...)
	}
	m, _ := world.Compile(snapshot.New(1, objects...))
	return m
}

// told is what a verdict says, a branch a line.
func told(v sim.Verdict, err error) string {
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, b := range v.Branches {
		line := fmt.Sprintf("%.2f %s %d", b.Probability, b.Outcome, b.Status)
		if p := b.Permission; p != nil {
			line += fmt.Sprintf(" %s tier %d as %q", p.Decision, p.Tier, p.Identity)
			if p.By != nil {
				line += " by " + p.By.Name
			}
			if p.Shadow != "" {
				line += " shadow " + p.Shadow
			}
			for _, c := range p.Others {
				line += "; " + c.By.Name + ": " + c.Why
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// TestPermissions: what callers are told about who may call.
func TestPermissions(t *testing.T) {
	t.Parallel()
	const allow = `{"type":"MeshTrafficPermission","mesh":"default","name":"p","spec":{"rules":[{"default":{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/ops"}},
		{"http":{"methods":["GET"],"path":{"type":"PathPrefix","value":"/v1"}}}]}}]}}`
	strict, permissive := guardedWorld(t, "STRICT", allow), guardedWorld(t, "PERMISSIVE", allow)
	const name = "kri_mtp_default_default__p_:0.allow"
	for _, c := range []struct {
		m    *resolve.Model
		from string
		q    wire.Request
		want string
	}{
		{strict, "ops", wire.Request{URL: "http://127.0.0.1:1080/admin"}, `1.00 forward 0 allow tier 4 as "spiffe://default/ops" by ` + name + `0`},
		{strict, "web", wire.Request{URL: "http://127.0.0.1:1080/v1/x"}, `1.00 forward 0 allow tier 4 as "spiffe://default/web" by ` + name + `1`},
		{strict, "web", wire.Request{URL: "http://127.0.0.1:1080//v1//x"}, `1.00 forward 0 allow tier 4 as "spiffe://default/web" by ` + name + `1`},
		{strict, "web", wire.Request{URL: "http://127.0.0.1:1080/v1%2fx"}, `1.00 respond 400`},
		{strict, "web", wire.Request{Method: "POST", URL: "http://127.0.0.1:1080/v1/x"},
			`1.00 respond 403 deny tier 6 as "spiffe://default/web"; ` + name + `0: the caller is spiffe://default/web; ` + name + `1: the method is POST`},
		{strict, "web", wire.Request{URL: "http://127.0.0.1:1080/", As: "spiffe://default/ops"}, `1.00 forward 0 allow tier 4 as "spiffe://default/ops" by ` + name + `0`},
		{strict, "web", wire.Request{URL: "http://127.0.0.1:1080/", Plaintext: true}, `1.00 refused 503 deny tier 0 as ""`},
		{permissive, "web", wire.Request{URL: "http://127.0.0.1:1080/", Plaintext: true}, `1.00 forward 0 allow tier 0 as ""`},
		{permissive, "web", wire.Request{URL: "http://127.0.0.1:1080/"}, `1.00 respond 403 deny tier 6 as "spiffe://default/web"; ` + name + `0: the caller is spiffe://default/web; ` + name + `1: the path is /`},
		{strict, "web", wire.Request{URL: "tcp://127.0.0.1:1090"}, `1.00 refused 0 deny tier 6 as "spiffe://default/web"; ` + name + `0: the caller is spiffe://default/web; ` + name + `1: nobody reads requests there`},
		{strict, "ops", wire.Request{URL: "tcp://127.0.0.1:1090"}, `1.00 forward 0 allow tier 4 as "spiffe://default/ops" by ` + name + `0`},
		{strict, "ops", wire.Request{URL: "tcp://127.0.0.1:1090", As: "x"}, `as: "x" does not begin with spiffe://; write spiffe://trust-domain/path`},
		{guardedWorld(t, "STRICT"), "ops", wire.Request{URL: "http://127.0.0.1:1080/"}, `1.00 respond 403 deny tier 6 as "spiffe://default/ops"`},
	} {
		if got := told(sim.Run(c.m, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: c.from}, c.q)); got != c.want {
			t.Errorf("%s %+v:\n%s\nwant\n%s", c.from, c.q, got, c.want)
		}
	}
}

// TestAnAttemptAtWhoDeniesIsRepeated: where a caller's sidecar reads requests, and those of whom it calls
// connections alone, one of which lets the caller in and one does not, an attempt at the one who does not is
// repeated, perhaps at the other. Each branch says what happens where all attempts come to the like, and
// the verdict that this is chance.
func TestAnAttemptAtWhoDeniesIsRepeated(t *testing.T) {
	t.Parallel()
	m := guardedWorld(t, "STRICT",
		`{"type":"Dataplane","mesh":"default","name":"caller","networking":{"address":"10.0.0.10","inbound":[{"port":92,"tags":{"kuma.io/service":"caller"}}],"outbound":[{"port":2000,"backendRef":{"kind":"MeshService","name":"two","port":8080}}]}}`,
		`{"type":"Dataplane","mesh":"default","name":"a","networking":{"address":"10.0.0.11","inbound":[{"port":91,"tags":{"kuma.io/service":"two","kuma.io/protocol":"tcp"}}]}}`,
		`{"type":"Dataplane","mesh":"default","name":"b","labels":{"who":"b"},"networking":{"address":"10.0.0.12","inbound":[{"port":91,"tags":{"kuma.io/service":"two","kuma.io/protocol":"tcp"}}]}}`,
		`{"type":"MeshService","mesh":"default","name":"two","spec":{"selector":{"dataplaneTags":{"kuma.io/service":"two"}},"ports":[{"port":8080,"targetPort":91,"appProtocol":"http"}]}}`,
		`{"type":"MeshTrafficPermission","mesh":"default","name":"b","spec":{"targetRef":{"kind":"Dataplane","labels":{"who":"b"}},"rules":[{"default":{"allow":[{"spiffeID":{"type":"Prefix","value":"spiffe://default/"}}]}}]}}`,
		`{"type":"MeshRetry","mesh":"default","name":"twice","spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"numRetries":1,"retryOn":["5xx"]}}}]}}`)
	v, err := sim.Run(m, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "caller"}, wire.Request{URL: "http://127.0.0.1:2000/", Answers: "200"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range v.Branches {
		for _, x := range b.Backends {
			for _, in := range x.Inbounds {
				got = append(got, fmt.Sprintf("%s %s %s %d after %d attempts", in.Names[0], b.Permission.Decision, in.Outcome, in.Status, len(in.Attempts)))
			}
		}
	}
	if want := []string{"a deny refused 503 after 2 attempts", "b allow forward 0 after 1 attempts"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !slices.ContainsFunc(v.Unknown, func(u string) bool { return strings.Contains(u, "which dataplane an attempt comes to is chance") }) {
		t.Errorf("what is chance is not said: %q", v.Unknown)
	}
}
