package route

// Upgrade says whether a request may become a WebSocket where a rule forwards it.
type Upgrade uint8

// What a rule says about WebSockets. They pass every HTTP listener, so that a
// language which says nothing lets them through.
const (
	UpgradeUnset Upgrade = iota
	UpgradeOn
	UpgradeOff // answered 403
)

var upgradeWords = [...]string{"", "on", "off"}

// String is the word that views have for it; empty where nothing is said.
func (u Upgrade) String() string { return upgradeWords[u] }
