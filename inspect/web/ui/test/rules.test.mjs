// A route of twelve rules: what differs between them, and what is the same at all; and a plan of two
// policies for them, which folds by object and by field. No sidecar is needed; the documents are enough.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, dataplane, openPage, startBrowser, startServer, until } from './world.mjs'

const paths = ['items', 'prices', 'orders', 'returns', 'labels', 'images', 'search', 'reports', 'exports', 'imports', 'audit', 'health']
const timeout = (name, rule, value) => `---
type: MeshTimeout
mesh: default
name: ${name}
spec:
  targetRef: {kind: MeshHTTPRoute, name: stock, sectionName: ${rule}}
  to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: ${value}}}}]
`
const documents = `type: Mesh
name: default
${dataplane('till', 21080, '  outbound: [{port: 21001, tags: {kuma.io/service: stock}}]\n')}${dataplane('stock', 21180)}---
type: MeshHTTPRoute
mesh: default
name: stock
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: stock}
    rules:
${paths.map((p) => `    - name: ${p}\n      matches: [{path: {type: PathPrefix, value: /${p}}}]\n      default: {}`).join('\n')}
${timeout('t-reports', 'reports', '60s')}${timeout('t-exports', 'exports', '90s')}${timeout('t-health', 'health', '1s')}---
type: MeshRetry
mesh: default
name: r-orders
spec:
  targetRef: {kind: MeshHTTPRoute, name: stock, sectionName: orders}
  to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 9}}}]
`
const change = `type: MeshTimeout
mesh: default
name: everywhere
spec:
  to: [{targetRef: {kind: Mesh}, default: {connectionTimeout: 3s, idleTimeout: 30s, http: {requestTimeout: 20s, streamIdleTimeout: 5s}}}]
---
type: MeshRetry
mesh: default
name: retries
spec:
  to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 2, backOff: {baseInterval: 10ms, maxInterval: 1s}}}}]
${timeout('t-items', 'items', '2s')}${timeout('t-prices', 'prices', '3s')}${timeout('t-labels', 'labels', '4s')}`

describe('many rules', () => {
  let world, chromium
  before(async () => {
    world = await startServer()
    await world.ask('POST', '/_apply', documents)
    chromium = await startBrowser()
  }, { timeout: 120_000 })
  after(async () => {
    await chromium?.stop()
    await world?.stop()
  })
  const small = async (page) => {
    await page.setViewportSize({ width: 390, height: 844 })
    await until('nothing is wider than the page', () => page.evaluate(() => document.documentElement.scrollWidth <= 390))
    await accessible(page)
    await page.setViewportSize({ width: 1440, height: 900 })
  }

  test('a route of twelve: a row each with the fields in which they differ, and the others once', async () => {
    const { page, finish } = await openPage(chromium.browser, world, { width: 1440 })
    await page.goto('/gui/meshes/default/routes/MeshHTTPRoute/stock')
    const matrix = page.getByTestId('matrix')
    await matrix.getByRole('heading', { name: 'What differs between the 12 rules' }).waitFor()
    assert.deepEqual(await matrix.locator('.tall thead code').allInnerTexts(), ['http.numRetries', 'http.requestTimeout'])
    assert.equal(await matrix.locator('.tall tbody tr').count(), 12)
    for (const [rule, field, value, by] of [['/reports', 'http.requestTimeout', '1m0s', 't-reports'], ['/items', 'http.requestTimeout', '15s', 'mesh-timeout-all-default'], ['/orders', 'http.numRetries', '9', 'r-orders']]) {
      assert.match(await matrix.locator(`.tall td[data-field="${field}"][data-rule$="${rule}"]`).innerText(), new RegExp(`^${value}\\s[^]*${by}`))
    }
    assert.equal(await matrix.locator('.same tr[data-field="connectionTimeout"]').count(), 1)
    const [wide, most] = await matrix.locator('.tall').evaluate((t) => [t.scrollWidth, t.parentElement.clientWidth])
    assert.ok(wide <= most, `${wide} of ${most}: nothing scrolls to the side`)
    await accessible(page)
    await small(page)
    await page.getByTestId('with-losers').check()
    await matrix.locator('.tall td[data-field="http.requestTimeout"][data-rule$="/health"] del').first().waitFor()
    await page.reload()
    assert.ok(await page.getByTestId('with-losers').isChecked(), 'the address keeps it')
    await finish()
  })

  test('a plan: by object and field, folded where there is much', async () => {
    const { page, finish } = await openPage(chromium.browser, world, { width: 1440 })
    await page.goto('/gui/meshes/default/plan')
    await page.getByTestId('doc').fill(change)
    await page.getByTestId('do-plan').click()
    const effects = page.getByTestId('effects')
    const fold = (name) => effects.getByTestId('fold').filter({ hasText: name })
    await fold('MeshRetry retries').waitFor()
    assert.deepEqual((await effects.getByTestId('fold').allInnerTexts()).sort(), ['MeshRetry retries', 'MeshTimeout everywhere', 'MeshTimeout t-items', 'MeshTimeout t-labels', 'MeshTimeout t-prices'])
    const rows = effects.locator('tr').filter({ hasText: 'backOff.maxInterval' })
    assert.equal(await fold('MeshRetry retries').getAttribute('aria-expanded'), 'true')
    await rows.first().waitFor()
    await fold('MeshRetry retries').focus()
    await page.keyboard.press('Enter')
    await rows.first().waitFor({ state: 'detached' })
    assert.equal(await fold('MeshRetry retries').getAttribute('aria-expanded'), 'false')
    await accessible(page)
    await small(page)
    await page.keyboard.press('Enter')
    await rows.first().waitFor()
    await finish()
  })
})
