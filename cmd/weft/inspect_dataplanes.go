package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/control/world"
)

// dataplaneStates are those of GET /meshes/{mesh}/_sidecars, from the worst.
var dataplaneStates = []string{"refusing", "held", "missing", "behind", "in sync"}

// most is how many items one page of a list of the API holds.
const most = 1000

// dataplaneList is a part of the dataplanes of a mesh, as GET /meshes/{mesh}/_sidecars answers
// it. States counts all that the filters choose, but for --state.
type dataplaneList struct {
	Revision uint64           `json:"revision"`
	Total    int              `json:"total"`
	States   map[string]int   `json:"states"`
	Items    []dataplaneState `json:"items"`
	Notes    []string         `json:"notes,omitempty"`
}

type dataplaneState struct {
	Name      string     `json:"name"` // NAME, or NAME.NAMESPACE
	Namespace string     `json:"namespace,omitempty"`
	Services  []string   `json:"services"`
	State     string     `json:"state"`
	Acked     uint64     `json:"acked"`
	Since     *time.Time `json:"since,omitempty"`
	Version   string     `json:"version,omitempty"`
	Message   string     `json:"message,omitempty"`
}

// called is what other commands take as its name.
func (d dataplaneState) called() string {
	return fullName(api.Ref{Namespace: d.Namespace, Name: strings.TrimSuffix(d.Name, "."+d.Namespace)})
}

// dataplaneFilters are the flags that choose dataplanes.
type dataplaneFilters struct {
	name, service, state, namespace, gateway string
	tags, labels                             []string
	size, offset                             int
}

func newInspectDataplanes(a *app) *cobra.Command {
	var f dataplaneFilters
	c := a.command(&cobra.Command{
		Use:     "dataplanes",
		Aliases: []string{"dataplane", "dp"},
		Short:   "List dataplanes with how far each follows",
		Long: `Lists the dataplanes of a mesh: which services they are of, whether their sidecars are in
sync, behind, missing, held without their configuration or refusing a part of it, which
revision they confirmed last, how long they are connected, and what keeps one that does
not follow. Filters choose some; all that are given must fit. --size and --offset cut the
list to a page.`,
		Example: `  weft inspect dataplanes
  weft inspect dataplanes --state behind,refusing
  weft inspect dataplanes --service web --tag version=v2
  weft inspect dataplanes --name front --size 50 --offset 100 -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.inspectDataplanes(c.Context(), f) },
	}, "")
	c.Flags().StringVar(&f.name, "name", "", "a part of the name")
	c.Flags().StringVar(&f.service, "service", "", "a part of the name of a service, as the tag kuma.io/service has it")
	c.Flags().StringArrayVar(&f.tags, "tag", nil, "a tag KEY=PART of the value, of an inbound or of the gateway; may be repeated")
	c.Flags().StringArrayVarP(&f.labels, "label", "l", nil, "a label KEY=VALUE of the dataplane; may be repeated")
	c.Flags().StringVarP(&f.namespace, "namespace", "n", "", "the namespace, in a cluster")
	c.Flags().StringVar(&f.gateway, "gateway", "", "whether it is a gateway: true, false, delegated or builtin")
	c.Flags().StringVar(&f.state, "state", "", "states, separated by commas: "+strings.Join(dataplaneStates, ", "))
	c.Flags().IntVar(&f.size, "size", 0, "how many to list at most (default all)")
	c.Flags().IntVar(&f.offset, "offset", 0, "how many come before the first that is listed")
	complete(c, "state", cobra.FixedCompletions(dataplaneStates, cobra.ShellCompDirectiveNoFileComp))
	complete(c, "gateway", cobra.FixedCompletions([]string{"true", "false", "delegated", "builtin"}, cobra.ShellCompDirectiveNoFileComp))
	a.serverFlags(c)
	a.meshFlag(c)
	a.outputFlag(c)
	return c
}

func (a *app) inspectDataplanes(ctx context.Context, f dataplaneFilters) error {
	if err := a.checkOutput(); err != nil {
		return err
	}
	query, err := f.query()
	if err != nil {
		return err
	}
	server, err := client.Find(a.server, a.tokenFile)
	if err != nil {
		return err
	}
	list, err := a.dataplanes(ctx, server, query, f)
	if client.Missing(err) {
		t, _ := world.Catalog().Type(api.KindDataplane)
		return fmt.Errorf("there is no mesh %s; %s`weft get meshes` lists those that there are", a.mesh, a.elsewhere(ctx, server, t, ""))
	}
	if err != nil {
		return err
	}
	return a.print(list, func(w io.Writer) error { return dataplanesText(w, list, time.Now()) })
}

// query is what the API is asked, but for the page.
func (f dataplaneFilters) query() (url.Values, error) {
	q := url.Values{}
	if f.size < 0 || f.offset < 0 {
		return nil, usage("--size and --offset are numbers from 0")
	}
	for _, pair := range []struct {
		flag string
		list []string
		add  func(key, value string)
	}{
		{"--tag", f.tags, func(k, v string) { q.Add("tag", k+":"+v) }},
		{"--label", f.labels, func(k, v string) { q.Set("filter[labels."+k+"]", v) }},
	} {
		for _, text := range pair.list {
			key, value, ok := strings.Cut(text, "=")
			if !ok || key == "" {
				return nil, usage("%s %q: write KEY=VALUE, such as version=v2", pair.flag, text)
			}
			pair.add(key, value)
		}
	}
	if f.service != "" {
		q.Add("tag", api.TagService+":"+f.service)
	}
	if f.namespace != "" {
		q.Set("filter[labels."+api.LabelNamespace+"]", f.namespace)
	}
	if f.state != "" {
		for state := range strings.SplitSeq(f.state, ",") {
			if !slices.Contains(dataplaneStates, strings.TrimSpace(state)) {
				return nil, usage("--state %q is unknown; use %s", state, strings.Join(dataplaneStates, ", "))
			}
			q.Add("state", strings.TrimSpace(state))
		}
	}
	for name, value := range map[string]string{"name": f.name, "gateway": f.gateway} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q, nil
}

// dataplanes are those that are asked for: all pages, or as many as --size says.
func (a *app) dataplanes(ctx context.Context, server *client.Client, query url.Values, f dataplaneFilters) (dataplaneList, error) {
	all := dataplaneList{Items: []dataplaneState{}}
	for {
		size := most
		if f.size > 0 {
			size = min(most, f.size-len(all.Items))
		}
		query.Set("size", strconv.Itoa(size))
		query.Set("offset", strconv.Itoa(f.offset+len(all.Items)))
		var page dataplaneList
		if err := server.Get(ctx, a.pathInMesh("_sidecars")+"?"+query.Encode(), &page); err != nil {
			return all, err
		}
		page.Items = append(all.Items, page.Items...)
		got := len(page.Items) - len(all.Items)
		all = page
		if got == 0 || f.offset+len(all.Items) >= all.Total || len(all.Items) == f.size {
			return all, nil
		}
	}
}

// dataplanesText prints a list for people: a line for each, and how many there are of each state.
func dataplanesText(w io.Writer, list dataplaneList, now time.Time) error {
	rows := [][]string{{"NAME", "SERVICES", "STATE", "REVISION", "CONNECTED", "VERSION", "MESSAGE"}}
	for _, x := range list.Items {
		since, acked := "-", "-"
		if x.Since != nil && x.State != "missing" {
			since = short(now.Sub(*x.Since))
		}
		if x.Acked != 0 {
			acked = strconv.FormatUint(x.Acked, 10)
		}
		rows = append(rows, []string{x.called(), dash(strings.Join(x.Services, ",")), x.State, acked, since, dash(x.Version), oneLine(x.Message)})
	}
	if len(list.Items) > 0 {
		if err := columns(w, rows); err != nil {
			return err
		}
	}
	var states []string
	for _, s := range dataplaneStates {
		if n := list.States[s]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, s))
		}
	}
	foot := fmt.Sprintf("%d of %s", len(list.Items), many(list.Total, "dataplane"))
	if len(states) > 0 {
		foot += ", whatever the state: " + strings.Join(states, ", ")
	}
	if _, err := fmt.Fprintf(w, "%s; revision %d\n", foot, list.Revision); err != nil {
		return err
	}
	for _, note := range list.Notes {
		fmt.Fprintln(w, oneLine(note))
	}
	return nil
}
