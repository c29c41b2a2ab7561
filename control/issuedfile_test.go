package control_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/control"
)

// TestARotationAfterARestart: the next control plane knows who was given a certificate, whether or not
// he has come back: a rotation waits for those, and not until all that may have been given has ended.
func TestARotationAfterARestart(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.want(http.MethodPost, "/_apply", calling("web-1", "web", "payments")+calling("pay-1", "payments", "web")+fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1)))
	web, pay := v.timed("web-1"), v.timed("pay-1")
	eventually(t, "they meet", func() bool { return meetAll(web, pay) == nil })
	pay.frozen.Store(true)
	v.kill(0)
	v.start()
	v.want(http.MethodPost, "/meshes/default/_authorities/rotate", `{"spread":"1s"}`)
	eventually(t, "the rotation waits for the one that is frozen, and for nobody else", func() bool {
		a := v.authority()
		return a.Phase == "Trusting" && a.WaitsFor != nil && slices.Equal(a.WaitsFor.Names, []string{"pay-1"})
	})
	pay.frozen.Store(false)
	eventually(t, "the new root signs", func() bool { phase := v.authority().Phase; return phase == "Issuing" || phase == "Settling" })
	eventually(t, "they meet by the new root", func() bool { return v.authority().Phase == "Settling" && meetAll(web, pay) == nil })
}

// TestARotationWhereNobodyWasCertified: where no certificate was ever given, a rotation goes on at once
// after its control plane was killed, though somebody could have had one.
func TestARotationWhereNobodyWasCertified(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.want(http.MethodPost, "/_apply", calling("web-1", "web", "payments")+fmt.Sprintf(mutual, "ca-1", builtin))
	eventually(t, "there is a root", func() bool { return v.authority().Phase == "Steady" })
	v.kill(0)
	v.start()
	v.want(http.MethodPost, "/meshes/default/_authorities/rotate", "{}")
	v.kill(0)
	v.start()
	eventually(t, "the new root signs", func() bool { phase := v.authority().Phase; return phase == "Issuing" || phase == "Settling" })
}

// TestNoCertificateThatIsNotWrittenDown: what the next control plane would not know of is not given,
// and the answer says why; what is wrong may pass.
func TestNoCertificateThatIsNotWrittenDown(t *testing.T) {
	t.Parallel()
	var dir string
	p := secure(t, discard(), func(c *control.Config) { dir = c.DataDir })
	defer p.stop()
	p.want(http.StatusOK, http.MethodPost, "/_apply", calling("web-1", "web", "payments")+fmt.Sprintf(mutual, "ca-1", builtin))
	token := p.dataplaneToken("web-1", "")
	_, end := p.stream("web-1", token)
	defer end()
	eventually(t, "there is a root", func() bool { return len(p.trusted("mtls-default")) == 1 })
	inTheWay := filepath.Join(dir, "leaves.json", "x")
	if err := errors.Join(os.RemoveAll(filepath.Dir(inTheWay)), os.MkdirAll(inTheWay, 0o700)); err != nil {
		t.Fatal(err)
	}
	if code, _, text := p.certify(token, "web-1"); code != http.StatusServiceUnavailable || !strings.Contains(text, "while it cannot be written down") {
		t.Errorf("answered %d %s", code, text)
	}
	if err := os.RemoveAll(filepath.Dir(inTheWay)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is certified", func() bool { code, _, _ := p.certify(token, "web-1"); return code == http.StatusOK })
}
