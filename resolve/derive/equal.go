package derive

import "reflect"

// Same reports equal content. It is asked only about values that a change might
// have touched, to keep the old ones in place where it did not.
func Same[T any](a, b T) bool { return reflect.DeepEqual(a, b) }
