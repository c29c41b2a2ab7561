package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/sim"
)

func newSimulate(a *app) *cobra.Command {
	var from string
	var files, headers []string
	var strict bool
	c := a.command(&cobra.Command{
		Use:   "simulate --from DATAPLANE [METHOD] URL",
		Short: "Say what would happen to a request, and why",
		Long: `Says which route a request would take, where it would go, what would be changed
on the way, and which policies hold, with who set each field. It asks the control
plane, or works offline on the documents of -f.

The URL's host is a service, a hostname or address of one, or an outbound's
address.`,
		Example: `  weft simulate --from frontend-1 GET http://web/v1/items -H 'x-user: 7'
  weft simulate --from frontend-1 http://127.0.0.1:10001/ -f mesh/ -o json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if from == "" {
				return usage("--from is missing; name the dataplane that sends the request")
			}
			q, err := request(args, headers)
			if err != nil {
				return err
			}
			if err := a.checkOutput(); err != nil {
				return err
			}
			v, err := a.verdict(c, from, q, files, strict)
			if err != nil {
				return err
			}
			return a.print(v, func(w io.Writer) error { return inspect.VerdictText(w, v, a.style()) })
		},
	}, groupAsk)
	c.Flags().StringVar(&from, "from", "", "dataplane that sends the request")
	c.Flags().StringArrayVarP(&headers, "header", "H", nil, "request header, 'name: value'; may be repeated")
	filesFlag(c, &files, "documents to work on instead of asking the control plane; may be repeated")
	c.Flags().BoolVar(&strict, "strict", false, "with -f: fail if a document is invalid instead of leaving it out")
	complete(c, "from", a.completeNames("dataplane"))
	a.serverFlags(c)
	a.meshFlag(c)
	a.outputFlag(c)
	return c
}

// request reads the method, the URL and the headers.
func request(args, headers []string) (sim.Request, error) {
	q := sim.Request{Method: "GET", URL: args[len(args)-1]}
	if len(args) == 2 {
		q.Method = strings.ToUpper(args[0])
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if !ok || name == "" {
			return q, usage("-H %q is no header; write 'name: value'", h)
		}
		if strings.Contains(value, "\n") {
			return q, usage("-H %q holds a line feed; give -H for each value of a repeated header", h)
		}
		if q.Headers == nil {
			q.Headers = sim.Headers{}
		}
		q.Headers.Add(name, value)
	}
	return q, nil
}

// verdict asks the documents of files, or the control plane where there are none.
func (a *app) verdict(c *cobra.Command, from string, q sim.Request, files []string, strict bool) (sim.Verdict, error) {
	if len(files) > 0 {
		w, err := a.offline(files, strict)
		if err != nil {
			return sim.Verdict{}, err
		}
		r, err := w.dataplane(a.mesh, from)
		if err != nil {
			return sim.Verdict{}, err
		}
		v, err := sim.RunIn(w.model.Destinations(r.Ref.Mesh), r, q)
		v.Notes = append(v.Notes, w.left...)
		return v, err
	}
	var v sim.Verdict
	t, server, err := a.located(api.KindDataplane)
	if err != nil {
		return v, err
	}
	headers := map[string][]string{} // as lists: what the client repeats is not what it joins
	for name := range q.Headers {
		headers[name] = q.Headers.Values(name)
	}
	question := map[string]any{"method": q.Method, "url": q.URL, "headers": headers}
	err = server.Post(c.Context(), path(t, a.mesh, from)+"/_simulate", question, &v)
	return v, a.named(c.Context(), server, t, from, err)
}

// leftOut is a violation as a note on an object that is not part of the world.
func leftOut(v *api.Violation) api.Note {
	return api.Note{
		Origin: &api.Origin{Ref: v.Object}, Severity: v.Severity, Code: v.Code, Field: v.Field,
		Message: v.Message, Position: v.Position,
	}
}
