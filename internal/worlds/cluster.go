package worlds

// ofCluster draws a document of a cluster: pods, and what their Dataplanes follow from.
func ofCluster(pick func(string, ...string) string) m {
	app, space := pick("service", ServiceNames...), pick("namespace", "shop", "shop", "on")
	switch pick("kind", "Pod", "Pod", "Pod", "Service", "Service", "EndpointSlice", "Namespace", "Node", "ReplicaSet") {
	case "Service":
		spec := m{"clusterIP": pick("address", "10.96.0.1", "10.96.0.2", "None"), "ports": []m{
			{"name": pick("speaks", "http", "tcp", "x", "grpc-a"), "port": 80, "targetPort": pickTarget(pick)}, {"name": "udp", "port": 53, "protocol": pick("transport", "TCP", "UDP")}}}
		if pick("selector", "some", "some", "none") == "some" {
			spec["selector"] = m{"app": app}
		}
		return inEnvelope("v1", "Service", space, app, labelled(pick), spec)
	case "EndpointSlice":
		return m{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": m{"name": app + "-1", "namespace": space, "labels": m{"kubernetes.io/service-name": app}}, "addressType": "IPv4",
			"ports": []m{{"name": pick("speaks", "http", "x"), "port": 8080}}, "endpoints": []m{{"addresses": []string{pick("address", "10.0.0.1", "10.0.0.2", "10.0.0.9")},
				"conditions": m{"ready": pick("ready", "yes", "no") == "yes"}, "targetRef": m{"kind": "Pod", "name": "p1", "uid": pick("uid", "u1", "u2")}}}}
	case "Namespace":
		labels := m{"kuma.io/sidecar-injection": pick("injection", "enabled", "disabled")}
		if pick("mesh", "none", "none", "other") == "other" {
			labels["kuma.io/mesh"] = "other"
		}
		return m{"apiVersion": "v1", "kind": "Namespace", "metadata": m{"name": space, "labels": labels}}
	case "Node":
		return m{"apiVersion": "v1", "kind": "Node", "metadata": m{"name": "n1", "labels": m{"topology.kubernetes.io/zone": pick("zone", "a", "b"), "beat": pick("beat", "1", "2")}}}
	case "ReplicaSet":
		return m{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": m{"name": "r", "namespace": space, "ownerReferences": []m{{"kind": "Deployment", "name": pick("owner", "d1", "d2")}}}}
	}
	return pod(pick, app, space)
}

func inEnvelope(version, kind, namespace, name string, labels, spec m) m {
	return m{"apiVersion": version, "kind": kind, "metadata": m{"name": name, "namespace": namespace, "labels": labels}, "spec": spec}
}

func labelled(pick func(string, ...string) string) m {
	if pick("label", "none", "none", "mesh") == "mesh" {
		return m{"kuma.io/mesh": pick("mesh", "default", "other")}
	}
	return m{}
}

func pickTarget(pick func(string, ...string) string) any {
	if pick("target", "number", "main") == "main" {
		return "main"
	}
	return 8080
}

func pod(pick func(string, ...string) string, app, space string) m {
	name := pick("name", "p1", "p2")
	meta := m{"name": name, "namespace": space, "labels": m{"app": app, "team": pick("team", "x", "y")},
		"ownerReferences": []m{{"kind": "ReplicaSet", "name": "r", "controller": true}}}
	if pick("uid", "has", "none") == "has" {
		meta["uid"] = "u" + name[1:]
	}
	if pick("gateway", "no", "no", "no", "yes") == "yes" {
		meta["annotations"] = m{"kuma.io/gateway": pick("gateway", "enabled", "builtin"), "weft.io/edge-listeners": "80/http"}
	}
	sidecar := m{"name": pick("container", "weft-sidecar", "weft-sidecar", "weft-sidecar", "other"), "env": []m{{"name": "WEFT_MESH", "value": pick("mesh", "default", "default", "default", "other")}}}
	return m{"apiVersion": "v1", "kind": "Pod", "metadata": meta,
		"spec": m{"nodeName": "n1", "containers": []m{{"name": "app", "ports": []m{{"name": pick("port", "main", "other"), "containerPort": 8080}}}, sidecar},
			"initContainers": []m{{"name": "weft-init", "args": []string{"--ip-family-mode=" + pick("family", "ipv4", "dualstack")}}}},
		"status": m{"phase": pick("phase", "Running", "Running", "Failed"), "podIP": "10.0.0." + name[1:],
			"containerStatuses": []m{{"name": "app", "ready": pick("ready", "yes", "no") == "yes"}, {"name": "weft-sidecar", "ready": true}}}}
}
