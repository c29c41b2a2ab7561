// Who sets a value: the policies of another backend, lists that are joined, and what a plan
// changes of one field. No sidecar is needed; the documents are enough.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, dataplane, openPage, startBrowser, startServer } from './world.mjs'

const timeout = (name, service, fields) => `---
type: MeshTimeout
mesh: default
name: ${name}
spec:
  targetRef: {kind: Mesh}
  to: [{targetRef: {kind: MeshService, name: ${service}}, default: ${fields}}]
`
const permission = (name, target, type, id) => `---
type: MeshTrafficPermission
mesh: default
name: ${name}
spec:
  targetRef: ${target}
  rules: [{default: {allow: [{spiffeID: {type: ${type}, value: "${id}"}}]}}]
`
const documents = `type: Mesh
name: default
mtls: {enabledBackend: ca, backends: [{name: ca, type: builtin, mode: STRICT}]}
` + dataplane('till', 21080, `  outbound:
  - {port: 21001, tags: {kuma.io/service: stock}}
  - {port: 21002, tags: {kuma.io/service: price}}
  - {port: 21003, tags: {kuma.io/service: chat}}
`) + dataplane('chat', 21480) + dataplane('stock', 21180) + dataplane('price', 21380) + `---
type: MeshHTTPRoute
mesh: default
name: stock
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: stock}
    rules: [{matches: [{path: {type: PathPrefix, value: /p}}], default: {backendRefs: [{kind: MeshService, name: price}]}}]
` + timeout('price-t', 'price', '{connectionTimeout: 2s, idleTimeout: 77s, http: {maxStreamDuration: 2s}}') +
  timeout('stock-t', 'stock', '{connectionTimeout: 4s, idleTimeout: 44s, http: {maxStreamDuration: 8s, requestTimeout: 12s}}') +
  permission('everyone', '{kind: Mesh}', 'Prefix', 'spiffe://default') +
  permission('till-opt-in', '{kind: Dataplane, name: price-1}', 'Exact', 'spiffe://default/till')

const elsewhere = { connectionTimeout: '2s', 'http.maxStreamDuration': '2s', idleTimeout: '1m17s' }

describe('who sets a value', () => {
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
  const row = (at, field) => at.locator(`tr[data-field="${field}"]`)

  // ofBackend holds that a table of connections names price-t, and that what stock-t says of them is idle.
  async function ofBackend(panel) {
    const connections = panel.getByTestId('backend-policies')
    await connections.waitFor()
    assert.equal(await connections.locator('h3').innerText(), 'Connections to price')
    const own = panel.locator('[data-testid=effective]').first()
    for (const [field, is] of Object.entries(elsewhere)) {
      const cells = row(connections, field).locator('td')
      assert.equal((await cells.first().innerText()).trim(), is, field)
      assert.match(await cells.nth(1).innerText(), /price-t/, field)
      assert.match(await row(own, field).locator('td').first().innerText(), /no effect here/, `${field} of stock-t`)
    }
    assert.equal((await row(own, 'http.requestTimeout').locator('td').first().innerText()).trim(), '12s', 'what the route itself says holds')
  }

  test('explain: of a rule that leads to another backend, that backend\'s policies hold for connections', async () => {
    const { page, finish } = await openPage(chromium.browser, world)
    await page.goto('/gui/meshes/default/dataplanes/till-1')
    await page.getByTestId('outbounds').locator('tr').filter({ hasText: '/p' }).getByTestId('explain').click()
    await ofBackend(page.getByTestId('why'))
    await accessible(page)
    await page.goto('/gui/meshes/default/dataplanes/till-1?to=price')
    await row(page.getByTestId('why'), 'connectionTimeout').getByText('price-t').waitFor()
    assert.equal(await page.getByTestId('backend-policies').count(), 0, 'it leads nowhere else')
    await finish()
  })

  test('simulate: the same, and who ends the request', async () => {
    const { page, finish } = await openPage(chromium.browser, world)
    await page.goto('/gui/meshes/default/simulate?from=till-1&url=http://stock/p&answers=200@5s')
    const branch = page.getByTestId('branch')
    const end = branch.getByTestId('attempts').locator('tr.end')
    await end.waitFor()
    assert.match(await end.innerText(), /2s\s+504\s+maxStreamDuration after 1/)
    await ofBackend(branch)
    await accessible(page)
    await finish()
  })

  // joined holds that both lists of callers hold in a table, and that none is struck out.
  async function joined(table) {
    const allow = row(table, 'allow')
    await allow.waitFor({ state: 'attached' })
    assert.match(await allow.getByTestId('joined').textContent(), /and .*spiffe:\/\/default"/)
    const by = await allow.locator('td').nth(1).textContent()
    assert.match(by, /till-opt-in/)
    assert.match(by, /everyone/)
    assert.equal(await allow.locator('del').count(), 0, 'nothing of it is overridden')
    assert.equal((await allow.locator('td').nth(2).textContent()).trim(), '', 'it stands over nothing')
  }

  test('an allow list that holds beside another is joined to it', async () => {
    const { page, finish } = await openPage(chromium.browser, world)
    await page.goto('/gui/meshes/default/dataplanes/price-1')
    await page.getByTestId('inbounds').getByRole('button').click()
    await joined(page.getByTestId('why'))
    await accessible(page)
    await page.goto('/gui/meshes/default/simulate?from=till-1&url=http://price/x&as=spiffe://default/stock')
    const branch = page.getByTestId('branch')
    const at = branch.locator('details').filter({ hasText: /^Policies at price: / })
    await at.locator('summary').click()
    await joined(at)
    await finish()
  })

  test('a plan of one field is one row, and what stays is no change', async () => {
    const { page, finish } = await openPage(chromium.browser, world)
    await page.goto('/gui/meshes/default/plan')
    const effects = page.getByTestId('effects').locator('tbody tr')
    const plan = async (text) => {
      await page.getByTestId('doc').fill(text)
      await page.getByTestId('do-plan').click()
    }
    await plan(timeout('all-t', 'price', '{connectionTimeout: 3s, idleTimeout: 77s, http: {maxStreamDuration: 2s}}').replace('all-t', 'price-t'))
    await effects.filter({ hasText: 'connectionTimeout' }).waitFor()
    assert.equal(await effects.count(), 1, 'at the rule of stock and at price itself')
    assert.deepEqual(await effects.locator('del, ins').allInnerTexts(), ['2s', '3s'])
    const to = await effects.locator('td').nth(3).innerText()
    assert.match(to, /price/)
    assert.match(to, /stock[^]*\/p/, 'the rule that leads there is named')
    // To chat the idle timeout of 1h was the mesh's default, and stays 1h when a document says so.
    await plan(`type: MeshTimeout
mesh: default
name: same-t
spec:
  targetRef: {kind: Mesh}
  to: [{targetRef: {kind: Mesh}, default: {idleTimeout: 1h, http: {streamIdleTimeout: 29m}}}]
`)
    await effects.filter({ hasText: 'streamIdleTimeout' }).waitFor()
    const idle = effects.filter({ hasText: /MeshTimeout\s+idleTimeout/ }) // to chat
    assert.equal(await idle.count(), 1)
    assert.match(await idle.innerText(), /1h0m0s\s+the same/, 'its author changes, it does not')
    assert.match(await idle.innerText(), /same-t[^]*instead of[^]*mesh-timeout-all-default/)
    for (const r of await effects.all()) {
      const values = await r.locator('del, ins').allInnerTexts()
      assert.notEqual(values[0], values[1] ?? null, 'a change changes something')
    }
    assert.equal(await effects.filter({ hasText: 'streamIdleTimeout' }).count(), 1)
    await accessible(page)
    await finish()
  })
})
