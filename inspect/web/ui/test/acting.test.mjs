// The screens by which a person tries something out: simulate, plan, graph, timeline.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { accessible, inDemo, occupy, through } from './world.mjs'

const change = `type: MeshRetry
mesh: default
name: mr-2
spec:
  targetRef: {kind: MeshHTTPRoute, name: route-2}
  to:
  - targetRef: {kind: Mesh}
    default: {http: {numRetries: 321}}
---
type: MeshHTTPRoute
mesh: default
name: route-1
spec:
  targetRef: {kind: Mesh}
  to:
  - targetRef: {kind: MeshService, name: web}
    rules:
    - matches: [{path: {type: Exact, value: /}}]
      default:
        filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-custom-header, value: planned}]}}]
`

// header is what the workload of web gets of x-custom-header, by the caller's Envoy.
async function header(world) {
  const { outbounds } = await world.ask('GET', '/meshes/default/dataplanes/frontend-1/_explain?to=web')
  return JSON.parse(await through(outbounds[0].address, outbounds[0].port, 'web')).headers['x-custom-header']
}

// settled is the revision that the caller's sidecar has, when that is the newest.
async function settled(world) {
  for (;;) {
    const { acked, revision } = await world.ask('GET', '/meshes/default/dataplanes/frontend-1/_explain?brief=true')
    if (acked === revision) return acked
    await new Promise((done) => setTimeout(done, 50))
  }
}

describe('the screens that try something out', () => {
  const world = inDemo()
  const { open } = world

  test('simulate: the route, attempts in time, and what did not match and why', async () => {
    const { page, finish } = await open()
    await page.getByRole('link', { name: 'Simulate', exact: true }).click()
    await page.getByTestId('sim-from').fill('frontend-1')
    await page.getByTestId('sim-url').fill('http://orders/flaky')
    await page.getByTestId('sim-headers').fill('x-user: 7')
    await page.getByTestId('sim-answers').fill('503,503,200')
    await page.getByRole('button', { name: 'Simulate', exact: true }).click()
    await page.getByTestId('branch').getByText('PathPrefix /flaky').waitFor()
    const attempts = page.getByTestId('attempts').locator('tbody tr')
    assert.equal(await attempts.count(), 4) // three, and the end
    assert.match(await attempts.last().innerText(), /200/)
    await page.getByTestId('missed').getByText('path /flaky is not under prefix /limited').waitFor()
    const api = await world.ask('POST', '/meshes/default/dataplanes/frontend-1/_simulate', '{"method":"GET","url":"http://orders/flaky","headers":{"x-user":"7"},"answers":"503,503,200"}', 'application/json')
    const retries = api.branches[0].policies.MeshRetry.why['http.numRetries'].at(-1)
    const row = page.getByTestId('branch').locator('[data-field="http.numRetries"]')
    assert.match(await row.innerText(), new RegExp(`${retries.value}\\s[\\s\\S]*${retries.origin.name}`))
    assert.match(await page.getByTestId('command').innerText(), /weft simulate -m default --from frontend-1 -H 'x-user: 7' --answers 503,503,200 GET http:\/\/orders\/flaky/)
    await accessible(page)
    await page.reload() // the address holds the question
    await page.getByTestId('attempts').waitFor()
    await page.goto('/gui/meshes/default/simulate?from=frontend-1&url=http://web/')
    await page.getByTestId('branch').getByText('90 %').waitFor()
    await finish()
  })

  test('plan: what would change, then applied, at a real Envoy and in the timeline', async () => {
    const { page, finish } = await open()
    await page.getByRole('link', { name: 'Plan', exact: true }).click()
    await accessible(page)
    await page.getByTestId('doc').fill(change)
    await page.getByTestId('do-plan').click()
    const effect = page.getByTestId('effects').locator('tbody tr').filter({ hasText: 'http.numRetries' })
    await effect.waitFor()
    assert.deepEqual(await effect.locator('del, ins').allInnerTexts(), ['500', '321'])
    await page.getByTestId('summary').getByText('2 objects would change; 1 of 5 dataplanes concerned: frontend-1').waitFor()
    await page.getByTestId('envoy').getByText('RouteConfiguration').waitFor()
    await accessible(page)

    // A link of it, opened by somebody else, plans the same and applies nothing.
    await page.waitForURL(/#doc=/)
    const link = page.url()
    const other = await open()
    await other.page.goto(link)
    await other.page.getByTestId('effects').getByText('321').waitFor()
    await other.finish()

    assert.equal(await header(world), 'xyz')
    await page.getByTestId('do-apply').click()
    await page.getByTestId('applied').getByRole('link').click()
    await page.getByTestId('rollout').getByRole('row').filter({ hasText: 'frontend-1' }).getByText('in sync').waitFor()
    await page.getByTestId('changes').getByRole('row').filter({ hasText: 'mr-2' }).filter({ hasText: 'route-1' }).getByText('1 of 1').waitFor()
    assert.equal(await header(world), 'planned')
    await accessible(page)
    const held = JSON.stringify(await world.ask('GET', '/meshes/default/dataplanes/frontend-1/xds'))
    assert.ok(held.includes('"num_retries":321'), 'the real Envoy has the value')
    await page.goto('/gui/meshes/default/dataplanes/frontend-1?to=web&policy=MeshRetry')
    await page.getByTestId('outbounds').getByRole('row').filter({ hasText: 'Exact /' }).filter({ hasText: 'web' }).getByTestId('explain').click()
    await page.getByTestId('effective').locator('[data-field="http.numRetries"]').getByText('321').waitFor()
    await finish()
  })

  test('plan: a mistake is told with its place, and the text stays', async () => {
    const { page, finish } = await open({ expected: ['_apply'] })
    await page.goto('/gui/meshes/default/plan')
    const wrong = change.replace('numRetries', 'numRetrys')
    await page.getByTestId('doc').fill(wrong)
    await page.getByTestId('do-plan').click()
    await page.getByTestId('error').getByText('did you mean numRetries').waitFor()
    assert.equal(await page.getByTestId('doc').inputValue(), wrong)
    assert.ok(await page.getByTestId('do-apply').isDisabled())
    await page.getByTestId('doc').fill('<script>alert(1)</script>: [')
    await page.getByTestId('do-plan').click()
    await page.getByTestId('error').getByText(/yaml|YAML/).first().waitFor()
    await accessible(page)
    await finish()
    const damaged = await open()
    await damaged.page.goto('/gui/meshes/default/plan#doc=AAAA')
    await damaged.page.getByTestId('error').getByText('The link is damaged').waitFor()
    await damaged.finish()
  })

  test('graph: around a policy, as a drawing, a table and for Graphviz', async () => {
    const { page, finish } = await open()
    await page.getByRole('link', { name: 'Topology', exact: true }).click()
    await page.getByTestId('show-policies').click()
    await page.getByTestId('choices').getByRole('link', { name: 'Dataplane/frontend-1' }).waitFor()
    await accessible(page)
    await page.goto('/gui/meshes/default/graph?focus=MeshRetry/mr-1')
    const graph = page.getByTestId('graph')
    for (const name of ['MeshRetry mr-1', 'MeshHTTPRoute route-1', 'Dataplane frontend-1']) await graph.getByRole('link', { name }).waitFor()
    await page.getByTestId('as-table').locator('summary').click()
    await page.getByRole('row', { name: 'MeshRetry mr-1 acts at MeshHTTPRoute route-1' }).waitFor()
    await page.getByTestId('as-dot').locator('summary').click()
    await page.getByText('"MeshRetry/mr-1" -> "MeshHTTPRoute/route-1"').waitFor()
    await accessible(page)
    await graph.getByRole('link', { name: 'Dataplane frontend-1' }).click()
    await graph.getByRole('link', { name: 'MeshHTTPRoute orders' }).waitFor()
    assert.match(page.url(), /focus=Dataplane\/frontend-1/)
    await finish()
  })

  test('a refusal of a real Envoy: at its dataplane, in problems, and the last good version in the timeline', async () => {
    const { page, finish } = await open()
    const taken = await occupy()
    const plane = await world.ask('GET', '/meshes/default/dataplanes/frontend-1')
    const acked = await settled(world)
    const { networking } = plane
    const refused = { ...plane, networking: { ...networking, outbound: [...networking.outbound, { address: '127.0.0.1', port: taken.port, tags: { 'kuma.io/service': 'web' } }] } }
    const { revision } = await world.ask('POST', '/_apply', JSON.stringify([refused]), 'application/json')
    const words = `cannot bind '127.0.0.1:${taken.port}': Address already in use`
    await page.getByRole('link', { name: 'frontend-1' }).click()
    await page.getByTestId('sync').getByText('refusing').waitFor()
    await page.getByTestId('refusal').getByText(words).waitFor()
    const listeners = page.getByTestId('xds').getByRole('row', { name: /Listeners/ })
    await listeners.locator('.badtext').waitFor()
    await accessible(page)
    await page.getByRole('link', { name: /^Problems/ }).click()
    await page.getByTestId('owners').getByRole('row').filter({ hasText: 'Dataplane/default/frontend-1' }).getByText(words).waitFor()
    await page.getByRole('link', { name: 'Timeline', exact: true }).click()
    const change = (n) => page.getByTestId('changes').getByRole('row').filter({ has: page.getByRole('button', { name: String(n), exact: true }) })
    await change(revision).getByText('1 refused').waitFor()
    await change(acked).getByTestId('last-good').getByText('last good of frontend-1').waitFor()
    await change(revision).getByRole('button').click()
    await page.getByTestId('rollout').getByRole('row').filter({ hasText: 'frontend-1' }).getByText(words).waitFor()
    assert.match(await page.getByTestId('rollout').innerText(), new RegExp(`It goes on with revision\\s+${acked}\\s*, the last good one`))
    assert.ok(await header(world), 'its Envoy goes on')
    await accessible(page)
    await world.ask('POST', '/_apply', JSON.stringify([plane]), 'application/json')
    await page.getByTestId('last-good').waitFor({ state: 'detached' })
    await page.goto('/gui/meshes/default/dataplanes/frontend-1')
    await page.getByTestId('sync').getByText('in sync').waitFor()
    await taken.stop()
    await finish()
  })

  test('timeline: live can be turned off', async () => {
    const { page, finish } = await open()
    await page.goto('/gui/meshes/default/timeline')
    await page.getByTestId('changes').waitFor()
    await page.getByTestId('live').click()
    await page.getByText('Not following').waitFor()
    await accessible(page)
    await finish()
  })
})
