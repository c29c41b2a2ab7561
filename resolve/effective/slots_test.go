package effective_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/resolve/effective"
)

func tableOf(keys []string) *effective.Table {
	t := &effective.Table{}
	for _, key := range keys {
		t.Routes = append(t.Routes, &effective.Route{Key: key})
	}
	return t
}

// TestSlots is that rules have slots of their own while there are any, the routes of a rule have one,
// the order of a table changes nothing, and a rule more moves few others.
func TestSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.StringMatching(`[a-f]{1,4}`), 1, 200).Draw(t, "keys")
		slots := tableOf(keys).Slots()
		of, by := map[string]uint16{}, map[uint16]string{}
		for i, key := range keys {
			if at, known := of[key]; known && at != slots[i] {
				t.Fatalf("rule %s has slots %d and %d", key, at, slots[i])
			}
			if other, known := by[slots[i]]; known && other != key {
				t.Fatalf("slot %d is of %s and %s", slots[i], other, key)
			}
			of[key], by[slots[i]] = slots[i], key
		}
		turned := slices.Clone(keys)
		slices.Reverse(turned)
		for i, slot := range tableOf(turned).Slots() {
			if slot != of[turned[i]] {
				t.Fatalf("in another order rule %s has slot %d in place of %d", turned[i], slot, of[turned[i]])
			}
		}
	})
}

// TestSlotsOfARuleMore is that most rules keep their slots when there is one more.
func TestSlotsOfARuleMore(t *testing.T) {
	var keys []string
	for i := range 100 {
		keys = append(keys, fmt.Sprint("rule ", i))
	}
	before, moved := tableOf(keys).Slots(), 0
	for n := range 100 {
		after := tableOf(append(slices.Clone(keys), fmt.Sprint("new ", n))).Slots()
		for i := range keys {
			if after[i] != before[i] {
				moved++
			}
		}
	}
	if moved > 100 {
		t.Errorf("100 times one rule more moved %d of 10,000", moved)
	}
}

// TestMoreRulesThanSlots is that rules share slots where there are too many.
func TestMoreRulesThanSlots(t *testing.T) {
	var keys []string
	for i := range 2 * effective.MostSlots {
		keys = append(keys, fmt.Sprint(i))
	}
	used := map[uint16]bool{}
	for _, slot := range tableOf(keys).Slots() {
		if slot >= effective.MostSlots {
			t.Fatalf("slot %d", slot)
		}
		used[slot] = true
	}
	if len(used) != effective.MostSlots {
		t.Errorf("%d slots are used of %d", len(used), effective.MostSlots)
	}
}
