package connections

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/limit"
)

const (
	codeSecondHost = "SecondHost"
	// usesKept is how long a host counts that has let go of its last stream: a workload may move.
	usesKept = 10 * time.Minute
	mostUses = 8 // of one dataplane
)

// TokenUse are those from which tokens of dataplanes are used. A second one may be that of who has
// stolen a token (spec/identity.md 7, I2). A replica knows of its own streams alone.
type TokenUse struct {
	log *slog.Logger

	mu    sync.Mutex
	of    map[api.Ref]map[string]*use
	swept time.Time // when what does not count any more was taken out last
}

// use is that of a token by one host.
type use struct {
	open int       // streams and requests
	last time.Time // when the last of them ended
}

func (u *use) counts(now time.Time) bool { return u.open > 0 || now.Sub(u.last) < usesKept }

func NewTokenUse(log *slog.Logger) *TokenUse {
	return &TokenUse{log: log, of: map[api.Ref]map[string]*use{}}
}

// watching notes from where tokens are used.
type watching struct {
	authn.Authenticator
	hosts *TokenUse
}

// Watch notes from where the tokens are used that an authenticator lets in.
func (h *TokenUse) Watch(inner authn.Authenticator) authn.Authenticator { return watching{inner, h} }

// Authenticate lets in whom the inner one lets in.
func (w watching) Authenticate(ctx context.Context, credentials string) (authn.Identity, error) {
	who, err := w.Authenticator.Authenticate(ctx, credentials)
	if host := limit.From(ctx); err == nil && host != "" && who.Dataplane.Name != "" {
		dp := who.Dataplane.AsNode()
		w.hosts.begins(dp, host)
		context.AfterFunc(ctx, func() { w.hosts.ends(dp, host) })
	}
	return who, err
}

func (h *TokenUse) begins(dp api.Ref, host string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.of[dp]
	if all == nil {
		all = map[string]*use{}
		h.of[dp] = all
	}
	now := time.Now()
	h.sweep(now, dp)
	if all[host] == nil {
		if len(all) == mostUses {
			return
		}
		if all[host] = new(use); len(all) > 1 {
			h.log.Warn("the token of a dataplane is used from a second host", "dataplane", dp.String(), "hosts", strings.Join(slices.Sorted(maps.Keys(all)), " "))
		}
	}
	all[host].open++
}

// sweep takes out what does not count any more: of one dataplane, and now and then of all, also
// where nobody asks for problems. It needs mu.
func (h *TokenUse) sweep(now time.Time, dp api.Ref) {
	maps.DeleteFunc(h.of[dp], func(_ string, u *use) bool { return !u.counts(now) })
	if now.Sub(h.swept) < usesKept {
		return
	}
	h.swept = now
	maps.DeleteFunc(h.of, func(other api.Ref, all map[string]*use) bool {
		maps.DeleteFunc(all, func(_ string, u *use) bool { return !u.counts(now) })
		return len(all) == 0 && other != dp
	})
}

func (h *TokenUse) ends(dp api.Ref, host string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if u := h.of[dp][host]; u != nil {
		u.open--
		u.last = time.Now()
	}
}

// Problems are the dataplanes whose tokens are used from several hosts.
func (h *TokenUse) Problems() (out []*api.Violation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for dp, all := range h.of {
		maps.DeleteFunc(all, func(_ string, u *use) bool { return !u.counts(now) })
		switch len(all) {
		case 0:
			delete(h.of, dp)
		case 1:
		default:
			out = append(out, &api.Violation{Object: dp, Code: codeSecondHost, Severity: api.Warning,
				Message: fmt.Sprintf("its token is used from %s; if the workload has not just moved, revoke the token and issue another", strings.Join(slices.Sorted(maps.Keys(all)), " and "))})
		}
	}
	slices.SortFunc(out, func(a, b *api.Violation) int { return a.Object.Compare(b.Object) })
	return out
}
