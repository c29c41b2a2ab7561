package effective

// Trust is whom proxies believe, by the name that they ask for it: the authorities of some
// trust domains.
type Trust struct {
	Name    string
	Domains []TrustDomain // by name
}

// TrustDomain is who speaks for a trust domain.
type TrustDomain struct {
	Name  string
	Roots [][]byte // certificates in DER form, sorted; none: nobody is believed
}

// TrustUse is a Trust, and what stands beside it.
type TrustUse struct {
	*Trust
	Cache *Derived
}
