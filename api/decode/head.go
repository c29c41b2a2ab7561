package decode

import (
	"slices"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// reservedLabels are the labels that have a meaning, with the values that they take.
var reservedLabels = []struct {
	key    string
	values []string
}{
	{api.LabelOrigin, []string{"global", "zone"}},
	{api.LabelEnv, []string{api.EnvUniversal, api.EnvKubernetes}},
	{api.LabelPolicyRole, []string{"system", "producer", "consumer", "workload-owner"}},
	{api.LabelEffect, []string{"shadow"}},
	{api.LabelDefault, []string{"true"}},
	{"kuma.io/kds-sync", []string{"enabled", "disabled"}},
}

// validateHead checks what the envelope says: name, mesh, labels.
func validateHead(h *head) []*api.Violation {
	var errs *multierror.Error
	o := &h.object
	errs = multierror.Append(errs, api.ValidateName(h.name, h.typ, o.Name))
	switch {
	case h.typ.Global && o.Mesh != "":
		errs = multierror.Append(errs, h.mesh.Breaks("a %s belongs to no mesh; leave it out", o.Kind))
	case o.Kind == api.KindMesh && o.Namespace != "":
		errs = multierror.Append(errs, h.name.Breaks("a %s belongs to no namespace; leave it out", o.Kind))
	case h.unnamed:
		errs = multierror.Append(errs, h.mesh.Breaks("is empty; name the mesh, or leave it out"))
	case !h.typ.Global:
		errs = multierror.Append(errs, api.ValidateMeshName(h.mesh, o.Mesh))
	}
	if o.Namespace != "" {
		errs = multierror.Append(errs, api.ValidateNamespace(h.name, o.Namespace))
	}
	errs = multierror.Append(errs, api.ValidateLabels(h.labels, o.Labels))
	for _, r := range reservedLabels {
		if v, ok := o.Labels[r.key]; ok && !slices.Contains(r.values, v) {
			errs = multierror.Append(errs, h.labels.Key(r.key).OneOf(v, r.values...))
		}
	}
	errs = multierror.Append(errs, followed(h))
	switch m, ok := o.Labels[api.LabelMesh]; {
	case !ok || h.typ.Global:
	case h.explicit && m != o.Mesh:
		errs = multierror.Append(errs, h.labels.Key(api.LabelMesh).Breaks("the label says mesh %q but the document %q; make them equal", m, o.Mesh))
	case m == "":
		errs = multierror.Append(errs, h.labels.Key(api.LabelMesh).Breaks("is empty; name the mesh, or leave it out"))
	}
	return api.Violations(errs.ErrorOrNil())
}

// followed makes the labels say what follows from where an object lives and what it targets: who may write
// in one namespace speaks for no other, nor for the mesh's operators, and takes no other role, wherever
// labels are read.
func followed(h *head) error {
	var errs *multierror.Error
	o := &h.object
	if said := o.Labels[api.LabelNamespace]; said != "" && o.Namespace != "" && said != o.Namespace {
		o.Labels[api.LabelNamespace] = o.Namespace
		errs = multierror.Append(errs, h.labels.Key(api.LabelNamespace).Warns("ReadOnly", "the namespace of the object counts, %s, and not what the label says; remove the label", redact.Clip(o.Namespace)))
	}
	if said, ok := o.Labels[api.LabelPolicyRole]; ok && said != roleOf(o) {
		errs = multierror.Append(errs, h.labels.Key(api.LabelPolicyRole).Warns("ReadOnly", "the role follows from the namespace and the targets, so the label has no effect; remove it"))
		if is := roleOf(o); is != "" {
			o.Labels[api.LabelPolicyRole] = is
		} else if said != api.RoleSystem {
			delete(o.Labels, api.LabelPolicyRole)
		}
	}
	return errs.ErrorOrNil()
}

// roleOf is the role that follows from an object, which readers are shown and weft's webhook writes
// as a label; empty where it has none.
func roleOf(o *api.Object) string {
	return api.LabelsOf(o, nil).Role
}
