package policies

import "reflect"

// SameValue reports whether two values of fields are one.
func SameValue(a, b any) bool { return reflect.DeepEqual(a, b) }

// Items are the entries of a field whose value is a list; false where it is none.
func Items(value any) ([]any, bool) {
	list := reflect.ValueOf(value)
	if list.Kind() != reflect.Slice {
		return nil, false
	}
	out := make([]any, list.Len())
	for i := range out {
		out[i] = list.Index(i).Interface()
	}
	return out, true
}
