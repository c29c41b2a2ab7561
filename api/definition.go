package api

// Definition is what the CustomResourceDefinition of a type says beside the schema
// of its documents (spec/kubernetes.md 1).
type Definition struct {
	// With is the name by which `weft install crds --with` prints the definition, which
	// another project publishes too; one of weft's own has none and is always printed.
	With string
	// Short are short names beside that of the type.
	Short []string
	// Categories are the words by which `kubectl get` lists several kinds at once.
	Categories []string
	// Columns are those that `kubectl get` prints between name and age.
	Columns []Column
	// Status is a value of the Go type of the status, as weft writes it.
	Status any
	// Annotated says that the definition which others publish has no conditions in its
	// status, though weft's has: there they stand in an annotation.
	Annotated bool
	// Open keeps unknown fields of the spec, so that they reach the webhook, which
	// names them. All others are pruned before any webhook sees the document.
	Open bool
	// Longer marks a kind whose lists and texts may be as long as a document may
	// hold: those of other projects, which bound neither, and those that have no rule
	// whose cost grows with them.
	Longer bool
	// Namespaced says of a kind outside of meshes that in Kubernetes it is in a namespace.
	Namespaced bool
	// InMesh says that documents may name their mesh beside the spec.
	InMesh bool
}

// Column is a column of `kubectl get`: a title, string or integer, and where in the
// document the value is.
type Column struct{ Name, Type, Path string }

// ValidationRule is a condition on a value that one document says by itself. Test is in CEL,
// the language of Kubernetes for it, where self is the value. It never refuses what
// Validate accepts: validation has the last word, the rule says the same where no
// webhook is asked.
type ValidationRule struct {
	Test    string `json:"rule"`
	Message string `json:"message"`             // what is wrong; what to do
	Field   string `json:"fieldPath,omitempty"` // below the value, where the message belongs; empty for the value itself
}

// The bounds of lists, texts and maps of custom resources, where a field has no bound
// of its own. API servers count what a rule may cost at most by them.
const (
	MaxItems   = 256
	MaxLength  = 1024
	MaxEntries = 1000
)

// The same for kinds that are Longer: what one document holds.
const (
	LongerItems  = 10_000
	LongerLength = 1 << 20
)

// Bounds are how many items a list of a document of the type may have, and how many
// characters a text, where its field says nothing else.
func (t *Type) Bounds() (items, length int) {
	if t.Custom == nil || t.Custom.Longer {
		return LongerItems, LongerLength
	}
	return MaxItems, MaxLength
}

// kumaCategories are those of the kinds of group kuma.io.
var kumaCategories = []string{"kuma", "weft"}

// ReportedDefinition is that of a policy, or of a route of group kuma.io.
func ReportedDefinition() *Definition {
	return &Definition{Categories: kumaCategories, Status: ReportStatus{}, Columns: []Column{
		{"Target", "string", ".spec.targetRef.kind"},
		{"Accepted", "string", `.status.conditions[?(@.type=="Accepted")].status`},
		{"Programmed", "string", `.status.conditions[?(@.type=="Programmed")].status`},
		{"Dataplanes", "integer", ".status.dataplanes.total"},
	}}
}

// ReportStatus is the status of a policy or route in Kubernetes, in the form of weft.
type ReportStatus struct {
	ObservedGeneration int64             `json:"observedGeneration,omitempty" schema:"min=0"`
	Conditions         []StatusCondition `json:"conditions,omitempty" schema:"items=16,map=type"`
	Dataplanes         *DataplaneCounts  `json:"dataplanes,omitempty"`
}

// DataplaneCounts are how many dataplanes an object selects, how many of them have
// applied it, and how many refused it.
type DataplaneCounts struct {
	Total    uint32 `json:"total"`
	Applied  uint32 `json:"applied"`
	Rejected uint32 `json:"rejected"`
}

// StatusCondition is a condition as Kubernetes has them.
type StatusCondition struct {
	Type               string `json:"type" schema:"required,length=316"`
	Status             string `json:"status" schema:"required,enum=True|False|Unknown"`
	Reason             string `json:"reason" schema:"required"`
	Message            string `json:"message" schema:"required,length=32768"`
	LastTransitionTime string `json:"lastTransitionTime" schema:"required,is=time"`
	ObservedGeneration int64  `json:"observedGeneration,omitempty" schema:"min=0"`
}

// openDefinition is that of the older kinds, of which weft carries a part.
func openDefinition(inMesh bool) *Definition {
	d := &Definition{Categories: kumaCategories, Status: ReportStatus{}, Open: true, Longer: true, InMesh: inMesh}
	if inMesh {
		d.Columns = []Column{{"Address", "string", ".spec.networking.address"}, {"Ready", "string", `.status.conditions[?(@.type=="Ready")].status`}}
	} else {
		d.Columns = []Column{{"mTLS", "string", ".spec.mtls.enabledBackend"}, {"Accepted", "string", `.status.conditions[?(@.type=="Accepted")].status`}}
	}
	return d
}

// serviceDefinition is that of the kinds of services.
func serviceDefinition() *Definition {
	return &Definition{Categories: kumaCategories, Status: ServiceReport{}, Columns: []Column{
		{"Hostname", "string", ".status.addresses[0].hostname"},
		{"VIP", "string", ".status.vips[0].ip"},
		{"Ready", "integer", ".status.dataplaneProxies.healthy"},
	}}
}

// generatorDefinition is that of HostnameGenerator.
func generatorDefinition() *Definition {
	return &Definition{Categories: kumaCategories, Namespaced: true, Status: GeneratorStatus{}, Columns: []Column{
		{"Template", "string", ".spec.template"},
		{"Services", "integer", ".status.services.named"},
		{"Generated", "string", `.status.conditions[?(@.type=="Generated")].status`},
	}}
}

// GeneratorStatus is the status of a HostnameGenerator in Kubernetes.
type GeneratorStatus struct {
	ObservedGeneration int64             `json:"observedGeneration,omitempty" schema:"min=0"`
	Conditions         []StatusCondition `json:"conditions,omitempty" schema:"items=16,map=type"`
	Services           *NameCounts       `json:"services,omitempty"`
}

// NameCounts are how many services a generator selects, and how many of them have the name
// that it makes.
type NameCounts struct {
	Total uint32 `json:"total"`
	Named uint32 `json:"named"`
}

// ServiceReport is the whole status of a service: what weft writes, and what Kuma does.
type ServiceReport struct {
	ObservedGeneration int64             `json:"observedGeneration,omitempty" schema:"min=0"`
	Conditions         []StatusCondition `json:"conditions,omitempty" schema:"items=16,map=type"`
	Addresses          []ServiceAddress  `json:"addresses,omitempty"`
	VIPs               []VIP             `json:"vips,omitempty"`
	TLS                *TLSReport        `json:"tls,omitempty"`
	HostnameGenerators []GeneratorReport `json:"hostnameGenerators,omitempty"`
	DataplaneProxies   *ProxyCounts      `json:"dataplaneProxies,omitempty"`
	MeshServices       []MatchedService  `json:"meshServices,omitempty"`
}

// TLSReport says whether a service is called by TLS alone.
type TLSReport struct {
	Status string `json:"status,omitempty" schema:"enum=Ready|NotReady"`
}

// GeneratorReport says what became of a generator at a service.
type GeneratorReport struct {
	HostnameGeneratorRef CoreName          `json:"hostnameGeneratorRef"`
	Conditions           []StatusCondition `json:"conditions,omitempty" schema:"items=16,map=type"`
}

// ProxyCounts are the dataplanes behind a service.
type ProxyCounts struct {
	Connected uint32 `json:"connected,omitempty"`
	Healthy   uint32 `json:"healthy,omitempty"`
	Total     uint32 `json:"total,omitempty"`
}

// MatchedService is a MeshService that a MeshMultiZoneService stands for. All of it is always written:
// Kuma's clients refuse a document that lacks a part, also an empty one.
type MatchedService struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Zone      string `json:"zone"`
	Mesh      string `json:"mesh"`
}

// NameRule is that of documents of a type with a DNSLabel. It stands at the document,
// and sees of its metadata the name alone.
var NameRule = ValidationRule{Test: "size(self.metadata.name) <= 63 && self.metadata.name.matches(r'" + dnsLabel.String() + "')",
	Message: "the name is no label of RFC 1035; use lower-case letters, digits and -, beginning with a letter, at most 63"}
