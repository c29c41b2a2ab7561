// Package origin tells whose values stand in an object of Envoy's (spec/contract.md 7), and has notes
// for who wrote what Envoy would refuse.
package origin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// MetadataKey is where an Envoy object names its origins (spec/contract.md 7), in OriginsField. A route
// says in SlotField by which name its requests are counted.
const (
	MetadataKey  = "weft"
	OriginsField = "origins"
	SlotField    = "slot"
)

// WithSlot adds to the metadata of a route, nil for none yet, by which name of statistics its requests are
// counted, its stat_prefix: lines of requests that no counter has are counted by it (docs/traffic.md).
func WithSlot(m *corev3.Metadata, name string) *corev3.Metadata {
	if m == nil {
		m = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{MetadataKey: {Fields: map[string]*structpb.Value{}}}}
	}
	m.FilterMetadata[MetadataKey].Fields[SlotField] = structpb.NewStringValue(name)
	return m
}

// Metadata is the metadata of an object: whose values stand in it. The order
// follows the names alone, so that no order of kinds shows.
func Metadata(origins []*api.Origin) *corev3.Metadata {
	if len(origins) == 0 {
		return nil
	}
	return &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{MetadataKey: originStruct(origins)}}
}

func originStruct(origins []*api.Origin) *structpb.Struct {
	sorted := slices.Clone(origins)
	slices.SortStableFunc(sorted, compareOrigins)
	sorted = slices.CompactFunc(sorted, (*api.Origin).Same)
	list := make([]*structpb.Value, len(sorted))
	for i, o := range sorted {
		list[i] = structpb.NewStructValue(&structpb.Struct{Fields: originFields(o)})
	}
	return &structpb.Struct{Fields: map[string]*structpb.Value{OriginsField: structpb.NewListValue(&structpb.ListValue{Values: list})}}
}

func compareOrigins(a, b *api.Origin) int {
	return cmp.Or(a.Ref.Compare(b.Ref), cmp.Compare(a.Field, b.Field))
}

func originFields(o *api.Origin) map[string]*structpb.Value {
	fields := map[string]*structpb.Value{}
	for _, f := range []struct{ key, text string }{
		{"kind", o.Kind}, {"mesh", o.Mesh}, {"namespace", o.Namespace}, {"name", o.Name},
		{"ruleName", o.RuleName}, {"field", string(o.Field)},
	} {
		if f.text != "" {
			fields[f.key] = structpb.NewStringValue(f.text)
		}
	}
	if o.To != nil {
		fields["to"] = structpb.NewNumberValue(float64(*o.To))
	}
	if o.Rule != nil {
		fields["rule"] = structpb.NewNumberValue(float64(*o.Rule))
	}
	return fields
}

// OfRoute are the rules whose lists hold in r, and the strongest one, of
// which the match and the name are.
func OfRoute(r *effective.Route) []*api.Origin {
	var out []*api.Origin
	for i, o := range r.Origins {
		if i == len(r.Origins)-1 || o.Same(r.FiltersBy) || o.Same(r.ActionBy) {
			out = append(out, o)
		}
	}
	return out
}

// SetBy finds who set the values of e that stand in an object. write gives a
// blank object with nothing in it but what a conf writes.
//
// A value stands where the object would differ without it: a conf knows best
// what it writes where, and asking it keeps losers and the blocks of other
// protocols out of the object.
func SetBy(e *policies.Effective, write func(policies.Conf) proto.Message) []*api.Origin {
	winners := Winners(e)
	if len(winners) == 0 {
		return nil
	}
	all := write(e.Conf)
	if proto.Equal(all, write(e.Kind.New())) {
		return nil
	}
	if len(winners) == 1 {
		return winners
	}
	var out []*api.Origin
	for i, f := range e.Fields {
		if f.Winner().Layer == merge.Default {
			continue
		}
		without := slices.Delete(slices.Clone(e.Fields), i, i+1)
		if !proto.Equal(all, write(e.Kind.Schema.Build(e.Kind.New(), without))) {
			out = append(out, f.Winner().Origin)
		}
	}
	return out
}

// Winners are the distinct origins of the values that hold.
func Winners(e *policies.Effective) []*api.Origin {
	var out []*api.Origin
	for _, f := range e.Fields {
		w := f.Winner()
		if w.Layer != merge.Default && !slices.ContainsFunc(out, w.Origin.Same) {
			out = append(out, w.Origin)
		}
	}
	return out
}

// Refused is a note on each origin; one without origin where there is none.
func Refused(origins []*api.Origin, outcome string, err error) []api.Note {
	n := api.Note{
		Severity: api.Error, Code: "Rejected",
		Message: fmt.Sprintf("Envoy would refuse this (%v); %s, so correct it", oneLine(err), outcome),
	}
	if len(origins) == 0 {
		return []api.Note{n}
	}
	notes := make([]api.Note, len(origins))
	for i, o := range origins {
		notes[i] = n
		notes[i].Origin = o
	}
	return notes
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
