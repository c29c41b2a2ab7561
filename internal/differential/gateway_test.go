package differential

import "testing"

// TestGatewayAgreesWithEnvoy is TestSimAgreesWithEnvoy for routes of the Gateway API,
// with a fifth of the pairs.
func TestGatewayAgreesWithEnvoy(t *testing.T) {
	t.Parallel()
	pairs := int(number(t, "WEFT_DIFF_PAIRS", 5000)) / 5
	grid := NewGrid()
	for _, r := range Run(t, byGateway, number(t, "WEFT_DIFF_SEED", 1), pairs, grid) {
		t.Errorf("a disagreement; keep it in testdata once it is understood:\n%s", r)
	}
	t.Logf("%d pairs\n%s", pairs, grid)
}

// TestListenersAgreeWithEnvoy is TestSimAgreesWithEnvoy for routes at the listeners of
// Gateways, with a fifth of the pairs.
func TestListenersAgreeWithEnvoy(t *testing.T) {
	t.Parallel()
	pairs := int(number(t, "WEFT_DIFF_PAIRS", 5000)) / 5
	for _, r := range Run(t, byListeners, number(t, "WEFT_DIFF_SEED", 1), pairs, NewGrid()) {
		t.Errorf("a disagreement; keep it in testdata once it is understood:\n%s", r)
	}
}
