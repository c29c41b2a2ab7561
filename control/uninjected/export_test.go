package uninjected

// Seen is the revision that was looked at last.
func (f *Tracker) Seen() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.latest == nil {
		return 0
	}
	return f.latest.Revision()
}
