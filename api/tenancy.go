package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"

	"github.com/weftmesh/weft/api/redact"
)

// Tenancy says which namespaces share a mesh, and what each of them has of it. What a nil one
// says is what holds in a mesh that says nothing. Namespaces may be named with * in them, for
// any characters. What lives in a system namespace, or in none, is never kept out.
type Tenancy struct {
	// Namespaces are those whose dataplanes, services, routes and policies take part; nil: all.
	Namespaces *[]string `json:"namespaces,omitempty"`
	// Edges are the namespaces whose edge dataplanes may show certificates of other namespaces.
	Edges []string      `json:"edges,omitempty"`
	Hosts *TenancyHosts `json:"hosts,omitempty"`
	// IngressClasses are the classes of routes that are served, beside those without a class;
	// nil: all.
	IngressClasses *[]string `json:"ingressClasses,omitempty"`
}

// TenancyHosts says whose hosts act where.
type TenancyHosts struct {
	Mode   string      `json:"mode,omitempty" schema:"enum=Open|Owned,default=Open"`
	Grants []HostGrant `json:"grants,omitempty"`
}

// HostGrant lets routes of some namespaces serve hosts everywhere in the mesh.
type HostGrant struct {
	Namespaces []string `json:"namespaces,omitempty" schema:"required,least=1"`
	Hosts      []string `json:"hosts,omitempty" schema:"required,least=1"` // a name, *. and one for all below it, or *
}

// The modes of TenancyHosts.
const (
	HostsOpen  = "Open"  // a host acts on every dataplane, whoever writes it
	HostsOwned = "Owned" // it acts on dataplanes of its own namespace, and on others by a grant
)

// TenancyOf is what a Mesh says of its tenants; nil where there is none, or it says nothing.
func TenancyOf(mesh *Object) *Tenancy {
	if mesh == nil {
		return nil
	}
	if m, ok := mesh.Spec.(*Mesh); ok {
		return m.Tenancy
	}
	return nil
}

// ParseTenancy reads one in JSON, in which an empty list is one that is not there; nil where it
// says nothing.
func ParseTenancy(text []byte) (*Tenancy, error) {
	t := new(Tenancy)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(t); err != nil {
		return nil, err
	}
	for _, list := range []**[]string{&t.Namespaces, &t.IngressClasses} {
		if *list != nil && len(**list) == 0 {
			*list = nil
		}
	}
	if t.Hosts != nil && t.Hosts.Mode == "" && len(t.Hosts.Grants) == 0 {
		t.Hosts = nil
	}
	if t.Namespaces == nil && len(t.Edges) == 0 && t.Hosts == nil && t.IngressClasses == nil {
		return nil, nil
	}
	return t, nil
}

// Admits reports whether what lives in a namespace takes part in the mesh.
func (t *Tenancy) Admits(home Home) bool {
	return t == nil || t.Namespaces == nil || home.System || matchesOne(*t.Namespaces, home.Namespace)
}

// ShowsForeign reports whether edge dataplanes of a namespace may show certificates of others.
func (t *Tenancy) ShowsForeign(home Home) bool {
	return home.System || t != nil && matchesOne(t.Edges, home.Namespace)
}

// HostsOwned reports whether hosts act in their own namespace alone.
func (t *Tenancy) HostsOwned() bool { return t != nil && t.Hosts != nil && t.Hosts.Mode == HostsOwned }

// Owns reports whether a host that an object of a namespace claims acts on dataplanes of that
// namespace alone.
func (t *Tenancy) Owns(home Home, host string) bool {
	return t.HostsOwned() && !home.System && !t.grants(home.Namespace, host)
}

// grants reports whether a namespace has the host by a grant: all hosts that it stands for.
func (t *Tenancy) grants(namespace, host string) bool {
	host = strings.ToLower(host)
	return slices.ContainsFunc(t.Hosts.Grants, func(g HostGrant) bool {
		return matchesOne(g.Namespaces, namespace) && slices.ContainsFunc(g.Hosts, func(name string) bool {
			return HostCovers(strings.ToLower(name), host)
		})
	})
}

// ServesClass reports whether routes of a class are served; without one they are.
func (t *Tenancy) ServesClass(class string) bool {
	return class == "" || t == nil || t.IngressClasses == nil || slices.Contains(*t.IngressClasses, class)
}

func matchesOne(globs []string, namespace string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, err := path.Match(glob, namespace)
		return ok && err == nil
	})
}

var (
	namespaceGlob = regexp.MustCompile(`^[-a-z0-9*]{1,63}$`)
	className     = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$`)
)

// mostTenancy bounds each list.
const mostTenancy = 1000

// Validate reports every mistake below at.
func (t *Tenancy) Validate(at Path) error {
	if t == nil {
		return nil
	}
	var errs *multierror.Error
	if t.Namespaces != nil {
		errs = multierror.Append(errs, validateGlobs(at.Field("namespaces"), *t.Namespaces))
		if len(*t.Namespaces) == 0 {
			errs = multierror.Append(errs, at.Field("namespaces").Warns("NoNamespaces", "is empty, so only system namespaces take part in the mesh; leave it out to admit all, or name some"))
		}
	}
	errs = multierror.Append(errs, validateGlobs(at.Field("edges"), t.Edges))
	if t.Hosts != nil {
		errs = multierror.Append(errs, t.Hosts.validate(at.Field("hosts")))
	}
	if t.IngressClasses != nil {
		errs = multierror.Append(errs, tooMany(at.Field("ingressClasses"), len(*t.IngressClasses)))
		for i, class := range *t.IngressClasses {
			if !className.MatchString(class) || len(class) > 253 {
				errs = multierror.Append(errs, at.Field("ingressClasses").Index(i).Breaks("%q is no name of an ingress class; write it as routes do in ingressClassName, such as weft", redact.Clip(class)))
			}
		}
	}
	return errs.ErrorOrNil()
}

func (h *TenancyHosts) validate(at Path) error {
	var errs *multierror.Error
	if mode := cmp.Or(h.Mode, HostsOpen); mode != HostsOpen && mode != HostsOwned {
		errs = multierror.Append(errs, at.Field("mode").OneOf(h.Mode, HostsOpen, HostsOwned))
	} else if len(h.Grants) > 0 && mode == HostsOpen {
		errs = multierror.Append(errs, at.Field("grants").Warns(CodeNoEffect, "have no effect in mode Open, in which every host acts everywhere; write mode: Owned"))
	}
	errs = multierror.Append(errs, tooMany(at.Field("grants"), len(h.Grants)))
	for i := range h.Grants {
		g, here := &h.Grants[i], at.Field("grants").Index(i)
		for _, list := range []struct {
			name string
			have []string
		}{{"namespaces", g.Namespaces}, {"hosts", g.Hosts}} {
			if len(list.have) == 0 {
				errs = multierror.Append(errs, here.Field(list.name).Breaks("are missing; a grant names namespaces and the hosts that they have"))
			}
		}
		errs = multierror.Append(errs, validateGlobs(here.Field("namespaces"), g.Namespaces), tooMany(here.Field("hosts"), len(g.Hosts)))
		for n, host := range g.Hosts {
			if why := validateGrantedHost(here.Field("hosts").Index(n), host); why != nil {
				errs = multierror.Append(errs, why)
			}
		}
	}
	return errs.ErrorOrNil()
}

// validateGrantedHost wants a name, *. and one, or * alone.
func validateGrantedHost(at Path, host string) error {
	name, below := strings.CutPrefix(host, "*.")
	if host == AnyHost || ValidateHostname(at, name) == nil && (below || !strings.Contains(name, "*")) {
		return nil
	}
	return at.Breaks("%q is no host; write a name in lower case such as shop.example.com, *.example.com for all below one, or * for all", redact.Clip(host))
}

func validateGlobs(at Path, globs []string) error {
	errs := multierror.Append(nil, tooMany(at, len(globs)))
	for i, glob := range globs {
		if !namespaceGlob.MatchString(glob) {
			errs = multierror.Append(errs, at.Index(i).Breaks("%q is no namespace; write its name, or one with * for any characters, such as team-*", redact.Clip(glob)))
		}
	}
	return errs.ErrorOrNil()
}

func tooMany(at Path, n int) error {
	if n > mostTenancy {
		return at.Breaks("has %d items, and at most %d are read; use * in fewer of them", n, mostTenancy)
	}
	return nil
}
