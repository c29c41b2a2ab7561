package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control/install"
	"github.com/weftmesh/weft/control/world"
)

func newUninstallControlPlane(a *app) *cobra.Command {
	var x installation
	var definitions bool
	c := a.command(&cobra.Command{
		Use:   "control-plane",
		Short: "Print what takes the control plane out of a cluster",
		Long: `Prints the objects of 'weft install control-plane' by their names, for kubectl to delete in
this order: the webhooks first, so that nothing in the cluster waits for a control plane
that is gone, then the control plane, then its rights. It asks no cluster.

Give it the values of the installation. Documents stay, with the custom resources that
define them and the Namespace, in which some of them and the authorities are; an
installation that comes back finds all of them. With --crds the custom resources go too,
and with them every Mesh, policy and route of their kinds in the whole cluster.

Pods keep their sidecars until they are made anew: docs/uninstall.md says what to do before.`,
		Example: "  weft uninstall control-plane | kubectl delete --ignore-not-found -f -\n  weft uninstall control-plane --values values.yaml --namespace mesh | kubectl delete --ignore-not-found -f -\n  weft uninstall control-plane --crds | kubectl delete --ignore-not-found -f -",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.uninstallControlPlane(x, definitions) },
	}, "")
	x.flags(c)
	c.Flags().BoolVar(&definitions, "crds", false, "print the custom resources too: without them all their documents are gone")
	return c
}

func (a *app) uninstallControlPlane(x installation, definitions bool) error {
	release, values, err := x.read()
	if err != nil {
		return err
	}
	all, err := install.Removal(release, values)
	if err != nil {
		return err
	}
	if definitions {
		for _, d := range crd.All(world.Catalog(), thisBuild().bundle()) {
			all = append(all, install.Reference{APIVersion: d.APIVersion, Kind: d.Kind, Metadata: install.ObjectName{Name: d.Metadata.Name}})
		}
	}
	var out bytes.Buffer
	if err := writeDocuments(&out, all); err != nil {
		return err
	}
	if _, err := a.out.Write(out.Bytes()); err != nil {
		return fmt.Errorf("print what to delete: %w", err)
	}
	return nil
}
