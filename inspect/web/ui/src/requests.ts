// Single requests, as sidecars saw them, in words.
import type { ActingDocument, Origin, Seen } from './types'

export const statusText = (status: number): string => (status === 0 ? 'none' : String(status))
export const statusTone = (status: number): string => (status === 0 || status >= 500 ? 'bad' : status >= 400 ? 'warn' : '')

export const milliseconds = (ms: number): string => (ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms).toLocaleString('en')} ms`)

export const originOf = (d: ActingDocument, mesh: string): Origin => ({ kind: d.kind, name: d.name, namespace: d.namespace, mesh, field: d.ruleName || d.field }) as Origin

// answeredBy is who ended a request.
export function answeredBy(r: Seen): string {
  if (r.endedBy === 'service') return `${r.to || 'the workload'} answered so`
  if (r.endedBy === 'client') return 'the client went away'
  return r.to ? `the sidecar of ${r.dataplane} answered, not ${r.to}` : `the sidecar of ${r.dataplane} answered by itself`
}

// wordsOf is why a request ended as it did, by all that was seen of it: who called knows of an answer,
// and the called side why that was given.
export const wordsOf = (all: Seen[]): string => all.find((r) => r.side === 'caller' && r.words)?.words || all.find((r) => r.words)?.words || 'answered by the service'
