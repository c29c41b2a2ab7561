package web

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
)

// labelled is o with the labels that the API shows (contract 9). They are
// computed for readers only: what a document did not say stays unsaid for
// selectors and priorities.
func (s *server) labelled(o *api.Object) *api.Object {
	labels := maps.Clone(o.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	computed := [][2]string{{api.LabelDisplayName, o.Name}}
	if o.Kind != api.KindMesh {
		computed = append(computed, [2]string{api.LabelOrigin, "zone"}, [2]string{api.LabelZone, s.Zone}, [2]string{api.LabelEnv, "universal"})
	}
	for _, l := range computed {
		if labels[l[0]] == "" {
			labels[l[0]] = l[1]
		}
	}
	c := *o
	c.Labels = labels
	return &c
}

// written is an object as its writer gave it, without what readers are told
// beside it: whoever stores it again changes nothing.
func (s *server) written(o *api.Object) ([]byte, error) {
	c := *o
	c.Created, c.Modified = time.Time{}, time.Time{}
	return s.Catalog.JSON(&c)
}

func (s *server) kri(o *api.Object) string { return s.Catalog.KRI(s.labelled(o)) }

// item is an object as the API shows it, with conditions in its status.
func (s *server) item(o *api.Object, conditions any) ([]byte, error) {
	text, err := s.Catalog.JSON(s.labelled(o))
	if err != nil || conditions == nil {
		return text, err
	}
	return withConditions(text, conditions)
}

// withConditions adds conditions to the status of a printed object.
func withConditions(text []byte, conditions any) ([]byte, error) {
	list, err := json.Marshal(conditions)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	status := map[string]json.RawMessage{}
	if had, ok := fields["status"]; ok {
		if err := json.Unmarshal(had, &status); err != nil {
			return nil, err
		}
		text = bytes.TrimSuffix(text, slices.Concat([]byte(`,"status":`), had, []byte("}")))
		text = append(slices.Clip(text), '}')
	}
	status["conditions"] = list
	whole, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return slices.Concat(text[:len(text)-1], []byte(`,"status":`), whole, []byte("}")), nil
}

// meta is an object's head, as inspect answers show it.
type meta struct {
	Type   string            `json:"type"`
	Mesh   string            `json:"mesh,omitempty"`
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	KRI    string            `json:"kri,omitempty"`
}

func (s *server) meta(o *api.Object) meta {
	l := s.labelled(o)
	return meta{o.Kind, o.Mesh, o.Name, l.Labels, s.Catalog.KRI(l)}
}
