package rights

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/api"
)

// How many namespaces one list asks the cluster about, of which it has said nothing lately,
// and how many at once.
const (
	MostChecks = 200
	askedOnce  = 8
)

type visibleKey struct{}

// visible is which namespaces a user sees in a list, who does not see all of them.
type visible struct {
	user User
	want AccessRequest
}

// CutTo is what the answer to a request is cut to; false where it is not cut.
func CutTo(ctx context.Context) (visible, bool) {
	v, isCut := ctx.Value(visibleKey{}).(visible)
	return v, isCut
}

// Cut is a request of a user whose answer is cut to the namespaces in which the user has an access.
func (u User) Cut(r *http.Request, want AccessRequest) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), visibleKey{}, visible{u, want}))
}

// Namespaces are those of names that the user sees. Where there are too many to ask about, a
// note says how to ask for less: what was not asked is not seen.
func (v visible) Namespaces(ctx context.Context, names []string) (sees map[string]bool, notes []string, err error) {
	sees = map[string]bool{}
	var unknown []string
	for _, name := range names {
		want := v.want
		want.Namespace = name
		if v.user.cached == nil {
			unknown = append(unknown, name)
		} else if may, known := v.user.cached(want); !known {
			unknown = append(unknown, name)
		} else if may {
			sees[name] = true
		}
	}
	if len(unknown) > MostChecks {
		slices.Sort(unknown)
		notes = append(notes, fmt.Sprintf("for %d namespaces, from %s on, your rights were not checked, and the list does not have them; "+
			"ask again, or for one namespace, by filter[labels.%s]=NAME", len(unknown)-MostChecks, unknown[MostChecks], api.LabelNamespace))
		unknown = unknown[:MostChecks]
	}
	var mu sync.Mutex
	asking, ctx := errgroup.WithContext(ctx)
	asking.SetLimit(askedOnce)
	for _, name := range unknown {
		asking.Go(func() error {
			want := v.want
			want.Namespace = name
			may, err := v.user.Has(ctx, want)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			sees[name] = may
			return nil
		})
	}
	return sees, notes, asking.Wait()
}

// Seen are the objects of a list whose namespaces the user sees; all where nothing is cut.
func Seen(ctx context.Context, list []*api.Object) ([]*api.Object, []string, error) {
	v, isCut := CutTo(ctx)
	if !isCut {
		return list, nil, nil
	}
	there := map[string]bool{}
	var names []string
	for _, o := range list {
		if o.Namespace != "" && !there[o.Namespace] {
			there[o.Namespace] = true
			names = append(names, o.Namespace)
		}
	}
	sees, notes, err := v.Namespaces(ctx, names)
	return slices.DeleteFunc(list, func(o *api.Object) bool { return !sees[o.Namespace] }), notes, err
}
