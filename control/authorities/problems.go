package authorities

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
)

// Problems are what keeps authorities from signing, or soon will.
func (k *Keeper) Problems() []*api.Violation {
	now := k.cfg.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []*api.Violation
	say := func(a *authority, severity api.Severity, text string) {
		out = append(out, &api.Violation{Object: a.owner, Field: a.at, Code: api.CodeProviderInvalid, Severity: severity, Message: text})
	}
	for _, a := range k.all {
		switch {
		case a.fault != "":
			say(a, api.Error, a.fault)
		case a.signs && !a.stated && k.broken != "":
			say(a, api.Error, "it signs nothing, for its root cannot be kept: "+k.broken)
		case a.stated && a.signs && a.wanted().late(now):
			say(a, api.Warning, "its root ends at "+a.wanted().signer.Certificate().NotAfter.UTC().Format(time.RFC3339)+"; replace it by `weft mtls rotate`, or bring another one")
		}
	}
	slices.SortFunc(out, func(a, b *api.Violation) int { return a.Object.Compare(b.Object) })
	return out
}
