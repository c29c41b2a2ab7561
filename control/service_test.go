package control_test

import (
	"net/http"
	"strings"
	"testing"
)

const unavailable = `{"type":"MeshService","mesh":"default","name":"%","spec":{"selector":{"dataplaneTags":{"app":"%"}},"ports":[{"port":80,"targetPort":8080,"appProtocol":"http"}],"state":"Unavailable"}}`

// A service is available as long as somebody answers for it, whatever a document
// says; that is kept as it was written.
func TestTheStateOfAServiceFollowsFromItsEndpoints(t *testing.T) {
	t.Parallel()
	p := start(t, config(t))
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	for name, want := range map[string]string{"backend": "Available", "nobody": "Unavailable"} {
		path := "/meshes/default/meshservices/" + name
		document := strings.ReplaceAll(unavailable, "%", name)
		p.call(http.MethodPut, path, document)
		for _, address := range []string{path, path + "?format=kubernetes", "/meshes/default/meshservices?name=" + name} {
			if text := p.want(http.StatusOK, http.MethodGet, address, ""); !strings.Contains(text, `"state":"`+want+`"`) {
				t.Errorf("%s: %s, want %s", address, text, want)
			}
		}
		if text := p.want(http.StatusOK, http.MethodGet, path+"?format=written", ""); !strings.Contains(text, `"state":"Unavailable"`) {
			t.Errorf("written: %s", text)
		}
	}
}
