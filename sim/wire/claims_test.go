package wire_test

import (
	"encoding/base64"
	"maps"
	"strings"
	"testing"

	"github.com/weftmesh/weft/sim/wire"
)

// TestTokenClaims: of a bearer token its claims that are texts are read, of one beyond the bounds nothing: what nests
// too deeply, in maps or in lists, is as if there were no token, as it is for sidecars.
func TestTokenClaims(t *testing.T) {
	t.Parallel()
	token := func(payload string) string {
		return "Bearer e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".x"
	}
	nested := func(open, end string, levels int) string {
		return `{"iss":"a","deep":` + strings.Repeat(open, levels) + `1` + strings.Repeat(end, levels) + `}`
	}
	known, nothing := map[string]string{"iss": "a"}, map[string]string{}
	for authorization, want := range map[string]map[string]string{
		token(`{"iss":"a","n":1,"list":[{"x":"y"}]}`):                       known,
		token(`{"iss":"a","sub":"b"}`):                                      {"iss": "a", "sub": "b"},
		token(nested("[", "]", 30)):                                         known,
		token(nested("[", "]", 31)):                                         nothing,
		token(nested(`{"a":`, "}", 30)):                                     known,
		token(nested(`{"a":`, "}", 31)):                                     nothing,
		token(`{"iss":"a","wide":[` + strings.Repeat("[],{},", 50) + `1]}`): known,
		token(`["iss"]`):                                                    nothing,
		token(`{"iss":"a"`):                                                 nothing,
		token("{\"iss\":\"\xff\"}"):                                         nothing,
		"Basic e30.eyJpc3MiOiJhIn0.x":                                       nothing,
		"Bearer e30.eyJpc3MiOiJhIn0":                                        nothing,
		"":                                                                  nothing,
	} {
		if got := wire.TokenClaims(authorization); !maps.Equal(got, want) {
			t.Errorf("%s has %v, want %v", authorization, got, want)
		}
	}
}
