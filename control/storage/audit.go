package storage

import (
	"context"
	"log/slog"
	"strings"
	"unicode"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/inspect/web/rights"
	"github.com/weftmesh/weft/store"
)

// audit is a store that is told who writes, and that logs who changed what, a line for each
// object.
type audit struct {
	store.Store
	log *slog.Logger
	// authors are told who writes.
	authors *Authors
}

// Apply writes and logs what it did.
func (a audit) Apply(ctx context.Context, plan store.Plan) (*snapshot.Snapshot, []store.Result, error) {
	by, client := actor(ctx)
	author := store.Author{User: clean(by), Client: clean(client)}
	s, results, err := a.Store.Apply(store.By(ctx, author), a.authors.noting(author, plan))
	if err != nil {
		return s, results, err
	}
	log := a.log.With("revision", s.Revision(), "by", by)
	if client != "" {
		log = log.With("client", client)
	}
	for _, r := range results {
		switch r.Action {
		case store.Created, store.Updated, store.Deleted:
			log.InfoContext(ctx, "changed", "object", r.Ref.String(), "action", string(r.Action))
		}
	}
	return s, results, nil
}

// NewAudit logs what is written to a store, and tells authors who writes.
func NewAudit(inner store.Store, log *slog.Logger, authors *Authors) store.Store {
	return audit{inner, log, authors}
}

type actorKey struct{}

// DirectoryActor is the directory of --dir as one that acts.
const DirectoryActor = "directory"

// WithActor says who acts where it is not a user of the API.
func WithActor(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, actorKey{}, who)
}

// actor is who acts: a user of the API, whom as named, or the control plane itself.
func actor(ctx context.Context) (who, client string) {
	if name, client, ok := rights.Caller(ctx); ok {
		return telemetry.Truncate(name), client
	}
	if who, ok := ctx.Value(actorKey{}).(string); ok {
		return telemetry.Truncate(who), ""
	}
	return "control plane", ""
}

// clean is a client's text as a history keeps it: in one line, and nothing that a terminal obeys.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}, text)
}
