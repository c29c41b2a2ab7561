package api

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api/redact"
)

// SecureDataSource is where a value is that should not stand in a document: the block that
// its type names.
type SecureDataSource struct {
	Type           string        `json:"type,omitempty" schema:"required,enum=File|Secret|EnvVar|InsecureInline"`
	File           *FileSource   `json:"file,omitempty"`
	SecretRef      *SecretSource `json:"secretRef,omitempty"`
	EnvVar         *EnvSource    `json:"envVar,omitempty"`
	InsecureInline *InlineSource `json:"insecureInline,omitempty"`
}

// SecretName is the Secret that holds the value; empty where it is elsewhere.
func (s *SecureDataSource) SecretName() string {
	if s == nil || s.SecretRef == nil {
		return ""
	}
	return s.SecretRef.Name
}

// FileSource is a file of the control plane's host.
type FileSource struct {
	Path string `json:"path,omitempty" schema:"required"`
}

// SecretSource is a Secret of the mesh.
type SecretSource struct {
	Kind string `json:"kind,omitempty" schema:"enum=Secret"`
	Name string `json:"name,omitempty" schema:"required"`
}

// EnvSource is a variable of the control plane's environment.
type EnvSource struct {
	Name string `json:"name,omitempty" schema:"required"`
}

// InlineSource is the value itself, for tries.
type InlineSource struct {
	Value string `json:"value,omitempty" schema:"required,length=262144"`
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// validate checks a source; of a secret one no message quotes the value.
func (s *SecureDataSource) validate(at Path, secret bool) error {
	if s == nil {
		return broken(at, errNoSource)
	}
	var errs *multierror.Error
	types, fields := []string{"File", "Secret", "EnvVar", "InsecureInline"}, []string{"file", "secretRef", "envVar", "insecureInline"}
	given := []bool{s.File != nil, s.SecretRef != nil, s.EnvVar != nil, s.InsecureInline != nil}
	known := false
	for i, t := range types {
		known = known || t == s.Type
		switch {
		case t == s.Type && !given[i]:
			errs = multierror.Append(errs, at.Field(fields[i]).Breaks("is missing; the value has type %s", t))
		case t != s.Type && given[i]:
			errs = multierror.Append(errs, at.Field(fields[i]).Breaks("belongs to a value of type %s; remove it, or change the type", t))
		}
	}
	if !known {
		errs = multierror.Append(errs, at.Field("type").OneOf(s.Type, types...))
	}
	return multierror.Append(errs, s.blocks(at, secret)).ErrorOrNil()
}

func (s *SecureDataSource) blocks(at Path, secret bool) error {
	var errs *multierror.Error
	if s.File != nil {
		errs = multierror.Append(errs, validateFile(at.Field("file").Field("path"), s.File.Path))
	}
	if r := s.SecretRef; r != nil {
		errs = multierror.Append(errs, validateWord(at.Field("secretRef").Field("kind"), r.Kind, KindSecret))
		if r.Name == "" {
			errs = multierror.Append(errs, at.Field("secretRef").Field("name").Breaks("is missing; write the name of a Secret of the mesh"))
		} else {
			errs = multierror.Append(errs, validateSecretName(at.Field("secretRef").Field("name"), r.Name))
		}
	}
	if e := s.EnvVar; e != nil && !envName.MatchString(e.Name) {
		errs = multierror.Append(errs, at.Field("envVar").Field("name").Breaks("%q is no name of a variable; use letters, digits and _", redact.Clip(e.Name)))
	}
	if i := s.InsecureInline; i != nil {
		here := at.Field("insecureInline").Field("value")
		switch {
		case i.Value == "":
			errs = multierror.Append(errs, here.Breaks("is missing; write the PEM text"))
		case i.Value == Hidden:
			errs = multierror.Append(errs, hidden(here))
		case secret:
			errs = multierror.Append(errs, here.Warns(CodePlainKey, "the key stands in the document, where all may read it who may read that; put it into a Secret, and name that by secretRef"))
		}
	}
	return errs.ErrorOrNil()
}

var secretName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)

// validateSecretName wants a name, and quotes nothing: who takes the field for the value writes the
// key itself.
func validateSecretName(at Path, name string) error {
	if secretName.MatchString(name) && !redact.LooksSecret(name) {
		return nil
	}
	return at.Breaks("is no name of a Secret; put the value into a Secret of the mesh, and write the name of that")
}

// validateFile wants a path that says where the file is by itself. Below which directory it
// has to be is the control plane's to say.
func validateFile(at Path, file string) error {
	if file == "" {
		return at.Breaks("is missing; write the path of a file")
	}
	if !strings.HasPrefix(file, "/") || path.Clean(file) != file {
		return at.Breaks("%q is not an absolute path without . and ..; write one such as /etc/weft/ca.pem", redact.Clip(file))
	}
	return nil
}

// Redacted hides what stands inline.
func (m *MeshIdentity) Redacted() Spec {
	if m.Provider == nil || m.Provider.Bundled == nil || m.Provider.Bundled.CA == nil {
		return m
	}
	shown, provider, bundled, ca := *m, *m.Provider, *m.Provider.Bundled, *m.Provider.Bundled.CA
	ca.PrivateKey = ca.PrivateKey.redacted()
	bundled.CA, provider.Bundled, shown.Provider = &ca, &bundled, &provider
	return &shown
}

func (s *SecureDataSource) redacted() *SecureDataSource {
	if s == nil || s.InsecureInline == nil {
		return s
	}
	out := *s
	out.InsecureInline = &InlineSource{Value: Hidden}
	return &out
}

// MayHoldKeys reports whether what stands at a path of a document of a kind is material, which is
// hidden from readers (Redacted) where it is secret.
func MayHoldKeys(kind string, at Path) bool {
	path := string(at)
	switch kind {
	case KindMesh, KindMeshGateway:
		return strings.HasSuffix(path, ".inline") || strings.HasSuffix(path, ".inlineString")
	case KindMeshExternalService:
		_, field, _ := strings.Cut(path, ".clientKey.")
		return slices.Contains([]string{"inline", "inlineString", "insecureInline.value"}, field)
	case KindMeshIdentity:
		return strings.HasSuffix(path, ".privateKey.insecureInline.value")
	}
	return false
}
