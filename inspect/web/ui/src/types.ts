// The answers of the API that the screens read (contract 3 to 6, 9).

export interface Ref {
  kind: string
  mesh?: string
  namespace?: string
  name?: string
}

export interface Origin extends Ref {
  to?: number
  rule?: number
  ruleName?: string
  field?: string
}

export interface Problem {
  title?: string
  detail?: string
  invalid_parameters?: { field: string; reason: string; source?: string; object?: string }[]
}

export type Severity = 'error' | 'warning' | 'info'

export interface Note {
  origin?: Origin | null
  severity: Severity
  code: string
  field?: string
  message: string
}

export interface Page<T> {
  total: number
  items: T[]
  next: string | null
  notes?: string[]
}

// Sidecar is one row of GET /meshes/{mesh}/_sidecars.
export interface Sidecar {
  name: string
  services: string[]
  state: 'in sync' | 'behind' | 'refusing' | 'missing' | 'held'
  revision: number
  acked: number
  since?: string
  version?: string
  message?: string
}

export interface Sidecars extends Page<Sidecar> {
  revision: number
  states: Record<string, number>
}

export interface Said {
  value: unknown
  origin: Origin | null
  layer?: string
  override?: boolean
  lost?: string
}

export interface Policy {
  conf: unknown
  why: Record<string, Said[]>
  idle?: string[]
  idleReason?: string
  buckets?: number
}

export type Policies = Record<string, Policy>

export interface Destination {
  kind: string
  name: string
  namespace?: string
  port?: number
}

export interface ValueMatch {
  type?: string
  name?: string
  value?: string
}

export interface Match {
  path?: { type: string; value: string }
  method?: string
  headers?: ValueMatch[]
  queryParams?: ValueMatch[]
  [other: string]: unknown
}

export interface Backend {
  kind: string
  name: string
  namespace?: string
  tags?: Record<string, string>
  port?: number
  share: number
  status?: number
  inbounds?: CalledSide[]
}

export interface CalledSide {
  dataplanes: number
  names: string[]
  share: number
  protocol: string
  policies?: Policies
  outcome: string
  status?: number
}

export interface Route {
  key: string
  name: string
  matches: Match[]
  serverName?: string
  origins: Origin[]
  over?: Origin[]
  via?: Origin[]
  shadowedBy: { key: string; origins: Origin[] } | null
  filters?: string[]
  filtersBy?: Origin
  answer?: string
  backends: Backend[]
  backendsBy?: Origin
  mirrors?: { name: string; share: number }[]
  policies: Policies
}

export interface Outbound {
  destination: Destination
  id: string
  address: string
  port: number
  protocol: string
  edge?: boolean
  routes: Route[]
  policies: Policies
}

export interface Inbound {
  name: string
  address: string
  port: number
  protocol: string
  policies: Policies
}

export interface Explanation {
  dataplane: string
  revision: number
  acked: number
  connected?: boolean
  outbounds: Outbound[]
  inbounds: Inbound[]
  unmatched: { object: string; ref: Ref; code: string; reason: string }[]
  unmatchedTotal: number
  notes: Note[]
}

export interface Counts {
  selected: number
  effective: number
  connected: number
  programmed: number
  rejected: number
}

export interface Condition {
  type: string
  status: string
  reason: string
  message: string
  source?: string
  dataplanes: Counts
}

export interface Target {
  field: string
  text: string
  state: string
  by?: Origin[]
  reason?: string
}

export interface ObjectExplanation {
  object: string
  ref: Ref
  targets: Target[]
  dataplanes: string[]
  missing: string[]
  counts: Counts
  conditions: Condition[]
  notes: Note[]
}

export interface Status {
  object: string
  ref: Ref
  conditions: Condition[]
  dataplanes: Counts
  notes?: Note[]
}

export interface Overview {
  mesh: string
  sidecars: {
    revision: number
    total: number
    inSync: number
    behind: string[]
    refusing: { dataplane: string; type: string; resources?: string[]; message: string }[]
    absent: number
    missing?: string[]
    held?: { dataplane: string; message: string }[]
  }
  objects: Status[]
  notes?: Note[]
}

export interface Owner {
  owner: string
  ref?: Ref
  problems: {
    severity: Severity
    code: string
    field?: string
    message: string
    file?: string
    line?: number
    column?: number
    dataplanes?: string[]
  }[]
}

export interface Resource {
  name: string
  scope: string
  path: string
  readOnly: boolean
  singularDisplayName: string
  pluralDisplayName: string
  shortName: string
  policy?: { isTargetRef: boolean }
}

export interface WeftEvent {
  id: number
  time: string
  type: string
  revision?: number
  object?: string
  action?: string
  dataplane?: string
  resources?: string
  count?: number
  tookSeconds?: number
  message?: string
  replica?: string
  user?: string
  client?: string
}

export interface DataplaneOverview {
  name: string
  mesh: string
  labels: Record<string, string>
  dataplane: {
    networking: {
      address: string
      inbound?: { port: number; name?: string; tags?: Record<string, string> }[]
      transparentProxying?: unknown
      gateway?: unknown
    }
  }
  dataplaneInsight?: {
    subscriptions: {
      controlPlaneInstanceId: string
      connectTime?: string
      disconnectTime?: string
      version: Record<string, { version: string }>
      status: Record<string, { responsesSent: string; responsesAcknowledged: string; responsesRejected: string } | string>
    }[]
  }
}

export interface Attempt {
  attempt: number
  earliest: string
  latest: string
  wait?: string
  answer: string
  ended: string
  status: number
}

export interface End {
  by: string
  status: number
  attempts: number
  earliest: string
  latest: string
}

export interface Branch {
  probability: number
  outcome: string
  status?: number
  location?: string
  body?: string
  route?: { key: string; name: string; matches?: Match[]; origins?: Origin[]; serverName?: string }
  backends?: (Backend & { reason?: string; balance?: string })[]
  forwarded?: { method: string; authority: string; path: string; headers?: Record<string, string>; removedHeaders?: string[] }
  responseHeaders?: { set?: Record<string, string>; add?: Record<string, string>; remove?: string[] }
  mirrors?: { name: string; share: number }[]
  policies?: Policies
  attempts?: Attempt[]
  ends?: End[]
}

export interface Verdict {
  from: string
  destination?: Destination
  branches: Branch[]
  missed?: { key?: string; origins: Origin[]; reason: string }[]
  unknown?: string[]
  notes?: Note[]
}

export interface Violation {
  file?: string
  line?: number
  column?: number
  object?: string
  field?: string
  code: string
  message: string
  severity: Severity
}

interface On {
  dataplane?: string
  dataplanes?: string[]
  cut?: number
}

export interface Effect extends On {
  mesh: string
  destination?: Destination
  inbound?: { name: string }
  route?: { key: string; name: string; text?: string }
  policy?: string
  field?: string
  part?: string
  before: unknown
  after: unknown
  origin?: Origin
  originBefore?: Origin
}

export interface Plan {
  from: number
  changes: { object: string; action: string }[]
  dataplanes: { total: number; affected: number } & On
  effects: Effect[]
  envoy: ({ mesh: string; type: string; name: string; action: string } & On)[]
  warnings: Violation[]
  notes?: Note[]
  cut?: number
}
