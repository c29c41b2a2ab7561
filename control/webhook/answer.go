package webhook

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/weftmesh/weft/api"
)

// mostWarnings is how many warnings an answer has; what more there are is said in the last.
const mostWarnings = 20

// mostCauses is how many mistakes a refusal names; an answer is not many times its question.
const mostCauses = 200

func allowed(warnings []*api.Violation) *admissionv1.AdmissionResponse {
	a := &admissionv1.AdmissionResponse{Allowed: true}
	for i, v := range warnings {
		if i == mostWarnings-1 && len(warnings) > mostWarnings {
			a.Warnings = append(a.Warnings, fmt.Sprintf("and %d more: `weft validate -f FILE` says them all", len(warnings)-i))
			break
		}
		a.Warnings = append(a.Warnings, text(v))
	}
	return a
}

// patched is allowed with a change, none where there is nothing to change.
func patched(operations []operation, warnings []*api.Violation) *admissionv1.AdmissionResponse {
	a := allowed(warnings)
	if len(operations) == 0 {
		return a
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return failed("the change cannot be written: " + err.Error())
	}
	a.Patch, a.PatchType = patch, new(admissionv1.PatchTypeJSONPatch)
	return a
}

// refused names every field that is wrong, as kubectl prints it: 422 with causes
// (spec/kubernetes.md 6.5).
func refused(q *admissionv1.AdmissionRequest, found []*api.Violation) *admissionv1.AdmissionResponse {
	details := &metav1.StatusDetails{Group: q.Kind.Group, Kind: q.Kind.Kind, Name: q.Name}
	var all []string
	for i, v := range found {
		if i == mostCauses {
			all = append(all, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		all = append(all, text(v))
		details.Causes = append(details.Causes, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: field(v), Message: v.Message})
	}
	return denied(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, strings.Join(all, "\n"), details)
}

// forbidden is who-may: 403.
func forbidden(q *admissionv1.AdmissionRequest, why string) *admissionv1.AdmissionResponse {
	return denied(http.StatusForbidden, metav1.StatusReasonForbidden, why, &metav1.StatusDetails{Group: q.Kind.Group, Kind: q.Kind.Kind, Name: q.Name})
}

// failed is a failure of weft or of the cluster, not of the object.
func failed(why string) *admissionv1.AdmissionResponse {
	return denied(http.StatusInternalServerError, metav1.StatusReasonInternalError, why, nil)
}

// unread is the failure to ask the API server for something. Why is in the log: it names
// addresses, and anybody may have asked.
func (s *server) unread(ctx context.Context, what string, err error) *admissionv1.AdmissionResponse {
	if ctx.Err() == nil {
		s.Log.Warn("a question of a webhook could not be answered", "what", what, "error", err)
	}
	return failed(what + " cannot be read now; try again")
}

func denied(code int32, reason metav1.StatusReason, message string, details *metav1.StatusDetails) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: details}}
}

// field is where a violation stands; what stands on the namespace says so.
func field(v *api.Violation) string {
	if v.Object.Kind == api.KindNamespace {
		return "namespace " + v.Object.Name + ": " + string(v.Field)
	}
	return string(v.Field)
}

func text(v *api.Violation) string {
	if at := field(v); at != "" {
		return at + ": " + v.Message
	}
	return v.Message
}
