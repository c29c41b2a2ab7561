// Who answers for a service, and what the Envoy of a caller thinks of each.
import type { DataplaneOverview } from './types'

export interface Host { address: string; healthy: boolean; why: string; all: number; failed: number }

interface Stat { name: string; value?: string }
interface Status { eds_health_status?: string; [flag: string]: unknown }
interface Clusters { cluster_statuses?: { name: string; host_statuses?: { address?: { socket_address?: { address?: string; port_value?: number } }; stats?: Stat[]; health_status?: Status }[] }[] }

const flags: Record<string, string> = { failed_outlier_check: 'ejected as an outlier', failed_active_health_check: 'fails its health checks', failed_active_degraded_check: 'says that it is degraded', pending_dynamic_removal: 'is being taken away', pending_active_hc: 'its health is not known yet', excluded_via_immediate_hc_fail: 'fails its health checks' }

// hostsOf are the addresses that an Envoy has, of all its clusters, by address.
export function hostsOf(text: Clusters): Map<string, Host> {
  const out = new Map<string, Host>()
  for (const c of text.cluster_statuses ?? []) {
    for (const h of c.host_statuses ?? []) {
      const at = h.address?.socket_address
      if (!at?.address) continue
      const key = `${at.address}:${at.port_value}`
      const eds = h.health_status?.eds_health_status ?? ''
      const why = Object.entries(flags).filter(([flag]) => h.health_status?.[flag] === true).map(([, w]) => w)
      if (eds && eds !== 'HEALTHY' && eds !== 'UNKNOWN') why.push(eds.toLowerCase())
      const n = (name: string) => Number(h.stats?.find((s) => s.name === name)?.value ?? 0)
      const host = out.get(key) ?? { address: key, healthy: true, why: '', all: 0, failed: 0 }
      host.all += n('rq_total')
      host.failed += n('rq_error')
      if (why.length) { host.healthy = false; host.why = why.join(', ') }
      out.set(key, host)
    }
  }
  return out
}

type Networking = NonNullable<DataplaneOverview['dataplane']['networking']>

// addressesOf are those at which a dataplane takes requests.
export function addressesOf(d: DataplaneOverview): { address: string; name: string; tags: Record<string, string>; state?: string }[] {
  const n = d.dataplane.networking as Networking | undefined
  return (n?.inbound ?? []).map((i) => ({ address: `${i.address || n?.advertisedAddress || n?.address || ''}:${i.port}`, name: i.name || String(i.port), tags: i.tags ?? {}, state: i.state }))
}
