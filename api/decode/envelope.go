package decode

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/nearest"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/api/unsupported"
)

// universal is Kuma's own envelope (spec/kuma.md 1.1). Namespace is weft's
// addition, so that an object that came from Kubernetes can be printed in it.
type universal struct {
	Type      string            `json:"type,omitempty"`
	Mesh      string            `json:"mesh,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Created   *time.Time        `json:"creationTime,omitempty"`
	Modified  *time.Time        `json:"modificationTime,omitempty"`
	KRI       string            `json:"kri,omitempty"` // read-only: ignored
	Spec      Raw               `json:"spec"`
	Status    Raw               `json:"status"`
	// Annotations are those of kinds that keep them (api.Type.Annotated), as weft prints them.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// kubernetes is the envelope of Kubernetes.
type kubernetes struct {
	APIVersion string   `json:"apiVersion,omitempty"`
	Kind       string   `json:"kind,omitempty"`
	Mesh       string   `json:"mesh,omitempty"` // beside the spec, of the kinds that have it there
	Metadata   metadata `json:"metadata"`
	Spec       Raw      `json:"spec"`
	Status     Raw      `json:"status"`
}

// metadata is that of a Kubernetes object; what weft does not read is free.
type metadata struct {
	Name              string            `json:"name,omitempty"`
	Namespace         string            `json:"namespace,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	CreationTimestamp *time.Time        `json:"creationTimestamp,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	UID               string            `json:"uid,omitempty"`
	ResourceVersion   string            `json:"resourceVersion,omitempty"`
	GenerateName      string            `json:"generateName,omitempty"`
	SelfLink          string            `json:"selfLink,omitempty"`
	Generation        int64             `json:"generation,omitempty"`
	DeletionTimestamp *time.Time        `json:"deletionTimestamp,omitempty"`
	DeletionGrace     *int64            `json:"deletionGracePeriodSeconds,omitempty"`
	Finalizers        []string          `json:"finalizers,omitempty"`
	OwnerReferences   any               `json:"ownerReferences,omitempty"`
	ManagedFields     any               `json:"managedFields,omitempty"`
}

// head is what both envelopes say.
type head struct {
	typ      api.Type
	object   api.Object
	spec     Raw
	status   Raw
	labels   api.Path // where labels stand
	name     api.Path
	mesh     api.Path
	at       api.Path // where the spec's fields stand
	explicit bool     // the document names its mesh
	unnamed  bool     // the document has a mesh without a name
}

// envelope reads what stands around the spec; false where the kind is unknown.
func (d *decoder) envelope(c *api.Catalog) (head, bool) {
	if d.Root.Kind != yaml.MappingNode {
		d.report(d.Root, api.Path("").Breaks("the document is %s; write a map that begins with type: or apiVersion:", form(d.Root)))
		return head{}, false
	}
	kube := syntax.InKubernetes(d.Root)
	key := "type"
	if kube {
		key = "kind"
	}
	kind := syntax.ScalarOf(syntax.Member(d.Root, key))
	d.ref = api.Ref{Kind: redact.Clip(kind), Mesh: redact.Clip(syntax.ScalarOf(syntax.Member(d.Root, "mesh"))), Name: redact.Clip(syntax.ScalarOf(syntax.Member(d.Root, "name")))}
	typ, ok := c.Type(kind)
	if !ok {
		v := unknownKind(c, api.Path(key), kind)
		if version := syntax.ScalarOf(syntax.Member(d.Root, "apiVersion")); kube && foreign(c, version, kind) {
			v = api.Path(key).Breaks("weft reads no %s of %s; leave it out, or apply it to the cluster", redact.Clip(kind), redact.Clip(version))
			v.Code = unsupported.CodeForeignKind
			d.ref.Name = redact.Clip(syntax.ScalarOf(syntax.Member(syntax.Member(d.Root, "metadata"), "name")))
		}
		d.report(d.locateNode(api.Path(key)), v)
		return head{}, false
	}
	if spec := reflect.TypeOf(typ.New()); !typ.Flat && spec.Kind() == reflect.Pointer && spec.Elem().Kind() == reflect.Struct {
		d.below = spec.Elem()
		defer func() { d.below = nil }()
	}
	if kube {
		d.valid = c.Validates(&typ)
		d.warns = d.valid
		h := d.kubernetes(typ)
		d.warns = false
		return h, true
	}
	if of, ok := c.InMesh(typ); typ.Secret && ok {
		return d.universal(of), true
	}
	if typ.Secret { // Kuma's document of that type is another kind
		d.report(d.locateNode("type"), absent(api.Path("type").Breaks("%s; a Secret of Kubernetes begins with apiVersion: %s", unsupported.Message(kind), typ.APIVersion())))
		return head{}, false
	}
	if typ.Cluster {
		d.report(d.locateNode("type"), api.Path("type").Breaks("a %s is a document of Kubernetes; begin it with apiVersion: %s and kind: %s", typ.Name, typ.APIVersion(), typ.Name))
		return head{}, false
	}
	return d.universal(typ), true
}

// unknownKind is the violation of a kind that is not in the catalogue.
func unknownKind(c *api.Catalog, at api.Path, kind string) *api.Violation {
	names := c.Names()
	v := at.Breaks("unknown kind %q; `weft get --help` lists the kinds", redact.Clip(kind))
	if near := nearest.To(kind, names, 3); len(near) > 0 {
		v = at.Breaks("unknown kind %q; did you mean %s?", redact.Clip(kind), strings.Join(near, " or "))
	}
	switch {
	case kind == "":
		v = at.Breaks("the kind is missing; write type: and a kind, such as MeshRetry; `weft get --help` lists them")
	case unsupported.Kind(kind):
		v = at.Breaks("%s", unsupported.Message(kind))
	}
	return absent(v)
}

// foreign reports whether a kind that is not in the catalogue is one of another program, and no
// kind of weft's with a mistake in it.
func foreign(c *api.Catalog, apiVersion, kind string) bool {
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group = ""
	}
	if kind == "" || apiVersion == "" || group == "kuma.io" || unsupported.Kind(kind) {
		return false
	}
	var near []string
	for _, t := range c.Types() {
		if own, _, ok := strings.Cut(t.APIVersion(), "/"); ok && own == group && group != "apps" && group != "batch" {
			near = append(near, t.Name)
		}
	}
	return len(nearest.To(kind, near, 1)) == 0
}

// absent is v as what is said of a kind that weft does not have.
func absent(v *api.Violation) *api.Violation {
	v.Code = unsupported.CodeUnsupportedKind
	return v
}

// universal reads Kuma's envelope.
func (d *decoder) universal(typ api.Type) head {
	var u universal
	own, rest := d.Root, d.Root
	if typ.Flat {
		own, rest = d.apart(envelopeKeys)
	}
	d.value(own, d.Root, "", reflect.ValueOf(&u).Elem())
	h := head{typ: typ, spec: u.Spec, status: u.Status, labels: "labels", name: "name", mesh: "mesh", at: "spec", explicit: u.Mesh != ""}
	if typ.Flat {
		h.spec, h.at = Raw{d, rest, d.Root, "", 0}, ""
	}
	h.object = api.Object{Ref: api.Ref{Kind: typ.Name, Mesh: u.Mesh, Namespace: u.Namespace, Name: u.Name}, Labels: u.Labels}
	if u.Mesh == "" && !typ.Global {
		h.object.Mesh = u.Labels[api.LabelMesh]
		n := syntax.Member(d.Root, "mesh")
		h.unnamed = n != nil && n.Tag != "!!null"
	}
	if typ.Meta || len(typ.Annotations) > 0 {
		h.object.Meta = (&metadata{Annotations: u.Annotations}).kept(&typ)
	} else if n := syntax.Member(d.Root, "annotations"); n != nil && !typ.Flat {
		d.unknown(d.locateNode("annotations"), "", d.fields(reflect.TypeFor[universal]()))
	}
	if u.Created != nil {
		h.object.Created = *u.Created
	}
	if u.Modified != nil {
		h.object.Modified = *u.Modified
	}
	return h
}

// apart is the document's fields of the envelope, and all others.
func (d *decoder) apart(envelope map[string]bool) (own, rest *yaml.Node) {
	own = &yaml.Node{Kind: yaml.MappingNode, Line: d.Root.Line, Column: d.Root.Column}
	others := *d.Root
	rest, others.Content = &others, nil
	for i := 0; i+1 < len(d.Root.Content); i += 2 {
		into := rest
		if envelope[d.Root.Content[i].Value] {
			into = own
		}
		into.Content = append(into.Content, d.Root.Content[i:i+2]...)
	}
	return own, rest
}

var kubernetesKeys = map[string]bool{"apiVersion": true, "kind": true, "metadata": true}

var envelopeKeys = map[string]bool{"type": true, "mesh": true, "namespace": true, "name": true, "labels": true,
	"creationTime": true, "modificationTime": true, "kri": true, "status": true}

// kubernetes reads Kubernetes's envelope.
func (d *decoder) kubernetes(typ api.Type) head {
	var k kubernetes
	own, rest := d.Root, d.Root
	if typ.Beside {
		own, rest = d.apart(kubernetesKeys)
	}
	d.value(own, d.Root, "", reflect.ValueOf(&k).Elem())
	deprecated := ""
	switch want := typ.APIVersion(); {
	case typ.Reads(k.APIVersion):
	case slices.ContainsFunc(typ.Deprecated, func(v string) bool { return k.APIVersion == typ.In(v) }):
		deprecated = k.APIVersion
		d.report(d.locateNode("apiVersion"), api.Path("apiVersion").Warns("DeprecatedVersion", "%s is an older version and is read as %s; write that", k.APIVersion, want))
	case slices.Contains(typ.Removed, k.APIVersion):
		d.report(d.locateNode("apiVersion"), api.Path("apiVersion").Breaks("%s is an older form of %s; write %s, with its fields: `weft convert -f FILE --to %s` writes it so%s",
			k.APIVersion, typ.Name, want, strings.ToLower(typ.Name), d.today(&typ)))
	default:
		d.report(d.locateNode("apiVersion"), api.Path("apiVersion").Breaks("%q is not the version of %s; write %s", redact.Clip(k.APIVersion), typ.Name, want))
	}
	if _, old := k.Metadata.Annotations[api.LabelMesh]; old && k.Metadata.Labels[api.LabelMesh] == "" {
		at := api.Path("metadata.annotations").Key(api.LabelMesh)
		d.report(d.locateNode(at), at.Breaks("the annotation does not choose the mesh; write it as a label"))
	}
	h := head{typ: typ, spec: k.Spec, status: k.Status, name: "metadata.name", labels: "metadata.labels", at: "spec"}
	if typ.Beside {
		h.spec, h.at = Raw{d, rest, d.Root, "", 0}, ""
	}
	h.mesh = h.labels.Key(api.LabelMesh)
	d.meshBeside(typ, &k)
	h.object = api.Object{Ref: api.Ref{Kind: typ.Name, Namespace: k.Metadata.Namespace, Name: k.Metadata.Name}, Labels: k.Metadata.Labels, DeprecatedVersion: deprecated}
	if !typ.Global {
		h.object.Mesh = k.Metadata.Labels[api.LabelMesh]
		h.explicit = h.object.Mesh != ""
		if h.object.Namespace == "" && !typ.Unscoped {
			h.object.Namespace = "default"
		}
	}
	if k.Metadata.CreationTimestamp != nil {
		h.object.Created = *k.Metadata.CreationTimestamp
	}
	h.object.Meta = k.Metadata.kept(&typ)
	return h
}

// meshBeside reads the mesh of a document that names it beside its spec, as if it were
// the label, which may not say something else.
func (d *decoder) meshBeside(typ api.Type, k *kubernetes) {
	labels, label := k.Metadata.Labels, k.Metadata.Labels[api.LabelMesh]
	switch key := d.locateNode("mesh"); {
	case k.Mesh == "":
	case !typ.MeshBeside && (typ.Custom == nil || !typ.Custom.InMesh):
		v := api.Path("mesh").Breaks("unknown field; a %s names its mesh by the label %s", typ.Name, api.LabelMesh)
		v.Code = "UnknownField"
		d.report(key, v)
	case label != "" && label != k.Mesh:
		d.report(key, api.Path("mesh").Breaks("%q contradicts the label %s, which is %q; make them equal, or remove one", redact.Clip(k.Mesh), api.LabelMesh, redact.Clip(label)))
	case label == "":
		k.Metadata.Labels = maps.Clone(labels)
		if k.Metadata.Labels == nil {
			k.Metadata.Labels = map[string]string{}
		}
		k.Metadata.Labels[api.LabelMesh] = k.Mesh
	}
}

// locateNode is the node that marks the place of path.
func (d *decoder) locateNode(path api.Path) *yaml.Node {
	at, _ := syntax.Walk(d.Root, path)
	return at
}
