package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/internal/cli"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// simulation is what `weft simulate` was given.
type simulation struct {
	from, answers, version, authz, sni, as string
	plaintext, strict                      bool
	body, draw                             int64
	files, headers, claims                 []string
}

func newSimulate(a *app) *cobra.Command {
	var s simulation
	c := a.command(&cobra.Command{
		Use:   "simulate --from DATAPLANE [METHOD] URL",
		Short: "Say what would happen to a request, and why",
		Long:  simulateHelp,
		Example: `  weft simulate --from frontend-1 GET http://web/v1/items -H 'x-user: 7'
  weft simulate --from frontend-1 http://web/ --answers 503,reset,200@2s
  weft simulate --from frontend-1 http://web/admin --as spiffe://default/ops
  weft simulate --from frontend-1 tcp://db:5432 --sni reports.db.example.com
  weft simulate --from frontend-1 http://127.0.0.1:10001/ -f mesh/ -o json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			q, err := s.request(c, args)
			if err != nil {
				return err
			}
			if err := a.checkOutput(); err != nil {
				return err
			}
			v, err := a.verdict(c, s.from, q, s.files, s.strict)
			if err != nil {
				return err
			}
			return a.print(v, func(w io.Writer) error { return terminal.VerdictText(w, v, a.style()) })
		},
	}, groupAsk)
	s.flags(c)
	a.settingsFlags(c)
	complete(c, "from", a.completeNames("dataplane"))
	a.serverFlags(c)
	a.meshFlag(c)
	a.outputFlag(c)
	return c
}

const simulateHelp = `Says which route a request would take, where it would go, what would be changed
on the way, and which policies hold, with who set each field. It asks the control
plane, or works offline on the documents of -f.

The URL's host is a service, a hostname or address of one, or an outbound's
address; tcp://HOST:PORT asks for a connection, where no requests are told apart.
Where routes choose by the name that a client asks for in TLS, https:// asks for the
host of the URL, and --sni for another one.
The request is followed to the called side: "then, at NAME" shows what
holds at the inbounds of each backend.

Chance is one number that Envoy draws for a request. Where it decides which route
takes the request there are several verdicts, each with its probability and the
draws that lead to it; --draw asks for one of them. Routes may ask for claims of the
request's token: --claim gives them. They may ask an authorization service who may
pass: --authz says what it answers.

In a mesh with mutual TLS the caller proves who it is as its dataplane does; --as asks
for somebody else, and --plaintext for a caller that proves nothing.

--answers shows what happens in time if the workloads behind the route answer so,
attempt by attempt: every retry, how long it waits, and how the request ends
within its bounds of time. It is a list by comma, whose last entry holds for all
further attempts:

  STATUS[@FIRST[@LAST]]  it answers with that status; the answer begins after FIRST
                         (at once if not given) and is complete after LAST
  FIRST[@LAST]           the same with status 200: 200ms@5s
  grpc:CODE[@FIRST]      a gRPC server answers with that status of gRPC
  reset[@FIRST]          it ends the stream without an answer
  refused                nobody accepts the connection`

func (s *simulation) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.from, "from", "", "dataplane that sends the request")
	f.StringArrayVarP(&s.headers, "header", "H", nil, "request header, 'name: value'; may be repeated")
	f.StringVar(&s.answers, "answers", "", "what the workloads answer at each attempt, as 503,503,200@2s; see above")
	f.Int64Var(&s.body, "body", 0, "length of the request's body in bytes")
	f.StringVar(&s.version, "http", "1.1", "version of HTTP by which the workload asks: 1.0, 1.1 or 2")
	f.Int64Var(&s.draw, "draw", 0, "the request's random number, 0 to 999999; without it all that chance may decide is shown")
	f.StringArrayVar(&s.claims, "claim", nil, "claim of the request's token, 'name=value'; may be repeated, '' says that it has none")
	f.StringVar(&s.authz, "authz", "", "what the authorization service answers where the route asks it: allow, down, or the status with which it refuses")
	f.StringVar(&s.sni, "sni", "", "name that the client asks for in TLS; by https:// the host of the URL if not given, by tcp:// none")
	f.StringVar(&s.as, "as", "", "SPIFFE ID that the caller proves in place of its dataplane's")
	f.BoolVar(&s.plaintext, "plaintext", false, "as a caller that proves no identity")
	filesFlag(c, &s.files, "documents to work on instead of asking the control plane; may be repeated")
	f.BoolVar(&s.strict, "strict", false, "with -f: fail if a document is invalid instead of leaving it out")
}

// request is what the flags ask, checked.
func (s *simulation) request(c *cobra.Command, args []string) (wire.Request, error) {
	if s.from == "" {
		return wire.Request{}, usage("--from is missing; name the dataplane that sends the request")
	}
	q, err := request(args, s.headers)
	if err != nil {
		return q, err
	}
	q.Answers, q.Body, q.Authz, q.SNI, q.As, q.Plaintext = s.answers, s.body, s.authz, s.sni, s.as, s.plaintext
	if s.version != "1.1" {
		q.Version = s.version
	}
	if c.Flags().Changed("draw") {
		q.Draw = &s.draw
	}
	if q.Claims, err = claimed(s.claims); err != nil {
		return q, err
	}
	return q, wrongFlags(sim.Check(q))
}

// wrongFlags names what is wrong with a request as the command line has it.
func wrongFlags(err error) error {
	if err == nil {
		return nil
	}
	var all *multierror.Error
	for _, e := range flatten(err) {
		field, reason, _ := strings.Cut(e.Error(), ": ")
		switch name, isHeader := strings.CutPrefix(field, "headers."); {
		case isHeader:
			field = "-H " + name
		case field == "headers":
			field = "-H"
		case field == "url":
			field = "URL"
		case field == "version":
			field = "--http"
		default:
			field = "--" + field
		}
		all = multierror.Append(all, fmt.Errorf("%s: %s", field, reason))
	}
	return &exitError{Status: cli.StatusUsage, Err: all}
}

// request reads the method, the URL and the headers.
func request(args, headers []string) (wire.Request, error) {
	q := wire.Request{URL: args[len(args)-1]}
	if len(args) == 2 {
		q.Method = strings.ToUpper(args[0])
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if !ok || name == "" {
			return q, usage("-H %q is not a header; write 'name: value'", h)
		}
		if strings.Contains(value, "\n") {
			return q, usage("-H %q holds a line feed; give -H for each value of a repeated header", h)
		}
		if q.Headers == nil {
			q.Headers = wire.Headers{}
		}
		q.Headers.Add(name, value)
	}
	return q, nil
}

// claimed reads the claims of a token; nil where nothing is said of them.
func claimed(list []string) (map[string]string, error) {
	var out map[string]string
	for _, c := range list {
		if out == nil {
			out = map[string]string{}
		}
		if c == "" {
			continue
		}
		name, value, ok := strings.Cut(c, "=")
		if !ok || name == "" {
			return nil, usage("--claim %q is not a claim; write 'name=value'", c)
		}
		out[name] = value
	}
	return out, nil
}

// verdict asks the documents of files, or the control plane where there are none.
func (a *app) verdict(c *cobra.Command, from string, q wire.Request, files []string, strict bool) (sim.Verdict, error) {
	if len(files) > 0 {
		w, err := a.offline(files, strict)
		if err != nil {
			return sim.Verdict{}, err
		}
		r, err := w.dataplane(a.mesh, from)
		if err != nil {
			return sim.Verdict{}, err
		}
		v, err := sim.Run(w.model, r.Ref, q)
		v.Notes = slices.Concat(v.Notes, w.model.Reader(nil).Unserved(r.Ref.Mesh, v.Host()), w.left)
		return v, err
	}
	var v sim.Verdict
	t, server, err := a.located(api.KindDataplane)
	if err != nil {
		return v, err
	}
	err = server.Post(c.Context(), path(t, a.mesh, from)+"/_simulate", question(q), &v)
	return v, a.named(c.Context(), server, t, from, err)
}

// question is a request as the control plane is asked about it; what is not given is left out.
func question(q wire.Request) map[string]any {
	headers := map[string][]string{} // as lists: what the client repeats is not what it joins
	for name := range q.Headers {
		headers[name] = q.Headers.Values(name)
	}
	out := map[string]any{"method": q.Method, "url": q.URL, "headers": headers} // without a method it is GET
	if q.Answers != "" {
		out["answers"] = q.Answers
	}
	if q.Body != 0 {
		out["body"] = q.Body
	}
	if q.Version != "" {
		out["version"] = q.Version
	}
	if q.Draw != nil {
		out["draw"] = *q.Draw
	}
	if q.Claims != nil {
		out["claims"] = q.Claims
	}
	if q.Authz != "" {
		out["authz"] = q.Authz
	}
	if q.SNI != "" {
		out["sni"] = q.SNI
	}
	if q.As != "" {
		out["as"] = q.As
	}
	if q.Plaintext {
		out["plaintext"] = true
	}
	return out
}

// leftOut is a violation as a note on an object that is not part of the world.
func leftOut(v *api.Violation) api.Note {
	return api.Note{
		Origin: &api.Origin{Ref: v.Object}, Severity: v.Severity, Code: v.Code, Field: v.Field,
		Message: v.Message, Position: v.Position,
	}
}
