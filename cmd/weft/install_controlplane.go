package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control/install"
	"github.com/weftmesh/weft/control/world"
)

// installation is the command line of install control-plane.
type installation struct {
	files, sets []string
	texts       []string
	namespace   string
	skipCRDs    bool
}

func newInstallControlPlane(a *app) *cobra.Command {
	var x installation
	c := a.command(&cobra.Command{
		Use:   "control-plane",
		Short: "Print the control plane for a cluster",
		Long: `Prints everything that a control plane in a cluster is, as one stream of YAML: its
Namespace, the custom resources, its account and rights, Deployment, Services and
webhooks. It asks no cluster; 'weft check --pre' does.

It takes the values of the Helm chart in deploy/chart, and prints the same objects: files
by --values, single ones by --set, the last one wins.`,
		Example: "  weft install control-plane | kubectl apply --server-side -f -\n  weft install control-plane --set ha=true,networkPolicy=true\n  weft install control-plane --values values.yaml --skip-crds --namespace mesh",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.installControlPlane(x) },
	}, "")
	x.flags(c)
	c.Flags().BoolVar(&x.skipCRDs, "skip-crds", false, "print no custom resources")
	return c
}

// flags are those of values and of the namespace.
func (x *installation) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&x.sets, "set", nil, "values as path=value, with commas in between, as Helm reads them; may be repeated")
	c.Flags().StringArrayVar(&x.texts, "set-string", nil, "the same, of which every value is a text, such as resources.limits.cpu=2")
	c.Flags().StringArrayVarP(&x.files, "values", "f", nil, "file of values; may be repeated")
	c.Flags().StringVarP(&x.namespace, "namespace", "n", install.DefaultNamespace, "namespace of the control plane")
}

// read is the installation that the command line asks for.
func (x *installation) read() (install.Release, install.UserValues, error) {
	if err := install.CheckNamespace(x.namespace); err != nil {
		return install.Release{}, install.UserValues{}, usage("--namespace %w", err)
	}
	var sets []install.SetFlags
	for _, s := range x.sets {
		sets = append(sets, install.SetFlags{Words: s})
	}
	for _, s := range x.texts {
		sets = append(sets, install.SetFlags{Words: s, Texts: true})
	}
	values, err := readValues(x.files, sets...)
	return install.Release{Namespace: x.namespace, Version: thisBuild().Version, Service: "weft"}, values, err
}

func (a *app) installControlPlane(x installation) error {
	release, values, err := x.read()
	if err != nil {
		return err
	}
	manifests, err := install.Render(release, values)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	documents := []any{install.Namespace(x.namespace)}
	for _, name := range values.Secrets.Namespaces { // a right in a namespace needs the namespace
		if name != x.namespace {
			documents = append(documents, install.Reference{APIVersion: "v1", Kind: "Namespace", Metadata: install.ObjectName{Name: name}})
		}
	}
	if !x.skipCRDs {
		for _, d := range crd.All(world.Catalog(), thisBuild().bundle()) {
			documents = append(documents, d)
		}
	}
	if err := writeDocuments(&out, documents); err != nil {
		return err
	}
	for _, m := range manifests {
		fmt.Fprintf(&out, "---\n# %s\n%s", m.Name, m.Text)
	}
	if _, err := a.out.Write(out.Bytes()); err != nil {
		return fmt.Errorf("print the control plane: %w", err)
	}
	return nil
}

// readValues reads files of values, and values of the command line.
func readValues(names []string, sets ...install.SetFlags) (install.UserValues, error) {
	var files []install.File
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return install.UserValues{}, fmt.Errorf("read values: %w", err)
		}
		files = append(files, install.File{Name: name, Text: text})
	}
	values, err := install.Read(files, sets...)
	if err != nil {
		return values, invalid(err)
	}
	return values, nil
}
