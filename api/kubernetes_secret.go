package api

import (
	"maps"
	"regexp"
	"slices"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api/redact"
)

// Secret is what a Secret of Kubernetes holds (spec/contract.md 3). Kuma's document of that
// type, MeshSecret, is one without a namespace and with a single value.
type Secret struct {
	Type string `json:"type,omitempty"` // Opaque (default), kubernetes.io/tls
	// Data are the values by their names.
	Data map[string]redact.Material `json:"data,omitempty"`
	// StringData are values in plain text, which become part of Data.
	StringData map[string]string `json:"stringData,omitempty"`
	Immutable  *bool             `json:"immutable,omitempty"`
	// Assumed says that the Secret is elsewhere and taken for one with a certificate.
	Assumed bool `json:"-"`
}

// AssumedSecret is a Secret that is elsewhere: it is taken for one with a certificate, and shows
// none.
func AssumedSecret(ref Ref) *Object {
	return &Object{Ref: ref, Spec: &Secret{Type: SecretTLS, Assumed: true}}
}

// The types of a Secret that weft takes, and the names of what is in one for TLS.
const (
	SecretOpaque  = "Opaque"
	SecretTLS     = "kubernetes.io/tls"
	SecretMesh    = "system.kuma.io/secret" // of a mesh, as Kuma keeps it in a cluster
	SecretTLSCert = "tls.crt"
	SecretTLSKey  = "tls.key"
)

// maxSecret is how many bytes a Secret holds at most, as in Kubernetes.
const maxSecret = 1 << 20

var secretKey = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)

// Default makes what was written in plain text part of the data.
func (s *Secret) Default() {
	if len(s.StringData) == 0 {
		return
	}
	all := maps.Clone(s.Data)
	if all == nil {
		all = map[string]redact.Material{}
	}
	for k, v := range s.StringData {
		all[k] = redact.NewMaterial([]byte(v))
	}
	s.Data, s.StringData = all, nil
}

// Validate checks a Secret. Its messages quote nothing of the values.
func (s *Secret) Validate(at Path) error {
	var errs *multierror.Error
	if s.Type != "" && s.Type != SecretOpaque && s.Type != SecretTLS && s.Type != SecretMesh {
		errs = multierror.Append(errs, at.Field("type").Breaks("weft reads Secrets of type %s and %s only; write one of them, or remove the document", SecretTLS, SecretOpaque))
	}
	size := 0
	for _, k := range slices.Sorted(maps.Keys(s.Data)) {
		if !secretKey.MatchString(k) {
			errs = multierror.Append(errs, at.Field("data").Key(redact.Clip(k)).Breaks("is no name of a value; use letters, digits and - _ ., at most 253"))
		}
		plain, _ := s.Data[k].Bytes()
		size += len(plain)
	}
	if size > maxSecret {
		errs = multierror.Append(errs, at.Field("data").Breaks("holds %d bytes; at most %d are allowed", size, maxSecret))
	}
	if s.Type == SecretTLS {
		if wrong := s.wrongPair(); wrong != nil {
			errs = multierror.Append(errs, at.Field("data").Key(wrong.Key).Breaks("%s", wrong.Message))
		}
	}
	return errs.ErrorOrNil()
}

// Resolved reports whether the Secret holds all of its material itself.
func (s *Secret) Resolved() bool {
	for _, m := range s.Data {
		if m.Name() != "" {
			return false
		}
	}
	return true
}

// Keep is s with the material of before in place of what stands for it, as before was
// shown; and the names of what stands for nothing that before has, sorted.
func (s *Secret) Keep(before *Secret) (kept *Secret, unknown []string) {
	if s.Resolved() {
		return s, nil
	}
	out := *s
	out.Data = maps.Clone(s.Data)
	for _, k := range slices.Sorted(maps.Keys(s.Data)) {
		if s.Data[k].Name() == "" {
			continue
		}
		had, ok := redact.Material{}, false
		if before != nil {
			had, ok = before.Data[k]
		}
		if !ok || had.Name() != "" || had.Shown() != s.Data[k].Name() {
			unknown = append(unknown, k)
			continue
		}
		out.Data[k] = had
	}
	return &out, unknown
}
