package inject

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// annotationSpire asks for the socket of a SPIRE agent, as in Kuma.
const annotationSpire = "k8s.kuma.io/spire-support"

// variableSpire says to the sidecar where that socket is (SPIFFE Workload Endpoint, 4).
const variableSpire = "SPIFFE_ENDPOINT_SOCKET"

const volumeSpire = "weft-spire"

// How the socket of the SPIRE agent of a node gets into a pod.
const (
	SpireByCSI      = "csi"      // by the SPIFFE CSI driver, which every level of Pod Security lets pass
	SpireByHostPath = "hostPath" // as a directory of the node, which baseline and restricted forbid
)

// SpireValues say how pods whose certificates come from a SPIRE get the socket of its agent.
// Enabled, MountPath and SocketFileName are those of Kuma, with its defaults.
type SpireValues struct {
	Enabled        bool   `json:"enabled" means:"pods get the socket of the SPIRE agent of their node where no annotation k8s.kuma.io/spire-support says otherwise"`
	Volume         string `json:"volume" schema:"enum=csi|hostPath" means:"by what they get it: the SPIFFE CSI driver, or a directory of the node, which Pod Security forbids from baseline on"`
	Driver         string `json:"driver" means:"name of that driver"`
	HostPath       string `json:"hostPath" means:"that directory of the node, in which the agent makes its socket"`
	MountPath      string `json:"mountPath" means:"where sidecars see it"`
	SocketFileName string `json:"socketFileName" means:"name of the socket there"`
}

func defaultSpire() SpireValues {
	return SpireValues{Volume: SpireByCSI, Driver: "csi.spiffe.io", HostPath: "/run/spire/sockets", MountPath: "/run/spire/sockets", SocketFileName: "socket"}
}

// address is what the sidecar is told.
func (v SpireValues) address() string { return "unix://" + path.Join(v.MountPath, v.SocketFileName) }

// source is where the volume comes from. The directory of a node has to be there: what the kubelet
// would make in its place is empty for ever where the path is wrong.
func (v SpireValues) source() corev1.VolumeSource {
	if v.Volume == SpireByHostPath {
		return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: v.HostPath, Type: new(corev1.HostPathDirectory)}}
	}
	return corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: v.Driver, ReadOnly: new(true)}}
}

// mount gives a sidecar the socket.
func (v SpireValues) mount(pod *corev1.Pod) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volumeSpire, VolumeSource: v.source()})
	c := sidecarOf(pod)
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeSpire, MountPath: v.MountPath, ReadOnly: true})
}

var (
	onePath    = regexp.MustCompile(`^(/[A-Za-z0-9._-]+)+$`) // nothing that an address would have to escape
	driverName = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9.]{0,61}[A-Za-z0-9])?$`)
)

// longestSocket is how long the path of a socket may be on Linux, in bytes.
const longestSocket = 107

// validate refuses values with which no sidecar would find a socket.
func (v SpireValues) validate(check func(at api.Path, err error)) {
	check("spire.volume", oneOf(v.Volume, SpireByCSI, SpireByHostPath))
	if v.Volume == SpireByHostPath {
		check("spire.hostPath", checkDirectory(v.HostPath))
	} else if !driverName.MatchString(v.Driver) {
		check("spire.driver", fmt.Errorf("%q is no name of a CSI driver; write such as csi.spiffe.io", redact.Clip(v.Driver)))
	}
	if strings.Contains(v.SocketFileName, "/") || checkDirectory("/"+v.SocketFileName) != nil {
		check("spire.socketFileName", fmt.Errorf("%q is no name of a file; write that of the socket within spire.mountPath, such as socket", redact.Clip(v.SocketFileName)))
	}
	check("spire.mountPath", v.checkMountPath())
}

func (v SpireValues) checkMountPath() error {
	if err := checkDirectory(v.MountPath); err != nil {
		return err
	}
	for _, own := range []string{runDir, tokenDir} {
		if within(own, v.MountPath) || within(v.MountPath, own) {
			return fmt.Errorf("%s would hide %s, or stand in it, which is of the sidecar itself; choose another, such as /run/spire/sockets", v.MountPath, own)
		}
	}
	if n := len(path.Join(v.MountPath, v.SocketFileName)); n > longestSocket {
		return fmt.Errorf("with spire.socketFileName it has %d bytes, and a socket has no path of more than %d; choose a shorter one", n, longestSocket)
	}
	return nil
}

// within reports whether a path is another one, or below it.
func within(p, directory string) bool { return p == directory || strings.HasPrefix(p, directory+"/") }

func checkDirectory(p string) error {
	if !onePath.MatchString(p) || path.Clean(p) != p {
		return fmt.Errorf("%q is no path of a directory; write it from the root on, of letters, digits and ._- between slashes, such as /run/spire/sockets", redact.Clip(p))
	}
	return nil
}
