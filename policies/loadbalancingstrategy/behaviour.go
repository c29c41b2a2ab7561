package loadbalancingstrategy

import (
	"fmt"

	"github.com/weftmesh/weft/route"
)

// words are the types as views have them.
var words = map[string]string{leastRequest: route.LeastRequest.String(), ringHash: route.RingHash.String(), random: route.Random.String(), maglev: "maglev"}

// Balance is how an endpoint is chosen, in words.
func (c *Conf) Balance() (text string, hashes bool) {
	typ := c.typ()
	text = words[typ]
	if typ == leastRequest && c.LoadBalancer.LeastRequest != nil && c.LoadBalancer.LeastRequest.ChoiceCount != nil {
		text += fmt.Sprintf(" of %d", *c.LoadBalancer.LeastRequest.ChoiceCount)
	}
	return text, typ == ringHash || typ == maglev
}

// BalanceField is the leaf of the type.
func (c *Conf) BalanceField() string { return "loadBalancer.type" }

// HashOf is of what of a request a hash is taken.
func (c *Conf) HashOf() (keys []route.HashKey, field string, ok bool) {
	list, field := c.hash()
	if list == nil {
		return nil, "", false
	}
	keys = make([]route.HashKey, len(list))
	for i := range list {
		h, k := &list[i], &keys[i]
		k.Last = isTrue(h.Terminal)
		switch h.Type {
		case byHeader:
			k.Header = h.Header.Name
		case byCookie:
			k.Cookie, k.Session = h.Cookie.Name, h.Cookie.TTL != nil
		case byQuery:
			k.Query = h.QueryParameter.Name
		case byState:
			k.Header = "of no request, but filter state " + h.FilterState.Key
		default:
			k.Source = true
		}
	}
	return keys, field, true
}
