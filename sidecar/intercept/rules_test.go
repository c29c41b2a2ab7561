package intercept_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/sidecar/intercept"
)

// TestRules shows what each config becomes, for both programs.
func TestRules(t *testing.T) {
	t.Parallel()
	cases.Files(t, filepath.Join("testdata", "rules", "*.txtar"), func(t *testing.T, _ string, a *txtar.Archive) *txtar.Archive {
		c, err := intercept.ParseAnnotation(string(a.Files[0].Data))
		if err != nil {
			t.Fatal(err)
		}
		a.Files = a.Files[:1]
		for _, b := range []intercept.Firewall{intercept.IptablesNFT, intercept.NFT} {
			for _, in := range intercept.Render(c, b) {
				a.Files = append(a.Files, txtar.File{Name: strings.Join(in.Command, " "), Data: []byte(in.Text)})
			}
		}
		return a
	})
}

// word matches what may stand between spaces of a rule, but for addresses and numbers.
var (
	syntax    = regexp.MustCompile(`^[A-Za-z_"/!:{};*#=-][A-Za-z0-9_"/!:{};=-]*$|^::?[0-9]+$|^\[0:0\]$`)
	numbers   = regexp.MustCompile(`^[0-9,:-]+;?$`)
	addresses = regexp.MustCompile(`[0-9a-f.:/]+`)
	digits    = regexp.MustCompile(`[0-9]+`)
	constant  = []string{"0", "1", "2", "53", "9001", "9902", "-100;", "127.0.0.0/8", "127.0.0.6", "::1", "::6"}
)

// single is an address without the length of its prefix, if that is all of it.
func single(word string) string { return strings.TrimSuffix(strings.TrimSuffix(word, "/32"), "/128") }

// TestNothingElseInRules: every word of a text is one of the language's, an address of
// the config, or a number of it.
func TestNothingElseInRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig(t)
		said := slices.Clone(constant)
		for _, w := range append(addresses.FindAllString(strings.Join(c.Args(), " "), -1), digits.FindAllString(strings.Join(c.Args(), " "), -1)...) {
			said = append(said, w, single(w))
		}
		for _, b := range []intercept.Firewall{intercept.IptablesNFT, intercept.IptablesLegacy, intercept.NFT} {
			for _, in := range intercept.Render(c, b) {
				for _, word := range strings.Fields(in.Text) {
					word = strings.TrimSuffix(word, ",")
					if slices.Contains(said, word) || slices.Contains(said, single(word)) {
						continue
					}
					if numbers.MatchString(word) {
						for _, n := range digits.FindAllString(word, -1) {
							if !slices.Contains(said, n) {
								t.Fatalf("%s: number %s in %q is none of the config's %q", b, n, word, c.Args())
							}
						}
						continue
					}
					if !syntax.MatchString(word) {
						t.Fatalf("%s: %q is no word of a rule; config %q", b, word, c.Args())
					}
				}
			}
		}
	})
}

// TestMultiportTakesFifteen: no match has more ports than the kernel takes, a range
// counting two, and together they are all.
func TestMultiportTakesFifteen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig(t)
		c.ExcludeOutboundPortsForUIDs = nil
		var got []string
		for _, line := range intercept.IPTables(c, 4)["nat"] {
			f := strings.Fields(line)
			for i, w := range f {
				if w == "--dports" {
					if n := strings.Count(f[i+1], ",") + strings.Count(f[i+1], ":") + 1; n > 15 {
						t.Fatalf("%d ports: %s", n, line)
					}
				}
				if (w == "--dports" || w == "--dport") && f[1] == "WEFT_OUTBOUND" && !slices.Contains(f, "-o") {
					got = append(got, strings.ReplaceAll(f[i+1], ":", "-"))
				}
			}
		}
		if d := cmp.Diff(c.ExcludeOutboundPorts.String(), strings.Join(got, ",")); d != "" {
			t.Fatalf("excluded (-want +got):\n%s", d)
		}
	})
}

// TestAnnotationSaysTheSame: the annotation and the flags read back give the config.
func TestAnnotationSaysTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig(t)
		got, err := intercept.ParseAnnotation(c.Annotation())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.Args(), got.Args()); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
		for _, b := range []intercept.Firewall{intercept.IptablesNFT, intercept.NFT} {
			if d := cmp.Diff(intercept.Render(c, b), intercept.Render(got, b)); d != "" {
				t.Fatalf("rules (-want +got):\n%s", d)
			}
		}
	})
}

// TestFromAnyRulesToAny plays what the kernel does with the text of a change: a declared
// chain is emptied, foreign rules stay in their order, and what is wanted is there.
func TestFromAnyRulesToAny(t *testing.T) {
	t.Parallel()
	foreign := `-A OUTPUT -m comment --comment "not --comment weft/1" -j ACCEPT`
	rapid.Check(t, func(t *rapid.T) {
		old, want := intercept.IPTables(anyConfig(t), 4), intercept.IPTables(anyConfig(t), 4)
		if rapid.Bool().Draw(t, "uninstall") {
			want = nil
		}
		there := map[string][]string{}
		for table, lines := range old {
			at := rapid.IntRange(0, len(lines)).Draw(t, "at")
			there[table] = slices.Insert(slices.Clone(lines), at, foreign)
		}
		table := ""
		for line := range strings.Lines(intercept.RestoreText(old, want)) {
			line = strings.TrimSuffix(line, "\n")
			switch line[:2] {
			case "-D":
				i := slices.Index(there[table], "-A"+line[2:])
				if i < 0 {
					t.Fatalf("%s: nothing to delete by %q", table, line)
				}
				there[table] = slices.Delete(there[table], i, i+1)
			case "-A":
				there[table] = append(there[table], line)
			case ":W":
				there[table] = slices.DeleteFunc(there[table], func(l string) bool { return strings.Fields(l)[1] == strings.Fields(line[1:])[0] })
			case "-X":
				if slices.ContainsFunc(there[table], func(l string) bool { return strings.Contains(l, strings.Fields(line)[1]) }) {
					t.Fatalf("%s: a chain in use is deleted: %q", table, line)
				}
			default:
				table = strings.TrimPrefix(line, "*")
			}
		}
		for table := range old {
			if !slices.Contains(there[table], foreign) {
				t.Fatalf("%s: the foreign rule is gone", table)
			}
			there[table] = slices.DeleteFunc(there[table], func(l string) bool { return l == foreign })
		}
		if !intercept.Same(there, want) {
			t.Fatalf("got %q, want %q", there, want)
		}
	})
}

// TestWhatIsRead: lists of flags and annotations, what they mean and what is refused.
func TestWhatIsRead(t *testing.T) {
	t.Parallel()
	show := func(v fmt.Stringer, err error) string {
		if err != nil {
			return "no: " + strings.Join(strings.Fields(err.Error()), " ")
		}
		return v.String()
	}
	for _, c := range []struct{ kind, text, want string }{
		{"ports", "", ""},
		{"ports", "443, 80,8000-8100,80", "80,443,8000-8100"},
		{"ports", "10-20,15-30,31,33,65535,1-2", "1-2,10-31,33,65535"},
		{"ports", "0", `no: * "0" is no port`},
		{"ports", "80,x", `no: * "x" is no port`},
		{"ports", "65536", `no: * "65536" is no port`},
		{"ports", "80;reboot", `no: * "80;reboot" is no port`},
		{"ports", "90-80", `no: * "90-80" is no port`},
		{"ports", "80,,81", `no: * "" is no port`},
		{"ports", "-1", `no: * "-1" is no port`},
		{"ips", "10.1.2.3/8,fd00::1", "10.0.0.0/8,fd00::1/128"},
		{"ips", "10.0.0.1 -j ACCEPT", `no: * "10.0.0.1 -j ACCEPT" is no address`},
		{"ips", "::ffff:10.0.0.1", `no: * "::ffff:10.0.0.1" is no address`},
		{"ips", "fe80::1%eth0", `no: * "fe80::1%eth0" is no address`},
		{"users", "1000", "*:1000"},
		{"users", "*:1000-2000;tcp:22,80:0;udp:53:101", "*:1000-2000;tcp:22,80:0;udp:53:101"},
		{"users", "80:*", `no: * "80:*" does not end with a user`},
		{"users", "80:1,2", `no: * "80:1,2" does not end with a user`},
		{"users", "4294967295", `no: * "4294967295" does not end with a user`},
		{"users", "sctp:80:1", `no: * "sctp:80:1" is no [[tcp|udp:]ports:]uids`},
		{"users", ":1", `no: * ":1": "" are no ports`},
	} {
		var got string
		switch c.kind {
		case "ports":
			p, err := intercept.ParsePorts(c.text)
			got = show(p, err)
		case "ips":
			p, err := intercept.ParsePrefixes(c.text)
			var a intercept.Config
			a.ExcludeOutboundIPs = p
			got = show(text(arg(a.Args(), "--exclude-outbound-ips=")), err)
		case "users":
			p, err := intercept.ParseUIDPorts(c.text)
			a := intercept.Config{ExcludeOutboundPortsForUIDs: p}
			got = show(text(arg(a.Args(), "--exclude-outbound-ports-for-uids=")), err)
		}
		if wrong := strings.HasPrefix(c.want, "no: * "); wrong && !strings.Contains(got, strings.TrimPrefix(c.want, "no: * ")) || !wrong && got != c.want {
			t.Errorf("%s %q: %s, want %s", c.kind, c.text, strconv.Quote(got), strconv.Quote(c.want))
		}
	}
}

type text string

func (t text) String() string { return string(t) }

func arg(args []string, flag string) string {
	for _, a := range args {
		if v, ok := strings.CutPrefix(a, flag); ok {
			return v
		}
	}
	return ""
}
