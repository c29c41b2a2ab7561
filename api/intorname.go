package api

import "strconv"

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
