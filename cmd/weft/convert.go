package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/convert"
	"github.com/weftmesh/weft/inspect"
)

// conversion is the command line of convert.
type conversion struct {
	files                      []string
	to, host, service, gateway string
	strict                     bool
}

func newConvert(a *app) *cobra.Command {
	var x conversion
	c := a.command(&cobra.Command{
		Use:   "convert -f FILE|DIR|- --to KIND",
		Short: "Translate routes into another language, and older forms into today's",
		Long: `Translates the routes of documents into one language. What comes out is read back
and compared with what went in: a rule that the language cannot say, or that would
take other requests or take them in another order, is left out and named on stderr,
with its place and who takes its requests now. Then the exit status is 1.

RouteGroups and HTTPProxies are for hosts, MeshHTTPRoutes for services, HTTPRoutes for
both. From services to hosts, --host says by which host the service is asked for; from
hosts to services, --service says whose callers ask.`,
		Example: "  weft convert -f routes/ --to httproute\n  weft convert -f ingress.yaml --to routegroup -o json\n" +
			"  weft convert -f web.yaml --to meshhttproute --service web:8080",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.convert(x) },
	}, groupChange)
	filesFlag(c, &x.files, "documents to translate: a file, a directory, or - for standard input; may be repeated")
	c.Flags().StringVar(&x.to, "to", "", "the language: "+strings.Join(languages(), ", "))
	c.Flags().StringVar(&x.host, "host", "", "the host by which a service is asked for, where the language has hosts alone")
	c.Flags().StringVar(&x.service, "service", "", "[NAMESPACE/]NAME[:PORT], whose callers ask, where the language has services alone; NAMESPACE is by default that of the documents")
	c.Flags().StringVar(&x.gateway, "gateway", "gateway", "[NAMESPACE/]NAME of the Gateway at which HTTPRoutes serve hosts")
	c.Flags().BoolVar(&x.strict, "strict", false, "let warnings fail too")
	complete(c, "to", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return languages(), cobra.ShellCompDirectiveNoFileComp
	})
	a.outputFlag(c)
	return c
}

// languages are the kinds that can be written, in lower case.
func languages() []string {
	var out []string
	for _, d := range world.Dialects() {
		if d.Print != nil {
			out = append(out, strings.ToLower(d.Prints))
		}
	}
	return out
}

// converted is what programs get: the documents, and what is not as it was.
type converted struct {
	Documents  []json.RawMessage   `json:"documents"`
	Violations []inspect.Violation `json:"violations"`
}

func (a *app) convert(x conversion) error {
	if err := a.checkOutput(); err != nil {
		return err
	}
	typ, known := world.Catalog().Find(x.to)
	if !known || !slices.Contains(languages(), strings.ToLower(typ.Name)) {
		return usage("--to %q is no language; write one of %s", x.to, strings.Join(languages(), ", "))
	}
	options := convert.Options{Catalog: world.Catalog(), Dialects: world.Readable(), Kind: typ.Name, Host: x.host}
	var err error
	if options.Service, err = serviceOf(x.service); err != nil {
		return err
	}
	options.Edge.Namespace, options.Edge.Name = api.CutNamespace(x.gateway)
	reading, err := a.readBy(world.ReadOlder, x.files)
	if err != nil {
		return err
	}
	reading.Violations = world.WarnOfOthers(reading.Violations)
	result := convert.Objects(reading.Objects, options)
	out := converted{Violations: []inspect.Violation{}, Documents: []json.RawMessage{}}
	for _, v := range slices.Concat(reading.Rewritten, reading.Violations) {
		out.Violations = append(out.Violations, inspect.ViolationOf(v))
	}
	sources := map[api.Ref]api.Source{}
	for _, o := range reading.Objects {
		sources[o.Ref] = o.Source
	}
	for _, n := range result.Notes {
		v := &api.Violation{Position: syntax.Locate(sources[n.Origin.Ref], n.Field), Object: n.Origin.Ref, Field: n.Field, Code: n.Code, Message: n.Message, Severity: n.Severity}
		out.Violations = append(out.Violations, inspect.ViolationOf(v))
	}
	for _, o := range result.Objects {
		text, err := decode.PrintDocument(world.Catalog(), o)
		if err != nil {
			return err
		}
		out.Documents = append(out.Documents, text)
	}
	if err := a.print(out, func(w io.Writer) error { return a.documents(w, out) }); err != nil {
		return err
	}
	return out.failed(reading.Violations, x.strict)
}

// failed is the end of a conversion: 3 where documents were invalid, 1 where something is
// left out.
func (c *converted) failed(read []*api.Violation, strict bool) error {
	lost, doubtful := 0, 0
	for _, v := range c.Violations {
		switch v.Severity {
		case api.Error:
			lost++
		case api.Warning:
			doubtful++
		}
	}
	for _, v := range read {
		if v.Severity == api.Error {
			return invalid(nil)
		}
	}
	switch {
	case lost > 0:
		return fmt.Errorf("%s; see above", many(lost, "thing")+" left out")
	case strict && doubtful > 0:
		return fmt.Errorf("%s; see above", many(doubtful, "thing")+" different")
	}
	return nil
}

// documents writes the documents, and on stderr what is not as it was.
func (a *app) documents(w io.Writer, c converted) error {
	for _, v := range c.Violations {
		fmt.Fprintln(a.err, line(v))
	}
	return writeDocuments(w, c.Documents)
}

// serviceOf reads [NAMESPACE/]NAME[:PORT].
func serviceOf(text string) (api.TargetRef, error) {
	if text == "" {
		return api.TargetRef{}, nil
	}
	out := api.TargetRef{Kind: api.KindMeshService}
	out.Namespace, out.Name = api.CutNamespace(text)
	name, port, ok := strings.Cut(out.Name, ":")
	if out.Name = name; ok {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return out, usage("--service %q has no port; write NAME or NAME:PORT", text)
		}
		out.SectionName = port
	}
	if out.Name == "" {
		return out, usage("--service %q names no service; write NAME or NAME:PORT", text)
	}
	return out, nil
}
