package control_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/weftmesh/weft/sidecar/attach"
	signing "github.com/weftmesh/weft/xds/server/authority/workload"
)

// signed is a certificate as its dataplane has it.
type signed struct {
	chain [][]byte
	key   *ecdsa.PrivateKey
}

// signs has a new key certified for a dataplane.
func (p *plane) signs(token, name string) (out signed) {
	p.t.Helper()
	eventually(p.t, name+" is certified", func() (ok bool) {
		out, ok = p.asks(token, name)
		return ok
	})
	return out
}

// asks once for a certificate of a new key; false where that is refused, or the control plane ends.
func (p *plane) asks(token, name string) (signed, bool) {
	key, err := signing.NewKey()
	if err != nil {
		p.t.Error(err)
		return signed{}, false
	}
	request, err := signing.NewRequest(key)
	if err != nil {
		p.t.Error(err)
		return signed{}, false
	}
	var answer struct{ Chain string }
	code, text, err := p.tryPosted(token, map[string]any{"mesh": "default", "name": name, "request": request})
	if err != nil || code != http.StatusOK || json.Unmarshal([]byte(text), &answer) != nil {
		return signed{}, false
	}
	out := signed{key: key}
	for block, rest := pem.Decode([]byte(answer.Chain)); block != nil; block, rest = pem.Decode(rest) {
		out.chain = append(out.chain, block.Bytes)
	}
	return out, true
}

// forged is a certificate for names and as long a life as one likes, of a root of one's own.
func forged(t *testing.T, life time.Duration, names ...string) signed {
	t.Helper()
	root, err := signing.NewRoot("default", false, 2*life, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	key, err := signing.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	chain, err := signing.NewLocal(root, time.Now).Sign(names, &key.PublicKey, life)
	if err != nil {
		t.Fatal(err)
	}
	out := signed{key: key}
	for _, c := range append(slices.Clone(chain), root.Certificate()) {
		out.chain = append(out.chain, c.Raw)
	}
	return out
}

// agent opens the stream of the agent of a dataplane.
func (p *plane) agent(name, token string) attach.Sidecar_AttachClient {
	p.t.Helper()
	conn, err := grpc.NewClient(p.XDS(), grpc.WithTransportCredentials(p.credentials()))
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	p.t.Cleanup(func() { cancel(); conn.Close() })
	g, err := attach.NewSidecarClient(conn).Attach(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := g.Send(&attach.Up{Is: &attach.Up_Hello{Hello: &attach.Hello{NodeId: "default." + name}}}); err != nil {
		p.t.Fatal(err)
	}
	return g
}

// TestAnAgentIsNotBelieved (I1, I14): what an agent shows counts as far as an authority has signed
// it for a key that the agent has. A sidecar that tells tales has others neither take strangers
// for its service nor wait for it in a rotation.
func TestAnAgentIsNotBelieved(t *testing.T) {
	t.Parallel()
	var log journal
	p := secure(t, slog.New(slog.NewTextHandler(&log, nil)))
	defer p.stop()
	p.want(http.StatusOK, http.MethodPost, "/_apply", memberDocument("web-1", "web")+memberDocument("pay-1", "payments")+strings.Replace(mutual, "%s, backends: [%s]", "ca-1, backends: ["+builtin+"]", 1))
	own := map[string]signed{}
	agents := map[string]attach.Sidecar_AttachClient{}
	for _, name := range []string{"web-1", "pay-1"} {
		token := p.dataplaneToken(name, "")
		close(p.acknowledges(name, token))
		own[name], agents[name] = p.signs(token, name), p.agent(name, token)
	}
	shows := func(s signed, by *ecdsa.PrivateKey, node string) {
		t.Helper()
		proof, err := signing.Prove(by, node)
		if err != nil {
			t.Fatal(err)
		}
		if err := agents["web-1"].Send(&attach.Up{Is: &attach.Up_Certificate{Certificate: &attach.Certificate{Chain: s.chain, Proof: proof}}}); err != nil {
			t.Fatal(err)
		}
	}
	web, pay := own["web-1"], own["pay-1"]
	far := forged(t, 10*365*24*time.Hour, "spiffe://default/web", "spiffe://default/payments")
	rogue := []struct {
		what, why string
		show      func()
	}{
		{"another's, as whoever was called by it has seen it", "another dataplane", func() { shows(pay, web.key, "default.web-1") }},
		{"one that it has made itself", "chain does not hold", func() { shows(far, far.key, "default.web-1") }},
		{"another's with the other's proof", "another dataplane", func() { shows(pay, pay.key, "default.pay-1") }},
		{"none", "there is none", func() { shows(signed{}, web.key, "default.web-1") }},
	}
	for _, r := range rogue {
		was := log.String()
		r.show()
		eventually(t, r.what+" is refused", func() bool { return strings.Contains(strings.TrimPrefix(log.String(), was), r.why) })
		if names, _ := p.Held("web-1"); names != nil {
			t.Errorf("%s: it is %s", r.what, names)
		}
	}
	leaf, err := x509.ParseCertificate(web.chain[0])
	if err != nil {
		t.Fatal(err)
	}
	is := func() bool {
		names, ends := p.Held("web-1")
		return slices.Contains(names, "spiffe://default/web") && !slices.Contains(names, "spiffe://default/payments") && ends.Equal(leaf.NotAfter)
	}
	shows(web, web.key, "default.web-1")
	eventually(t, "its own counts", is)
	for _, r := range rogue {
		was := log.String()
		r.show()
		eventually(t, r.what+" is refused again", func() bool { return strings.Contains(strings.TrimPrefix(log.String(), was), r.why) })
		if !is() {
			names, ends := p.Held("web-1")
			t.Errorf("%s: it is %s until %v", r.what, names, ends)
		}
	}
}
