package attach_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/sidecar/attach"
)

// TestSecretsDoNotLeaveTheSidecar: whatever an Envoy says, and however it is cut into
// reads. What is no secret stays as it is.
func TestSecretsDoNotLeaveTheSidecar(t *testing.T) {
	t.Parallel()
	const canary = "c4nary"
	for name, text := range map[string]string{
		"own token":     "some " + canary + " text",
		"key":           `"inline_string": "-----BEGIN EC PRIVATE KEY-----\nc4nary\n-----END EC PRIVATE KEY-----\n"`,
		"half a key":    `"inline_string": "-----BEGIN PRIVATE KEY-----\nc4nary`,
		"token":         "x eyJhbGciOiJFZERTQSJ9.c4nary.c4nary y",
		"bearer":        `"value": "Bearer c4nary"`,
		"basic":         `"value": "basic c4nary="`,
		"field":         `  "client_secret": "a\"c4nary"`,
		"compact field": `{"password":"c4nary","x":1}`,
		"header":        "\"key\": \"Authorization\",\n  \"value\": \"c4nary\"\n",
		"raw header":    "\"key\": \"x-api-key\",\n  \"raw_value\": \"c4nary\"\n",
		"one line":      `{"key":"cookie","value":"c4nary"}`,
	} {
		for _, wrap := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, oneByte} {
			var out bytes.Buffer
			if err := attach.Redact(&out, wrap(strings.NewReader(text)), canary[:0], "some "+canary); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), canary) || !strings.Contains(out.String(), attach.Redacted) {
				t.Errorf("%s: %s", name, out.String())
			}
		}
	}
	const plain = "cluster.web::10.0.0.1:80::cx_active::1\n{\n \"key\": \"x-user\",\n \"value\": \"7\",\n \"name\": \"secret-service\",\n \"inline_string\": \"-----BEGIN CERTIFICATE-----\\nabc\"\n}\nbasically fine"
	var out bytes.Buffer
	if err := attach.Redact(&out, strings.NewReader(plain)); err != nil || out.String() != plain {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestALookBeforeAnExpressionHidesNothingFromIt: lines are what they would be if each was
// matched with every expression.
func TestALookBeforeAnExpressionHidesNothingFromIt(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{`"`, `":`, `": `, `":"`, " ", ",", "{", "\\", "key", "KEY", "\u212aey", "private_key", "privateKey", "password", "pa\u017f\u017fword", "secret", "client_secret",
		"token", "to\u212aen", "apiKey", "hmac_secret", "authorization", "Cookie", "x-api-key", "value", "raw_value", "Bearer abc", "basic ", "x", "\n", "eyJabcdefgh.a.b"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "text"), "")
		var want, got bytes.Buffer
		after := false
		for line := range bytes.Lines([]byte(text)) {
			line, after = attach.Expressions(line, after)
			want.Write(line)
		}
		if err := attach.Redact(&got, strings.NewReader(text)); err != nil || got.String() != want.String() {
			t.Fatalf("%v: %q is %q and not %q", err, text, got.String(), want.String())
		}
	})
}

func oneByte(r io.Reader) io.Reader { return &slow{r} }

type slow struct{ io.Reader }

func (s *slow) Read(p []byte) (int, error) { return s.Reader.Read(p[:1]) }

type endless struct{ line string }

func (e endless) Read(p []byte) (int, error) { return copy(p, e.line), nil }

func TestAnAnswerWithoutEndIsCut(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaa\n"} {
		if err := attach.Redact(io.Discard, endless{strings.Repeat(line, 4096)}); !errors.Is(err, attach.ErrTooLarge) {
			t.Errorf("%v", err)
		}
	}
}

func TestQuestionsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"config_dump?include_eds", "stats", "stats?format=json&usedonly", "clusters", "clusters?format=json"} {
		if !attach.IsQuestion(path) {
			t.Errorf("%s is not answered", path)
		}
	}
	for _, path := range []string{"", "quitquitquit", "/stats", "config_dump", "stats?filter=x", "certs", "logging?level=debug"} {
		if attach.IsQuestion(path) {
			t.Errorf("%s is answered", path)
		}
	}
}
