// The screens by which a person tries something out: simulate, plan, graph, timeline.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { accessible, inDemo } from './world.mjs'

const change = `type: MeshRetry
mesh: default
name: mr-2
spec:
  targetRef: {kind: MeshHTTPRoute, name: route-2}
  to:
  - targetRef: {kind: Mesh}
    default: {http: {numRetries: 321}}
`

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

  test('simulate: what cannot be asked is told in the words of the server', async () => {
    const { page, finish } = await open({ expected: ['_simulate'] })
    for (const [query, said] of [
      ['from=nobody&url=http://web/', /Not found/],
      ['from=frontend-1&url=%3A%3A', 'does not begin with http://'],
      ['from=frontend-1&url=http://web/&answers=later', 'is not a valid answer'],
      ['from=frontend-1&url=http://web/&h=nothing', /is not a header; write name: value/],
      ['from=frontend-1&url=http://elsewhere/', 'does not reach elsewhere:80'],
    ]) {
      await page.goto('/gui/meshes/default/simulate?' + query)
      await page.getByTestId('error').getByText(said).first().waitFor()
    }
    await accessible(page)
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
    await page.getByTestId('summary').getByText('1 object would change; 1 of 5 dataplanes concerned: frontend-1').waitFor()
    await page.getByTestId('envoy').getByText('RouteConfiguration').waitFor()
    await accessible(page)

    // A link of it, opened by somebody else, plans the same and applies nothing.
    await page.waitForURL(/#doc=/)
    const link = page.url()
    const other = await open()
    await other.page.goto(link)
    await other.page.getByTestId('effects').getByText('321').waitFor()
    await other.finish()

    await page.getByTestId('do-apply').click()
    await page.getByTestId('applied').getByRole('link').click()
    await page.getByTestId('rollout').getByRole('row').filter({ hasText: 'frontend-1' }).getByText('in sync').waitFor()
    await page.getByTestId('changes').getByRole('row').filter({ hasText: 'mr-2' }).first().waitFor()
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
    await page.getByRole('link', { name: 'Graph', exact: true }).click()
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
