package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/sidecar/inject"
	"github.com/weftmesh/weft/sidecar/inject/documents"
)

// injection is the command line of inject.
type injection struct {
	files                []string
	values, ca, fallback string
	namespace            string
}

func newInject(a *app) *cobra.Command {
	var x injection
	c := a.command(&cobra.Command{
		Use:   "inject -f FILE|DIR|-",
		Short: "Add the sidecar to the pods of documents, or say why not",
		Long: `Prints the documents with a sidecar in each pod that is to have one: in Pods, and in the
templates of Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs, in
a List too. It decides and changes by the same code as the webhook. All other documents
are printed as they are, and injecting again changes nothing.

A Namespace among the documents says whether its pods get sidecars; one that is not
among them counts as labelled kuma.io/sidecar-injection: enabled. A pod that cannot have
a sidecar is refused with every field that is wrong: then nothing is printed but that,
and the exit status is 3.`,
		Example: "  weft inject -f deployment.yaml | kubectl apply -f -\n  weft inject -f app/ --mesh-config values.yaml -o json\n  weft inject explain -f deployment.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.inject(x) },
	}, groupRun)
	a.injectionFlags(c, &x)
	c.AddCommand(newInjectExplain(a))
	return c
}

func (a *app) injectionFlags(c *cobra.Command, x *injection) {
	filesFlag(c, &x.files, "documents: a file, a directory, or - for standard input; may be repeated")
	c.Flags().StringVar(&x.values, "mesh-config", "", "file with the values of the Helm chart by which weft is installed")
	c.Flags().StringVar(&x.ca, "ca-file", "", "authority of the control plane in PEM; without it the webhook adds it")
	c.Flags().StringVar(&x.fallback, "xds-fallback", "", "address of the control plane for pods that cannot resolve its name")
	c.Flags().StringVarP(&x.namespace, "namespace", "n", "default", "namespace of the documents that name none")
	a.outputFlag(c)
}

func newInjectExplain(a *app) *cobra.Command {
	var x injection
	var on clusterTarget
	c := a.command(&cobra.Command{
		Use:   "explain [NAMESPACE/NAME] [-f FILE|DIR|-]",
		Short: "Say which pods get a sidecar, and why",
		Long: `Shows for each pod or template of the documents, or for the one that is named, all
conditions in their order with what was looked at; the first that holds decides.

Without -f it asks the cluster, as kubectl does, for the pod of that name, or the workload
that makes pods, and for the values of the installation; and says why a pod that runs is
without a sidecar.`,
		Example: "  weft inject explain shop/web-1\n  weft inject explain -f deployment.yaml\n  weft inject explain shop/web -f app/ -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.explainInjection(c.Context(), x, on, strings.Join(args, ""))
		},
	}, "")
	a.injectionFlags(c, &x)
	c.Flags().StringVar(&on.kubeconfig, "kubeconfig", "", "without -f: file that says how the API server is reached (else KUBECONFIG, else ~/.kube/config)")
	c.Flags().StringVar(&on.context, "context", "", "without -f: context of that file (default the current one)")
	return c
}

// injected reads documents and injects into them.
func (a *app) injected(x injection) (documents.Result, error) {
	settings, err := x.settings()
	if err != nil {
		return documents.Result{}, err
	}
	var texts []decode.Text
	for _, f := range x.files {
		found, _, err := world.Open(a.in, f)
		if err != nil {
			return documents.Result{}, err
		}
		texts = append(texts, found...)
	}
	result := documents.Inject(settings, texts...)
	if result.Documents() == 0 && len(result.Violations) == 0 {
		return result, usage("%w; give -f something that holds some", syntax.ErrNoDocuments)
	}
	return result, nil
}

// settings are those of the flags, over the file of values.
func (x injection) settings() (documents.Settings, error) {
	s := documents.Settings{Config: inject.Default(thisBuild().Version), Namespace: x.namespace}
	if x.values != "" {
		values, err := readValues([]string{x.values})
		if err != nil {
			return s, err
		}
		s.Config = values.Injection(thisBuild().Version, "")
	}
	if x.ca != "" {
		text, err := os.ReadFile(x.ca)
		if err != nil {
			return s, fmt.Errorf("--ca-file: %w", err)
		}
		if err := inject.CheckCA(text); err != nil {
			return s, usage("--ca-file %s: %w", x.ca, err)
		}
		s.CA = string(text)
	}
	s.XDSFallback = x.fallback
	if err := s.Validate(); err != nil {
		return s, invalid(err)
	}
	return s, nil
}

func (a *app) inject(x injection) error {
	if err := a.checkOutput(); err != nil {
		return err
	}
	if len(x.files) == 0 {
		return usage("-f is missing; name a file, a directory, or - for standard input")
	}
	result, err := a.injected(x)
	if err != nil {
		return err
	}
	failed := a.complain(result.All())
	if failed {
		return invalid(nil)
	}
	if a.output == "json" {
		items, err := result.JSON()
		if err != nil {
			return err
		}
		return writeJSON(a.out, items)
	}
	if _, err = a.out.Write(result.Text()); err != nil {
		return fmt.Errorf("print the documents: %w", err)
	}
	return nil
}

// complain prints violations, and reports whether one refuses.
func (a *app) complain(found []*api.Violation) (refused bool) {
	world.Sort(found)
	for _, v := range found {
		fmt.Fprintln(a.err, line(inspect.ViolationOf(v)))
		refused = refused || v.Severity == api.Error
	}
	return refused
}

// explained is what programs get of one pod.
type explained struct {
	Object string `json:"object"`
	inject.Decision
	Hook       string              `json:"hook,omitempty"`
	Violations []inspect.Violation `json:"violations"`
}

func (a *app) explainInjection(ctx context.Context, x injection, on clusterTarget, name string) error {
	if err := a.checkOutput(); err != nil {
		return err
	}
	ask := func() (documents.Result, error) { return a.injected(x) }
	if len(x.files) == 0 {
		ask = func() (documents.Result, error) { return a.explainRunning(ctx, on, name) }
	}
	result, err := ask()
	if err != nil {
		return err
	}
	refused, out := a.complain(result.Violations), []explained{}
	for _, w := range result.Workloads {
		if name != "" && name != w.Ref.Namespace+"/"+w.Ref.Name {
			continue
		}
		e := explained{Object: fmt.Sprintf("%s %s/%s", w.Ref.Kind, w.Ref.Namespace, w.Ref.Name), Decision: w.Decision, Hook: w.Hook, Violations: []inspect.Violation{}}
		for _, v := range w.Violations {
			e.Violations = append(e.Violations, inspect.ViolationOf(v))
			refused = refused || v.Severity == api.Error
		}
		out = append(out, e)
	}
	if len(out) == 0 && !refused {
		if name == "" {
			return errors.New("the documents hold no pods and nothing that makes pods")
		}
		return fmt.Errorf("the documents hold no %s; name one as NAMESPACE/NAME, or leave it out for all", name)
	}
	if err := a.print(out, func(w io.Writer) error { return explainPods(w, out) }); err != nil {
		return err
	}
	if refused {
		return invalid(nil)
	}
	return nil
}

// explainPods prints decisions for people.
func explainPods(w io.Writer, pods []explained) error {
	for i, p := range pods {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s (%s)\n", p.Object, p.Verdict, p.Code)
		rows := [][]string{{"", "HOLDS", "CONDITION", "FOUND"}}
		for i, r := range p.Rows {
			holds := "no"
			switch {
			case r.Holds:
				holds = "yes"
			case !r.Asked:
				holds = "-"
			}
			rows = append(rows, []string{fmt.Sprint(i + 1), holds, r.Condition, cmp.Or(r.Found, "-")})
		}
		if err := columns(w, rows); err != nil {
			return err
		}
		hook := p.Hook
		if hook == "" {
			hook = "none: no webhook is called for it"
		}
		fmt.Fprintln(w, "hook: "+hook)
		for _, v := range p.Violations {
			fmt.Fprintln(w, line(v))
		}
	}
	return nil
}
