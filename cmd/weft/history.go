package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
)

func newHistory(a *app) *cobra.Command {
	var since uint64
	var size int
	c := a.command(&cobra.Command{
		Use:   "history [KIND NAME]",
		Short: "Say who changed what and when",
		Long: `Lists the revisions that the store keeps, newest first: when, who (the subject of the
token), by which client, and what became of which object; or those alone that changed
the object KIND NAME. The embedded store keeps 1,000 revisions for 30 days (weft serve
--history); what sidecars bring along and take away again is no part of them.`,
		Example: `  weft history
  weft history meshretry mr-1
  weft history --since 40 -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 0 && len(args) != 2 {
				return usage("history takes KIND NAME of one object, or nothing for all")
			}
			return nil
		},
		ValidArgsFunction: a.completeObject,
		RunE:              func(c *cobra.Command, args []string) error { return a.history(c, args, since, size) },
	}, groupAsk)
	c.Flags().Uint64Var(&since, "since", 0, "only revisions after this one")
	c.Flags().IntVar(&size, "size", 20, "how many revisions at most, from 1 to 1000")
	a.serverFlags(c)
	a.meshFlag(c)
	a.outputFlag(c)
	return c
}

// revisions is the answer to GET /_history.
type revisions struct {
	Items []revision `json:"items"`
	Next  *string    `json:"next"`
}

type revision struct {
	Revision uint64    `json:"revision"`
	Time     time.Time `json:"time"`
	User     string    `json:"user"`
	Client   string    `json:"client,omitempty"`
	Objects  []result  `json:"objects"`
	Cut      int       `json:"cut,omitempty"`
	Error    string    `json:"error,omitempty"`
}

func (a *app) history(c *cobra.Command, args []string, since uint64, size int) error {
	if err := a.checkOutput(); err != nil {
		return err
	}
	q := url.Values{"size": {strconv.Itoa(size)}, "since": {strconv.FormatUint(since, 10)}}
	if len(args) == 2 {
		t, err := kind(args[0])
		if err != nil {
			return err
		}
		q.Set("object", ref(t, a.mesh, args[1]).String())
	}
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return err
	}
	var list revisions
	if err := server.Call(c.Context(), http.MethodGet, "/_history?"+q.Encode(), "", nil, &list); err != nil {
		return err
	}
	return a.print(list, func(w io.Writer) error { return historyTable(w, list) })
}

// mostNamed is how many objects of a revision the table names.
const mostNamed = 3

func historyTable(w io.Writer, list revisions) error {
	if len(list.Items) == 0 {
		fmt.Fprintln(w, "no revision is kept")
		return nil
	}
	rows := [][]string{{"REVISION", "TIME", "USER", "CLIENT", "OBJECT", "ACTION"}}
	for _, r := range list.Items {
		row := []string{strconv.FormatUint(r.Revision, 10), r.Time.Local().Format(time.DateTime), dash(r.User), dash(r.Client), "", ""}
		if r.Error != "" {
			rows = append(rows, []string{row[0], "-", "-", "-", "unknown: " + r.Error})
			continue
		}
		for i, o := range r.Objects {
			if i == mostNamed && len(r.Objects)+r.Cut > mostNamed+1 {
				row[4], row[5] = fmt.Sprintf("and %d more", len(r.Objects)+r.Cut-mostNamed), "-"
				rows = append(rows, row)
				break
			}
			row[4], row[5] = o.Object, o.Action
			rows = append(rows, row)
			row = make([]string, 6)
		}
	}
	if err := columns(w, rows); err != nil {
		return err
	}
	if list.Next != nil {
		fmt.Fprintln(w, "there are more; --size shows them")
	}
	return nil
}

// completeRevisions completes revisions that are kept, newest first.
func (a *app) completeRevisions(most int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		server, err := client.Find(a.server, a.tokenFile)
		if err != nil || len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var list revisions
		if err := server.Call(c.Context(), http.MethodGet, "/_history", "", nil, &list); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var words []string
		for _, r := range list.Items {
			word := strconv.FormatUint(r.Revision, 10)
			if len(r.Objects) > 0 {
				word += "\t" + r.Objects[0].Object + " " + r.Objects[0].Action + " by " + r.User
			}
			words = append(words, word)
		}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}
