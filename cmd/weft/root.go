package main

import (
	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/internal/cli"
	"github.com/weftmesh/weft/cmd/internal/sidecarcmd"
)

//go:generate go test -run ^TestReferenceIsFresh$ . -update

// The groups of commands in `weft --help`.
const (
	groupStart  = "start"
	groupChange = "change"
	groupAsk    = "ask"
	groupRun    = "run"
	groupOther  = "other"
)

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "weft",
		Short: "A service mesh whose every setting can say where it comes from",
		Long: `weft resolves routes and the policies attached to them for every dataplane,
serves the result to Envoy, and explains each field of it.

` + exitHelp,
		Example: `  weft demo
  weft serve &
  weft apply -f policies/
  weft explain dataplane frontend-1
  weft simulate --from frontend-1 GET http://web/v1/items`,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddGroup(
		&cobra.Group{ID: groupStart, Title: "First steps:"},
		&cobra.Group{ID: groupAsk, Title: "Ask what happens and why:"},
		&cobra.Group{ID: groupChange, Title: "Change what is stored:"},
		&cobra.Group{ID: groupRun, Title: "Run the mesh:"},
		&cobra.Group{ID: groupOther, Title: "Other:"},
	)
	root.AddCommand(
		newDemo(a),
		newValidate(a), newLint(a), newSimulate(a), newExplain(a), newStatus(a), newTop(a), newTap(a), newWhy(a), newProblems(a), newPermissions(a), newInspect(a), newGUI(a), newHistory(a), newDiff(a),
		newApply(a), newPlan(a), newGet(a), newDelete(a), newEdit(a), newRollback(a), newConvert(a),
		newServe(a), sidecarcmd.New(a.program(), groupRun), newInject(a), newToken(a), newMTLS(a), newIdentity(a), newStore(a),
		newInstall(a), newUninstall(a), newCheck(a), newSupportBundle(a),
		newVersion(a),
	)
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Example = "  weft completion bash > /etc/bash_completion.d/weft\n  source <(weft completion zsh)"
		}
	}
	return root
}

// serverFlags are the flags of commands that talk to a control plane.
func (a *app) serverFlags(c *cobra.Command) {
	c.Flags().StringVar(&a.server, "server", "", "control plane (else WEFT_SERVER, else http://127.0.0.1:5681)")
	c.Flags().StringVar(&a.tokenFile, "token-file", "", "file with the token (else WEFT_TOKEN, else, for a server on this host, the admin token of the data directory)")
}

// outputFlag chooses how objects are printed.
func (a *app) outputFlag(c *cobra.Command) {
	c.Flags().StringVarP(&a.output, "output", "o", "table", "how to print: table, yaml or json")
	complete(c, "output", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return formats, cobra.ShellCompDirectiveNoFileComp
	})
}

// complete registers the completion of a flag that exists.
func complete(c *cobra.Command, flag string, f cobra.CompletionFunc) { cli.Complete(c, flag, f) }
