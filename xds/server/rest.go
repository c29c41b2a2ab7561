package server

import "slices"

// mostLacks bounds the resources that are told apart of a client that refuses some.
const mostLacks = 1000

// checkRest notes when a client that refuses something has confirmed all else.
func (st *stream) checkRest() {
	was := st.rest != nil
	lacks, ok := st.lacking()
	if !ok {
		st.rest, st.lacks = nil, nil
	} else {
		st.rest, st.lacks = st.resolved, lacks
	}
	if was != ok {
		st.server.opts.Observer.Stirred(st.peer.Dataplane)
	}
}

// lacking are the names of the resources that the client should have and has not, while it
// refuses one and nothing else is on its way; false else, and where they are very many.
func (st *stream) lacking() (out []string, ok bool) {
	if st.failed || !st.refusing() {
		return nil, false
	}
	for k := range st.flows {
		if f := &st.flows[k]; f.asked && (!f.open || f.queued != nil || f.out != nil || f.owed || f.limit > 0) {
			return nil, false
		}
	}
	for k := range st.flows {
		f := &st.flows[k]
		for _, r := range f.kind.of(st.want) {
			if had, has := f.told.version(r.Name); has && had == f.as(r).version && f.refused[r.Name] != r.Version {
				continue
			}
			if out = append(out, r.Name); len(out) > mostLacks {
				return nil, false
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), true
}
