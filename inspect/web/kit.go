package web

import "github.com/weftmesh/weft/inspect/web/httpapi"

// What handlers say most, as they are used to call it.
type (
	problem      = httpapi.Problem
	paged[T any] = httpapi.Page[T]
)

var (
	errBusy       = httpapi.ErrBusy
	badField      = httpapi.BadField
	missing       = httpapi.NotFound
	conflict      = httpapi.Conflict
	badFields     = httpapi.BadFields
	badFieldsIn   = httpapi.BadFieldsIn
	decodeBody    = httpapi.DecodeBody
	warn          = httpapi.Warn
	fail          = httpapi.Fail
	answer        = httpapi.Answer
	write         = httpapi.Write
	read          = httpapi.Read
	readLeniently = httpapi.ReadLeniently
	etag          = httpapi.ETag
	unconditional = httpapi.Unconditional
	truncate      = httpapi.Truncate
	problemOf     = httpapi.ProblemOf
)

const (
	cannotProcess = httpapi.CannotProcess
	mostMistakes  = httpapi.MostMistakes
)
