package toykind

import "github.com/weftmesh/weft/sim/permission"

// Judge is what becomes of a caller, as sim tells it.
func (e *Effective) Judge(v *permission.Visit) *permission.Permission {
	return e.Access(v.Names, v.Request != nil)
}

// Access is the same for all that a caller asks.
func (e *Effective) Access(names []string, _ bool) *permission.Permission {
	if len(names) == 0 {
		return &permission.Permission{Decision: permission.Allow, Reason: "plaintext is let in, and nobody asks who calls"}
	}
	out := &permission.Permission{Decision: permission.Allow, Tier: 4}
	for _, list := range e.lists {
		by := guestOf(list, names)
		if by == nil {
			return &permission.Permission{Decision: permission.Deny, Tier: 6, Reason: "the caller is on no guest list"}
		}
		if out.By == nil {
			out.By = by.view()
		}
	}
	return out
}

func guestOf(list []entry, names []string) *entry {
	for i := range list {
		if list[i].is(names) {
			return &list[i]
		}
	}
	return nil
}

// OneSpelling is false: no list looks at paths.
func (e *Effective) OneSpelling() bool { return false }

// Lists are the entries as sim tells them.
func (e *Effective) Lists() *permission.PermissionLists {
	out := &permission.PermissionLists{}
	for i, list := range e.lists {
		one := out
		if i > 0 {
			one = &permission.PermissionLists{}
			out.Also = append(out.Also, one)
		}
		for k := range list {
			one.Allow = append(one.Allow, permission.PermissionEntry{PermissionBy: *list[k].view(), Match: list[k].Guest})
		}
	}
	return out
}

func (e *entry) view() *permission.PermissionBy {
	return &permission.PermissionBy{Origin: e.origin, List: "guests", Index: e.index, Layer: e.layer.String(), Field: e.field, Name: e.name()}
}
