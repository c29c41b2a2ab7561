package server

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftmesh/weft/xds/server/syncstatus"
	"github.com/weftmesh/weft/xds/server/truncate"
)

// most is how many names a refusal that names nothing is given.
const most = 10

// refuse takes a NACK. What an Envoy does with a refused response depends on the
// kind of error: it may have dropped all of it, or applied everything but the
// culprits, and its own record of versions may be wrong afterwards. So the
// culprits are left out, as the client last confirmed them, until their content
// changes, and all else of the response goes out again under fresh versions.
func (st *stream) refuse(f *flow, r *response, words string) {
	f.total.Nacked++
	st.uncover(f)
	culprits := named(r.changed, words[:min(len(words), truncate.Search)])
	words = truncate.Text(words, truncate.Message)
	if len(culprits) == 0 && len(r.changed) == 1 {
		culprits = r.changed
	}
	late := slices.ContainsFunc(r.changed, func(v versioned) bool { return !st.wanted(r, v) })
	if len(culprits) == 0 && !late { // half of it next time, until the culprit is alone
		f.limit = max(1, len(r.changed)/2)
	}
	for _, v := range culprits {
		if !st.wanted(r, v) {
			continue // another content took its place already, which goes out as any other
		}
		if f.refused == nil {
			f.refused = map[string]string{}
		}
		f.refused[v.Name] = v.Version
	}
	for _, v := range r.changed {
		if f.refused[v.Name] != v.Version {
			f.force(v.Name, v.Version)
		}
	}
	if len(r.changed) > 0 { // else the removal itself is what is refused
		f.removeAgain(r.removed)
	}
	now := time.Now()
	f.resendAt = now
	if next := f.resent.Add(st.server.opts.ResendEvery); now.Before(next) && !late {
		f.resendAt = next
	}
	st.unverified.add(f.kind, r)
	st.report(f, r, culprits, words, now)
}

// wanted reports whether the client should still have v, which r brought it: a
// refusal may arrive after a publication that replaces what it refuses.
func (st *stream) wanted(r *response, v versioned) bool {
	if r.revision == st.revision {
		return true
	}
	now := st.desired(r.kind, v.Name)
	return now != nil && now.Version == v.Version
}

func (f *flow) removeAgain(names []string) {
	if len(names) > 0 && f.remove == nil {
		f.remove = map[string]bool{}
	}
	for _, name := range names {
		f.remove[name] = true
	}
}

func (st *stream) report(f *flow, r *response, culprits []versioned, words string, now time.Time) {
	n := syncstatus.Nack{At: now, Type: names[f.kind], Message: words, Revision: r.revision, Current: st.refusing(), Acked: st.acked, Brought: st.brought}
	if len(culprits) == 0 {
		culprits = r.changed[:min(len(r.changed), most)]
	}
	for _, v := range culprits {
		n.Resources = append(n.Resources, v.Name)
	}
	st.nack, st.synced = &n, false
	cause := n.Type + "\x00" + strings.Join(n.Resources, "\x00") + "\x00" + words
	if leftOut, ok := st.refusals.take(cause, now, st.server.opts.LogEvery); ok {
		st.server.opts.Logger.Warn("refused", "dataplane", st.peer.Dataplane.String(), "type", n.Type,
			"resources", n.Resources[:min(len(n.Resources), most)], "says", words, "revision", n.Revision, "unlogged", leftOut)
	}
	st.server.opts.Observer.Nacked(st.peer, n)
}

// pastRefusal looks whether the last refusal still holds.
func (st *stream) pastRefusal() {
	if st.nack == nil {
		return
	}
	n := *st.nack // readers may hold it
	n.Current = st.refusing()
	st.nack = &n
}

// refusing reports whether the client refuses something that it should have.
func (st *stream) refusing() bool {
	for k := range st.flows {
		if len(st.flows[k].refused) > 0 || st.flows[k].limit > 0 {
			return true
		}
	}
	return false
}

// named are those of list whose names stand in words, as whole words.
func named(list []versioned, words string) []versioned {
	var out []versioned
	for _, v := range list {
		for rest := words; ; {
			i := strings.Index(rest, v.Name)
			if i < 0 {
				break
			}
			end := i + len(v.Name)
			if (i == 0 || !inName(rest[i-1])) && (end == len(rest) || !inName(rest[end]) || sentenceEnds(rest[end:])) {
				out = append(out, v)
				break
			}
			rest = rest[i+1:]
		}
	}
	return out
}

// inName reports whether a name may go on with c.
func inName(c byte) bool {
	return c == '-' || c == '_' || c == '.' || c == ':' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// sentenceEnds reports whether s begins with punctuation instead of a name's next letter.
func sentenceEnds(s string) bool {
	return (s[0] == '.' || s[0] == ':') && (len(s) == 1 || s[1] == ' ' || s[1] == '\n')
}

// unverified are the resources of a dataplane of which nobody knows whether its
// client has them: they stood in a refused response, and no later answer
// cleared them up. They outlive the stream, because a client that reconnects
// reports the versions of before the refusal.
type unverified struct {
	mu    sync.Mutex
	names [kinds]map[string]bool
}

func (d *unverified) add(k kind, r *response) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[k] == nil {
		d.names[k] = map[string]bool{}
	}
	for _, v := range r.changed {
		d.names[k][v.Name] = true
	}
	for _, name := range r.removed {
		d.names[k][name] = true
	}
}

// clear forgets what a confirmed response settled.
func (d *unverified) clear(k kind, r *response) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.names[k]) == 0 {
		return
	}
	for _, v := range r.list {
		delete(d.names[k], v.Name)
	}
	for _, name := range r.removed {
		delete(d.names[k], name)
	}
}

// apply has a new stream send again, or remove, what is unverified.
func (d *unverified) apply(f *flow) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.names[f.kind] {
		f.removeAgain([]string{name})
		version, _ := f.told.version(name)
		if hash, _, _ := strings.Cut(version, "."); hash != "" {
			f.force(name, hash)
		}
	}
}
