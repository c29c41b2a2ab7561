package attached

import (
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/sidecar/attach"
)

// steps are the changes between lists of names, worked out once for all streams that take
// the same step.
type steps struct {
	mu    sync.Mutex
	known map[[2]string]*attach.Names
}

// mostSteps is how many are kept: each list has a newest one, and those who call differently
// have lists of their own. A step that is not kept is worked out once more.
const mostSteps = 512

// between is what is told to who has been told the list before: what has changed, or the
// whole list where that is shorter.
func (s *steps) between(before, now *attach.Names) *attach.Names {
	key := [2]string{before.GetVersion(), now.GetVersion()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.known[key]; n != nil {
		return n
	}
	n := difference(before, now)
	if len(n.Names)+len(n.Gone) >= len(now.Names) {
		n = now
	}
	if s.known == nil {
		s.known = map[[2]string]*attach.Names{}
	}
	for old := range s.known { // whichever
		if len(s.known) < mostSteps {
			break
		}
		delete(s.known, old)
	}
	s.known[key] = n
	return n
}

// difference walks both lists, which are sorted by name.
func difference(before, now *attach.Names) *attach.Names {
	out := &attach.Names{Version: now.GetVersion(), Since: before.GetVersion()}
	had := before.GetNames()
	for _, n := range now.GetNames() {
		for len(had) > 0 && had[0].GetName() < n.GetName() {
			out.Gone, had = append(out.Gone, had[0].GetName()), had[1:]
		}
		if len(had) > 0 && had[0].GetName() == n.GetName() {
			same := proto.Equal(had[0], n)
			had = had[1:]
			if same {
				continue
			}
		}
		out.Names = append(out.Names, n)
	}
	for _, n := range had {
		out.Gone = append(out.Gone, n.GetName())
	}
	out.Gone = slices.Clip(out.Gone)
	return out
}
