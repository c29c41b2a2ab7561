// The tabs of one browser that follow by the same token: one of them has the stream, and tells the
// others. When it goes, the next one goes on where it was.
import type { WeftEvent } from './types'

export interface Told {
  event?: WeftEvent
  recent?: WeftEvent[] // for who has just come
  seen?: string // the id of the last event
  again?: boolean // ask again: something may have been missed
  state?: 'off' | 'connecting' | 'on'
  silent?: number
  denied?: string
}

export interface Tabs {
  tell: (m: Told) => void
  lead: (during: () => Promise<void>) => Promise<void> // when it is this tab's turn
}

interface Way {
  asked: () => Told // what somebody who comes is told
  told: (m: Told) => void
}

type Message = { ask: string } | ({ to?: string } & Told)

// nameOf stands for a token: who has another one may see other things. The token itself is in no name.
async function nameOf(token: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token)))
  return 'weft.events.' + Array.from(hash, (b) => b.toString(16).padStart(2, '0')).join('')
}

// joinTabs is undefined where tabs cannot agree: a browser lets only pages of HTTPS and of this machine.
export async function joinTabs(token: string, signal: AbortSignal, way: Way): Promise<Tabs | undefined> {
  if (!navigator.locks || !globalThis.crypto?.subtle || !globalThis.BroadcastChannel) return undefined
  const name = await nameOf(token)
  if (signal.aborted) return undefined
  const channel = new BroadcastChannel(name)
  const me = crypto.randomUUID()
  let leads = false
  const tell = (m: Message) => { if (!signal.aborted) channel.postMessage(m) }
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (signal.aborted) return
    if ('ask' in data) {
      if (leads) tell({ to: data.ask, ...way.asked() })
    } else if (!leads && (data.to === undefined || data.to === me)) way.told(data)
  }
  signal.addEventListener('abort', () => channel.close(), { once: true })
  tell({ ask: me })
  return {
    tell: (m) => { if (leads) tell(m) },
    lead: async (during) => {
      try {
        await navigator.locks.request(name, { signal }, async () => {
          leads = true
          await during()
          // Who may not follow keeps the place, so that not every tab is refused in turn.
          if (!signal.aborted) await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }))
        })
      } catch (e) {
        if (!signal.aborted) throw e
      }
    },
  }
}
