// What is not known is said, and never shown as zero: old figures, sidecars that report nothing, minutes
// of which nobody told, lines of a tap that were left out. Answers come from the test, since no Envoy is
// silent on demand; what real ones tell is in traffic.test.mjs.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, dataplane, openPage, startBrowser, startServer, until } from './world.mjs'

const minute = 60_000
const bounds = [5, 10, 25, 50, 100, 250, 1000]
const item = (more) => ({ caller: 'till', to: 'stock:80', requests: 600, perSecond: 10, failed: 0, denied: 0, retried: 0, latencyMs: { bounds, counts: [600, 0, 0, 0, 0, 0, 0, 0], p50: 5, p95: 5, p99: 5 }, ...more })
const traffic = (items, unknown = { sidecars: 0, replicas: [] }) => ({ since: new Date(Date.now() - 3_600_000).toISOString(), window: '1m', total: items.length, items, next: null, unknown })
const line = (n, status) => ({ id: `id-${n}`, time: new Date().toISOString(), dataplane: 'till-1', side: 'caller', method: 'GET', authority: 'stock', path: `/p/${n}`, status, durationMs: 3, tries: 1, to: 'stock:80', host: '10.0.0.1:80', policies: [], endedBy: status === 200 ? 'service' : 'sidecar', words: status === 200 ? '' : 'request timeout', standsFor: 1 })

describe('what is not known', () => {
  let world, chromium
  before(async () => {
    world = await startServer()
    await world.ask('POST', '/_apply', `type: Mesh\nname: default\n${dataplane('till', 21080, '  outbound: [{port: 21001, tags: {kuma.io/service: stock}}]\n')}${dataplane('stock', 21180)}`)
    chromium = await startBrowser()
  }, { timeout: 120_000 })
  after(async () => {
    await chromium?.stop()
    await world?.stop()
  })
  // open is a page to which traffic is what the test says: answer may change while it is open.
  const open = async (answer, options) => {
    const opened = await openPage(chromium.browser, world, { width: 1440, ...options })
    await opened.page.route(/\/_traffic\b/, (route) => route.fulfill(answer()))
    return opened
  }
  const small = async (page) => {
    await page.setViewportSize({ width: 390, height: 844 })
    await until('nothing is wider than the page', () => page.evaluate(() => document.documentElement.scrollWidth <= 390))
    await accessible(page)
  }

  test('figures that are old say so in red, with how old, and that it is over', async () => {
    let isDown = false
    const { page, finish } = await open(() => (isDown ? { status: 503, json: { title: 'Not now', detail: 'no replica has the sums' } } : { json: traffic([item()]) }), { expected: ['/_traffic'] })
    await page.goto('/gui/meshes/default/services')
    await page.getByTestId('services').getByText('10.0', { exact: true }).first().waitFor()
    assert.equal(await page.getByTestId('old').count(), 0)
    isDown = true
    const old = page.getByTestId('old')
    await old.getByText(/These figures are of .*, \d+ s old: no replica has the sums/).waitFor()
    const [red, bad] = await old.evaluate((e) => { const probe = document.body.appendChild(Object.assign(document.createElement('i'), { style: 'color: var(--bad)' })); return [getComputedStyle(e).color, getComputedStyle(probe).color] })
    assert.equal(red, bad, 'in red')
    await page.getByTestId('services').getByText('10.0', { exact: true }).first().waitFor() // what was known stays
    await accessible(page)
    await small(page)
    isDown = false
    await old.waitFor({ state: 'detached' })
    await finish()
  })

  test('sidecars that report nothing and replicas that do not answer are named on each screen of figures', async () => {
    const { page, finish } = await open(() => ({ json: traffic([item()], { sidecars: 2, replicas: ['weft-1'] }) }), { expected: ['/clusters'] })
    for (const path of ['', '/services', '/services/stock', '/graph']) {
      await page.goto(`/gui/meshes/default${path}`)
      await page.getByTestId('gap').getByText('2 connected sidecars report nothing').waitFor()
      await page.getByTestId('gap').getByText('the replica weft-1 does not answer').waitFor()
    }
    await finish()
  })

  test('a minute of which nobody told is a gap, in the picture and as a table', async () => {
    const minutes = () => {
      const now = Math.floor(Date.now() / minute) * minute
      return Array.from({ length: 15 }, (_, i) => ({ at: new Date(now - (14 - i) * minute).toISOString(), requests: i && 100 + i, failed: i === 9 ? 40 : 0 })).filter((_, i) => i !== 4 && i !== 5)
    }
    await world.ask('POST', '/_apply', '{type: MeshTimeout, mesh: default, name: told, spec: {to: [{targetRef: {kind: MeshService, name: stock}, default: {http: {requestTimeout: 3s}}}]}}')
    const { page, finish } = await open(() => ({ json: traffic([item({ minutes: minutes() })]) }), { expected: ['/clusters'] })
    await page.goto('/gui/meshes/default/services/stock')
    const strip = page.getByTestId('minutes')
    await strip.waitFor()
    assert.deepEqual(await strip.locator('[data-minute]').evaluateAll((all) => all.flatMap((b, i) => (b.dataset.known === 'false' ? [i] : []))), [4, 5])
    assert.equal(await strip.locator('[data-minute]').nth(4).locator('i.fine').evaluate((e) => e.getBoundingClientRect().height), 0)
    assert.match(await strip.getByRole('img').getAttribute('aria-label'), /of which 40 failed and 0 were denied\. 2 minutes are not known/)
    await strip.getByText('not known').first().waitFor()
    await strip.getByTestId('minute-changes').getByText('told').waitFor()
    await strip.getByTestId('minutes-table').locator('summary').click()
    const rows = strip.getByTestId('minutes-table').locator('tbody tr')
    assert.match(await rows.nth(0).innerText(), /\s0\s+0\s+0/)
    assert.match(await rows.nth(4).innerText(), /not known/)
    assert.match(await rows.nth(9).innerText(), /109\s+40\s+0/)
    await accessible(page)
    await small(page)
    await page.setViewportSize({ width: 1440, height: 900 })
    await strip.getByTestId('mark').last().focus()
    await page.keyboard.press('Enter')
    await page.getByTestId('title').getByText('Timeline').waitFor()
    assert.match(page.url(), /revision=\d+/)
    await finish()
  })

  test('a tap says how much was left out, and which sidecars are not heard', async () => {
    const told = [['begin', { dataplanes: ['till-1', 'till-2'], until: new Date(Date.now() + minute).toISOString(), notes: ['the tap watches 50 of 60 sidecars'] }], ['request', line(1, 200)], ['request', line(2, 504)],
      ['dropped', { dataplane: 'till-1', dropped: 1200 }], ['dropped', { dataplane: 'till-1', dropped: 34 }], ['silent', { dataplane: 'till-2', reason: 'its agent is too old' }], ['end', {}]]
    const { page, finish } = await open(() => ({ json: traffic([]) }))
    await page.route(/\/_taps$/, (route) => route.fulfill({ contentType: 'text/event-stream', body: told.map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`).join('') }))
    await page.goto('/gui/meshes/default/tap?who=till-1')
    await page.getByTestId('tap-start').click()
    await page.getByTestId('tap-dropped').getByText('1,234 requests left out').waitFor()
    await page.getByTestId('tap-state').getByText('till-2 is not heard: its agent is too old').waitFor()
    await page.getByText('the tap watches 50 of 60 sidecars').waitFor()
    await page.getByTestId('tap-state').getByText('Ended').waitFor()
    assert.equal(await page.getByTestId('tap-lines').locator('tbody tr').count(), 2)
    await accessible(page)
    await small(page)
    await finish()
  })

  test('screens with nothing to show name the next command', async () => {
    const { page, finish } = await open(() => ({ json: traffic([]) }), { expected: ['/clusters', '/_explain'] })
    for (const [path, command] of [['/requests', 'weft tap stock-1'], ['/graph', 'weft top --traffic'], ['/services/stock', 'weft top --traffic']]) {
      await page.goto(`/gui/meshes/default${path}`)
      await page.locator('main .view-head ~ .command, main .view-head ~ * .command').filter({ hasText: command }).first().waitFor()
    }
    await world.ask('POST', '/_apply', '{type: Mesh, name: empty}')
    for (const [path, command] of [['', 'weft sidecar'], ['/services', 'weft sidecar'], ['/graph', 'weft sidecar'], ['/graph?show=policies', 'weft apply'], ['/dataplanes', 'weft sidecar'], ['/tap', 'weft sidecar'], ['/simulate', 'weft sidecar']]) {
      await page.goto(`/gui/meshes/empty${path}`)
      await page.locator('main .view-head ~ .command, main .view-head ~ * .command').filter({ hasText: command }).first().waitFor()
      await accessible(page)
    }
    await world.ask('DELETE', '/meshes/empty')
    await finish()
  })
})
