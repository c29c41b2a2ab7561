package webhook

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	registration "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/store/kube"
)

// Trust keeps the hooks of the cluster trusting the authority of the control planes:
// also after they are applied anew, and after its roots change (spec/kubernetes.md 6.6).
type Trust struct {
	read, write dynamic.Interface
	ca          func() (pem []byte, changed <-chan struct{})
	log         *slog.Logger
}

// NewTrust writes what ca says, as soon as it says something, and again when changed is closed.
// It reads through one connection and writes through another.
func NewTrust(read, write *rest.Config, ca func() (pem []byte, changed <-chan struct{}), log *slog.Logger) (*Trust, error) {
	t := &Trust{ca: ca, log: log}
	var err error
	if t.read, err = dynamic.NewForConfig(read); err != nil {
		return nil, err
	}
	t.write, err = dynamic.NewForConfig(write)
	return t, err
}

const (
	// pause comes before a write that failed is tried again; writePatience bounds one write.
	pause         = time.Second
	writePatience = 5 * time.Second
)

// Keep does so until ctx ends. Hooks that cert-manager keeps are left to it.
func (t *Trust) Keep(ctx context.Context) {
	var both sync.WaitGroup
	defer both.Wait()
	for plural, patch := range map[string]func([]byte, []byte) ([]byte, error){
		"mutatingwebhookconfigurations": patchOfText(PatchMutating), "validatingwebhookconfigurations": patchOfText(PatchValidating),
	} {
		at := registration.SchemeGroupVersion.WithResource(plural)
		k := &keeper{Trust: t, client: t.write.Resource(at), plural: plural, patch: patch, wake: make(chan struct{}, 1)}
		both.Go(func() {
			kube.Single{Client: t.read.Resource(at), Name: ConfigurationName, See: k.see, Failed: k.failed}.Run(ctx)
		})
		both.Go(func() { k.run(ctx) })
	}
}

// patchOfText is a patch of a configuration as it was read.
func patchOfText[C any](patch func(*C, []byte) []byte) func(text, ca []byte) ([]byte, error) {
	return func(text, ca []byte) ([]byte, error) {
		c := new(C)
		if err := json.Unmarshal(text, c); err != nil {
			return nil, err
		}
		return patch(c, ca), nil
	}
}

// keeper keeps one configuration.
type keeper struct {
	*Trust
	client dynamic.ResourceInterface
	plural string
	patch  func(text, ca []byte) ([]byte, error)
	wake   chan struct{} // has a token when the configuration has been seen

	mu   sync.Mutex
	seen *unstructured.Unstructured
	said string // the last failure that was logged
	lost string // the version of which the last patch was refused
}

func (k *keeper) see(u *unstructured.Unstructured) {
	k.mu.Lock()
	k.seen = u
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// failed logs each cause once.
func (k *keeper) failed(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.said != err.Error() {
		k.log.Warn("webhooks cannot be made to trust the authority", "configurations", k.plural, "name", ConfigurationName, "error", err)
		k.said = err.Error()
	}
}

func (k *keeper) run(ctx context.Context) {
	for {
		ca, changed := k.ca()
		var retry <-chan time.Time
		if len(ca) > 0 {
			if err := k.bring(ctx, ca); err != nil && ctx.Err() == nil {
				if !errors.Is(err, errLost) {
					k.failed(err)
				}
				retry = time.After(pause)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		case <-changed:
		case <-retry:
		}
	}
}

// errLost is that another has written since the configuration was seen.
var errLost = errors.New("written meanwhile")

// bring patches the configuration where it does not trust ca.
func (k *keeper) bring(ctx context.Context, ca []byte) error {
	k.mu.Lock()
	seen := k.seen
	k.mu.Unlock()
	if seen == nil || seen.GetAnnotations()[AnnotationInjectCA] != "" {
		return nil
	}
	text, err := seen.MarshalJSON()
	if err != nil {
		return err
	}
	patch, err := k.patch(text, ca)
	if err != nil || patch == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writePatience)
	defer cancel()
	_, err = k.client.Patch(ctx, ConfigurationName, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "weft-webhooks"})
	k.mu.Lock()
	defer k.mu.Unlock()
	lost := k.lost
	k.lost = seen.GetResourceVersion()
	switch {
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err) && lost != k.lost: // its test of the version does not hold
		return errLost
	case err != nil:
		return err
	}
	k.said = ""
	k.log.Info("webhooks trust the authority", "configurations", k.plural, "name", ConfigurationName)
	return nil
}
