package differential

// Languages are random documents of one route language each, with those beside them that
// they refer to, by the name of the dialect.
func Languages(seed, world uint64) map[string][]map[string]any {
	d := newDraw(seed, world)
	return map[string][]map[string]any{"kuma": d.documents(), "gateway": d.gatewayDocuments(), "contour": d.proxies(), "skipper": d.groups()}
}
