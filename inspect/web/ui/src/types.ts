// The answers of the API that the screens read, by the names that they have here. They are
// made from the server's own description of itself (npm run types), so that an answer that
// changes fails the build and not a screen.
import type { components } from './openapi'

type Schemas = components['schemas']

export type Ref = Schemas['Ref']
export type Origin = Schemas['Origin']
export type Note = Schemas['Note']
export type Severity = Note['severity']
export type Sidecar = Schemas['Sidecar']
export type Sidecars = Schemas['SidecarList']
export type Said = Schemas['Opinion']
export type Policy = Schemas['EffectivePolicy']
export type Policies = Record<string, Policy>
export type Destination = Schemas['Destination']
export type Backend = Schemas['Backend']
export type Match = Schemas['Match']
export type Route = Schemas['Route']
export type Outbound = Schemas['Outbound']
export type Inbound = Schemas['Inbound']
export type Explanation = Schemas['Explanation']
export type ObjectExplanation = Schemas['ObjectExplanation']
export type Status = Schemas['Status']
export type Overview = Schemas['MeshStatus']
export type Owner = Schemas['ProblemOwner']
export type Resource = Schemas['ResourceType']
export type DataplaneOverview = Schemas['DataplaneOverview']
export type Attempt = Schemas['Attempt']
export type End = Schemas['EndOfAttempts']
export type Branch = Schemas['Branch']
export type Verdict = Schemas['Verdict']
export type Effect = Schemas['Effect']
export type Plan = Schemas['Plan']
export type Access = Schemas['Access']
export type EnvoyResource = Schemas['EnvoyResource']
export type EnvoyField = Schemas['EnvoyField']
export type MTLS = Schemas['MTLS']
export type SecuredDataplane = Schemas['SecuredDataplane']
export type SecuredInbound = Schemas['SecuredInbound']
export type PlainSender = Schemas['PlainSender']
export type Authority = Schemas['Authority']
export type Identity = Schemas['Identity']
export type InboundRoute = Schemas['InboundRoute']
export type PermissionEntry = Schemas['PermissionEntry']
export type Permission = Schemas['Permission']
export type Question = Schemas['SimulationRequest']
export type Revision = Schemas['RevisionItem']
export type Traffic = Schemas['Answer']
export type TrafficItem = Schemas['Item']
export type MinuteCounts = Schemas['MinuteCounts']
export type Unknown = Schemas['Unknown']
export type Latency = Schemas['Latency']
export type Seen = Schemas['Record']
export type SeenList = Schemas['RequestsAnswer']
export type Why = Schemas['Why']
export type ActingDocument = Schemas['ActingDocument']
export type TapRequest = Schemas['TapRequest']
export type ServiceInsight = Schemas['ServiceInsight']

// Problem is an error as the API says it; of one that never came there is less.
export type Problem = Partial<Pick<Schemas['Error'], 'title' | 'detail' | 'invalid_parameters'>>

// WeftEvent is one event, or that so many were missed.
export type WeftEvent = Omit<Schemas['Event'], 'type' | 'action'> & { type: string; action?: string }

export interface Page<T> {
  total: number
  items: T[]
  next?: string | null
}
