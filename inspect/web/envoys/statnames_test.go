package envoys

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// TestClustersAreNamedAsInStatistics: each line begins with what the statistics call its cluster, however
// the answer comes in parts, and all else stays as Envoy says it.
func TestClustersAreNamedAsInStatistics(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x:", longestClusterName)
	const said = "web:8080::default_priority::max_connections::1024\nweb:8080::10.0.0.1:80::cx_active::0\n" +
		"inbound:[::1]:80::observability_name::inbound:[::1]:80\nplain::a::b\n\nwithout an end of a name:\nextsvc_ex.a:443::x"
	const want = "web_8080::default_priority::max_connections::1024\nweb_8080::10.0.0.1:80::cx_active::0\n" +
		"inbound____1__80::observability_name::inbound:[::1]:80\nplain::a::b\n\nwithout an end of a name:\nextsvc_ex_a_443::x"
	for in, want := range map[string]string{said: want, said + "\nends:in a name": want + "\nends:in a name", long + "::1\na:b::c": long + "::1\na_b::c", "": ""} {
		for name, parts := range map[string]io.Reader{"whole": strings.NewReader(in), "bytes": iotest.OneByteReader(strings.NewReader(in)), "halves": iotest.HalfReader(strings.NewReader(in))} {
			to := httptest.NewRecorder()
			w := &statNames{ResponseWriter: to}
			if _, err := io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{parts}); err != nil {
				t.Fatal(err)
			}
			w.rest()
			if got := to.Body.String(); got != want {
				t.Errorf("%s: %.300q, wanted %.300q", name, got, want)
			}
		}
	}
}
