package api

import (
	"strconv"
	"strings"
)

// IntOrName is a port written as a number or as a name.
type IntOrName struct {
	Int  uint32
	Name string // set when it is no number
}

// String is the number or the name.
func (v IntOrName) String() string {
	if v.Name != "" {
		return v.Name
	}
	return strconv.FormatUint(uint64(v.Int), 10)
}

// MarshalJSON writes a number as a number.
func (v IntOrName) MarshalJSON() ([]byte, error) {
	if v.Name != "" {
		return []byte(strconv.Quote(v.Name)), nil
	}
	return []byte(v.String()), nil
}

// DecodeRaw reads either form.
func (v *IntOrName) DecodeRaw(r Raw) {
	name, ok := r.Text()
	switch {
	case !ok:
		r.Decode(&v.Int)
	case name == "" || strings.Trim(name, "0123456789") == "":
		r.Breaks("%q is no name of a port; write a number without quotes, or a name with a letter", Clip(name))
	case !portName.MatchString(name):
		r.Breaks("%q is no name of a port; use lower-case letters, digits and -, at most 63", Clip(name))
	default:
		v.Name = name
	}
}
