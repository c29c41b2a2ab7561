package connections

import (
	"context"
	"time"

	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/limit"
)

// What the descriptors of the process are for.
const (
	ownDescriptors = 64    // files of the store, the directory and the log
	mostAPI        = 1024  // connections of the API
	mostXDS        = 65536 // connections of sidecars
	mostPending    = 2048  // of them that have not proven who they are
	mostPerAddress = 256   // of those from one address
	fewest         = 16    // of anything, however few there are
	provenWithin   = 10 * time.Second
)

// Budgets divides descriptors among the listeners, so that neither can take
// those of the other: without a token anybody can open connections.
func Budgets(descriptors int) (api, xds limit.Limits) {
	left := max(descriptors-ownDescriptors, 4*fewest)
	api.Connections = min(left/4, mostAPI)
	xds.Connections = min(left-api.Connections, mostXDS)
	api.Pending = api.Connections
	xds.Pending = min(xds.Connections/2, mostPending)
	for _, l := range []*limit.Limits{&api, &xds} {
		l.PerAddress, l.Deadline = min(max(l.Pending/2, fewest), mostPerAddress), provenWithin
	}
	// A reader of the API keeps neither other readers nor administrators and probes out.
	api.PerUser, api.Users = max(api.Connections/8, fewest/2), api.Connections*3/4
	xds.Grace = time.Second // many sidecars may come at once, after a restart
	return api, xds
}

// NoteProven notes which connections have proven who they are, of those that an authenticator lets in.
func NoteProven(inner authn.Authenticator) authn.Authenticator { return authenticating{inner} }

// authenticating notes which connections have proven who they are.
type authenticating struct{ authn.Authenticator }

// Authenticate lets in whom the inner one lets in.
func (p authenticating) Authenticate(ctx context.Context, credentials string) (authn.Identity, error) {
	who, err := p.Authenticator.Authenticate(ctx, credentials)
	if err == nil {
		limit.Proven(ctx)
	}
	return who, err
}
