package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/weft/internal/client"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
)

func newStatus(a *app) *cobra.Command {
	var wait time.Duration
	var expect int
	var exitCode bool
	c := a.command(&cobra.Command{
		Use:   "status",
		Short: "Show the conditions of every policy and route, and which sidecars follow",
		Long: `Shows every policy and route with its conditions, and how many sidecars are in
sync, behind, refuse something, or are missing. With --wait it returns when all
sidecars that are connected, or were before the control plane was started anew,
have acknowledged what is stored, and fails if they have not by then.

The exit status is 0; with --exit-code 4 where a sidecar does not follow or gets no
certificate, a condition does not hold, or something cannot be read.`,
		Example: "  weft status\n  weft status --wait 30s --expect 14\n  weft apply -f policies/ && weft status --wait 30s",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			if expect != 0 && wait == 0 {
				return usage("--expect says what --wait waits for; give --wait too, such as --wait 30s")
			}
			o, late := a.overview(c.Context(), wait, expect)
			if o.Mesh == "" {
				return late
			}
			if err := a.print(o, func(w io.Writer) error { return overviewText(w, o) }); err != nil {
				return err
			}
			if late != nil {
				return late
			}
			return exitFound(exitCode, unwell(o))
		},
	}, groupAsk)
	exitCodeFlag(c, &exitCode, "something is not as it should be")
	c.Flags().DurationVar(&wait, "wait", 0, "wait so long for connected sidecars to acknowledge everything")
	c.Flags().IntVar(&expect, "expect", 0, "with --wait: wait for so many sidecars in sync")
	a.serverFlags(c)
	a.meshFlag(c)
	a.outputFlag(c)
	return c
}

// overview asks until all connected sidecars follow, or the time is over. A
// control plane that is only starting is waited for too.
func (a *app) overview(ctx context.Context, wait time.Duration, expect int) (o conditions.Overview, err error) {
	var server *client.Client
	err = a.until(ctx, wait, func(ctx context.Context) (sample, error) {
		// Found anew each time: a server that starts writes its token only then.
		var err error
		if server, err = client.Find(a.server, a.tokenFile); err != nil {
			o = conditions.Overview{}
			return sample{}, err
		}
		o, err = a.askStatus(ctx, server, wait == 0)
		var refused *client.Refusal
		if err != nil && (wait == 0 || errors.As(err, &refused) && !server.Anonymous()) {
			return sample{}, a.inItsWords(ctx, server, api.Type{Global: true}, "", err)
		}
		if err == nil {
			err = behind(o.Sidecars, expect)
		}
		if err == nil || wait == 0 {
			return sample{}, nil
		}
		return sample{server, err, waitingFor(o.Sidecars, expect, err, width(a.err))}, nil
	})
	var late *lateError
	if wait > 0 && (err == nil || errors.As(err, &late)) {
		if all, wrong := a.askStatus(ctx, server, true); wrong == nil {
			o = all
		}
	}
	return o, err
}

// askStatus asks for the sidecars, and for all objects or, while those are not shown, for one.
func (a *app) askStatus(ctx context.Context, server *client.Client, all bool) (conditions.Overview, error) {
	var o conditions.Overview
	path := a.pathInMesh("_status")
	if !all {
		path += "?size=1"
	}
	err := server.Get(ctx, path, &o)
	return o, err
}

// behind says which sidecars do not follow: connected ones, those that were
// before the control plane was started anew, and those that are expected.
func behind(s inspect.Sync, expect int) error {
	var parts []string
	if n := len(s.Behind); n > 0 {
		parts = append(parts, fmt.Sprintf("%s behind: %s", many(n, "sidecar"), strings.Join(first(s.Behind, 5), ", ")))
	}
	for _, u := range s.Unconfirmed[:min(len(s.Unconfirmed), 1)] { // the others as a rule for the same reason
		parts = append(parts, unconfirmedText(u, time.Now()))
	}
	for _, r := range s.Refusing {
		parts = append(parts, fmt.Sprintf("the Envoy of %s refuses %s: %s", r.Dataplane, r.Type, r.Message))
	}
	if n := len(s.Awaited); n > 0 {
		parts = append(parts, fmt.Sprintf("%s not back since the control plane was started: %s", many(n, "sidecar"), strings.Join(first(s.Awaited, 5), ", ")))
	}
	if s.InSync < expect {
		parts = append(parts, fmt.Sprintf("%d of %d expected sidecars are in sync", s.InSync, expect))
	}
	if len(parts) == 0 {
		return nil
	}
	return errors.New(strings.Join(parts, "; "))
}

// unconfirmedText says for how long an Envoy has not confirmed something, and why that may be.
func unconfirmedText(u inspect.UnconfirmedBy, now time.Time) string {
	return oneLine(fmt.Sprintf("%s %s for %s: %s", u.Dataplane, u.Lacks(), short(now.Sub(u.Since)), u.Message))
}

// unwell reports whether anything is not as it should be: a sidecar that does not follow, is
// kept from its configuration or certificate or is awaited, a condition that does not hold, a
// document that cannot be read. What has no dataplane yet is pending, and dataplanes whose sidecar was never here are none of that.
func unwell(o conditions.Overview) bool {
	s := o.Sidecars
	if behind(s, 0) != nil || len(s.Withheld) > 0 || len(s.Uncertified) > 0 || len(o.Unread) > 0 {
		return true
	}
	return slices.ContainsFunc(o.Objects, func(x conditions.Status) bool {
		return slices.ContainsFunc(x.Conditions, func(c conditions.Condition) bool { return c.Status == "False" && c.Reason != "Pending" })
	})
}

func first(all []string, n int) []string {
	if len(all) <= n {
		return all
	}
	return append(all[:n:n], "…")
}

// progress writes over one line of a terminal; elsewhere it is silent.
func (a *app) progress() func(string) {
	if !overwrites(a.err) {
		return func(string) {}
	}
	return func(text string) { fmt.Fprintf(a.err, "\r\x1b[K%s", text) }
}

func overviewText(w io.Writer, o conditions.Overview) error {
	s := o.Sidecars
	fmt.Fprintf(w, "mesh %s, revision %d: %s, %d in sync, %d behind, %d refusing, %d not connected\n",
		o.Mesh, s.Revision, many(s.Total, "dataplane"), s.InSync, len(s.Behind), len(s.Refusing), s.Absent)
	if len(s.Missing) > 0 {
		fmt.Fprintf(w, "  not connected: %s\n", strings.Join(first(s.Missing, 20), ", "))
	}
	if len(s.Behind) > 0 {
		fmt.Fprintf(w, "  behind: %s\n", strings.Join(first(s.Behind, 20), ", "))
	}
	for _, u := range s.Unconfirmed {
		fmt.Fprintf(w, "  %s\n", unconfirmedText(u, time.Now()))
	}
	for _, r := range s.Refusing {
		fmt.Fprintf(w, "  %s refuses %s: %s\n", r.Dataplane, r.Type, r.Message)
	}
	for _, u := range s.Withheld {
		fmt.Fprintf(w, "  %s does not get its configuration: %s\n", u.Dataplane, oneLine(u.Message))
	}
	for _, u := range s.Uncertified {
		fmt.Fprintf(w, "  %s gets no certificate: %s: %s\n", u.Dataplane, u.Code, oneLine(u.Message))
	}
	for _, u := range o.Unread {
		at := api.Position{File: u.File, Line: u.Line, Column: u.Column}
		fmt.Fprintf(w, "  %s\n", oneLine(strings.TrimPrefix(at.String()+": "+u.Message, ": ")))
	}
	for _, n := range o.Notes {
		fmt.Fprintf(w, "  %s\n", oneLine(n.Message))
	}
	if len(o.Objects) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	rows := [][]string{{"OBJECT", "SELECTED", "EFFECTIVE", "PROGRAMMED", "CONDITIONS"}}
	var remarks []string
	for _, x := range o.Objects {
		var conditions []string
		for _, c := range x.Conditions {
			text := c.Type
			if c.Reason != c.Type {
				text = c.Reason
			}
			if c.Status != "True" {
				text = c.Type + "=" + c.Status + "/" + c.Reason
				if c.Message != "" {
					remark := fmt.Sprintf("%s: %s: %s", x.Object, text, oneLine(c.Message))
					remarks = append(remarks, strings.TrimPrefix(c.Source+": "+remark, ": "))
				}
			}
			conditions = append(conditions, text)
		}
		d := x.Dataplanes
		rows = append(rows, []string{x.Object, fmt.Sprint(d.Selected), fmt.Sprint(d.Effective), fmt.Sprint(d.Programmed), strings.Join(conditions, ", ")})
	}
	if err := columns(w, rows); err != nil {
		return err
	}
	if len(remarks) > 0 {
		fmt.Fprintln(w)
	}
	for _, r := range remarks {
		fmt.Fprintln(w, r)
	}
	return nil
}
