package check

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/cmd/weft/internal/cluster"
	"github.com/weftmesh/weft/control/webhook"
	"github.com/weftmesh/weft/sidecar/inject"
)

const groupHooks = "webhooks"

// leastLife is how long an authority has to live on for nobody to care.
const leastLife = 30 * 24 * time.Hour

// hooks are the checks of what the API server asks the control plane.
func hooks() []Check {
	return []Check{
		{Group: groupHooks, Code: "Webhooks", Says: "the API server knows the webhooks", run: known,
			Hint: "apply them again: weft install control-plane | kubectl apply --server-side -f -"},
		{Group: groupHooks, Code: "WebhookAuthority", Says: "they trust the control plane", run: trusting,
			Hint: "the leader writes its authority into them: see that it runs, and that nothing else manages clientConfig.caBundle"},
		{Group: groupHooks, Code: "AuthorityLife", Says: "the authority lives on for a month", run: lives,
			Hint: "it is renewed by itself at two thirds of its life; look into the logs of the control plane"},
		{Group: groupHooks, Code: "OtherInjectors", Says: "no other mesh injects sidecars", run: others,
			Hint: "a pod gets the sidecar of one mesh: label each namespace for one of them only"},
	}
}

// registered are both configurations of weft.
func registered(ctx context.Context, q *question) (out []configuration, f finding) {
	for _, path := range []string{mutating, validating} {
		var c configuration
		err := q.Cluster.Get(ctx, path+"/"+webhook.ConfigurationName, &c)
		if err != nil && cluster.Status(err) != http.StatusNotFound {
			return nil, unknown(err)
		}
		out = append(out, c)
	}
	return out, fine()
}

func known(ctx context.Context, q *question) finding {
	all, f := registered(ctx, q)
	if f.status != OK {
		return f
	}
	var missing []string
	asksAboutPods := false
	for _, name := range []string{inject.HookNamespace, inject.HookPod, webhook.HookDefaults, webhook.HookKuma, webhook.HookRoutes} {
		there := false
		for _, c := range all {
			for _, h := range c.Webhooks {
				there = there || h.Name == name
				asksAboutPods = asksAboutPods || h.Name == webhook.HookKuma && h.asksAbout("pods")
				if s := h.ClientConfig.Service; h.Name == name && s != nil && s.Namespace != q.Namespace {
					return says(Error, "%s asks the control plane of namespace %s, not of %s", name, s.Namespace, q.Namespace)
				}
			}
		}
		if !there {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return says(Error, "missing: %s", strings.Join(missing, ", "))
	}
	if !asksAboutPods {
		return says(Error, "%s is that of an earlier release: it does not ask about pods that run", webhook.HookKuma)
	}
	return fine()
}

// asksAbout reports whether a rule of the hook names a resource.
func (h *asked) asksAbout(resource string) bool {
	for i := range h.Rules {
		if slices.Contains(h.Rules[i].Resources, resource) {
			return true
		}
	}
	return false
}

// authorities are the certificates of all hooks; bare are those that trust nobody.
func authorities(ctx context.Context, q *question) (found []*x509.Certificate, bare []string, f finding) {
	all, f := registered(ctx, q)
	if f.status != OK {
		return nil, nil, f
	}
	for _, c := range all {
		for _, h := range c.Webhooks {
			n := len(found)
			for rest := h.ClientConfig.CABundle; ; {
				var block *pem.Block
				if block, rest = pem.Decode(rest); block == nil {
					break
				}
				if c, err := x509.ParseCertificate(block.Bytes); err == nil {
					found = append(found, c)
				}
			}
			if len(found) == n {
				bare = append(bare, h.Name)
			}
		}
	}
	return found, bare, fine()
}

func trusting(ctx context.Context, q *question) finding {
	found, bare, f := authorities(ctx, q)
	switch {
	case f.status != OK:
		return f
	case len(bare) > 0:
		return says(Error, "no authority stands in %s", strings.Join(bare, ", "))
	case len(found) == 0:
		return says(Skipped, "there are no webhooks")
	}
	return fine()
}

func lives(ctx context.Context, q *question) finding {
	found, _, f := authorities(ctx, q)
	if f.status != OK {
		return f
	}
	if len(found) == 0 {
		return says(Skipped, "there is none")
	}
	last := slices.MaxFunc(found, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }).NotAfter
	switch left := last.Sub(q.Now); {
	case left <= 0:
		return says(Error, "it ended %s", last.Format(time.DateOnly))
	case left < leastLife:
		return says(Warning, "it ends %s, in %d days", last.Format(time.DateOnly), int(left.Hours()/24))
	}
	return fine()
}
