package skipper

// What the tests against a real Envoy draw.
var AnyGroup, AnyRequest = anyGroup, anyRequest
