package control

import (
	"fmt"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/issuer"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/control/roots"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// The codes of what is wrong with what runs.
const (
	codeStore          = "StoreFailed"
	codeDataDirectory  = "DataDirectoryFull"
	codeAuthorityFault = "AuthorityUnreadable"
	codeEnded          = api.CodeExpired
)

// leastDataRoom is what the files of a data directory need that are replaced now and then.
const leastDataRoom = 1 << 20

// degraded is what is wrong with this control plane while it serves: notes that are about no object, for
// everybody who asks about a mesh or about problems.
func (p *Plane) degraded() (notes []api.Note) {
	say := func(severity api.Severity, code, text string) {
		notes = append(notes, api.Note{Severity: severity, Code: code, Message: text})
	}
	if err := p.store.Health(); err != nil {
		say(api.Error, codeStore, err.Error())
	} else if free, known := files.Room(p.cfg.DataDir); p.cfg.Store != "bolt" && known && free < leastDataRoom {
		say(api.Warning, codeDataDirectory, fmt.Sprintf("%d KiB are free for the data directory %s, so that what the next control plane has to know is not kept; make room", free>>10, p.cfg.DataDir))
	}
	if err := p.authorityFault(); err != nil {
		say(api.Error, codeAuthorityFault, err.Error())
	}
	if p.shown != nil {
		if ends, now := p.shown.NotAfter, p.cfg.Clock()(); !now.Before(ends) {
			say(api.Error, codeEnded, "the certificate of --xds-tls-cert has ended at "+ends.UTC().Format(time.RFC3339)+", so that no sidecar connects; bring its successor and restart")
		} else if now.After(workload.WarnAt(p.shown.NotBefore, ends)) {
			say(api.Warning, codeEnded, "the certificate of --xds-tls-cert ends at "+ends.UTC().Format(time.RFC3339)+"; bring its successor and restart")
		}
	}
	return notes
}

// authorityFault is why the authority that the replicas of a cluster share cannot be read or kept now; nil
// where it can, or where there is none. One that was read before is still served.
func (p *Plane) authorityFault() error {
	if p.roots == nil {
		return nil
	}
	err := p.roots.Fault()
	if err == nil && p.shared != nil {
		err = p.shared.Fault()
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("the authority of the cluster cannot be read: %w; replicas that run go on with what they have read, one that starts now stays not ready", err)
}

// leaderSays is what stands in the Lease while this replica leads: what `weft check` cannot see elsewhere, for
// it reads no Secret.
func (p *Plane) leaderSays() map[string]string {
	text := ""
	if err := p.authorityFault(); err != nil {
		text = telemetry.Truncate(err.Error())
	}
	return map[string]string{roots.FaultAnnotation: text}
}

// running is what is wrong with sidecars and certificates, each with the object that it is about.
func (p *Plane) running() (notes []api.Note) {
	m := p.loop.Current()
	if m == nil {
		return nil
	}
	for _, n := range p.refused.Notes() {
		n.Origin.Ref = n.Origin.Resolve(reconcile.Serves(m))
		notes = append(notes, n)
	}
	notes = append(notes, p.restored.Notes()...)
	notes = append(notes, p.insights.EndedNotes(m)...)
	return append(notes, issuer.ExpiredSecrets(m, p.cfg.Clock()())...)
}
