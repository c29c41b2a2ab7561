package mtls

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/control/connections"
	"github.com/weftmesh/weft/files"
)

// identitiesFile says which sidecars have a certificate, for the next control plane of this data
// directory: who is configured for mutual TLS stays so while its agent has not reported yet.
const identitiesFile = "identities.json"

// keptInsight is one of them. Nothing of it is secret.
type keptInsight struct {
	Mesh    string   `json:"mesh"`
	Name    string   `json:"name"`
	Names   []string `json:"names,omitempty"` // of its certificate, if it has one
	Root    string   `json:"root,omitempty"`
	Issued  int64    `json:"issued,omitempty"` // in seconds since 1970
	Expires int64    `json:"expires,omitempty"`
	TLS     bool     `json:"tls,omitempty"`
	Strict  bool     `json:"strict,omitempty"` // it may take no plain text
	OverADS bool     `json:"overADS,omitempty"`
	Count   int      `json:"count,omitempty"` // of the certificates that it has had
}

// save writes the file anew where it has to, but not all the time. What fails is tried again
// with the next change.
func (x *Insights) save(now bool) {
	switch wait := connections.BetweenSaves - time.Since(x.saved); {
	case !x.unsaved:
		return
	case wait > 0 && !now:
		time.AfterFunc(wait, func() { x.Enqueue() })
		return
	}
	x.write()
}

// write does so at once: before a publication that rests on it.
func (x *Insights) write() {
	x.mu.Lock()
	kept := make([]keptInsight, 0, x.dataplanes.n)
	for dp, i := range x.insights() {
		k := keptInsight{Mesh: dp.Mesh, Name: dp.Name, TLS: i.told.TLS, Strict: i.strict, OverADS: i.overADS, Count: int(i.certificates)}
		if i.held != (heldCert{}) && i.told.Identity {
			h := i.held.held()
			k.Names, k.Root, k.Issued, k.Expires = h.Names, h.Root, h.Issued.Unix(), h.Ends.Unix()
		}
		if k.Strict || k.Root != "" {
			kept = append(kept, k)
		}
	}
	x.mu.Unlock()
	err := files.WriteState(filepath.Join(x.DataDir, identitiesFile), kept)
	x.unsaved, x.urgent, x.saved = false, false, time.Now()
	if err != nil {
		x.Log.Warn("which sidecars have certificates will be forgotten at a restart", "error", err)
	}
}

// Restore tells the loop what a control plane before this one knew, before anybody is served.
func (x *Insights) Restore() {
	var kept []keptInsight
	err := files.ReadState(filepath.Join(x.DataDir, identitiesFile), &kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.Log.Warn("which sidecars have certificates is not known", "error", err)
	}
	x.Keeper.Take(x.Own.Snapshot()) // which authority has which root
	now := x.Now()
	for _, k := range kept {
		dp := api.Ref{Kind: api.KindDataplane, Mesh: k.Mesh, Name: k.Name}
		if k.Root == "" || !now.Before(time.Unix(k.Expires, 0)) {
			x.mu.Lock()
			if k.Strict && x.insight(dp) == nil {
				x.entry(dp).strict = true
			}
			x.mu.Unlock()
			continue
		}
		h := authorities.ProvenCertificate{Root: k.Root, Names: k.Names, Issued: second(k.Issued).time(), Ends: second(k.Expires).time()}
		x.mu.Lock()
		if x.insight(dp) == nil { // else peers know better
			*x.entry(dp) = insight{told: &nothingKnown, held: newHeldCert(h), sees: k.TLS, strict: k.Strict, overADS: k.OverADS, certificates: uint32(k.Count)}
		}
		x.mu.Unlock()
	}
	if m := x.Loop.Current(); m != nil && err == nil {
		x.resume(m)
	}
	x.Loop.Update(x.rest)
	x.remember()
	x.began.Store(time.Now().UnixNano())
	x.look(context.Background())
	x.write() // that there is a file says that there was a control plane
}

// remember looks at all that is known before anything was resolved: from the file, and of peers.
func (x *Insights) remember() {
	all := x.All()
	x.mu.Lock()
	for _, dp := range all {
		x.stale[dp] = true
	}
	x.mu.Unlock()
	for _, dp := range all {
		x.own(dp)
	}
}
