package nodetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// container is a program that runs as a container of a pod says.
type container struct {
	pod  *Pod
	spec *corev1.Container
	env  []string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it is gone
}

// enter makes a container's view of files, and becomes its program: a root of its own over
// that of the host, read-only if the container says so, with its volumes. Arguments are the
// directory, whether the root is read-only, the program weft, Envoy, the file of hosts,
// pairs of a mounted directory and its place, "--", and the command.
const enter = `set -e
dir=$1 readonly=$2 weft=$3 envoy=$4 hosts=$5; shift 5
mount -t tmpfs tmpfs "$dir"
mkdir "$dir/upper" "$dir/work" "$dir/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" "$dir/root"
for d in proc sys dev; do mount --rbind /$d "$dir/root/$d"; done
touch "$dir/root/usr/local/bin/weft" "$dir/root/usr/local/bin/envoy"
mount --bind "$weft" "$dir/root/usr/local/bin/weft"
mount --bind "$envoy" "$dir/root/usr/local/bin/envoy"
cp "$hosts" "$dir/root/etc/hosts"
mounts=
while [ "$1" != -- ]; do mkdir -p "$dir/root$2"; mounts="$mounts $1 $2"; shift 2; done
shift
[ "$readonly" = false ] || mount -o remount,ro "$dir/root"
set -- "$dir" "$mounts" "$@"
root=$1/root mounts=$2; shift 2
pairs() { while [ $# -gt 0 ]; do mount --bind "$1" "$root$2"; shift 2; done; }
pairs $mounts
exec chroot "$root" "$@"`

// prepare is the container with all that does not depend on when it starts.
func (p *Pod) prepare(spec *corev1.Container) *container {
	p.node.t.Helper()
	c := &container{pod: p, spec: spec, log: filepath.Join(p.dir, spec.Name+".log"), done: make(chan struct{})}
	values := map[string]string{}
	for _, e := range spec.Env {
		values[e.Name] = p.value(&e, values)
		c.env = append(c.env, e.Name+"="+values[e.Name])
	}
	command := spec.Command
	if len(command) == 0 {
		command = []string{"weft"} // the entry point of weft's images
	}
	for _, a := range spec.Args {
		command = append(command, expand(a, values))
	}
	dir := filepath.Join(p.dir, "root-"+spec.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.node.t.Fatal(err)
	}
	s := spec.SecurityContext
	args := []string{"-m", "--propagation", "private", "sh", "-c", enter, "sh", dir, strconv.FormatBool(s != nil && s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem),
		p.node.program(spec.Image), p.node.envoy, filepath.Join(p.dir, "hosts")}
	for _, m := range spec.VolumeMounts {
		at := m.MountPath
		if rest, ok := strings.CutPrefix(at, "/var/run/"); ok {
			at = "/run/" + rest // a link, which would lead out of the root
		}
		args = append(args, p.volumes[m.Name], at)
	}
	args = append(append(append(args, "--"), c.as()...), command...)
	c.cmd = p.Net.Command(0, "unshare", args...)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's interrupt is the test's
	return c
}

// as is how a program becomes the container's user, with its capabilities and environment.
func (c *container) as() []string {
	user, group := int64(0), int64(0)
	if s := c.pod.Spec.SecurityContext; s != nil && s.RunAsUser != nil {
		user, group = *s.RunAsUser, *s.RunAsUser
	}
	caps, privileges := "-all", []string{}
	if s := c.spec.SecurityContext; s != nil {
		if s.RunAsUser != nil {
			user, group = *s.RunAsUser, *s.RunAsUser
		}
		if s.Capabilities != nil {
			for _, add := range s.Capabilities.Add {
				caps += ",+" + strings.ToLower(string(add))
			}
		}
		if s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation {
			privileges = []string{"--no-new-privs"}
		}
	}
	out := append([]string{"setpriv", "--reuid", strconv.FormatInt(user, 10), "--regid", strconv.FormatInt(group, 10), "--clear-groups",
		"--bounding-set=" + caps, "--inh-caps=-all"}, privileges...)
	return append(append(out, "env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "WEFT_ENVOY=/usr/local/bin/envoy"), c.env...)
}

// start runs the program until it ends by itself or is told to.
func (c *container) start() {
	t := c.pod.node.t
	t.Helper()
	log, err := os.Create(c.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c.cmd.Stdout, c.cmd.Stderr = log, log
	if err := c.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", c, err)
	}
	t.Cleanup(c.kill)
	go func() {
		_ = c.cmd.Wait() // how it ended stands in its log
		close(c.done)
	}()
}

// exec runs a command in the container, as kubectl exec does.
func (c *container) exec(command []string) ([]byte, error) {
	args := []string{"--target", strconv.Itoa(c.cmd.Process.Pid), "--mount", "--net", "--root"}
	return exec.Command("nsenter", append(append(args, c.as()...), command...)...).CombinedOutput()
}

func (c *container) kill() {
	_ = c.cmd.Process.Kill() // it may be gone already
	<-c.done
}

func (c *container) String() string {
	return fmt.Sprintf("container %s of %s/%s", c.spec.Name, c.pod.Namespace, c.pod.Name)
}

// said is what the container printed.
func (c *container) said() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s:\n%s", c, text[max(len(text)-8<<10, 0):])
}

// value is that of a variable, as the kubelet finds it.
func (p *Pod) value(e *corev1.EnvVar, before map[string]string) string {
	if e.ValueFrom == nil || e.ValueFrom.FieldRef == nil {
		return expand(e.Value, before)
	}
	switch path := e.ValueFrom.FieldRef.FieldPath; path {
	case "metadata.name":
		return p.Name
	case "metadata.namespace":
		return p.Namespace
	case "metadata.uid":
		return string(p.UID)
	case "status.podIP", "status.podIPs":
		return p.Net.IPv4.String()
	case "spec.serviceAccountName":
		return p.Spec.ServiceAccountName
	default:
		p.node.t.Fatalf("no field %s", path)
		return ""
	}
}

var reference = regexp.MustCompile(`\$\(([A-Za-z_][A-Za-z0-9_]*)\)`)

// expand puts values in the place of $(NAME); names that nobody gave stay.
func expand(text string, values map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		if v, ok := values[ref[2:len(ref)-1]]; ok {
			return v
		}
		return ref
	})
}
