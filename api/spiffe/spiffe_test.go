package spiffe_test

import (
	"crypto/x509"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api/spiffe"
)

// TestParse: what is an ID and what is none, and what people are told.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"spiffe://default/web":                           "",
		"spiffe://default.east.mesh.local/ns/shop/sa/We": "",
		"spiffe://a_b-c.1":                               "",
		"web":                                            "does not begin with spiffe://",
		"SPIFFE://td/a":                                  "does not begin with",
		"spiffe://":                                      "the trust domain is missing",
		"spiffe:///a":                                    "the trust domain is missing",
		"spiffe://Td/a":                                  "is no trust domain",
		"spiffe://td:80/a":                               "is no trust domain",
		"spiffe://u@td/a":                                "is no trust domain",
		"spiffe://a..b/a":                                "is no trust domain",
		"spiffe://10.0.0.1/a":                            "is an address",
		"spiffe://td/":                                   "has an empty part",
		"spiffe://td/a//b":                               "has an empty part",
		"spiffe://td/a/../b":                             `has a part ".."`,
		"spiffe://td/a/.":                                `has a part "."`,
		"spiffe://td/a%2fb":                              "has other characters",
		"spiffe://td/a b":                                "has other characters",
		"spiffe://td/ä":                                  "has other characters",
		"spiffe://td/a?b":                                "has other characters",
		"spiffe://" + strings.Repeat("a", 254):           "more than 253",
		"spiffe://td/" + strings.Repeat("a", 2048):       "more than 2048",
	} {
		id, err := spiffe.Parse(text)
		if want == "" && (err != nil || id.String() != text) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: %v, %v, want %s", text, id, err, want)
		}
	}
}

// TestPrefixes: what a prefix selects by segment, and by byte.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id, prefix    string
		under, begins bool
	}{
		{"spiffe://td/ns/a", "spiffe://td/ns/a", true, true},
		{"spiffe://td/ns/a/sa/x", "spiffe://td/ns/a", true, true},
		{"spiffe://td/ns/a/sa/x", "spiffe://td/ns/a/", true, true},
		{"spiffe://td/ns/a", "spiffe://td/ns/a/", true, true},
		{"spiffe://td/ns/ab", "spiffe://td/ns/a", false, true},
		{"spiffe://td/ns/ab", "spiffe://td/ns/a/", false, false},
		{"spiffe://td-evil/a", "spiffe://td", false, true},
		{"spiffe://td/frontend-evil", "spiffe://td/frontend", false, true},
		{"spiffe://td", "spiffe://td", true, true},
		{"spiffe://other/ns/a", "spiffe://td/ns/a", false, false},
	} {
		if u, b := spiffe.Under(c.id, c.prefix), spiffe.Begins(c.id, c.prefix); u != c.under || b != c.begins {
			t.Errorf("%s in %s: by segment %v, by byte %v", c.id, c.prefix, u, b)
		}
	}
}

// TestDenyReadsAtLeastWhatAllowReads: whatever a prefix selects for an allow it selects
// for a deny.
func TestDenyReadsAtLeastWhatAllowReads(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`spiffe://[ab]{1,2}(/[ab]{1,2}){0,3}/?`)
	rapid.Check(t, func(t *rapid.T) {
		id, prefix := strings.TrimSuffix(name.Draw(t, "id"), "/"), name.Draw(t, "prefix")
		if spiffe.Under(id, prefix) && !spiffe.Begins(id, prefix) {
			t.Fatalf("%s is under %s and does not begin with it", id, prefix)
		}
	})
}

func read(t testing.TB, domain, path string) (*spiffe.Template, error) {
	t.Helper()
	d, err := spiffe.ParseDomain(domain)
	if err != nil {
		return nil, err
	}
	p, err := spiffe.ParsePath(path)
	if err != nil {
		return nil, err
	}
	return spiffe.NewTemplate(d, p), nil
}

// TestTemplates: what templates make of dataplanes, or why they make nothing.
func TestTemplates(t *testing.T) {
	t.Parallel()
	label := func(key string) (string, bool) {
		value, ok := map[string]string{"team": "blue", "up": "../admin", "crlf": "a\r\nb", "enc": "a%2fb", "none": ""}[key]
		return value, ok
	}
	pod := spiffe.Workload{Mesh: "default", Zone: "east", Namespace: "shop", ServiceAccount: "web", Label: label}
	vm := spiffe.Workload{Mesh: "default", Zone: "east", Workload: "web", Label: label}
	for _, c := range []struct {
		w                  spiffe.Workload
		domain, path, want string
	}{
		{pod, spiffe.DefaultDomain, spiffe.DefaultKubernetesPath, "spiffe://default.east.mesh.local/ns/shop/sa/web"},
		{vm, spiffe.DefaultDomain, spiffe.DefaultUniversalPath, "spiffe://default.east.mesh.local/workload/web"},
		{vm, spiffe.DefaultDomain, spiffe.DefaultKubernetesPath, "path: the dataplane has no Namespace"},
		{pod, "td", `/x/{{ label "team" }}`, "spiffe://td/x/blue"},
		{pod, "td", `/x/{{ label "tem" }}`, "path: the dataplane has no label tem"},
		{pod, "td", `/x/{{ label "up" }}`, `has a part ".."`},
		{pod, "td", `/x/{{ label "crlf" }}`, "has other characters"},
		{pod, "td", `/x/{{ label "enc" }}`, "has other characters"},
		{pod, "td", `/x/{{ label "none" }}`, "has an empty part"},
		{pod, "td", `{{ label "none" }}`, "does not begin with a slash"},
		{pod, "td", "", "it makes nothing"},
		{pod, "10.0.0.1", "/x", "is an address"},
		{pod, "td", "x", "does not begin with a slash"},
		{pod, "td", "/x/", "has an empty part"},
		{pod, `{{ label "up" }}`, "/x", "trustDomain: "},
		{pod, "td", "/{{ .Mesh }}", "has {{.Mesh}}; use {{ .Namespace }}, {{ .ServiceAccount }}, {{ .Workload }} and"},
		{pod, "{{ .Namespace }}", "/x", "has {{.Namespace}}; use {{ .Mesh }}, {{ .Zone }} and"},
		{pod, "td", "/" + strings.Repeat("{{ .Namespace }}", 600), "more than 2048"},
	} {
		tpl, err := read(t, c.domain, c.path)
		got := ""
		if err == nil {
			var id spiffe.ID
			id, err = tpl.ID(c.w)
			got = id.String()
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %.40s: %s, want %s", c.domain, c.path, got, c.want)
		}
	}
}

// FuzzTemplate: whatever stands in templates and labels, it makes a valid ID or none, and
// one that a certificate gives back as it is (threat I15).
func FuzzTemplate(f *testing.F) {
	f.Add(spiffe.DefaultDomain, spiffe.DefaultKubernetesPath, "shop")
	f.Add("{{ .Mesh }}", `/a/{{ label "x" }}`, "../b")
	f.Add("td", `/a/{{ label "x" }}`, "a\r\nb%2f..")
	f.Fuzz(func(t *testing.T, domain, path, value string) {
		tpl, err := read(t, domain, path)
		if err != nil {
			return
		}
		id, err := tpl.ID(spiffe.Workload{Mesh: value, Zone: value, Namespace: value, ServiceAccount: value, Workload: value,
			Label: func(string) (string, bool) { return value, true }})
		if err != nil {
			return
		}
		again, err := spiffe.Parse(id.String())
		u, broken := url.Parse(id.String())
		if err != nil || again != id || broken != nil || u.String() != id.String() || u.Host != id.Domain || len(id.Path) < 2 {
			t.Errorf("%q %q of %q makes %q: %v, %v", domain, path, value, id, err, broken)
		}
	})
}

// TestOfTags: Kuma's names of a dataplane, services first, and what cannot be one.
func TestOfTags(t *testing.T) {
	t.Parallel()
	got, err := spiffe.OfTags("default", map[string][]string{
		"version": {"v1", "v1"}, spiffe.ServiceTag: {"web", "admin", "web"}, "kuma.io/zone": {"east"}, "a": {"b"},
	})
	want := []string{"spiffe://default/admin", "spiffe://default/web",
		"kuma://a/b", "kuma://kuma.io/service/admin", "kuma://kuma.io/service/web", "kuma://kuma.io/zone/east", "kuma://version/v1"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	many := map[string][]string{spiffe.ServiceTag: {"web"}}
	for i := range 64 {
		many["t"] = append(many["t"], strings.Repeat("x", i+1))
	}
	for what, tags := range map[string]map[string][]string{
		"no tag kuma.io/service": {"a": {"b"}},
		"at most 64":             many,
		"make no SPIFFE ID":      {spiffe.ServiceTag: {"a/../b"}},
		"service \"a/b\"":        {spiffe.ServiceTag: {"a/b"}},
		"the tag x":              {spiffe.ServiceTag: {"a"}, "x": {"a b"}},
		"the tag a..b":           {spiffe.ServiceTag: {"a"}, "a..b": {"c"}},
		"the tag u@h":            {spiffe.ServiceTag: {"a"}, "u@h": {"c"}},
		"the tag q":              {spiffe.ServiceTag: {"a"}, "q": {"c?d"}},
	} {
		if out, err := spiffe.OfTags("default", tags); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v, %v", what, out, err)
		}
	}
}

// FuzzOfTags: what is made of tags stands in a certificate as it is.
func FuzzOfTags(f *testing.F) {
	f.Add("default", "web", "kuma.io/zone", "east")
	f.Fuzz(func(t *testing.T, mesh, service, tag, value string) {
		all, err := spiffe.OfTags(mesh, map[string][]string{spiffe.ServiceTag: {service}, tag: {value}})
		if err != nil {
			return
		}
		var uris []*url.URL
		for _, text := range all {
			u, err := url.Parse(text)
			if err != nil || u.String() != text {
				t.Fatalf("%q: %v, %v", text, u, err)
			}
			uris = append(uris, u)
		}
		request, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{URIs: uris}, key)
		if err != nil {
			t.Fatalf("%q: %v", all, err)
		}
		back, err := x509.ParseCertificateRequest(request)
		if err != nil || len(back.URIs) != len(all) {
			t.Fatalf("%q: %v", all, err)
		}
		for i, u := range back.URIs {
			if u.String() != all[i] {
				t.Errorf("%q comes back as %q", all[i], u)
			}
		}
	})
}
