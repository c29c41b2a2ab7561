package decode

import (
	"encoding/json"
	"slices"

	"github.com/weftmesh/weft/api"
)

// kept is what of the metadata matters of a type; nil where there is nothing.
func (m *metadata) kept(typ *api.Type) *api.Meta {
	out := api.Meta{Annotations: typ.Annotated(m.Annotations)}
	if typ.Meta {
		out.UID, out.Owners, out.Deleting = m.UID, m.owners(), m.DeletionTimestamp != nil
	}
	if out.UID == "" && len(out.Owners) == 0 && !out.Deleting && out.Annotations == nil {
		return nil
	}
	return &out
}

// owners are those that the metadata names, the controller first.
func (m *metadata) owners() []api.OwnerReference {
	list, _ := m.OwnerReferences.([]any)
	var out []api.OwnerReference
	for _, item := range list {
		fields, _ := item.(map[string]any)
		text := func(key string) string { s, _ := fields[key].(string); return s }
		controller, _ := fields["controller"].(bool)
		if r := (api.OwnerReference{APIVersion: text("apiVersion"), Kind: text("kind"), Name: text("name"), UID: text("uid"), Controller: controller}); r.Kind != "" && r.Name != "" {
			out = append(out, r)
		}
	}
	if i := slices.IndexFunc(out, func(r api.OwnerReference) bool { return r.Controller }); i > 0 {
		first := out[i]
		out = slices.Insert(slices.Delete(out, i, i+1), 0, first)
	}
	return out
}

// epoch stands for a time that is not kept, only that there is one.
const epoch = `"1970-01-01T00:00:00Z"`

// kept prints what is kept of the metadata.
func (w *members) kept(m *api.Meta) error {
	if m == nil {
		return nil
	}
	w.text("uid", m.UID)
	if m.Deleting {
		w.member("deletionTimestamp", []byte(epoch))
	}
	if len(m.Owners) > 0 {
		text, err := json.Marshal(m.Owners)
		if err != nil {
			return err
		}
		w.member("ownerReferences", text)
	}
	return w.annotations(m)
}

// annotations prints those that are kept.
func (w *members) annotations(m *api.Meta) error {
	if m == nil || len(m.Annotations) == 0 {
		return nil
	}
	text, err := json.Marshal(m.Annotations)
	if err != nil {
		return err
	}
	w.member("annotations", text)
	return nil
}
