package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/inspect/web/rights"
)

// cluster says of each user that is asked about what it lets them.
type cluster struct {
	may func(rights.AccessRequest) bool

	mu       sync.Mutex
	asked    []rights.AccessRequest
	at, most int // at once
	said     map[rights.AccessRequest]bool
}

func (c *cluster) WhoIs(_ context.Context, token string) (rights.ClusterUser, error) {
	if token == "" {
		return rights.ClusterUser{}, rights.ErrNobody
	}
	return rights.ClusterUser{Name: token, May: c.asks, Cached: func(a rights.AccessRequest) (bool, bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		may, known := c.said[a]
		return may, known
	}}, nil
}

func (c *cluster) asks(_ context.Context, a rights.AccessRequest) (bool, error) {
	c.mu.Lock()
	c.asked = append(c.asked, a)
	c.at++
	c.most = max(c.most, c.at)
	c.mu.Unlock()
	may := c.may(a)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at--
	c.said[a] = may
	return may, nil
}

func inCluster(t *testing.T, docs string, may func(rights.AccessRequest) bool) (*cluster, string) {
	t.Helper()
	c := &cluster{may: may, said: map[rights.AccessRequest]bool{}}
	server, _ := serveWith(t, docs, false, func(o *web.Config) { o.Admin, o.Users = "the admin's token", c })
	return c, server.URL
}

// TestMembersCannotFillTheMemory: what users of a cluster send counts until it is answered,
// for each of them; of what is too much they are told so, and others are not.
func TestMembersCannotFillTheMemory(t *testing.T) {
	t.Parallel()
	_, url := inCluster(t, "type: Mesh\nname: default\n", func(rights.AccessRequest) bool { return true })
	apply := func(user string, body io.Reader) (int, string) {
		req, err := http.NewRequest(http.MethodPost, url+"/_apply?dryRun=true", body)
		if err != nil {
			return 0, err.Error()
		}
		req.Header.Set("Authorization", "Bearer "+user)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return resp.StatusCode, fmt.Sprint(resp.Header.Get("Retry-After"), string(text), err)
	}
	mebibyte := strings.Repeat("# much\n", 1<<20/7)
	if code, text := apply("one", strings.NewReader(mebibyte+mebibyte)); code != http.StatusRequestEntityTooLarge || !strings.Contains(text, "fewer") {
		t.Errorf("a body that is too large: %d %s", code, text)
	}
	const sent = 6 // of which one or more are too much
	answers := make(chan string, sent)
	var held []*io.PipeWriter
	for range sent {
		r, w := io.Pipe()
		held = append(held, w)
		go func() { // a sender that does not come to its end
			_, _ = io.WriteString(w, mebibyte)
		}()
		go func() {
			code, text := apply("one", r)
			answers <- fmt.Sprint(code, " ", text)
		}()
	}
	if got := <-answers; !strings.HasPrefix(got, "503 1") || !strings.Contains(got, "too much is being sent at once") {
		t.Errorf("too many bodies at once: %s", got)
	}
	mesh := "type: Mesh\nname: other\n"
	if code, text := apply("two", strings.NewReader(mesh)); code != http.StatusOK {
		t.Errorf("another user: %d %s", code, text)
	}
	for _, w := range held {
		_ = w.CloseWithError(errors.New("gone"))
	}
	for range sent - 1 {
		<-answers
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // until the server has seen it
		code, text := apply("one", strings.NewReader(mesh))
		if code == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("when they are gone: %d %s", code, text)
		}
	}
	if code, text := apply("one", strings.NewReader("["+strings.Repeat("1,", 300_000)+"1]")); code != http.StatusBadRequest || len(text) > 1<<20 || !strings.Contains(text, "more than 1000 mistakes") {
		t.Errorf("very many mistakes: %d, %d bytes: %.300s", code, len(text), text)
	}
}

// TestListsAskAboutFewNamespaces: who may list all is one question. For who may not, so many
// namespaces are asked about, some at once, and what the list is without it says; the next
// time those are asked about that were not.
func TestListsAskAboutFewNamespaces(t *testing.T) {
	t.Parallel()
	var docs strings.Builder
	docs.WriteString("type: Mesh\nname: default\n")
	const spaces = 300
	for i := range spaces {
		fmt.Fprintf(&docs, "---\napiVersion: kuma.io/v1alpha1\nkind: MeshRetry\nmetadata: {name: r, namespace: n%03d}\nspec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 3}}}]}\n", i)
	}
	c, url := inCluster(t, docs.String(), func(a rights.AccessRequest) bool { return a.Namespace != "" })
	list := func(query string) string {
		code, text := send(t, http.MethodGet, url+"/meshes/default/meshretries?size=1"+query, "", "Authorization", "Bearer one")
		if code != http.StatusOK {
			t.Fatalf("%d %s", code, text)
		}
		return text
	}
	if text := list(""); !strings.Contains(text, `"total":200`) || !strings.Contains(text, "for 100 namespaces, from n200 on, your rights were not checked") || len(c.asked) != 201 || c.most > 8 || c.asked[0].Namespace != "" {
		t.Errorf("%d questions, %d at once: %s", len(c.asked), c.most, text)
	}
	if text := list(""); !strings.Contains(text, `"total":300`) || strings.Contains(text, "notes") || len(c.asked) != 302 {
		t.Errorf("then %d questions: %s", len(c.asked), text)
	}
	all, url := inCluster(t, docs.String(), func(rights.AccessRequest) bool { return true })
	if code, text := send(t, http.MethodGet, url+"/meshes/default/meshretries?size=1", "", "Authorization", "Bearer one"); code != http.StatusOK || !strings.Contains(text, `"total":300`) || len(all.asked) != 1 {
		t.Errorf("who may list all: %d questions, %d %s", len(all.asked), code, text)
	}
	few, url := inCluster(t, docs.String(), func(a rights.AccessRequest) bool { return a.Namespace != "" })
	if code, text := send(t, http.MethodGet, url+"/meshes/default/meshretries?filter[labels.k8s.kuma.io/namespace]=n250", "", "Authorization", "Bearer one"); code != http.StatusOK || !strings.Contains(text, `"total":1`) || len(few.asked) != 2 {
		t.Errorf("one namespace: %d questions, %d %s", len(few.asked), code, text)
	}
}

// TestUsersOfAClusterHaveTokensOfTheCluster: others would be good for nothing.
func TestUsersOfAClusterHaveTokensOfTheCluster(t *testing.T) {
	t.Parallel()
	_, url := inCluster(t, "type: Mesh\nname: default\n", func(rights.AccessRequest) bool { return true })
	code, text := send(t, http.MethodPost, url+"/tokens/user", `{"name": "ann", "validFor": "1h"}`, "Authorization", "Bearer the admin's token")
	if code != http.StatusConflict || !strings.Contains(text, "kubectl create token ACCOUNT --audience weft-api") {
		t.Errorf("%d %s", code, text)
	}
}

// TestPlansTellMembersOfTheirNamespaces: who may not explain every dataplane is told of none
// but those of their namespaces, and nothing of what drafts find elsewhere.
func TestPlansTellMembersOfTheirNamespaces(t *testing.T) {
	t.Parallel()
	const docs = `{type: Mesh, name: default}
---
{apiVersion: v1, kind: Service, metadata: {name: stock, namespace: "off"}, spec: {ports: [{port: 80, appProtocol: http}]}}
---
{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneTags: {kuma.io/service: web}}, ports: [{port: 80, appProtocol: http}]}}
---
{apiVersion: kuma.io/v1alpha1, kind: Dataplane, metadata: {name: vm, namespace: "on"}, spec: {networking: {address: 127.0.0.1, inbound: [{port: 9000, tags: {kuma.io/service: web, kuma.io/protocol: http}}],
  outbound: [{port: 10001, tags: {kuma.io/service: web}}]}}}
---
{apiVersion: kuma.io/v1alpha1, kind: Dataplane, metadata: {name: vm, namespace: "off"}, spec: {networking: {address: 127.0.0.2, inbound: [{port: 9000, tags: {kuma.io/service: web, kuma.io/protocol: http}}],
  outbound: [{port: 10001, tags: {kuma.io/service: web}}]}}}
`
	const change = `{type: MeshRetry, mesh: default, name: r, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: web}, default: {http: {numRetries: 7}}}, {targetRef: {kind: MeshService, name: stok, namespace: "off"}, default: {http: {numRetries: 7}}}]}}`
	_, url := inCluster(t, docs, func(a rights.AccessRequest) bool { return a.Subresource != "explain" || a.Namespace == "on" })
	code, text := send(t, http.MethodPost, url+"/_apply?dryRun=true", change, "Authorization", "Bearer one")
	if code != http.StatusOK || !strings.Contains(text, `"dataplane":"vm.on"`) || !strings.Contains(text, `"after":7`) || !strings.Contains(text, `"dataplanes":{"total":1,"affected":1,`) ||
		strings.Contains(text, "vm.off") || strings.Contains(text, "stok") {
		t.Errorf("who sees one namespace: %d %s", code, text)
	}
	_, url = inCluster(t, docs, func(rights.AccessRequest) bool { return true })
	code, text = send(t, http.MethodPost, url+"/_apply?dryRun=true", change, "Authorization", "Bearer one")
	if code != http.StatusOK || !strings.Contains(text, "vm.off") || !strings.Contains(text, "stok") {
		t.Errorf("who sees all: %d %s", code, text)
	}
}

// TestStatusTellsMembersOfTheirNamespaces: who may not ask about the whole mesh is told how the
// objects and dataplanes of their namespaces fare, by names that say which they are, and by
// pages; of nothing else.
func TestStatusTellsMembersOfTheirNamespaces(t *testing.T) {
	t.Parallel()
	var docs strings.Builder
	docs.WriteString("{type: Mesh, name: default}\n")
	for _, namespace := range []string{"on", "off"} {
		for _, name := range []string{"a", "b"} {
			fmt.Fprintf(&docs, "---\n{apiVersion: kuma.io/v1alpha1, kind: MeshRetry, metadata: {name: %s, namespace: %q}, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 3}}}]}}\n", name, namespace)
		}
		fmt.Fprintf(&docs, "---\n{apiVersion: kuma.io/v1alpha1, kind: Dataplane, metadata: {name: vm, namespace: %q}, spec: {networking: {address: 127.0.0.1, inbound: [{port: 9000, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}}}\n", namespace)
	}
	may := func(a rights.AccessRequest) bool { return a.Subresource == "explain" && a.Namespace == "on" }
	_, url := inCluster(t, docs.String(), may)
	get := func(query string) string {
		code, text := send(t, http.MethodGet, url+"/meshes/default/_status"+query, "", "Authorization", "Bearer one")
		if code != http.StatusOK || strings.Contains(text, `off`) {
			t.Errorf("%s: %d %s", query, code, text)
		}
		return text
	}
	if text := get(""); !strings.Contains(text, `"total":2,"objects":[{"object":"MeshRetry/default/on/a"`) || !strings.Contains(text, `"missing":["vm.on"]`) ||
		!strings.Contains(text, `"sidecars":{"revision":1,"total":1,`) || !strings.Contains(text, "get dataplanes/explain") {
		t.Errorf("all: %s", text)
	}
	if text := get("?size=1&offset=1"); strings.Contains(text, `on/a`) || !strings.Contains(text, `"object":"MeshRetry/default/on/b"`) {
		t.Errorf("a page: %s", text)
	}
	if code, text := send(t, http.MethodGet, url+"/meshes/default/dataplanes/vm.on/_explain", "", "Authorization", "Bearer one"); code != http.StatusOK || !strings.Contains(text, `{"dataplane":"vm.on"`) {
		t.Errorf("explain: %d %s", code, text)
	}
	none, url := inCluster(t, docs.String(), func(rights.AccessRequest) bool { return false })
	if code, text := send(t, http.MethodGet, url+"/meshes/default/_status", "", "Authorization", "Bearer one"); code != http.StatusOK || strings.Contains(text, `vm.`) || strings.Contains(text, "MeshRetry/") || len(none.asked) != 3 {
		t.Errorf("who sees nothing: %d questions, %d %s", len(none.asked), code, text)
	}
	_, url = inCluster(t, docs.String(), func(a rights.AccessRequest) bool { return a.Resource == "meshes" })
	if code, text := send(t, http.MethodGet, url+"/meshes/default/_status", "", "Authorization", "Bearer one"); code != http.StatusOK || !strings.Contains(text, `"total":4,"objects"`) || !strings.Contains(text, `"vm.off"`) {
		t.Errorf("who sees all: %d %s", code, text)
	}
}

// TestPreviewsTellMembersOfTheirOwn: of what is stored for previews those documents alone take
// part in a plan that who asks may get.
func TestPreviewsTellMembersOfTheirOwn(t *testing.T) {
	t.Parallel()
	var docs strings.Builder
	docs.WriteString("{type: Mesh, name: default}\n")
	for _, namespace := range []string{"on", "off"} {
		fmt.Fprintf(&docs, `---
{apiVersion: kuma.io/v1alpha1, kind: MeshRetry, metadata: {name: preview, namespace: %[1]q, labels: {kuma.io/effect: shadow}}, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: web}, default: {http: {numRetries: 7}}}]}}
---
{apiVersion: kuma.io/v1alpha1, kind: Dataplane, metadata: {name: vm, namespace: %[1]q}, spec: {networking: {address: 127.0.0.1, inbound: [{port: 9000, tags: {kuma.io/service: web, kuma.io/protocol: http}}],
  outbound: [{port: 10001, tags: {kuma.io/service: web}}]}}}
`, namespace)
	}
	const query = "/_apply?dryRun=true&shadow=true"
	_, url := inCluster(t, docs.String(), func(a rights.AccessRequest) bool { return a.Namespace == "on" })
	code, text := send(t, http.MethodPost, url+query, "", "Authorization", "Bearer one")
	if code != http.StatusOK || strings.Contains(text, "off") || !strings.Contains(text, `"changes":[{"object":"MeshRetry/default/on/preview","action":"unchanged","shadow":true}]`) ||
		!strings.Contains(text, `"after":7`) || !strings.Contains(text, `"results":[]`) {
		t.Errorf("who sees one namespace: %d %s", code, text)
	}
	_, url = inCluster(t, docs.String(), func(rights.AccessRequest) bool { return true })
	code, text = send(t, http.MethodPost, url+query, "", "Authorization", "Bearer one")
	if code != http.StatusOK || !strings.Contains(text, "off/preview") || !strings.Contains(text, `["vm.off","vm.on"]`) {
		t.Errorf("who sees all: %d %s", code, text)
	}
	if code, text := send(t, http.MethodPost, url+"/_apply?dryRun=true", "", "Authorization", "Bearer one"); code != http.StatusBadRequest {
		t.Errorf("without documents: %d %s", code, text)
	}
}

// silent is a cluster that does not answer.
type silent struct{}

func (silent) WhoIs(context.Context, string) (rights.ClusterUser, error) {
	return rights.ClusterUser{}, errors.New("the API server does not answer")
}

// TestNobodyIsRefusedForAClusterThatIsAway: while the cluster cannot say whose a token is, its owner is told to
// come again, not that the token is bad, and is let in nowhere. Who has the admin token goes on.
func TestNobodyIsRefusedForAClusterThatIsAway(t *testing.T) {
	t.Parallel()
	server, _ := serveWith(t, "type: Mesh\nname: default\n", false, func(o *web.Config) { o.Admin, o.Users = "the admin's token", silent{} })
	for token, want := range map[string]int{"one": http.StatusServiceUnavailable, "": http.StatusServiceUnavailable, "the admin's token": http.StatusOK} {
		code, text := send(t, http.MethodGet, server.URL+"/meshes/default", "", "Authorization", "Bearer "+token)
		if code != want || code != http.StatusOK && !strings.Contains(text, "the API server does not answer") {
			t.Errorf("with the token %q: %d %s", token, code, text)
		}
	}
}
