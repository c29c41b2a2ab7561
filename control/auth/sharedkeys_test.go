package auth

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/control/roots"
	"github.com/weftmesh/weft/xds/server/token"
)

// TestRevokedTokensThatEndedAreForgotten: so that the list in the Secret, which has 1 MiB, does
// not only grow; and what does not fit is refused with what to do.
func TestRevokedTokensThatEndedAreForgotten(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	var list []byte
	for day := range 1000 {
		at := now.AddDate(0, 0, day)
		id, err := token.NewID(at.AddDate(0, 0, 30))
		if err != nil {
			t.Fatal(err)
		}
		if list, err = addRevoked(&roots.Roots{}, list, map[string]time.Time{id: at, fmt.Sprint("old-", day%7): at}, at); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]time.Time{}
	if err := json.Unmarshal(list, &all); err != nil || len(all) != 31+7 {
		t.Errorf("%d are remembered, %v", len(all), err)
	}
	many := map[string]time.Time{}
	for range 20_000 {
		id, err := token.NewID(now.AddDate(1, 0, 0))
		if err != nil {
			t.Fatal(err)
		}
		many[id] = now
	}
	if _, err := addRevoked(&roots.Roots{}, nil, many, now); err == nil || !strings.Contains(err.Error(), "20000 revoked tokens") || !strings.Contains(err.Error(), "token-key.pem") {
		t.Errorf("too many: %v", err)
	}
}
