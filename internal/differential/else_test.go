package differential

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// comparedIn are the fields of Envoy's messages that the fields of policies become,
// by message. What else stands there nobody explains. A filter also has its name in
// statistics and the share of requests that it acts on, which is all of them.
var comparedIn = map[protoreflect.Name]string{
	"RetryPolicy": "retry_on num_retries per_try_timeout retry_priority retry_host_predicate host_selection_retry_max_attempts " +
		"retriable_status_codes retry_back_off rate_limited_retry_back_off retriable_headers retriable_request_headers",
	"RetryBackOff":            "base_interval max_interval",
	"RateLimitedRetryBackOff": "reset_headers max_interval",
	"LocalRateLimit": "status token_bucket response_headers_to_add descriptors rate_limits always_consume_default_token_bucket " +
		"stat_prefix filter_enabled filter_enforced",
	"TokenBucket":         "max_tokens tokens_per_fill fill_interval",
	"HttpProtocolOptions": "idle_timeout max_stream_duration max_connection_duration",
}

// nothingElse wants that the messages which policies write have no field that is
// compared with nothing.
func (p envoyPlace) nothingElse(t *testing.T) {
	t.Helper()
	limit, bucket := p.bucket()
	r := p.retryPolicy()
	for _, m := range []proto.Message{r, r.GetRetryBackOff(), r.GetRateLimitedRetryBackOff(), limit, bucket, p.connectionLimit(),
		p.connectionLimit().GetTokenBucket(), p.options.GetCommonHttpProtocolOptions()} {
		of := m.ProtoReflect().Descriptor().Name()
		m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
			if !slices.Contains(strings.Fields(comparedIn[of]), string(f.Name())) {
				t.Errorf("%s of %s has %s, of which explain knows nothing", of, p.listener.Name, f.Name())
			}
			return true
		})
	}
	if b := bucket; b != nil && b.TokensPerFill.GetValue() != b.MaxTokens {
		t.Errorf("the bucket of %s is filled with %d tokens, and holds %d", p.listener.Name, b.TokensPerFill.GetValue(), b.MaxTokens)
	}
	if p.host.GetRetryPolicy() != nil {
		t.Errorf("the host of %s has a retry policy for all its routes", p.listener.Name)
	}
}
