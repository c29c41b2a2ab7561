package control_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
)

// TestAPIServerIsToldWhatIsRefused: what passes its definition and no webhook, and that weft
// refuses, says so in its status, whether an earlier version is in force or none ever was; then
// the leader rests.
func TestAPIServerIsToldWhatIsRefused(t *testing.T) {
	t.Parallel()
	c := defined(t)
	workload(t, c)
	start(t, replicated(t, c, "a"))
	document := func(name, label string) string {
		return `{apiVersion: kuma.io/v1alpha1, kind: MeshTimeout, metadata: {name: ` + name + `, labels: {` + label + `}}, spec: {from: [{targetRef: {kind: Mesh}, default: {connectionTimeout: 17s}}]}}`
	}
	const wrong = api.LabelEffect + ": none"
	create(t, c, shop+"meshtimeouts", document("sound", ""))
	create(t, c, shop+"meshtimeouts", document("never", wrong))
	var sound, never told
	eventually(t, "both have a status", func() bool {
		statusAt(t, c, shop+"meshtimeouts/sound", &sound)
		statusAt(t, c, shop+"meshtimeouts/never", &never)
		return strings.HasPrefix(sound.is("Accepted"), "True") && never.is("Accepted") == "False Invalid"
	})
	if message := never.Conditions[0].Message; !strings.Contains(message, api.LabelEffect) || strings.Contains(message, "stays in force") {
		t.Errorf("never: %s", message)
	}
	quiet(t, c)
	writes := asked(t, c, "meshtimeouts", "APPLY|PATCH|PUT", "status")
	replace(t, c, shop+"meshtimeouts/sound", `[{"op": "add", "path": "/metadata/labels", "value": {"`+api.LabelEffect+`": "none"}}]`)
	eventually(t, "the edit is refused", func() bool {
		statusAt(t, c, shop+"meshtimeouts/sound", &sound)
		return sound.is("Accepted") == "False Invalid"
	})
	if message := sound.Conditions[0].Message; !strings.Contains(message, api.LabelEffect) || !strings.Contains(message, "the last good version stays in force") {
		t.Errorf("sound: %s", message)
	}
	quiet(t, c)
	if n := asked(t, c, "meshtimeouts", "APPLY|PATCH|PUT", "status") - writes; n != 1 {
		t.Errorf("a refused edit was %d writes", n)
	}
	replace(t, c, shop+"meshtimeouts/sound", `[{"op": "remove", "path": "/metadata/labels"}]`)
	eventually(t, "it is corrected", func() bool {
		statusAt(t, c, shop+"meshtimeouts/sound", &sound)
		return strings.HasPrefix(sound.is("Accepted"), "True")
	})
	if code, got := c.Send(t, http.MethodDelete, shop+"meshtimeouts/never", nil); code != http.StatusOK {
		t.Fatal(got["message"])
	}
}
