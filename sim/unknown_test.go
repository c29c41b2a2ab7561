package sim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/sim/wire"
)

// TestWhatIsOutsideIsAnnounced: each thing that Envoy treats by itself is named,
// and an ordinary request has none.
func TestWhatIsOutsideIsAnnounced(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]wire.Headers{
		"":                         {"x-a": "1", "connection": "x-a", "TE": "trailers, gzip", "content-length": "0", "x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "http", "expect": "100-Continue", "transfer-encoding": "gzip"},
		"header content-length:":   {"content-length": "7"},
		"header expect:":           {"Expect": "something"},
		"header te:":               {"te": ""},
		"header x-forwarded-proto": {"x-forwarded-proto": "https"},
		"header host:":             {"Host": " "},
	} {
		v, err := run(shop(everything(to("v1", 1))), wire.Request{URL: "http://web:8080/", Headers: h})
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && len(v.Unknown) > 0 || want != "" && (len(v.Unknown) != 1 || !strings.Contains(v.Unknown[0], want)) {
			t.Errorf("wanted %q: %q", want, v.Unknown)
		}
	}
}

// TestRequestsThatAreNone: what Envoy closes the connection over is an error of the
// request; what it answers by itself is a verdict.
func TestRequestsThatAreNone(t *testing.T) {
	t.Parallel()
	ask := func(q wire.Request) (string, error) {
		q.URL = "http://web:8080/"
		v, err := run(shop(everything(to("v1", 1))), q)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %d", v.Branches[0].Outcome, v.Branches[0].Status), nil
	}
	for want, q := range map[string]wire.Request{
		"version: there is no HTTP/3":              {Version: "3"},
		"body: -1 is not a valid length":           {Body: -1},
		"headers.connection: a request":            {Version: "2", Headers: wire.Headers{"connection": "close"}},
		"headers.te: a request":                    {Version: "2", Headers: wire.Headers{"te": "gzip"}},
		"headers.content-length: a requ":           {Version: "2", Headers: wire.Headers{"content-length": "x"}},
		"headers.host: a request in HTTP":          {Version: "2", Headers: wire.Headers{"host": "user@web"}},
		`headers: "x(" is not a valid header name`: {Headers: wire.Headers{"x(": "1"}},
		"control character":                        {Headers: wire.Headers{"x": "a\x7f"}},
	} {
		if _, err := ask(q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	for want, q := range map[string]wire.Request{
		"forward 0":   {Version: "2", Method: "FOO", Headers: wire.Headers{"te": "Trailers"}},
		"respond 400": {Method: "FOO", Version: "1.0"},
		"respond 426": {Version: "1.0", Headers: wire.Headers{"host": "a b"}},
		"respond 501": {Version: "1.0", Headers: wire.Headers{"transfer-encoding": "gzip"}},
	} {
		if got, err := ask(q); err != nil || got != want {
			t.Errorf("%+v: %s %v, wanted %s", q, got, err, want)
		}
	}
}
