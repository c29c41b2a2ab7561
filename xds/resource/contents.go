package resource

import (
	"sync"
	"weak"

	"google.golang.org/protobuf/types/known/anypb"
)

// remade has the contents of resources that only one sidecar has. Once they were sent nobody
// asks for them as a rule: kept, they were most of what a sidecar costs its control plane. So
// they are kept for as long as the collector leaves them alone, and rendered again for who asks
// later: rendering is a function of values that do not change, and gives the same bytes.
type remade struct {
	again func() []*Resource

	mu   sync.Mutex
	made weak.Pointer[contents]
}

// contents are those of several resources, nil for those that there are not.
type contents struct{ list []*anypb.Any }

func contentsOf(list []*Resource) *contents {
	all := &contents{make([]*anypb.Any, len(list))}
	for i, r := range list {
		if r != nil {
			all.list[i] = r.content
		}
	}
	return all
}

// part is the content of one of the resources.
func (m *remade) part(i uint8) *anypb.Any {
	m.mu.Lock()
	defer m.mu.Unlock()
	made := m.made.Value()
	if made == nil {
		made = contentsOf(m.again())
		m.made = weak.Make(made)
	}
	return made.list[i]
}

// Release has the contents of resources, of which some may be nil, made by again once the
// collector has taken them.
func Release(list []*Resource, again func() []*Resource) {
	m := &remade{again: again, made: weak.Make(contentsOf(list))}
	for i, r := range list {
		if r != nil {
			r.content, r.remade, r.part = nil, m, uint8(i)
		}
	}
}
