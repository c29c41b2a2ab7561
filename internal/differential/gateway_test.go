package differential

import "testing"

// TestGatewayAgreesWithEnvoy is TestSimAgreesWithEnvoy for routes of the Gateway API,
// with a fifth of the pairs.
func TestGatewayAgreesWithEnvoy(t *testing.T) {
	t.Parallel()
	held(t, byGateway)
}

// TestListenersAgreeWithEnvoy is TestSimAgreesWithEnvoy for routes at the listeners of
// Gateways, with a fifth of the pairs.
func TestListenersAgreeWithEnvoy(t *testing.T) {
	t.Parallel()
	held(t, byListeners)
}
