// Package hostname makes the names of services by the templates of HostnameGenerators
// (spec/kubernetes.md 3.9).
package hostname

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/weftmesh/weft/api/template"
)

// longest is how many characters a name has at most, and longestLabel each part of it
// (RFC 1035, 2.3.4).
const (
	longest      = 253
	longestLabel = 63
)

// A part of a name begins with an underscore in records of services, never in hosts.
var valid = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// Template is one that was read.
type Template struct{ read *template.Template }

// Service is what a template may ask of a service.
type Service struct {
	DisplayName, Name, Namespace, Zone string

	// Label is the label under key; not ok where there is none.
	Label func(key string) (value string, ok bool)
}

// Parse reads a template.
func Parse(text string) (*Template, error) {
	t, err := template.Parse(text, "DisplayName", "Name", "Namespace", "Zone")
	if err != nil {
		return nil, err
	}
	return &Template{t}, nil
}

// Name is what a template makes of a service: a name of DNS, in lower case. An error says
// what the service lacks, or what is no name.
func (t *Template) Name(s Service) (string, error) {
	text, err := t.read.Text(template.Input{
		Of:     "the service",
		Fields: map[string]string{"DisplayName": s.DisplayName, "Name": s.Name, "Namespace": s.Namespace, "Zone": s.Zone},
		Label:  s.Label,
	}, longest)
	if err != nil {
		return "", err
	}
	name := strings.ToLower(text)
	if err := check(name); err != nil {
		return "", err
	}
	return name, nil
}

// check says why a text is no name of DNS.
func check(name string) error {
	if _, err := netip.ParseAddr(name); err == nil || !valid.MatchString(name) {
		return fmt.Errorf("it makes %q, which is no host name", template.Clip(name))
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > longestLabel {
			return fmt.Errorf("it makes %q, in which a part has more than %d characters", template.Clip(name), longestLabel)
		}
	}
	return nil
}
