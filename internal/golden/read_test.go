package golden

import (
	"strings"
	"testing"
)

// A question of which no request can be read says so.
func TestRequestsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"sim: client":                                 "names no dataplane and request",
		"sim: client GET":                             "has no URL",
		"each: client x-a:1 http://web/":              "has no URL",
		"each: client http://web/ x-a:it's http://b/": "single quote",
		"goes: client http://web/ x-a:'one two":       "single quote",
		"each: client http://web/ GET":                "has no URL",
		"each:":                                       "names no dataplane and request",
	} {
		if got, err := Requests(question); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v and %v, want an error with %q", question, got, err, want)
		}
		if strings.HasPrefix(Answer(nil, question), "error: ") != true {
			t.Errorf("%q is answered", question)
		}
	}
	got, err := Requests("each: client http://web/ x-a:'one two' POST http://web/b")
	if err != nil || len(got) != 2 || got[0].Headers["x-a"] != "one two" || got[1].Method != "POST" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Requests("explain: client"); got != nil || err != nil {
		t.Errorf("%v, %v of a question about something else", got, err)
	}
}
