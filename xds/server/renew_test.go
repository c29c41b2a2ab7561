package server_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// renewing lets in the first token, for a moment at a time, and the second.
type renewing struct{ second atomic.Bool }

func (k *renewing) Authenticate(_ context.Context, credentials string) (authn.Identity, error) {
	who := authn.Identity{Dataplane: dataplaneRef("front")}
	switch {
	case credentials == "second-secret":
		k.second.Store(true)
	case credentials == "first-secret" && !k.second.Load():
		who.Expires = time.Now().Add(time.Second)
	default:
		return authn.Identity{}, errors.New("the token is not good")
	}
	return who, nil
}

// putToken has another file take the place of the token's.
func putToken(t *testing.T, path, token string) {
	t.Helper()
	text, err := bootstrap.TokenFile(token)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestTokenIsRenewedUnderEnvoy: an Envoy whose token ends goes on with the one
// that has taken its place, without a new start.
func TestTokenIsRenewedUnderEnvoy(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, form string) {
		known := &renewing{}
		web := envoytest.StartBackend(t, "web")
		at := envoytest.Port(t)
		p := serve(t, func(o *server.Options) { o.Authenticator = known }, exclusive, service("web", web.Port), member("web", web.Port),
			caller("front", map[uint32]string{at: "web"}))
		path := filepath.Join(envoytest.Dir(t), "token")
		putToken(t, path, "first-secret")
		e := p.envoyWith("front", form, path)
		p.synced("front")
		putToken(t, path, "second-secret")
		p.until("front", "comes back with the second token", func(s syncstatus.Status) bool { return s.Connected && known.second.Load() })
		p.apply(connecting("web", "3s"))
		p.synced("front")
		if status, _, err := fetch(client(t), at); status != 200 || err != nil {
			t.Errorf("then %d, %v", status, err)
		}
		if _, body, err := e.Get("/config_dump"); err != nil || strings.Contains(string(body), "-secret") {
			t.Errorf("the administration interface shows the token (%v)", err)
		}
	})
}
