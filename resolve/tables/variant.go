package tables

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
)

// Variant is what tells the clusters of one destination apart: those who answer, how
// they share what comes, and how they are spoken to.
type Variant struct {
	Tags    map[string]string `json:",omitempty"` // of a subset; nil is all
	Balance route.Balance     `json:",omitzero"`
	HTTP2   bool              `json:",omitempty"` // whatever the port says
	Own     []ownConf         `json:",omitempty"`
}

// ownConf is what a rule says itself about the connections to its backends: the layer
// inline of their cluster.
type ownConf struct {
	Kind   string
	Conf   json.RawMessage
	Origin *api.Origin
}

// ClusterName is the destination id, for a subset a hash of its tags with the
// service's own (spec/kuma.md 6): the first 8 bytes of SHA-256 over keys and values;
// and what is otherwise than in the cluster that every destination has unasked. Rules
// that say the same name the same cluster, whoever they are.
func (v *Variant) ClusterName(d *effective.Destination) string {
	name := d.ID
	if len(v.Tags) > 0 {
		all := maps.Clone(v.Tags)
		all[api.TagService] = d.Name
		h := sha256.New()
		for _, k := range slices.Sorted(maps.Keys(all)) {
			h.Write([]byte(k + all[k]))
		}
		name += "-" + hex.EncodeToString(h.Sum(nil)[:8])
	}
	if v.Balance != (route.Balance{}) {
		name += "~" + strings.ReplaceAll(v.Balance.Algorithm.String(), " ", "-")
	}
	if v.Balance.Bound > 0 {
		name += fmt.Sprintf("-%d", v.Balance.Bound)
	}
	if v.Balance.SlowStart > 0 {
		name += fmt.Sprintf("-slow-%s-%g-%d", v.Balance.SlowStart, v.Balance.Exponent, v.Balance.LeastWeight)
	}
	if v.HTTP2 {
		name += "~http2"
	}
	for i := range v.Own {
		name += "~" + v.Own[i].text()
	}
	return name
}

// text is what is said, as part of a name: idleTimeout-30s.
func (o *ownConf) text() string {
	return string(bytes.Map(func(r rune) rune {
		switch r {
		case '{', '}', '"':
			return -1
		case ':', ',':
			return '-'
		}
		return r
	}, o.Conf))
}

// Key is the variant as the end of a key; empty of the cluster that every destination
// has unasked.
func (v *Variant) Key() string {
	if len(v.Tags) == 0 && v.Balance == (route.Balance{}) && !v.HTTP2 && len(v.Own) == 0 {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it holds texts and numbers
	}
	return tuple.Append("", string(text))
}

// CutVariant takes a variant off a key.
func CutVariant(key string) (string, *Variant) {
	v := new(Variant)
	rest, text, _ := tuple.CutLast(key)
	if !strings.HasPrefix(text, "{") { // a class or a scope
		return key, v
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		panic(err) // Key wrote it
	}
	return rest, v
}

// ownConfs are what a rule says about the connections to its backends.
func (m Mesh) ownConfs(list []route.Inline) []ownConf {
	var out []ownConf
	for i := range list {
		_, k := m.kind(list[i].Policy.Kind())
		said, fields := list[i].Policy.Fields(), map[string]any{}
		for _, l := range k.Schema.Leaves {
			if v, ok := said[l.Path]; ok && l.Scope == policies.OnCluster {
				fields[l.Path] = v
			}
		}
		if len(fields) == 0 {
			continue
		}
		conf, err := json.Marshal(k.Schema.Set(k.New(), fields))
		if err != nil {
			panic(err) // confs are written to documents
		}
		out = append(out, ownConf{k.Name, conf, list[i].Origin})
	}
	return out
}

// over lays what the rule says itself over what targets no route.
func (v *Variant) over(l index.Layers, m Mesh) index.Layers {
	if len(v.Own) == 0 {
		return l
	}
	out := slices.Clone(l)
	for _, o := range v.Own {
		i, k := m.kind(o.Kind)
		conf := k.New()
		if err := json.Unmarshal(o.Conf, conf); err != nil {
			panic(err) // ownConfs wrote it
		}
		out.Add(i, merge.Layer{Name: merge.Inline, Origin: o.Origin, Leaves: k.Schema.Read(conf), Place: inlinePlace{}})
	}
	return out
}

// kind is the kind of policies of that name, and its place among kinds. One that is not
// there is a bug in a dialect, and panics.
func (m Mesh) kind(name string) (int, *policies.Kind) {
	for i, k := range m.Kinds {
		if k.Name == name {
			return i, k
		}
	}
	panic("no policies of kind " + name)
}
