package control_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/bolt"
)

const slow = `{"type":"MeshTimeout","mesh":"default","name":"slow","labels":{"weft.io/default":"true"},"spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"requestTimeout":"60s"}}}]}}`

// waits is how long frontend-1 waits for backend.
func waits(p *plane) string {
	p.t.Helper()
	type conf struct {
		Conf struct {
			HTTP struct{ RequestTimeout string }
		}
	}
	e := get[struct {
		Outbounds []struct{ Policies map[string]conf }
	}](p, "/meshes/default/dataplanes/frontend-1/_explain")
	if len(e.Outbounds) != 1 {
		p.t.Fatalf("frontend-1 has %d outbounds", len(e.Outbounds))
	}
	return e.Outbounds[0].Policies["MeshTimeout"].Conf.HTTP.RequestTimeout
}

// A user's policy for the whole mesh holds over the mesh's default policies,
// however the names sort, whatever labels clients write, and after a restart.
func TestUsersPoliciesHoldOverDefaultPolicies(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Store, c.SkipDefaultPolicies = "bolt", false
	p := start(t, c)
	const path = "/meshes/default/meshtimeouts/mesh-timeout-all-default"
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	if got := waits(p); got != "15s" {
		t.Fatalf("by default it waits %q", got)
	}
	p.want(http.StatusCreated, http.MethodPut, "/meshes/default/meshtimeouts/slow", slow)
	edited := strings.ReplaceAll(p.want(http.StatusOK, http.MethodGet, path+"?format=written", ""), `"15s"`, `"14s"`)
	p.want(http.StatusOK, http.MethodPut, path, strings.Replace(edited, `"labels":{"weft.io/default":"true"},`, "", 1))
	for _, restarted := range []bool{false, true} {
		if restarted {
			p.stop()
			p = start(t, c)
		}
		if got := waits(p); got != "1m0s" {
			t.Errorf("restarted %v: with slow it waits %q", restarted, got)
		}
		if text := p.want(http.StatusOK, http.MethodGet, path, ""); !strings.Contains(text, `"weft.io/default":"true"`) || !strings.Contains(text, `"14s"`) {
			t.Errorf("restarted %v: the edited default policy is %s", restarted, text)
		}
		if text := p.want(http.StatusOK, http.MethodGet, "/meshes/default/meshtimeouts/slow", ""); strings.Contains(text, "weft.io/default") {
			t.Errorf("restarted %v: a client has set the label: %s", restarted, text)
		}
	}
}

// The policies that an older weft has made with a mesh get the label at the next
// start; those that somebody has written or edited do not.
func TestOlderDefaultPoliciesAreMarkedAtTheStart(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Store = "bolt"
	now := time.Now()
	s, err := bolt.Open(bolt.Config{Dir: c.DataDir, Decode: decodeOne, Encode: func(o *api.Object) ([]byte, error) { return decode.PrintJSON(world.Catalog(), o) }, Now: func() time.Time { now = now.Add(time.Second); return now }})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(objects ...*api.Object) {
		t.Helper()
		var writes []store.Write
		for _, o := range objects {
			writes = append(writes, store.Write{Put: o.MarkDefault(false), Own: true})
		}
		if _, _, err := s.Apply(t.Context(), store.Writes(writes...)); err != nil {
			t.Fatal(err)
		}
	}
	mesh := func(name string) *api.Object {
		o, err := decodeOne("", []byte("type: Mesh\nname: "+name+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	apply(append(admission.DefaultPolicies("default", nil), mesh("default"))...)
	apply(append(admission.DefaultPolicies("edited", nil), mesh("edited"))...)
	for _, o := range admission.DefaultPolicies("edited", nil) {
		text := strings.NewReplacer("15s", "14s", "25ms", "24ms").Replace(string(o.Source.Text))
		changed, err := decodeOne("", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		apply(changed)
	}
	apply(mesh("late"))
	apply(admission.DefaultPolicies("late", nil)...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p := start(t, c)
	for mesh, want := range map[string]bool{"default": true, "edited": false, "late": false} {
		for _, path := range []string{"/meshtimeouts/mesh-timeout-all-", "/meshretries/mesh-retry-all-"} {
			text := p.want(http.StatusOK, http.MethodGet, "/meshes/"+mesh+path+mesh, "")
			if got := strings.Contains(text, "weft.io/default"); got != want {
				t.Errorf("%s: marked %v, want %v", path+mesh, got, want)
			}
		}
	}
}

// A default policy that is exactly what an earlier release wrote is rewritten at the next start, by the
// control plane: it had a perTryTimeout that ended every longer request. One that people changed stays.
func TestEarlierDefaultPoliciesAreRenewedAtTheStart(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.Store = "bolt"
	s, err := bolt.Open(bolt.Config{Dir: c.DataDir, Decode: decodeOne, Encode: func(o *api.Object) ([]byte, error) { return decode.PrintJSON(world.Catalog(), o) }, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	var writes []store.Write
	for mesh, bound := range map[string]string{"default": "16s", "edited": "17s"} {
		o, err := decodeOne("", []byte("type: Mesh\nname: "+mesh+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		writes = append(writes, store.Write{Put: o, Own: true})
		for _, p := range admission.DefaultPolicies(mesh, nil) {
			text := strings.Replace(string(p.Source.Text), "numRetries: 5\n", "numRetries: 5\n          perTryTimeout: "+bound+"\n", 1)
			was, err := decodeOne("", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			writes = append(writes, store.Write{Put: was.MarkDefault(true), Own: true})
		}
	}
	before, _, err := s.Apply(t.Context(), store.Writes(writes...))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p := start(t, c)
	const path = "/meshretries/mesh-retry-all-"
	for mesh, has := range map[string]bool{"default": false, "edited": true} {
		text := p.want(http.StatusOK, http.MethodGet, "/meshes/"+mesh+path+mesh, "")
		if strings.Contains(text, "perTryTimeout") != has || !strings.Contains(text, "weft.io/default") {
			t.Errorf("mesh %s has %s", mesh, text)
		}
	}
	p.stop()
	s, err = bolt.Open(bolt.Config{Dir: c.DataDir, Decode: decodeOne, Encode: func(o *api.Object) ([]byte, error) { return decode.PrintJSON(world.Catalog(), o) }, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if o, _ := s.Snapshot().Get(api.Ref{Kind: "MeshRetry", Mesh: "default", Name: "mesh-retry-all-default"}); o == nil || o.Revision != before.Revision()+1 {
		t.Errorf("it was rewritten as %+v, wanted revision %d", o, before.Revision()+1)
	}
}

func decodeOne(name string, text []byte) (*api.Object, error) {
	objects, err := decode.Objects(world.Catalog(), name, text)
	if err != nil {
		return nil, err
	}
	return objects[0], nil
}
