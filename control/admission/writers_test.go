package admission_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/admission"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/memory"
)

// bad is a document, sound by itself, that is not to be stored beside what there is.
type bad struct {
	name  string
	there []string // documents
	write string   // a document
	gone  api.Ref  // or what is to be deleted
	says  string
	of    admission.Writer // whose writes it may be among
}

const (
	everybody = admission.People | admission.Directory | admission.Sidecar | admission.APIServer
	ofOwn     = admission.People | admission.Directory // stores that weft keeps

	testMesh  = `{"type":"Mesh","name":"default"}`
	testPlane = `{"type":"Dataplane","mesh":"default","name":"web-1","networking":{"address":"10.0.0.1","inbound":[{"port":80,"tags":{"kuma.io/service":"web","kuma.io/protocol":"http"}}]}}`
	secure    = `{"type":"Mesh","name":"default","mtls":{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin"}]}}`
	someRoute = `{"type":"MeshHTTPRoute","mesh":"default","name":"r","spec":{"targetRef":{"kind":"Dataplane","labels":{"a":"b"}},"to":[{"targetRef":{"kind":"MeshService","name":"web"},"rules":[{"matches":[{"path":{"type":"PathPrefix","value":"/"}}],"default":{}}]}]}}`
)

// made is what weft has made of an authority.
var made = &api.Object{Ref: api.Ref{Kind: api.KindMeshTrust, Mesh: "default", Name: "t"}, Labels: map[string]string{api.LabelMadeBy: api.MadeByAuthority}, Spec: &api.MeshTrust{TrustDomain: "a"}}

var refused = []bad{
	{"a mesh that is not there", nil, `{"type":"MeshRetry","mesh":"lost","name":"r","spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"numRetries":1}}}]}}`, api.Ref{}, "there is no mesh lost", everybody &^ admission.APIServer},
	{"a Dataplane of a mesh that is not there", nil, strings.Replace(testPlane, `"mesh":"default"`, `"mesh":"lost"`, 1), api.Ref{}, "there is no mesh lost", everybody &^ admission.APIServer},
	{"another zone", []string{testMesh, `{"type":"MeshService","mesh":"default","name":"s","labels":{"kuma.io/zone":"west"},"spec":{"ports":[{"port":80}]}}`},
		`{"type":"MeshService","mesh":"default","name":"s","labels":{"kuma.io/zone":"south"},"spec":{"ports":[{"port":80}]}}`, api.Ref{}, `the label is "west" and cannot be changed`, everybody},
	{"a Secret as it is shown", []string{testMesh}, `{"type":"Secret","mesh":"default","name":"s","data":"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}`, api.Ref{}, "stands for a value that is not stored", everybody},
	{"a Pod with a wrong annotation", []string{testMesh}, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n","annotations":{"traffic.kuma.io/exclude-inbound-ports":"x"}},"spec":{"containers":[{"name":"a","image":"a"}]},"status":{"podIP":"192.0.2.1","phase":"Running"}}`,
		api.Ref{}, "is no port", ofOwn},
	{"a permission that nothing carries out", []string{secure, testPlane, someRoute, `{"type":"MeshTrafficPermission","mesh":"default","name":"p","spec":{"rules":[{"default":{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/ops"}}]}}]}}`},
		`{"type":"MeshTrafficPermission","mesh":"default","name":"p","spec":{"targetRef":{"kind":"MeshHTTPRoute","name":"r"},"rules":[{"default":{"allow":[{"spiffeID":{"type":"Exact","value":"spiffe://default/ops"}}]}}]}}`, api.Ref{}, "", everybody},
	{"an authority that cannot sign", []string{testMesh}, `{"type":"Mesh","name":"default","mtls":{"enabledBackend":"ca","backends":[{"name":"ca","type":"provided","conf":{"cert":{"inline":"eA=="},"key":{"inline":"eA=="}}}]}}`, api.Ref{}, "", everybody},
	{"the end of what weft makes", []string{secure}, "", api.Ref{Kind: api.KindMeshTrust, Mesh: "default", Name: "t"}, "is made by weft", ofOwn},
	{"the end of a Secret that is used", []string{secure, `{"type":"Secret","mesh":"default","name":"used","data":"YQ=="}`}, "", api.Ref{Kind: api.KindSecret, Mesh: "default", Name: "used"}, "is used by", ofOwn},
	{"the end of a mesh with documents", []string{testMesh, testPlane}, "", api.Ref{Kind: api.KindMesh, Name: "default"}, "still has documents", everybody},
}

// TestWritersAgree: what one writer is refused is refused to every other, in the same words, be it
// written or only planned; and what a directory says beside it is stored all the same.
func TestWritersAgree(t *testing.T) {
	t.Parallel()
	good := worlds.Decode(t, world.Catalog(), `{"type":"Mesh","name":"good"}`)
	for _, b := range refused {
		var there []*api.Object
		for _, text := range b.there {
			there = append(there, worlds.Decode(t, world.Catalog(), text))
		}
		now := snapshot.New(1, append(there, made)...)
		w := store.Write{}
		if b.write != "" {
			w.Put = worlds.Decode(t, world.Catalog(), b.write)
		} else {
			w.Delete = &b.gone
		}
		m, _ := world.Compile(now)
		said := map[string][]string{}
		for name, by := range map[string]admission.Writer{"people": admission.People, "a sidecar": admission.Sidecar, "an API server": admission.APIServer} {
			if b.of&by == 0 {
				continue
			}
			c := chainOf(m, by == admission.APIServer)
			_, err := c.Admit(by, now, admission.WriteRequest{Writes: []store.Write{w}})
			said[name] = messages(admission.RefusalIn(err))
			_, err = c.Plan(by, now, admission.WriteRequest{Writes: []store.Write{w}})
			said["a plan of "+name] = messages(admission.RefusalIn(err))
		}
		for name, newest := range map[string]*resolve.Model{"a directory": m, "a directory at the start": nil} {
			admitted, found := chainOf(newest, false).Each(admission.Directory, now, []store.Write{w, {Put: good}})
			said[name] = messages(&admission.Refusal{Found: found})
			if !slices.ContainsFunc(admitted, func(w store.Write) bool { return w.Put != nil && w.Ref() == good.Ref }) {
				t.Errorf("%s: %s: the other document is not stored", b.name, name)
			}
			if slices.ContainsFunc(admitted, func(o store.Write) bool { return o.Ref() == w.Ref() }) {
				t.Errorf("%s: %s: it is stored", b.name, name)
			}
		}
		for name, got := range said {
			if len(got) == 0 || !strings.Contains(strings.Join(got, " "), b.says) || !slices.Equal(got, said["people"]) {
				t.Errorf("%s: %s: %q, and people: %q", b.name, name, got, said["people"])
			}
		}
	}
}

// TestADirectoryAtTheStart: where nothing is there yet an authority that cannot sign, and a permission
// that nothing carries out, are stored and warned of: without them the mesh would let more in.
func TestADirectoryAtTheStart(t *testing.T) {
	t.Parallel()
	for _, b := range refused {
		if b.name != "a permission that nothing carries out" && b.name != "an authority that cannot sign" {
			continue
		}
		o := worlds.Decode(t, world.Catalog(), b.write)
		var writes []store.Write
		for _, text := range b.there {
			if before := worlds.Decode(t, world.Catalog(), text); before.Ref != o.Ref {
				writes = append(writes, store.Write{Put: before})
			}
		}
		admitted, found := chainOf(nil, false).Each(admission.Directory, snapshot.New(0), append(writes, store.Write{Put: o}))
		if len(found) != 1 || found[0].Severity != api.Warning || !slices.ContainsFunc(admitted, func(w store.Write) bool { return w.Ref() == o.Ref }) {
			t.Errorf("%s: %v, %v", b.name, found, admitted)
		}
	}
}

func messages(r *admission.Refusal) (out []string) {
	if r == nil {
		return nil
	}
	for _, v := range r.Found {
		if v.Severity == api.Error {
			out = append(out, v.Message)
		}
	}
	return out
}

// chainOf is that of a control plane whose authorities need the Secret used.
func chainOf(m *resolve.Model, cluster bool) *admission.Chain {
	return world.Settings{}.Admission(admission.Options{Cluster: cluster, SkipDefaults: true, Model: func() *resolve.Model { return m }, Now: time.Now,
		Uses: func(_ *snapshot.Snapshot, secret api.Ref) (api.Ref, bool) {
			return api.Ref{Kind: api.KindMesh, Name: "default"}, secret.Name == "used"
		}})
}

// TestWritersStoreTheSame: labels as weft shows them, and a status in the place of the one that weft
// keeps, are stored for nobody.
func TestWritersStoreTheSame(t *testing.T) {
	t.Parallel()
	const shown = `{"type":"Dataplane","mesh":"default","name":"web-1","labels":{"kuma.io/origin":"zone","kuma.io/zone":"default","kuma.io/env":"universal","kuma.io/display-name":"web-1","team":"x"},` +
		`"networking":{"address":"10.0.0.1","inbound":[{"port":80,"tags":{"kuma.io/service":"web"}}]}}`
	now := snapshot.New(1, worlds.Decode(t, world.Catalog(), testMesh))
	o := worlds.Decode(t, world.Catalog(), shown)
	c := chainOf(nil, false)
	for name, by := range map[string]admission.Writer{"people": admission.People, "a sidecar": admission.Sidecar, "a directory": admission.Directory} {
		admitted, found := c.Each(by, now, []store.Write{{Put: o}})
		if len(admitted) != 1 || len(admitted[0].Put.Labels) != 1 || admitted[0].Put.Labels["team"] != "x" || len(found) > 0 {
			t.Errorf("%s: %v, %v", name, admitted, found)
		}
	}
}

// TestAPlanTakesNothing: what is only planned takes no virtual address from anybody.
func TestAPlanTakesNothing(t *testing.T) {
	t.Parallel()
	c := world.Settings{}.Admission(admission.Options{SkipDefaults: true, Now: time.Now})
	s, err := c.Open(t.Context(), memory.New(snapshot.New(1, admission.DefaultMesh()), nil, time.Now))
	if err != nil {
		t.Fatal(err)
	}
	service := func(name string) store.Write {
		return store.Write{Put: worlds.Decode(t, world.Catalog(), `{"type":"MeshExternalService","mesh":"default","name":"`+name+`","spec":{"match":{"type":"HostnameGenerator","port":80,"protocol":"http"},"endpoints":[{"address":"192.0.2.1","port":80}]}}`)}
	}
	plan := func(name string) any {
		out, err := c.Plan(admission.People, s.Snapshot(), admission.WriteRequest{Writes: []store.Write{service(name)}})
		if err != nil {
			t.Fatal(err)
		}
		return out.Writes[0].Put.Status.(*api.ServiceStatus).VIPs[0]
	}
	first := plan("one")
	for range 3 {
		if again := plan("one"); again != first {
			t.Errorf("planned at %v, and again at %v", first, again)
		}
	}
	after, _, err := s.Apply(t.Context(), store.Writes(service("one")))
	if err != nil {
		t.Fatal(err)
	}
	o, _ := after.Get(service("one").Ref())
	if got := o.Status.(*api.ServiceStatus).VIPs[0]; got != first {
		t.Errorf("it was to be at %v and is at %v", first, got)
	}
}

// TestWhatWeftMakesIsNotTakenOver: a document in the place of what weft has made of an authority.
func TestWhatWeftMakesIsNotTakenOver(t *testing.T) {
	t.Parallel()
	now := snapshot.New(1, worlds.Decode(t, world.Catalog(), testMesh), made)
	other := *made
	other.Spec = &api.MeshTrust{TrustDomain: "b"}
	c := chainOf(nil, false)
	_, err := c.Admit(admission.People, now, admission.WriteRequest{Writes: []store.Write{{Put: &other}}})
	if r := admission.RefusalIn(err); r == nil || !r.Conflict || !strings.Contains(r.Reasons(), "is made by weft") {
		t.Errorf("people: %v", err)
	}
	if admitted, found := c.Each(admission.Directory, now, []store.Write{{Put: &other}}); len(admitted) > 0 || len(found) != 1 {
		t.Errorf("a directory: %v, %v", admitted, found)
	}
}
