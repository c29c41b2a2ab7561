package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
)

// What is wrong with tenancy is told where it stands, all at once; warnings refuse nothing.
func TestTenancyIsValidated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		wrong   []string // places
		refused bool
	}{
		{`{"namespaces":["shop","team-*"],"edges":["ingress"],"hosts":{"mode":"Owned","grants":[{"namespaces":["shop"],"hosts":["*.shop.example.com","shop.example.com","*"]}]},"ingressClasses":["weft","a.b/c"]}`, nil, false},
		{`{"hosts":{}}`, nil, false},
		{`{"namespaces":["Shop",""],"edges":["a b"]}`, []string{"tenancy.namespaces[0]", "tenancy.namespaces[1]", "tenancy.edges[0]"}, true},
		{`{"namespaces":[]}`, []string{"tenancy.namespaces"}, false},
		{`{"hosts":{"mode":"Owner"}}`, []string{"tenancy.hosts.mode"}, true},
		{`{"hosts":{"grants":[{"namespaces":["a"],"hosts":["a.example"]}]}}`, []string{"tenancy.hosts.grants"}, false},
		{`{"hosts":{"mode":"Owned","grants":[{"namespaces":[],"hosts":["a.*.example","*a.example","10.0.0.1","A.example",""]}]}}`,
			[]string{"tenancy.hosts.grants[0].namespaces", "tenancy.hosts.grants[0].hosts[0]", "tenancy.hosts.grants[0].hosts[1]", "tenancy.hosts.grants[0].hosts[2]", "tenancy.hosts.grants[0].hosts[3]", "tenancy.hosts.grants[0].hosts[4]"}, true},
		{`{"ingressClasses":["","we ft"]}`, []string{"tenancy.ingressClasses[0]", "tenancy.ingressClasses[1]"}, true},
	} {
		var m api.Mesh
		if err := json.Unmarshal([]byte(`{"tenancy":`+c.text+`}`), &m); err != nil {
			t.Fatal(err)
		}
		err := m.Validate("")
		var at []string
		for _, v := range api.Violations(err) {
			at = append(at, string(v.Field))
			if v.Message == "" || !strings.Contains(v.Message, ";") {
				t.Errorf("%s: %q says not what to do", c.text, v.Message)
			}
		}
		if strings.Join(at, " ") != strings.Join(c.wrong, " ") || api.Refuses(err) != c.refused {
			t.Errorf("%s: %v, refused %v: %v", c.text, at, api.Refuses(err), err)
		}
	}
}

// What lives where operators write, or nowhere, is never kept out, and a Mesh that says nothing keeps
// nobody out but from the keys of others.
func TestTenancyOfNobody(t *testing.T) {
	t.Parallel()
	var none *api.Tenancy
	tenant, operators := api.Home{Namespace: "a"}, api.Home{Namespace: "weft-system", System: true}
	if !none.Admits(tenant) || none.Owns(tenant, "a.example") || !none.ServesClass("other") || none.ShowsForeign(tenant) || !none.ShowsForeign(operators) {
		t.Error("a Mesh without tenancy")
	}
	some := &api.Tenancy{Namespaces: &[]string{"b"}, Hosts: &api.TenancyHosts{Mode: api.HostsOwned, Grants: []api.HostGrant{{Namespaces: []string{"a"}, Hosts: []string{"*.a.example"}}}}}
	if some.Admits(tenant) || !some.Admits(operators) || !some.Admits(api.Home{System: true}) || some.Owns(operators, "x.example") {
		t.Error("operators are kept out, or a tenant is not")
	}
	for host, owned := range map[string]bool{"x.a.example": false, "*.a.example": false, "X.A.example": false, "a.example": true, "*.example": true, "*": true, "xa.example": true} {
		if some.Owns(tenant, host) != owned {
			t.Errorf("%s is owned: %v", host, !owned)
		}
	}
	for _, text := range []string{`{}`, `{"namespaces":[],"ingressClasses":[],"hosts":{"grants":[]}}`} {
		if got, err := api.ParseTenancy([]byte(text)); got != nil || err != nil {
			t.Errorf("%s says something: %v, %v", text, got, err)
		}
	}
	if _, err := api.ParseTenancy([]byte(`{"host":{}}`)); err == nil {
		t.Error("an unknown field is taken")
	}
}
