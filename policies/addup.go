package policies

import (
	"reflect"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
)

// AddUp is Resolve for layers of which all hold: each list has the items of all, weakest first, and
// of equal items one. An override stands in the place of all others as ever.
func (k *Kind) AddUp(layers []merge.Layer) *Effective {
	for _, l := range layers {
		if l.Override {
			return k.Resolve(layers)
		}
	}
	fields := merge.Gather(layers)
	if len(fields) == 0 {
		return nil
	}
	whole := merge.Layer{Origin: &api.Origin{}}
	for _, f := range fields {
		whole.Leaves = append(whole.Leaves, merge.Leaf{Field: f.Field, Value: joined(f)})
	}
	return &Effective{Kind: k, Conf: k.Schema.Build(k.New(), merge.Fold([]merge.Layer{whole})), Fields: fields}
}

// joined is the list of all that was said; of what is no list the strongest word.
func joined(f merge.Field) any {
	last := reflect.ValueOf(f.Value())
	if last.Kind() != reflect.Slice {
		return f.Value()
	}
	out := reflect.MakeSlice(last.Type(), 0, 0)
	for _, s := range f.Said {
		list := reflect.ValueOf(s.Value)
		for i := range list.Len() {
			if !has(out, list.Index(i)) {
				out = reflect.Append(out, list.Index(i))
			}
		}
	}
	return out.Interface()
}

func has(list, item reflect.Value) bool {
	for i := range list.Len() {
		if reflect.DeepEqual(list.Index(i).Interface(), item.Interface()) {
			return true
		}
	}
	return false
}
