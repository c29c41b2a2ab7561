package authorities

import (
	"time"

	"github.com/weftmesh/weft/api"
)

// askAgain is after how long a sidecar is asked again that has not renewed.
const askAgain = 30 * time.Second

// renew asks those sidecars for whom it is time that hold a leaf of a root which goes.
func (k *Keeper) renew() {
	if k.cfg.Certify == nil || k.cfg.Sidecars == nil {
		return
	}
	now := k.cfg.Now()
	k.mu.Lock()
	var moving []*authority
	for _, a := range k.all {
		if a.stated && a.state.Signer() != a.state.Old.Fingerprint {
			moving = append(moving, a)
		}
	}
	if len(moving) == 0 {
		clear(k.asked)
	}
	k.mu.Unlock()
	for _, a := range moving {
		for c := range k.cfg.Sidecars(a.owner).Sidecars {
			at, ok := a.state.RenewAt(c, a.spread(k.cfg.Spread))
			id := a.owner.String() + " " + c.Name
			if !ok || !c.Connected || at.After(now) || now.Sub(k.asked[id]).Abs() < askAgain {
				continue
			}
			k.asked[id] = now
			k.cfg.Certify(api.Ref{Kind: api.KindDataplane, Mesh: a.mesh, Name: c.Name})
		}
	}
}
