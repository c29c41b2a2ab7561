// Package check looks at a cluster from outside, before weft is installed and after, as
// `linkerd check` does, and at a host outside of clusters on which a sidecar is to run: a list of things that have to hold, each with a code, what to do
// where it does not, and a section of docs/check.md.
//
// It promises to change nothing in the cluster or on the host, to read no Secret, and that what could not
// be asked is said to be so, and never passes for sound.
package check

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/weftmesh/weft/cmd/weft/internal/cluster"
	"github.com/weftmesh/weft/sidecar/agent"
)

// Page is where each code has a section of its name.
const Page = "https://github.com/weftmesh/weft/blob/main/docs/check.md"

// What became of a check.
const (
	OK      = "ok"
	Warning = "warning"
	Error   = "error"
	Skipped = "skipped" // there is nothing to look at, or it may not be looked at
)

// Options say what is looked at.
type Options struct {
	Cluster   *cluster.Client
	Namespace string // of the control plane
	Version   string // of this program
	Bundle    string // that custom resources of this program are marked with
	Before    bool   // weft is to be installed yet
	Now       time.Time
	Sidecar   *Sidecar // looks at a host and its sidecar, and at no cluster; else nil
}

// Result is what became of one check.
type Result struct {
	Group   string `json:"group"`
	Code    string `json:"code"`
	Check   string `json:"check"` // what has to hold
	Status  string `json:"status"`
	Message string `json:"message,omitempty"` // what was found
	Hint    string `json:"hint,omitempty"`    // what to do
	Page    string `json:"page,omitempty"`
}

// Check is one thing that has to hold.
type Check struct {
	Group, Code, Says, Hint string
	// Needed is said of what nothing else can be looked at without.
	Needed bool
	run    func(context.Context, *question) finding
}

// question is what checks are asked of, and what they have found.
type question struct {
	Options
	pods    []pod // of the whole cluster, read once
	podsErr error
	read    bool
	reached *agent.Reached // by Sidecar; nil where it was not
}

// finding is what a check has found.
type finding struct{ status, message string }

func fine() finding { return finding{status: OK} }

func says(status, format string, args ...any) finding {
	return finding{status, fmt.Sprintf(format, args...)}
}

// unknown is what a check says that was not answered.
func unknown(err error) finding {
	if cluster.Status(err) == http.StatusForbidden {
		return says(Skipped, "you may not look: %s", err)
	}
	return says(Error, "%s", err)
}

// Of are the checks that options choose.
func Of(o Options) []Check {
	if o.Sidecar != nil {
		return OfSidecar()
	}
	return All(o.Before)
}

// All are the checks of a cluster before an installation, or of one.
func All(before bool) []Check {
	if before {
		return append(apiServer(), preparations()...)
	}
	return append(append(append(apiServer(), definitions()...), plane()...), append(hooks(), workloads()...)...)
}

// Run goes through all checks, and tells each as soon as it is known.
func Run(ctx context.Context, o Options, tell func(Result)) (sound bool) {
	q := &question{Options: o}
	sound = true
	for _, c := range Of(o) {
		f := c.run(ctx, q)
		r := Result{Group: c.Group, Code: c.Code, Check: c.Says, Status: f.status, Message: f.message}
		if f.status == Warning || f.status == Error {
			r.Hint, r.Page = c.Hint, Page+"#"+anchor(c.Code)
		}
		tell(r)
		if f.status == Error {
			sound = false
			if c.Needed {
				return false
			}
		}
	}
	return sound
}

// anchor is that of a heading.
func anchor(code string) string {
	out := []byte(code)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}
