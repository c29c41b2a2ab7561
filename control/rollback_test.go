package control_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/inspect/mtls"
)

// TestTheWayBackAcrossMutualTLS: a way back over a rotation of the root, one to before there was
// mutual TLS, and one forward again are taken as they were planned, while sidecars meet each other all the
// time. The root that signs stays, whatever documents come back, and no other one is made.
func TestTheWayBackAcrossMutualTLS(t *testing.T) {
	t.Parallel()
	p := secure(t, discard(), func(c *control.Config) { c.RotationSpread = time.Second })
	defer p.stop()
	revision := func() uint64 {
		var page struct{ Items []struct{ Revision uint64 } }
		if err := json.Unmarshal([]byte(p.want(http.StatusOK, http.MethodGet, "/_history?size=1", "")), &page); err != nil || len(page.Items) != 1 {
			t.Fatalf("%v %v", page, err)
		}
		return page.Items[0].Revision
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", "type: Mesh\nname: default\n---\n"+calling("web-1", "web", "payments")+calling("pay-1", "payments", "web"))
	plain := revision()
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1)))
	strict := revision()
	web, pay := p.timed("web-1", time.Now), p.timed("pay-1", time.Now)
	eventually(t, "they meet", func() bool { return meetAll(web, pay) == nil })
	p.settled(web, pay)
	met, end := watched(t, web, pay)

	p.want(http.StatusOK, http.MethodPost, "/meshes/default/_authorities/rotate", `{"spread":"1s"}`)
	eventually(t, "the new root signs for all", func() bool {
		phase, _ := p.Phase()
		return phase == "Settling"
	})
	signs := p.trusted("mtls-default")
	if len(signs) != 2 {
		t.Fatalf("%d roots are trusted, want the old and the new one", len(signs))
	}
	for _, to := range []struct {
		what     string
		revision uint64
	}{{"over the rotation", strict}, {"to before mutual TLS", plain}, {"to mutual TLS again", strict}} {
		path := fmt.Sprintf("/_rollback?to=%d", to.revision)
		p.want(http.StatusOK, http.MethodPost, path+"&dryRun=true", "")
		p.want(http.StatusOK, http.MethodPost, path, "")
		if now := p.trusted("mtls-default"); strings.Join(now, "") != strings.Join(signs, "") {
			t.Errorf("%s: %d other roots are trusted", to.what, len(now))
		}
		if to.revision == strict {
			before := met.Load()
			eventually(t, to.what+": they meet", func() bool { return met.Load() > before+20 })
		}
	}
	end()
	var all mtls.Authorities
	if err := json.Unmarshal([]byte(p.want(http.StatusOK, http.MethodGet, "/meshes/default/_authorities", "")), &all); err != nil || len(all.Items) != 1 || len(all.Items[0].Roots) != 2 {
		t.Errorf("%+v (%v), want one authority with two roots", all.Items, err)
	}
}
