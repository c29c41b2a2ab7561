package api

import (
	"fmt"
	"strings"

	"github.com/weftmesh/weft/api/redact"
)

// KRI identifies an object, or a section of it, across zones (spec/kuma.md 1.1).
type KRI struct {
	Short                                string // of the type: mr
	Mesh, Zone, Namespace, Name, Section string
}

// String is kri_<short>_<mesh>_<zone>_<namespace>_<name>_<section>.
func (k KRI) String() string {
	return strings.Join([]string{"kri", k.Short, k.Mesh, k.Zone, k.Namespace, k.Name, k.Section}, "_")
}

// ParseKRI reads a KRI of one of the catalogue's types.
func (c *Catalog) ParseKRI(text string) (KRI, error) {
	p := strings.Split(text, "_")
	if len(p) < 7 || p[0] != "kri" {
		return KRI{}, fmt.Errorf("%q is not a KRI; write kri_<type>_<mesh>_<zone>_<namespace>_<name>_<section>", redact.Clip(text))
	}
	if t, ok := c.Find(p[1]); !ok || t.Short != p[1] {
		return KRI{}, fmt.Errorf("%q is not the short name of a type in the KRI %q; mr is one", redact.Clip(p[1]), redact.Clip(text))
	}
	return KRI{p[1], p[2], p[3], p[4], p[5], strings.Join(p[6:], "")}, nil
}

// KRI is the identifier of o; empty where its kind is unknown.
func (c *Catalog) KRI(o *Object) string {
	t, ok := c.Type(o.Kind)
	if !ok {
		return ""
	}
	zone := o.Labels[LabelZone]
	if zone == "" && !t.Global {
		zone = c.zone[LabelZone]
	}
	return KRI{Short: t.Short, Mesh: o.Mesh, Zone: zone, Namespace: o.HomeNamespace(), Name: o.DisplayName()}.String()
}

// InZone is c for a control plane of that zone: Shown and KRI speak of it where
// a document does not.
func (c *Catalog) InZone(zone Zone) *Catalog {
	z := *c
	z.zone = zone.Labels()
	return &z
}

// Shown is o with the labels that readers see. Outside a zone it is o.
func (c *Catalog) Shown(o *Object) *Object {
	if c.zone == nil {
		return o
	}
	shown := *o
	shown.Labels = c.ShownLabels(o)
	return &shown
}

// ShownLabels are those that readers see at o.
func (c *Catalog) ShownLabels(o *Object) map[string]string {
	if c.zone == nil {
		return o.Labels
	}
	labels := c.Labels(o)
	return labels.All()
}

// Labels are the same without a map of their own.
func (c *Catalog) Labels(o *Object) Labels {
	if c.zone == nil {
		return Labels{Written: o.Labels}
	}
	zone := c.zone
	if t, ok := c.Type(o.Kind); !ok || t.Global {
		zone = nil
	}
	return LabelsOf(o, zone)
}
