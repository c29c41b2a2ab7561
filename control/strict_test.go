package control_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/control"
)

const onlyWeb = "type: MeshTrafficPermission\nmesh: default\nname: web\nspec: {rules: [{default: {allow: [{spiffeID: {type: Exact, value: spiffe://default/web}}]}}]}\n---\n"

// TestPlaintextToStrictAndBack (case 34): a mesh goes from plain text to mutual TLS, on which it
// insists in the end, and back, with a permission in force, while a workload is called by
// every protocol; no call fails, and who may not call is refused as soon as he is known.
func TestPlaintextToStrictAndBack(t *testing.T) {
	t.Parallel()
	plaintextToStrictAndBack(t, 20)
}

// plaintextToStrictAndBack makes so many calls a second by each of five protocols.
func plaintextToStrictAndBack(t *testing.T, rate int) {
	p := secure(t, discard(), func(c *control.Config) { c.HoldPlain = time.Hour })
	defer p.stop()
	documents, inbounds, outbounds := meshOf(t, "web", "other")
	p.want(http.StatusOK, http.MethodPost, "/_apply", documents+onlyWeb)
	for _, name := range []string{"api-1", "web-1", "other-1"} {
		p.sidecar(name, p.dataplaneToken(name, ""), discard(), 5*time.Second)
	}
	eventually(t, "all may call", func() bool {
		return comesTo(t, spoken, outbounds["web"], "") && comesTo(t, spoken, outbounds["other"], "")
	})
	load := startTraffic(t, rate, everyProtocol(t, outbounds["web"]))
	// Sidecars bring requests by HTTP/2, and use connections in plain text of before on, for five
	// minutes at most (F8).
	anew := []string{"tcp"}
	for _, s := range []struct {
		what, mesh              string
		protocols               []string
		web, other, plainClient string
	}{
		{"permissive", fmt.Sprintf(mutual, "ca-1", builtin), anew, "URI=spiffe://default/web", refused, ""},
		{"strict", fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1)), spoken, "URI=spiffe://default/web", refused, refused},
		{"permissive again", fmt.Sprintf(mutual, "ca-1", builtin), spoken, "URI=spiffe://default/web", refused, ""},
		{"off", "type: Mesh\nname: default\n", spoken, "", "", ""},
		{"strict at once", fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1)), spoken, "URI=spiffe://default/web", refused, refused},
		{"off at once", "type: Mesh\nname: default\n", spoken, "", "", ""},
	} {
		load.goOn("before "+s.what, int64(rate))
		began := time.Now()
		p.want(http.StatusOK, http.MethodPost, "/_apply", s.mesh)
		eventually(t, s.what+": web calls as it should", func() bool { return comesTo(t, s.protocols, outbounds["web"], s.web) })
		eventually(t, s.what+": another is answered as it should be", func() bool { return comesTo(t, s.protocols, outbounds["other"], s.other) })
		eventually(t, s.what+": a plain client is answered as it should be", func() bool { return comesTo(t, s.protocols, inbounds, s.plainClient) })
		t.Logf("%s after %v", s.what, time.Since(began).Round(time.Millisecond))
		load.goOn(s.what, 6*int64(rate)) // longer than listeners drain
	}
	load.end()
	for kind, s := range load.kinds {
		t.Logf("%s: %d of %d calls failed", kind, s.failed.Load(), s.sent.Load())
	}
}

// refused stands for whoever gets no answer of the workload.
const refused = "nobody"

// comesTo reports whether by each protocol some of several calls at once come to the workload as
// those of who, empty for somebody whom it does not know, or are refused.
func comesTo(t *testing.T, protocols []string, ports map[string]uint32, who string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return !slices.ContainsFunc(protocols, func(protocol string) bool {
		return !slices.ContainsFunc(fewCalls(ctx, t, protocol, ports[protocol], who), func(got string) bool {
			return got == who || who != "" && strings.Contains(got, who)
		})
	})
}

// fewCalls makes a few calls at once. By bytes, where nobody is told who calls, it is expected who
// is answered.
func fewCalls(ctx context.Context, t *testing.T, protocol string, port uint32, expected string) []string {
	answers := make([]string, 4)
	var asking sync.WaitGroup
	for i := range answers {
		asking.Go(func() {
			got, err := calls(t, protocol, port)(ctx)
			switch {
			case err != nil:
				got = refused
			case protocol == "tcp" && expected != refused:
				got = expected
			}
			answers[i] = got
		})
	}
	asking.Wait()
	return answers
}

// TestPlaintextIsHeld: an inbound that is to take plain text no more takes it until every sidecar
// that is connected has acknowledged that it takes TLS, and no longer than for a bounded while.
func TestPlaintextIsHeld(t *testing.T) {
	t.Parallel()
	for what, s := range map[string]struct {
		most time.Duration
		acks bool
	}{
		"who is slow acknowledges":  {time.Hour, true},
		"who is slow never answers": {time.Second, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := secure(t, discard(), func(c *control.Config) { c.HoldPlain = s.most })
			defer p.stop()
			web, pay := newMember(t, "web-1", "web", "payments"), newMember(t, "pay-1", "payments", "web")
			p.want(http.StatusOK, http.MethodPost, "/_apply", allowed+web.document+strings.Replace(pay.document, "name: pay-1\n", "name: pay-1\nlabels: {who: pay}\n", 1))
			p.sidecar("pay-1", p.dataplaneToken("pay-1", ""), discard())
			slow := p.acknowledges("web-1", p.dataplaneToken("web-1", ""))
			eventually(t, "plain text is taken", func() bool { return requested(t.Context(), pay.inbound) != "" })
			p.want(http.StatusOK, http.MethodPost, "/_apply", strictMeshTLS+"type: MeshIdentity\nmesh: default\nname: own\nspec: {selector: {dataplane: {matchLabels: {who: pay}}}, spiffeID: {path: '/pay'}, provider: {type: Bundled, bundled: {insecureAllowSelfSigned: true, autogenerate: {enabled: true}}}}\n")
			eventually(t, "payments has a certificate that its Envoy has acknowledged", func() bool { return p.Reported("pay-1") })
			if s.acks {
				if requested(t.Context(), pay.inbound) == "" {
					t.Error("plain text is taken no more, and a caller does not know yet")
				}
				close(slow)
			}
			eventually(t, "plain text is taken no more", func() bool { return requested(t.Context(), pay.inbound) == "" })
		})
	}
}

// TestWhatIsUnderWayOutlivesItsListener: a request that is under way while the listeners of both
// sides change is answered, however fast the sidecars would end themselves.
func TestWhatIsUnderWayOutlivesItsListener(t *testing.T) {
	t.Parallel()
	p := secure(t, discard())
	defer p.stop()
	documents, _, outbounds := meshOf(t, "web")
	p.want(http.StatusOK, http.MethodPost, "/_apply", documents)
	for _, name := range []string{"api-1", "web-1"} {
		p.sidecar(name, p.dataplaneToken(name, ""), discard())
	}
	eventually(t, "web calls", func() bool { return comesTo(t, []string{"http"}, outbounds["web"], "") })
	answer := make(chan error, 1)
	go func() {
		_, err := askedOf(t.Context(), http.DefaultClient, fmt.Sprintf("127.0.0.1:%d/?after=4s", outbounds["web"]["http"]))
		answer <- err
	}()
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(mutual, "ca-1", builtin))
	eventually(t, "web calls by TLS", func() bool { return comesTo(t, []string{"tcp"}, outbounds["web"], "URI=spiffe://default/web") })
	if err := <-answer; err != nil {
		t.Errorf("a request that was under way: %v", err)
	}
}
