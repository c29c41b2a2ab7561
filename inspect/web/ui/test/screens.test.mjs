// What a person does at each screen, against the real program and real Envoys.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { accessible, inDemo } from './world.mjs'

describe('the screens', () => {
  const world = inDemo()
  const { open } = world

  test('the token leaves the address, and is asked for where there is none', async () => {
    const { page, finish } = await open({ withToken: false, expected: ['/_', '/meshes'] })
    await page.goto('/gui/meshes/default/dataplanes')
    await page.getByTestId('token-form').waitFor()
    await accessible(page)
    await page.getByTestId('token').fill('wrong')
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByText('the request carries no valid token').waitFor()
    await page.getByTestId('token').fill(world.token)
    await page.getByRole('button', { name: 'Go on' }).click()
    await page.getByRole('link', { name: 'frontend-1' }).waitFor()
    await finish()

    const other = await open({ withToken: false })
    await other.page.goto(`/gui/#token=${world.token}`)
    await other.page.getByTestId('verdict').waitFor()
    assert.ok(!other.page.url().includes(world.token), other.page.url())
    assert.equal(await other.page.evaluate(() => sessionStorage.getItem('weft.token')), world.token)
    assert.equal(await other.page.evaluate(() => document.cookie + JSON.stringify(localStorage)), '{}')
    await other.finish()
  })

  test('dataplanes: found by name, service and state, kept in the address', async () => {
    const { page, finish } = await open()
    await page.getByTestId('total').getByText('5 dataplanes').waitFor()
    await page.getByTestId('rows').getByText('in sync').nth(4).waitFor()
    await accessible(page)
    await page.getByTestId('filter-name').fill('backend')
    await page.getByTestId('filter-name').press('Enter')
    await page.getByTestId('total').getByText('2 dataplanes').waitFor()
    assert.match(page.url(), /name=backend/)
    await page.getByTestId('state-in-sync').click()
    await page.reload()
    await page.getByTestId('total').getByText('2 dataplanes').waitFor()
    assert.equal(await page.getByTestId('filter-name').inputValue(), 'backend')
    await page.getByTestId('state-refusing').click()
    await page.getByTestId('total').getByText('0 dataplanes').waitFor()
    await page.goto('/gui/meshes/default/dataplanes?service=orders')
    await page.getByTestId('total').getByText('1 dataplane,').waitFor()
    await finish()
  })

  test('why does this request get 500 retries: three clicks, one command and one call say the same, and Envoy has it', async () => {
    const { page, finish } = await open()
    await page.evaluate(() => { globalThis.clicks = 0; addEventListener('click', (e) => { if (e.isTrusted) globalThis.clicks++ }, true) })
    await page.getByRole('link', { name: 'frontend-1' }).click()
    const row = page.getByTestId('outbounds').getByRole('row').filter({ hasText: 'Exact /' }).filter({ hasText: 'web' })
    await row.getByTestId('explain').click()
    const field = page.getByTestId('effective').locator('[data-field="http.numRetries"]')
    await field.getByText('500').waitFor()
    assert.ok((await page.evaluate(() => globalThis.clicks)) <= 3)

    const ofRoute = (explanation) => explanation.outbounds[0].routes.find((r) => r.matches.some((m) => m.path?.type === 'Exact' && m.path.value === '/'))
    const route = ofRoute(await world.ask('GET', '/meshes/default/dataplanes/frontend-1/_explain?to=web'))
    const say = await page.getByTestId('command').locator('code').first().innerText()
    assert.equal(say, 'weft explain dataplane frontend-1 -m default --to web')
    assert.deepEqual(ofRoute(JSON.parse(await world.run(...say.split(' ').slice(1), '-o', 'json'))).policies, route.policies)
    const question = { method: 'GET', url: 'http://web/' }
    const verdict = JSON.parse(await world.run('simulate', '--from', 'frontend-1', question.method, question.url, '-o', 'json'))
    assert.deepEqual(verdict.branches[0].policies.MeshRetry.why, route.policies.MeshRetry.why)
    for (const [name, why] of Object.entries(route.policies.MeshRetry.why)) {
      const shown = page.getByTestId('effective').locator(`[data-field="${name}"]`)
      const [text, written] = [await shown.innerText(), (said) => (typeof said.value === 'string' ? said.value : JSON.stringify(said.value))]
      for (const said of why) assert.ok(text.includes(written(said)) && text.includes(said.origin.name ?? 'default'), `${JSON.stringify(said)} in ${text}`)
      assert.deepEqual(await shown.locator('del code').allInnerTexts(), why.slice(0, -1).reverse().filter((s) => s.lost && !s.holds).map(written))
    }
    const printed = await world.run(...say.split(' ').slice(1), '--field', 'http.numRetries')
    assert.match(printed, /http\.numRetries = 500 +MeshRetry\/mr-2[^\n]*\n +✗ 100 +MeshRetry\/mr-1[^\n]*\n +✗ 5 +MeshRetry\/mesh-retry-all-default/)

    const dump = JSON.parse(await world.run('inspect', 'config-dump', 'frontend-1'))
    const has = dump.configs.flatMap((c) => c.dynamic_route_configs ?? []).flatMap((c) => c.route_config.virtual_hosts).flatMap((h) => h.routes).find((r) => r.name === route.name).route
    const holds = (kind, name) => route.policies[kind].why[name].at(-1).value
    const ms = (text) => [...text.matchAll(/([\d.]+)(h|ms|m|s)/g)].reduce((sum, [, n, unit]) => sum + n * { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }[unit], 0)
    assert.deepEqual([has.retry_policy.num_retries, has.retry_policy.retry_on, has.retry_policy.retriable_headers.map((h) => h.name)],
      [holds('MeshRetry', 'http.numRetries'), [...holds('MeshRetry', 'http.retryOn'), 'retriable-headers'].join(), ['x-weft-unsent']])
    assert.deepEqual([has.retry_policy.retry_back_off.base_interval, has.timeout].map(ms),
      [holds('MeshRetry', 'http.backOff.baseInterval'), holds('MeshTimeout', 'http.requestTimeout')].map(ms))

    await page.getByTestId('filter-policy').selectOption('MeshRetry')
    await page.reload()
    await field.getByText('500').waitFor()
    assert.equal(await page.getByTestId('effective').locator('[data-field="http.requestTimeout"]').count(), 0)
    await finish()
  })

  test('dataplane: an address may say a destination in every way in which a command may', async () => {
    const { page, finish } = await open()
    const [o] = (await world.ask('GET', '/meshes/default/dataplanes/frontend-1/_explain?to=web')).outbounds
    const rows = page.getByTestId('outbounds').getByRole('row')
    await page.goto('/gui/meshes/default/dataplanes/frontend-1?to=web')
    await page.getByTestId('effective').waitFor()
    const there = await rows.count()
    await page.goto(`/gui/meshes/default/dataplanes/frontend-1?to=${o.address}:${o.port}`)
    await page.getByTestId('effective').locator('[data-field="http.numRetries"]').first().waitFor()
    assert.equal(await page.getByTestId('command').locator('code').first().innerText(), `weft explain dataplane frontend-1 -m default --to ${o.address}:${o.port}`)
    assert.equal(await rows.count(), there) // and no row twice
    await finish()
  })

  test('dataplane: sidecar, what each type of xDS was answered, inbounds', async () => {
    const { page, finish } = await open()
    await page.goto('/gui/meshes/default/dataplanes/orders-1')
    await page.getByTestId('sync').getByText('in sync').waitFor()
    await page.getByTestId('xds').getByRole('row', { name: /Listeners/ }).waitFor()
    await page.getByRole('button', { name: 'Explain inbound http' }).click()
    await page.getByTestId('effective').locator('[data-field="http.streamIdleTimeout"]').getByText('1h0m0s').waitFor()
    await accessible(page)
    await page.goto('/gui/meshes/default/dataplanes/frontend-1?to=web')
    await page.getByTestId('outbounds').waitFor()
    await accessible(page)
    await finish()
  })

  test('an unknown dataplane is told in the words of the server', async () => {
    const { page, finish } = await open({ expected: ['/dataplanes/frontent-1/'] })
    await page.goto('/gui/meshes/default/dataplanes/frontent-1')
    await page.getByTestId('error').getByText('did you mean frontend-1').waitFor()
    await accessible(page)
    await finish()
  })

  test('route: its rules, and the fields that hold at each with overridden values', async () => {
    const { page, finish } = await open()
    await page.getByRole('link', { name: 'Routes', exact: true }).click()
    await page.getByTestId('objects').getByRole('link', { name: 'route-1' }).waitFor()
    await accessible(page)
    await page.getByTestId('objects').getByRole('link', { name: 'orders' }).click()
    await page.getByTestId('targets').getByText('PathPrefix /flaky').waitFor()
    const retries = (rule) => page.getByTestId('matrix').locator(`td[data-field="http.numRetries"][data-rule*="${rule}"]`)
    await retries('/flaky').getByText('flaky-retry').waitFor()
    assert.equal(await retries('/flaky').locator('del').count(), 0, 'of many rules what holds comes first')
    await page.getByTestId('with-losers').check()
    assert.deepEqual(await retries('/flaky').locator('del code').allInnerTexts(), ['5', '1'])
    assert.match(await retries('/slow').innerText(), /^5\s/)
    const same = page.getByTestId('matrix').locator('.same tr[data-field="connectionTimeout"]')
    assert.match(await same.innerText(), /5s/, 'what is the same at all rules stands once')
    await accessible(page)
    await finish()
  })

  test('policy: a target that is missing, with what was meant, and in the problems', async () => {
    await world.ask('POST', '/_apply', `type: MeshRetry
mesh: default
name: mistaken
spec:
  targetRef: {kind: MeshHTTPRoute, name: ordrs}
  to:
  - targetRef: {kind: Mesh}
    default: {http: {numRetries: 9}}
`)
    const { page, finish } = await open()
    await page.goto('/gui/meshes/default/policies')
    await page.getByTestId('filter-state').selectOption('problem')
    await page.getByTestId('objects').getByRole('link', { name: 'mistaken' }).click()
    await page.getByTestId('notes').getByText(/TargetNotFound/).waitFor()
    await page.getByTestId('notes').getByText(/orders/).waitFor()
    await accessible(page)
    await page.getByRole('link', { name: /^Problems/ }).click()
    await page.getByTestId('owners').getByRole('row').filter({ hasText: 'MeshRetry/default/mistaken' }).getByText('TargetNotFound').waitFor()
    await accessible(page)
    await world.ask('DELETE', '/meshes/default/meshretries/mistaken')
    await page.getByTestId('owners').getByRole('row').filter({ hasText: 'mistaken' }).waitFor({ state: 'detached' }) // by the stream of events
    await finish()
  })

  test('by the keyboard alone: find a route, go to problems, copy the command', async () => {
    const { page, finish } = await open()
    await page.keyboard.press('/')
    await page.keyboard.type('route-2')
    await page.getByTestId('found').getByRole('option', { name: /route-2/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByTestId('title').getByText('route-2').waitFor()
    await page.getByTestId('matrix').waitFor()
    await page.keyboard.press('c')
    await page.getByText('copied').waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'weft explain route MeshHTTPRoute/route-2 -m default')
    await page.keyboard.press('g')
    await page.keyboard.press('i')
    await page.getByTestId('title').getByText('Problems').waitFor()
    await page.keyboard.press('?')
    await page.getByTestId('keys').waitFor()
    await accessible(page)
    await page.keyboard.press('Escape')
    await finish()
  })

  test('text of documents stays text', async () => {
    const evil = '<img src=x onerror=alert(1)>'
    const { page, finish } = await open({ expected: ['_explain', '_overview', '_sidecars'] })
    await page.goto(`/gui/meshes/default/dataplanes/${encodeURIComponent(evil)}`)
    await page.getByTestId('title').getByText(evil).waitFor()
    assert.equal(await page.locator('main img').count(), 0)
    await page.goto(`/gui/meshes/default/dataplanes?state=${encodeURIComponent(evil)}`)
    await page.getByTestId('wrong').getByText('is not possible').waitFor()
    await finish()
  })

  test('an address that is none, and another scheme of colours', async () => {
    const { page, finish } = await open()
    await page.goto('/gui/nothing/here')
    await page.getByText('There is no such screen').waitFor()
    await page.getByTestId('scheme').click()
    await page.getByTestId('scheme').click()
    assert.equal(await page.evaluate(() => document.documentElement.dataset.scheme), 'dark')
    await page.reload()
    assert.equal(await page.evaluate(() => document.documentElement.dataset.scheme), 'dark')
    await finish()
  })
})
