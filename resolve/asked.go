package resolve

// The buckets of inboundsWith.
const ()
