package api

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Spec is the typed body of a document.
type Spec interface {
	// Validate reports every mistake below at, not the first: nil, or a
	// *multierror.Error of *Violation. It looks at nothing but the value.
	Validate(at Path) error
}

// ObjectValidator is a Spec whose soundness depends on where its object lives
// too, or on which kinds there are. It is asked beside Validate, with the object
// as far as it is decoded.
type ObjectValidator interface {
	ValidateObject(o *Object, c *Catalog, at Path) error
}

// Defaulter fills in the defaults of a spec after it was decoded and before it
// is validated: they become part of the object.
type Defaulter interface{ Default() }

// Object is one accepted document. It is immutable.
type Object struct {
	Ref
	Labels   map[string]string
	Spec     Spec
	Status   any // typed where the Type has NewStatus, else nil
	Created  time.Time
	Modified time.Time
	Source   Source
	// DeprecatedVersion is the apiVersion of the document, where it is one of those that its Type
	// still reads; empty of today's.
	DeprecatedVersion string
	// Revision is that of the store at which the object last changed what it says,
	// zero where no store has it.
	Revision uint64
	// Meta is what else the metadata says; nil where there is nothing, and of kinds that
	// do without (Type.Meta).
	Meta *Meta
	// From is the object that this one follows from; nil of what somebody wrote.
	From *Ref
	// ResourceVersion and Generation are those of the object at the API server that it was
	// read from; empty and zero elsewhere. The first changes with everything that is
	// written, the second with what the document asks for.
	ResourceVersion string
	Generation      int64
	// InSystemNamespace says that HomeNamespace is one of the system namespaces of the catalogue
	// that the object was decoded by.
	InSystemNamespace bool
	// Adjusted says that labels or status are not those of the source's text.
	Adjusted bool
	// Owner is set by who stores the object, never by what a document or a
	// request says.
	Owner Owner
	// Proof is what the credential of the sidecar binds that brought the object along; nil where
	// nobody was asked for one. It is set and kept as Owner is.
	Proof *Proof
}

// Owner says who keeps an object, and so who may take it away again unasked:
// nobody removes what another has taken over.
type Owner uint8

// The owners.
const (
	User      Owner = iota // whoever writes through the API; the control plane's own defaults too
	Directory              // the directory of --dir: the object goes when its file no longer says it
	Ephemeral              // the object's own sidecar: it goes when its sidecar is gone
)

// Source remembers the text that an object was decoded from, so that later
// findings can still name a line.
type Source struct {
	File string
	Line int    // of the document's first line in File, 1-based
	Text []byte // the document alone, YAML or JSON
	// Item is where in Text the document stands when Text is a list of several.
	Item Path
}

// DisplayName is the name that people gave the object.
func (o *Object) DisplayName() string {
	if n := o.Labels[LabelDisplayName]; n != "" {
		return n
	}
	return o.Name
}

// HomeNamespace is the namespace that the object belongs to, empty outside Kubernetes. Where it is in one,
// no label says another: the label is for documents that come from a cluster without being in one.
func (o *Object) HomeNamespace() string { return cmp.Or(o.Namespace, o.Labels[LabelNamespace]) }

// Home is where the object lives, and whether the mesh's operators write there.
func (o *Object) Home() Home {
	n := o.HomeNamespace()
	return Home{Namespace: n, System: n == "" || o.InSystemNamespace}
}

// Shadow reports whether the object only takes part in previews (label kuma.io/effect).
func (o *Object) Shadow() bool { return o.Labels[LabelEffect] == "shadow" }

// IsDefault reports whether weft made the object with its mesh (label
// weft.io/default): it is weaker than everything that people write.
func (o *Object) IsDefault() bool { return o.Labels[LabelDefault] == "true" }

// MarkDefault is o with the label weft.io/default, or without it.
func (o *Object) MarkDefault(on bool) *Object {
	if _, has := o.Labels[LabelDefault]; has == on {
		return o
	}
	c := *o
	if c.Labels = maps.Clone(o.Labels); c.Labels == nil {
		c.Labels = map[string]string{}
	}
	if on {
		c.Labels[LabelDefault] = "true"
	} else {
		delete(c.Labels, LabelDefault)
	}
	return &c
}

// Type describes one kind of document.
type Type struct {
	Name string // MeshRetry
	// Group and Version are those of the kind in Kubernetes; empty is Kuma's.
	Group, Version string
	// Deprecated are versions of the group that documents may still say; each is a warning.
	Deprecated []string
	// Removed are versions, with their groups, whose documents have other fields: they are
	// refused, and `weft convert` rewrites them. Rewrite makes of such a document, as the
	// values of JSON, those that say the same today.
	Removed []string
	Rewrite func(doc map[string]any) []map[string]any
	// Served are other versions of the group that a document may say: they have
	// the same fields.
	Served []string
	Plural string // meshretries: its REST path
	Short  string // mr: its name in a KRI and on the command line
	Global bool   // not in a mesh
	// Unscoped marks what has no namespace in Kubernetes, though it is in a mesh.
	Unscoped bool
	// DNSLabel wants names that are RFC 1035 labels, else RFC 1123 subdomains.
	DNSLabel bool
	// Flat marks the older kinds whose fields stand beside name instead of under spec.
	Flat bool
	// Beside marks a Bare kind whose fields stand beside metadata in Kubernetes too.
	Beside bool
	// Policy and Route mark what GET /_resources tells of a kind.
	Policy, Route bool
	// Reported marks what has a status of its own beside policies and routes.
	Reported bool
	// Attach marks routes that policies may target.
	Attach bool
	// Tolerant makes unknown fields warnings: of documents that other programs read
	// too, of which weft carries a part. Parts that decode themselves may stay strict.
	Tolerant bool
	// Narrowing names the fields of which each part lets an object take or allow less: one
	// that weft lacks is a mistake there, also in what an API server has validated, because
	// without it the object would take or allow more. Empty for types of weft's own.
	Narrowing []string
	// Secret marks what holds material that nobody may see: its documents have the
	// envelope of Kubernetes alone, and what they say is kept without their text.
	Secret bool
	// Cluster marks what only Kubernetes has: its documents have the envelope of Kubernetes
	// alone, and fields that weft does not read are left out without a word.
	Cluster bool
	// Meta keeps what Meta holds of the metadata. Annotations are kept beside those of
	// IsOwnAnnotation, and of other types alone.
	Meta        bool
	Annotations []Annotation
	New         func() Spec
	NewStatus   func() any // nil where the kind has no status that weft reads
	// MeshBeside says that Kuma's documents of the kind may name their mesh beside the spec, as those of
	// which Custom says so.
	MeshBeside bool
	// Custom is what the kind is in Kubernetes; nil where weft defines it not.
	Custom *Definition
}

// HasStatus reports whether weft says of objects of the type how they fare, as their status in a cluster.
func (t Type) HasStatus() bool {
	return t.Policy || t.Route || t.Reported || t.NewStatus != nil || t.Name == KindMesh || t.Name == KindHostnameGenerator
}

// kumaGroup is the group of the kinds that name none.
const kumaGroup = "kuma.io"

// CoreGroup stands for the group of Kubernetes that has no name.
const CoreGroup = "core"

// APIVersion is what Kubernetes documents of the type say: group/version.
func (t *Type) APIVersion() string { return t.In(cmp.Or(t.Version, "v1alpha1")) }

// In is the apiVersion of a version of the type's group.
func (t *Type) In(version string) string {
	if t.Group == CoreGroup {
		return version
	}
	return cmp.Or(t.Group, kumaGroup) + "/" + version
}

// Reads reports whether a Kubernetes document may say that it is of apiVersion.
func (t *Type) Reads(apiVersion string) bool {
	return apiVersion == t.APIVersion() || slices.ContainsFunc(t.Served, func(v string) bool { return apiVersion == t.In(v) })
}
