package objects

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// Selection is what a client asks of a list.
type Selection struct {
	Size, Offset int
	Name         string            // part of the name
	labels       map[string]string // all of them, exactly
	tags         [][2]string       // each, as a part
	gateway      string
}

// SelectionOf reads the query of a list; an unknown filter is refused, because
// ignoring it would answer more than was asked for.
func SelectionOf(q url.Values) (Selection, error) {
	sel := Selection{Size: endpoint.DefaultPage, Name: q.Get("name"), labels: map[string]string{}, gateway: q.Get("gateway")}
	for key, into := range map[string]*int{"size": &sel.Size, "offset": &sel.Offset} {
		text := q.Get(key)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || key == "size" && (n < 1 || n > endpoint.LargestPage) {
			return sel, httpapi.BadField(key, key+" "+strconv.Quote(text)+" is not possible; size is a number from 1 to 1000, offset one from 0")
		}
		*into = n
	}
	for key, values := range q {
		if !strings.HasPrefix(key, "filter[") {
			continue
		}
		label, ok := strings.CutPrefix(strings.TrimSuffix(key, "]"), "filter[labels.")
		if !ok || label == "" || !strings.HasSuffix(key, "]") || len(values) != 1 {
			return sel, httpapi.BadField(key, "unknown filter; use filter[labels.<key>]=<value>")
		}
		sel.labels[label] = values[0]
	}
	for _, t := range q["tag"] {
		key, value, ok := strings.Cut(t, ":")
		if !ok {
			return sel, httpapi.BadField("tag", strconv.Quote(t)+" is not a tag; use key:value")
		}
		sel.tags = append(sel.tags, [2]string{key, value})
	}
	switch sel.gateway {
	case "", "true", "false", "delegated", "builtin":
		return sel, nil
	}
	return sel, httpapi.BadField("gateway", "unknown value; use true, false, delegated or builtin")
}

// Everything reports whether no object is left out.
func (sel Selection) Everything() bool {
	return sel.Name == "" && len(sel.labels)+len(sel.tags) == 0 && sel.gateway == ""
}

// takes reports whether an object is asked for, whatever its labels.
func (sel Selection) takes(o *api.Object) bool {
	if !strings.Contains(o.Name, sel.Name) {
		return false
	}
	if dp, ok := o.Spec.(*api.Dataplane); ok {
		return sel.takesDataplane(dp)
	}
	return true
}

func (sel Selection) takesDataplane(dp *api.Dataplane) bool {
	n := dp.Networking
	if n == nil {
		return len(sel.tags) == 0 && sel.gateway == ""
	}
	kind := ""
	if n.Gateway != nil {
		kind = "delegated"
		if n.Gateway.Type == "BUILTIN" {
			kind = "builtin"
		}
	}
	switch sel.gateway {
	case "true":
		if kind == "" {
			return false
		}
	case "false":
		if kind != "" {
			return false
		}
	case "delegated", "builtin":
		if kind != sel.gateway {
			return false
		}
	}
	for _, t := range sel.tags {
		if !hasTag(n, t[0], t[1]) {
			return false
		}
	}
	return true
}

// hasTag reports whether an inbound, or the gateway, has the tag with a value
// of which part is a part.
func hasTag(n *api.Networking, key, part string) bool {
	has := func(tags map[string]string) bool {
		v, ok := tags[key]
		return ok && strings.Contains(v, part)
	}
	for i := range n.Inbound {
		if has(n.Inbound[i].Tags) {
			return true
		}
	}
	return n.Gateway != nil && has(n.Gateway.Tags)
}
