package format_test

import (
	_ "embed"
	"strings"
	"testing"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	filev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/file/v3"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies/accesslog/format"
	"github.com/weftmesh/weft/xds/envoy"
)

//go:embed testdata/formats.txt
var formats string

func logOf(text string) *accesslogv3.AccessLog {
	return &accesslogv3.AccessLog{Name: "envoy.access_loggers.file", ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: envoy.Pack(&filev3.FileAccessLog{
		Path: "/dev/null", AccessLogFormat: &filev3.FileAccessLog_LogFormat{LogFormat: &corev3.SubstitutionFormatString{
			Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}}},
		}},
	})}}
}

// everywhere are forms in which each command is tried.
var everywhere = []string{"%&%", "%&()%", "%&(x)%", "%&:5%", "%&(x):5%", "%&(x?y)%", "%&(x:y)%"}

// beyond are those of which Envoy takes more than weft does: it takes a whole language in CEL.
func beyond(text string) bool { return strings.Contains(text, "CEL(") }

// TestEnvoyAgrees: of each format in testdata, and of each command in each form, Envoy says what Parse
// says (spec/kinds.md F12).
func TestEnvoyAgrees(t *testing.T) {
	t.Parallel()
	list := append(strings.Split(strings.TrimSuffix(formats, "\n"), "\n"), "", "\n", "%REQ(a\nb)%", "%REQ(a\tb)%", "%START_TIME(\n)%", "%PROTOCOL%\n")
	for _, name := range format.Names() {
		for _, form := range everywhere {
			list = append(list, strings.ReplaceAll(form, "&", name))
		}
	}
	verdicts := ask(t, list)
	for i, text := range list {
		_, err := format.Parse(text)
		switch {
		case strings.Contains(text, "KUMA_"):
		case err == nil && verdicts[i] != nil:
			t.Errorf("%q: weft takes what Envoy refuses", text)
		case err != nil && verdicts[i] == nil && !beyond(text):
			t.Errorf("%q: Envoy takes it, and weft says %v", text, err)
		}
	}
}

// ask is what Envoy says of each format. An empty one is its own.
func ask(t *testing.T, list []string) []error {
	logs := make([]*accesslogv3.AccessLog, len(list))
	for i, text := range list {
		logs[i] = logOf(text)
	}
	return envoytest.LogVerdicts(t, logs)
}

// anyFormat is made of what formats are made of, sound or not.
var anyFormat = rapid.Custom(func(t *rapid.T) string {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"%", "%%", "(", ")", "()", ":", ":5", "?", " ", "a", "X-A", "%Y", "PLAIN", "NQ", "ms", "ROUTE", "['a']", ".b", "ü"}),
		rapid.Custom(func(t *rapid.T) string {
			return "%" + rapid.SampledFrom(format.Names()).Draw(t, "name") + rapid.SampledFrom([]string{"", "()", "(x)", "(X-A?X-B)", "(a:b)", "(a:PLAIN)", "(NQ:PATH)", "(ROUTE:a)", "(SNI_FIRST)", "(a.b['c'])", "(uri)", "(a:b:us)"}).Draw(t, "argument") +
				rapid.SampledFrom([]string{"", "", ":9"}).Draw(t, "length") + rapid.SampledFrom([]string{"%", "%", "%", ""}).Draw(t, "end")
		}),
	)
	return strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(t, "pieces"), "")
})

// TestWhatParseTakesEnvoyTakes tries random formats, and wants both to agree.
func TestWhatParseTakesEnvoyTakes(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 1500 {
		if text := anyFormat.Example(i); !strings.Contains(text, "KUMA_") {
			list = append(list, text)
		}
	}
	taken := 0
	for i, err := range ask(t, list) {
		_, ours := format.Parse(list[i])
		if ours == nil {
			taken++
		}
		if ours == nil && err != nil || ours != nil && err == nil && !beyond(list[i]) {
			t.Errorf("%q: weft says %v, Envoy %v", list[i], ours, err)
		}
	}
	if taken < len(list)/10 || taken > len(list)*9/10 {
		t.Errorf("%d of %d were taken: the formats try one side alone", taken, len(list))
	}
}
