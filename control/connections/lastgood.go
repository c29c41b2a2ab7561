package connections

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// lastGoodFile says with which revisions those sidecars go on that refuse a later one, for the
// next control plane of this data directory.
const lastGoodFile = "last-good.json"

// LastGood remembers, of sidecars whose Envoys refuse a part of what they should have, the last
// revision that they confirmed whole, over the ends of their streams and of the control plane:
// such an Envoy goes on with it, and confirms nothing on a new stream. Of an Envoy that began
// anew, and so has nothing of it, it remembers nothing. A nil one does not either.
type LastGood struct {
	file  string // empty where revisions mean nothing to a later control plane
	log   *slog.Logger
	few   atomic.Int64 // how many there are
	stale chan struct{}
	end   chan struct{}
	done  chan struct{}
	once  sync.Once

	mu  sync.Mutex
	all map[api.Ref]uint64
}

// mostLastGood bounds of how many sidecars it is remembered.
const mostLastGood = 10_000

// good is one of them in the file.
type good struct {
	Dataplane api.Ref `json:"dataplane"`
	Revision  uint64  `json:"revision"`
}

// NewLastGood begins with what is in the file, where it is kept.
func NewLastGood(dir string, kept bool, log *slog.Logger) *LastGood {
	g := &LastGood{log: log, stale: make(chan struct{}, 1), end: make(chan struct{}), done: make(chan struct{}), all: map[api.Ref]uint64{}}
	if !kept || dir == "" {
		close(g.done)
		return g
	}
	g.file = filepath.Join(dir, lastGoodFile)
	var list []good
	err := files.ReadState(g.file, &list)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("with which revisions sidecars go on is not known", "file", g.file, "error", err)
	}
	for _, x := range list[:min(len(list), mostLastGood)] {
		g.all[x.Dataplane] = x.Revision
	}
	g.few.Store(int64(len(g.all)))
	go g.save()
	return g
}

// Refused is told of each refusal.
func (g *LastGood) Refused(dp api.Ref, n syncstatus.Nack) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, known := g.all[dp]
	switch {
	case n.Acked != 0 && g.all[dp] != n.Acked && (known || len(g.all) < mostLastGood):
		g.all[dp] = n.Acked
	case n.Acked == 0 && !n.Brought && known:
		delete(g.all, dp)
	default:
		return
	}
	g.changed()
}

// Synced is told when a sidecar has everything.
func (g *LastGood) Synced(dp api.Ref) {
	if g == nil || g.few.Load() == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, known := g.all[dp]; known {
		delete(g.all, dp)
		g.changed()
	}
}

// of is the revision with which a sidecar that refuses another goes on; 0 where nobody knows.
func (g *LastGood) of(dp api.Ref) uint64 {
	if g == nil || g.few.Load() == 0 {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all[dp]
}

// changed needs mu.
func (g *LastGood) changed() {
	g.few.Store(int64(len(g.all)))
	select {
	case g.stale <- struct{}{}:
	default:
	}
}

// Close writes what is known now.
func (g *LastGood) Close() {
	if g != nil {
		g.once.Do(func() { close(g.end) })
		<-g.done
	}
}

// save writes the file after changes, and once at the end.
func (g *LastGood) save() {
	defer close(g.done)
	for {
		select {
		case <-g.stale:
			g.write()
		case <-g.end:
			g.write()
			return
		}
		select { // many refusals at once are one write
		case <-time.After(BetweenSaves):
		case <-g.end:
		}
	}
}

func (g *LastGood) write() {
	g.mu.Lock()
	list := make([]good, 0, len(g.all))
	for dp, revision := range g.all {
		list = append(list, good{dp, revision})
	}
	g.mu.Unlock()
	err := files.WriteState(g.file, list)
	if err != nil {
		g.log.Warn("with which revisions sidecars go on was not kept for a restart", "file", g.file, "error", err)
	}
}
