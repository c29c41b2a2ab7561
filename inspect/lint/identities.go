package lint

// ofIdentities are codes about who workloads are, and who may call whom.
var ofIdentities = []Rule{
	told("DenyByPath", "A path is denied", "Paths that only the workload takes for the same, in other case or behind a semicolon, are not denied with it.", "Deny all, and allow the paths that are meant: an allow list has no second spelling."),
	told("NoCipher", "No cipher is left that fits", "The certificates that weft signs have keys of ECDSA, and none of the named ciphers is for those: TLS 1.2 fails.", "Name one that begins with ECDHE-ECDSA-, or leave tlsCiphers out."),
	told("GreetingBeforeCheck", "The handshake cannot decide who may call", "Where a workload speaks before its caller, who is denied hears it: only a list of names is asked in the handshake.", "Say who may by names alone, without a deny."),
	told("IdentityRevoked", "The identity of a dataplane is revoked", "Its calls are refused, nobody is led to it, and it gets no certificate.", "Give it another identity, or take the entry out of the document of revocations."),
	told("LateRefusal", "Callers speak TLS 1.3", "A caller whose certificate is refused learns it after its request is out: the request fails without a reason, and no retry on connect-failure repeats it. By TLS 1.2 the handshake fails before.", "Leave `tlsVersion` as it is, so that callers stop at TLS 1.2, unless something demands 1.3."),
	told("LongLife", "Certificates of workloads live long", "There is no list of revoked certificates: whoever has taken a key is believed until its certificate ends.", "Write at most 7 days; the default is one."),
	told("LongList", "A list of callers is long", "Each request is compared with all of it: 2,000 entries cost a millisecond.", "Name callers by a prefix, or in fewer entries."),
	told("NotEnforced", "Nobody asks who calls", "Where callers prove no identity, a permission keeps nobody out.", "Give the mesh `mtls`, or its workloads a MeshIdentity."),
	told("OpenPrefix", "A prefix ends within a segment", "An allow reads a prefix by whole segments and a deny byte by byte, so that the two hold of different callers.", "Write whole segments."),
	told("PermissiveByDefault", "Nobody says whether plain text is taken", "A MeshIdentity gives names, and no document says in which mode inbounds take mutual TLS: they take plain text too.", "Apply a MeshTLS for the whole mesh: of mode Permissive, or of mode Strict once nobody calls in plain text."),
	told("PermissionLost", "A permission on a route loses its route", "Who may call is not asked any more where the rules of the route led.", "Attach the permission to the workload, or to another route, before the route goes."),
	told("PlainKey", "The key of an authority stands in a document", "Whoever may read the document can make certificates for all workloads.", "Put it into a Secret of the mesh, or into a file below `--ca-file-root`, and name that."),
	told("PlaintextNotAsked", "Plaintext clients are not asked", "An inbound in mode Permissive lets plaintext in, whatever permissions say.", "Make the inbound Strict, or add an entry with `anonymous: true`, which judges plaintext too."),
	told("ProviderValidationError", "An authority cannot sign", "Nothing is issued by it: workloads get no certificate, or keep the one that they have until it ends.", "Do what the message says."),
	told("RequestsNotRead", "An entry asks something of requests where nobody reads them", "At an inbound that carries bytes it holds of nobody: what it would deny is let in.", "Name callers by their identities there."),
	told("ServerFirstDelay", "A workload that speaks first is slow to be heard", "An inbound that takes plaintext beside mutual TLS waits up to a second for what the caller speaks.", "Make it Strict."),
	told("SecondHost", "A token of a dataplane is used from two hosts", "One of them may not be the workload's: whoever has its token has its identity.", "Revoke the token (`weft token revoke`) and issue another, unless the workload has just moved."),
	told("SharedIdentity", "Workloads that are told apart share a name", "Who calls is known by that name alone: to deny some of them denies all, and to allow some allows none.", "Give them identities of their own."),
	told("UnprovenMember", "A dataplane answers for a service by what its token does not prove", "Where inbounds take mutual TLS alone nobody is led to it: else whoever has a token could take the requests of others.", "Issue the token that the message names, or apply the Dataplane."),
	told("UnknownIdentity", "No workload has the name", "The entry holds of nobody.", "Correct the name; the message names what comes near."),
}
