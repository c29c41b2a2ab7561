package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestABrokenAuthorityKeepsWhatItIssued: where an authority can sign no more, because its key is
// another's or where it stands cannot be read, workloads call each other on by what was issued,
// nobody falls back to plain text, and all who ask are told why: sidecars, problems, status.
func TestABrokenAuthorityKeepsWhatItIssued(t *testing.T) {
	t.Parallel()
	certificate, key := kumaRoot(t)
	_, other := kumaRoot(t)
	for what, s := range map[string]struct{ broken, mended, says string }{
		"another key":                   {meshSecretText("k", other), meshSecretText("k", key), "is not the private key of the certificate"},
		"a state that cannot be read":   {meshSecretText("default.ca-rotation", []byte("nonsense")), "", "the Secret default.ca-rotation cannot be read"},
		"a certificate that is no text": {meshSecretText("c", []byte("nonsense")), meshSecretText("c", certificate), "certificate"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := secure(t, discard())
			defer p.stop()
			web, pay := newMember(t, "web-1", "web", "payments"), newMember(t, "pay-1", "payments", "web")
			p.want(http.StatusOK, http.MethodPost, "/_apply", allowed+meshSecretText("c", certificate)+meshSecretText("k", key)+web.document+pay.document+memberDocument("late-1", "late")+
				fmt.Sprintf(mutual, "p", "{name: p, type: provided, mode: STRICT, conf: {cert: {secret: c}, key: {secret: k}}}"))
			p.sidecar("web-1", p.dataplaneToken("web-1", ""), discard())
			p.sidecar("pay-1", p.dataplaneToken("pay-1", ""), discard())
			p.know(map[string]member{"web": web, "payments": pay})
			sent, failed, stop := load(t, web, pay)
			p.want(http.StatusOK, http.MethodPost, "/_apply", s.broken)
			eventually(t, "it stands among the problems", func() bool {
				text := p.want(http.StatusOK, http.MethodGet, "/_problems", "")
				return strings.Contains(text, s.says) && !strings.Contains(text, "PRIVATE")
			})
			if a := p.authorities(); len(a) != 1 || !strings.Contains(a[0].Problem, s.says) {
				t.Errorf("its status: %+v", a)
			}
			token := p.dataplaneToken("late-1", "")
			close(p.acknowledges("late-1", token))
			if code, _, text := p.certify(token, "late-1"); code != http.StatusServiceUnavailable || !strings.Contains(text, s.says) || strings.Contains(text, "PRIVATE") {
				t.Errorf("a certificate: %d %s", code, text)
			}
			before := sent.Load()
			eventually(t, "they call each other", func() bool { return sent.Load() > before+50 })
			for who, m := range map[string]member{"web": web, "payments": pay} {
				if !isKnown(t.Context(), m.outbound, who) {
					t.Errorf("%s is known no more", who)
				}
				if text := requested(t.Context(), m.inbound); text != "" {
					t.Errorf("plain text is answered: %s", text)
				}
			}
			if stop(); failed.Load() > 0 {
				t.Errorf("%d of %d requests failed", failed.Load(), sent.Load())
			}
			if got := strings.Join(p.trusted("mtls-default"), ""); got != string(certificate) {
				t.Errorf("trusted is %s", got)
			}
			if s.mended != "" {
				p.want(http.StatusOK, http.MethodPost, "/_apply", s.mended)
				eventually(t, "it signs again", func() bool { return p.authorities()[0].Problem == "" })
			}
		})
	}
}
