package differential

import (
	"testing"
)

// TestStoriesInEnvoy asks Envoys every request of every story. What the story says is what
// the simulator says (internal/golden), and the Envoys do it: route, backend, the request
// as the workload gets it, answers, redirects, headers, copies; where chance decides, the
// fractions of many requests; and each limit lets pass as many requests as it says, but for
// those of several dataplanes that are called.
func TestStoriesInEnvoy(t *testing.T) {
	t.Parallel()
	var scenes []*scene
	limited := map[string][]*limitedRequest{}
	for _, s := range stories(t, "../../testdata/stories") {
		scenes = append(scenes, &scene{story: s})
		limited[s.name] = s.limitedRequests()
	}
	all, sides := scenes, map[bool]int{}
	for _, s := range scenes {
		for _, q := range limited[s.name] {
			all = append(all, q.scene)
			sides[q.called]++
		}
	}
	if sides[false] == 0 || sides[true] == 0 {
		t.Errorf("%d limits of callers and %d of who is called are asked", sides[false], sides[true])
	}
	f := newStoryFleet(t, all)
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			f.tell(t, s)
			for _, q := range limited[s.name] {
				if said := f.dry(q); said != "" {
					t.Errorf("%s %s: %s", q.From, q.Text, said)
				}
			}
		})
	}
}

// tell holds all requests of a scene but those that the story keeps for the simulator, of
// which none may be left out.
func (f *storyFleet) tell(t *testing.T, s *scene) {
	t.Helper()
	kept := map[string]bool{}
	for _, q := range s.asked {
		words := q.From + " " + q.Text
		said := f.hold(s, q)
		_, refused := s.simulatorOnly[words]
		kept[words] = refused
		switch {
		case refused && said == "":
			t.Errorf("%s: Envoys do as the story says, so they may be asked", words)
		case !refused && said != "":
			t.Errorf("%s:\n%s", words, said)
		}
	}
	for words := range s.simulatorOnly {
		if !kept[words] {
			t.Errorf("%s is kept for the simulator, and nobody asks it", words)
		}
	}
}
