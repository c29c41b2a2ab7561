package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/cmd/weft/internal/client"
)

func newToken(a *app) *cobra.Command {
	c := a.command(&cobra.Command{
		Use:     "token",
		Short:   "Issue and revoke tokens of dataplanes and users",
		Example: "  weft token dataplane --name web-1 > web-1.token\n  weft token user --name alice",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}, groupRun)
	c.AddCommand(newDataplaneToken(a), newUserToken(a), newRevokeToken(a))
	return c
}

func newDataplaneToken(a *app) *cobra.Command {
	var tags, labels []string
	var workload string
	c := a.tokenCommand(&cobra.Command{
		Use:   "dataplane --name NAME",
		Short: "Issue the token by which one sidecar proves which dataplane it is",
		Long: `Issues the token by which one sidecar proves which dataplane it is. A sidecar
that brings its Dataplane along (--dataplane-file) needs a token that binds it:
the Dataplane must have each tag and label that is given here, with no other values.
In a mesh with mutual TLS it answers only for services that select it by what its
token binds, where inbounds are Strict.`,
		Example: `  weft token dataplane --mesh default --name web-1 --valid-for 720h > web-1.token
  weft token dataplane --name web-1 --tag kuma.io/service=web > web-1.token`,
	}, "dataplane", 720*time.Hour, func() (map[string]any, error) {
		bound, err := pairValues("tag", "kuma.io/service=web", tags)
		if err != nil {
			return nil, err
		}
		more, err := pairValues("label", "team=shop", labels)
		return map[string]any{"mesh": a.mesh, "tags": bound, "labels": more, "workload": workload}, err
	})
	a.meshFlag(c)
	c.Flags().StringArrayVar(&tags, "tag", nil, "tag that the dataplane has, KEY=VALUE; may be repeated, also for further values of one key")
	c.Flags().StringArrayVar(&labels, "label", nil, "label that the dataplane has, KEY=VALUE; may be repeated, also for further values of one key")
	c.Flags().StringVar(&workload, "workload", "", "workload of the dataplane, its label kuma.io/workload")
	complete(c, "name", a.completeNames("dataplane"))
	return c
}

// pairValues are the values of each key, as a flag has them.
func pairValues(flag, example string, list []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, text := range list {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" || value == "" {
			return nil, usage("--%s %s is no KEY=VALUE; write %s", flag, text, example)
		}
		out[key] = append(out[key], value)
	}
	return out, nil
}

func newRevokeToken(a *app) *cobra.Command {
	var files []string
	c := &cobra.Command{
		Use:   "revoke ID...",
		Short: "Make tokens void before their time",
		Long: `Makes tokens void before their time, by their ids (the claim jti, which the log
of the control plane has too) or by the files that hold them. Streams that they
opened end at once.`,
		Example: `  weft token revoke 5f1d7a84e0c24b6f9d3a1c7be2f80a46
  weft token revoke -f web-1.token`,
		RunE: func(c *cobra.Command, ids []string) error {
			for _, file := range files {
				id, err := tokenID(file)
				if err != nil {
					return err
				}
				ids = append(ids, id)
			}
			if len(ids) == 0 {
				return usage("no token is named; give its id, or -f FILE")
			}
			server, err := client.Find(a.server, a.tokenFile)
			if err != nil {
				return err
			}
			var done struct{ Revoked int }
			if err := server.Post(c.Context(), "/tokens/revoke", map[string]any{"ids": ids}, &done); err != nil {
				return err
			}
			for _, id := range ids {
				fmt.Fprintln(a.out, id, "revoked")
			}
			return nil
		},
	}
	a.serverFlags(c)
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, "file with a token to revoke; may be repeated")
	return a.command(c, "")
}

// tokenID is the id of the token in a file. Only it is sent: a token that may
// have been stolen needs no further way.
func tokenID(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	var claims struct {
		ID string `json:"jti"`
	}
	parts := strings.Split(strings.TrimSpace(string(text)), ".")
	if len(parts) == 3 {
		body, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err == nil {
			_ = json.Unmarshal(body, &claims) // then there is no id
		}
	}
	if claims.ID == "" {
		return "", fmt.Errorf("%s holds no token with an id; give a file that `weft token` has written", file)
	}
	return claims.ID, nil
}

func newUserToken(a *app) *cobra.Command {
	var groups []string
	c := a.tokenCommand(&cobra.Command{
		Use:     "user --name NAME",
		Short:   "Issue a token by which a person or a program uses the API",
		Example: "  weft token user --name alice --group mesh-system:admin --valid-for 24h",
	}, "user", 24*time.Hour, func() (map[string]any, error) { return map[string]any{"groups": groups}, nil })
	c.Flags().StringSliceVar(&groups, "group", nil, "group of the user; may be repeated")
	return c
}

// tokenCommand makes c issue tokens of one kind; more is what the request says
// beside the name and the time.
func (a *app) tokenCommand(c *cobra.Command, kind string, defaultValidity time.Duration, more func() (map[string]any, error)) *cobra.Command {
	var name string
	var valid time.Duration
	c.Args = cobra.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case name == "":
			return usage("--name is missing; name the %s that the token is for", kind)
		case valid <= 0:
			return usage("--valid-for %s is over at once; give a positive duration, such as 720h", valid)
		}
		body, err := more()
		if err != nil {
			return err
		}
		server, err := client.Find(a.server, a.tokenFile)
		if err != nil {
			return err
		}
		body["name"], body["validFor"] = name, valid.String()
		var text []byte
		if err := server.Post(c.Context(), "/tokens/"+kind, body, &text); err != nil {
			return err
		}
		fmt.Fprintln(a.out, strings.TrimSpace(string(text)))
		return nil
	}
	a.serverFlags(c)
	c.Flags().StringVar(&name, "name", "", kind+" that the token is for")
	c.Flags().DurationVar(&valid, "valid-for", defaultValidity, "how long the token is good")
	return a.command(c, "")
}
