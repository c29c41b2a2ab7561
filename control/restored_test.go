package control_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestARestoredBackup: who restores a backup of before a root was replaced because its key is in wrong
// hands, or of before an identity was revoked, is told so with what to do, by what the data directory
// says where only the store was restored, and by what sidecars show where all of it was. What was not
// restored says nothing of the kind.
func TestARestoredBackup(t *testing.T) {
	t.Parallel()
	for name, restored := range map[string]struct {
		files []string // of the backup; nil for all
		tells []string
		after string // what takes the rest of it away
	}{
		"the store":              {[]string{"weft.db", "weft.rev"}, []string{rootReturned, "web-1 got", identityReturned}, `{"spiffeID":"spiffe://default/payments"}`},
		"the directory":          {nil, []string{rootReturned, "web-1 got"}, ""},
		"what runs, and no file": {[]string{}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			v.want(http.MethodPost, "/_apply", calling("web-1", "web", "payments")+calling("pay-1", "payments", "web")+fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1)))
			web, pay := v.timed("web-1"), v.timed("pay-1")
			eventually(t, "they meet", func() bool { return meetAll(web, pay) == nil })
			v.kill(time.Minute)
			backup := t.TempDir()
			if err := os.CopyFS(backup, os.DirFS(v.of.Dir)); err != nil {
				t.Fatal(err)
			}
			v.start()
			first := v.authority().Roots[0].Fingerprint
			v.want(http.MethodPost, "/meshes/default/_authorities/rotate", `{"now":true}`)
			second := ""
			eventually(t, "the new root signs for web", func() bool {
				a := v.authority()
				second = a.Roots[0].Fingerprint
				return a.Phase == "Steady" && len(a.Roots) == 1 && second != first && web.by() == second
			})
			v.want(http.MethodPost, "/meshes/default/_authorities/revoke", `{"spiffeID":"spiffe://default/payments"}`)
			if text := v.want(http.MethodGet, "/_problems", ""); strings.Contains(text, "StoreRestored") {
				t.Errorf("told before: %s", text)
			}
			v.kill(time.Minute)
			v.restore(backup, restored.files)
			v.start()
			for _, words := range restored.tells {
				v.problemsSay(words)
			}
			if said, err := os.ReadFile(filepath.Join(v.of.Dir, "said")); err != nil || strings.Contains(string(said), "the store is one of before a root") != (restored.tells != nil) {
				t.Errorf("the log says %q of %v: %v", rootReturned, restored.tells, err)
			}
			v.kill(time.Minute) // it is so after another restart too
			v.start()
			if restored.after != "" {
				v.problemsSay(identityReturned)
				v.want(http.MethodPost, "/meshes/default/_authorities/revoke", restored.after)
			}
			v.want(http.MethodPost, "/meshes/default/_authorities/rotate", `{"now":true}`)
			eventually(t, "nothing more is told", func() bool {
				return !strings.Contains(v.want(http.MethodGet, "/_problems", ""), "StoreRestored")
			})
		})
	}
}

const (
	rootReturned     = "`weft mtls rotate --now --mesh default` replaces it"
	identityReturned = "Revoke it again by `weft identity revoke --mesh default 'spiffe://default/payments'`"
)

// restore takes files out of a backup; nil is all of it.
func (v *victim) restore(backup string, names []string) {
	v.t.Helper()
	if names == nil {
		all, err := os.ReadDir(v.of.Dir)
		if err != nil {
			v.t.Fatal(err)
		}
		for _, f := range all {
			if f.Name() != "said" {
				if err := os.RemoveAll(filepath.Join(v.of.Dir, f.Name())); err != nil {
					v.t.Fatal(err)
				}
			}
		}
		all, err = os.ReadDir(backup)
		if err != nil {
			v.t.Fatal(err)
		}
		for _, f := range all {
			names = append(names, f.Name())
		}
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(backup, name))
		if err != nil {
			v.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(v.of.Dir, name), text, 0o600); err != nil {
			v.t.Fatal(err)
		}
	}
}

// problemsSay waits until the problems have some words.
func (v *victim) problemsSay(words string) {
	v.t.Helper()
	eventually(v.t, words, func() bool { return strings.Contains(v.want(http.MethodGet, "/_problems", ""), words) })
}

// by is the fingerprint of the root above its leaf.
func (s *timed) by() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.issues) == 0 {
		return ""
	}
	return s.issues[len(s.issues)-1]
}
