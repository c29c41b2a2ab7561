package mtls

import (
	"cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// callerNames knows the dataplanes of a mesh by their addresses. It looks at them when it is first
// asked for a name: as a rule nobody calls in plain text.
type callerNames struct {
	q         *resolve.Reader
	mesh      string
	byAddress map[string]string // empty where several share an address
	all       map[string]bool
}

func (n *callerNames) find() {
	if n.all != nil {
		return
	}
	n.byAddress, n.all = map[string]string{}, map[string]bool{}
	for o := range n.q.Snapshot().Of(api.KindDataplane, n.mesh) {
		if !n.q.Visit() {
			break
		}
		name, address := o.Ref.FullName(), o.Spec.(*api.Dataplane).Networking.Address
		n.all[name] = true
		if _, shared := n.byAddress[address]; shared {
			name = ""
		}
		n.byAddress[address] = name
	}
}

// is reports whether a dataplane of the mesh has the name.
func (n *callerNames) is(name string) bool {
	n.find()
	return n.all[name]
}

// plainSenders are those who called r in plain text, by name where a dataplane alone has the address.
func (n *callerNames) plainSenders(r *effective.Resolved, senders []Sender) []PlainSender {
	if len(senders) == 0 {
		return nil
	}
	n.find()
	out := make([]PlainSender, 0, len(senders))
	for _, s := range senders {
		out = append(out, PlainSender{From: cmp.Or(n.byAddress[s.Address], s.Address), To: r.Ref.FullName(), Port: s.Port, Connections: s.Connections, Last: s.Last})
	}
	return out
}
