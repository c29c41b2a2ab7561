package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSystemNamespacesAreOneList: documents, webhooks and sidecars go by one list, in
// which the namespace of the control plane is first.
func TestSystemNamespacesAreOneList(t *testing.T) {
	t.Parallel()
	c := Default()
	c.Store, c.Namespace, c.SystemNamespaces = "kube", "mesh", []string{"ops", "mesh"}
	c.InjectionConfig = filepath.Join(t.TempDir(), "injection.yaml")
	if err := os.WriteFile(c.InjectionConfig, []byte("systemNamespaces: [others]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := c.Settings()
	if err != nil {
		t.Fatal(err)
	}
	i, err := c.Injection(s.SystemNamespaces)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"mesh", "ops"}; !slices.Equal(s.SystemNamespaces, want) || !slices.Equal(i.SystemNamespaces, want) {
		t.Errorf("documents %q, sidecars %q, want %q", s.SystemNamespaces, i.SystemNamespaces, want)
	}
	for _, n := range []string{"mesh", "ops"} {
		if !s.Catalog().System(n) {
			t.Errorf("%s is none", n)
		}
	}
	if s.Catalog().System("others") {
		t.Error("others is one")
	}
}
