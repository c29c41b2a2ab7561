// What a person does at the screens of traffic, with requests through real Envoys: home, services, one
// service, a route with its rates, failures and why, a tap, the topology.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accessible, calling, inDemo, until } from './world.mjs'

describe('what really happens', () => {
  const world = inDemo()
  const { open } = world
  let stop
  before(async () => {
    stop = await calling(world)
    const has = async (what) => (await world.ask('GET', '/meshes/default/_traffic?by=rule&of=orders')).items.some((i) => i.causes?.some((c) => c.words === what))
    await until('what fails is counted', async () => (await has('request timeout')) && (await has('rate limit')))
  }, { timeout: 120_000 })
  after(() => stop?.())

  // narrow fails if a page is wider than a small screen.
  const narrow = async (page) => {
    await page.setViewportSize({ width: 390, height: 844 })
    await until('nothing is wider than the page', () => page.evaluate(() => document.documentElement.scrollWidth <= 390))
    await accessible(page)
    await page.setViewportSize({ width: 1440, height: 900 })
  }

  test('home: that the mesh is not well, which service fails, and why', async () => {
    const { page, finish } = await open({ width: 1440 })
    await page.getByRole('link', { name: 'Home', exact: true }).click()
    await page.getByTestId('verdict').getByText(/orders fails|services fail/).waitFor()
    await page.getByTestId('as-of').getByText('Requests of the last minute').waitFor()
    const worst = page.getByTestId('worst').getByRole('row').filter({ hasText: 'request timeout' })
    await worst.getByText('orders').first().waitFor()
    await page.getByTestId('tile-sidecars').getByText('of 5').waitFor()
    await page.getByTestId('changed-last').getByText('MeshTrafficPermission').first().waitFor()
    await accessible(page)
    await narrow(page)
    await page.getByTestId('window-15m').click()
    await page.getByText('Requests of the last 15 minutes').waitFor()
    assert.match(page.url(), /window=15m/)
    await finish()
  })

  test('services: sorted by what is denied, found by name, opened', async () => {
    const { page, finish } = await open({ width: 1440 })
    await page.keyboard.press('g')
    await page.keyboard.press('v')
    await page.getByTestId('total').getByText('4 services').waitFor()
    await page.getByTestId('sort-denied').click()
    await until('the one that denies is first', async () => (await page.getByTestId('services').locator('tbody tr').first().innerText()).startsWith('orders'))
    await page.getByTestId('services').getByText('nobody called it, it calls others').waitFor()
    await accessible(page)
    await narrow(page)
    await page.getByTestId('filter-name').fill('nobody')
    await page.getByTestId('none').getByText('No service fits').waitFor()
    await page.getByRole('button', { name: 'Show all' }).click()
    await page.getByTestId('services').getByRole('link', { name: 'orders' }).click()
    await page.getByTestId('title').getByText('orders').waitFor()
    await finish()
  })

  test('service: callers, rules beside the policies that shape them and what those did, endpoints, failures', async () => {
    const { page, finish } = await open({ width: 1440 })
    await page.goto('/gui/meshes/default/services/orders')
    await page.getByTestId('callers').getByRole('link', { name: 'frontend' }).waitFor()
    const slow = page.getByTestId('rule-rates').getByRole('row').filter({ hasText: '/slow' })
    const shape = slow.locator('[data-shape="http.requestTimeout"]')
    await shape.getByText('300ms').waitFor()
    await shape.getByText('slow-timeout').waitFor()
    await shape.getByTestId('did').getByText(/ended [\d.]+ \/s/).waitFor()
    const member = page.getByTestId('members').getByRole('row').filter({ hasText: 'orders-1' })
    await member.getByText('healthy').waitFor()
    await member.getByText('Strict').waitFor()
    await page.getByTestId('failures').getByText('request timeout').first().waitFor()
    const strip = page.getByTestId('minutes')
    await strip.locator('[data-known="true"] i.failed').first().waitFor()
    await strip.getByTestId('minute-changes').getByRole('link', { name: /^revision \d+$/ }).first().waitFor()
    await slow.getByTestId('minibars').waitFor()
    await page.getByTestId('in-plain').getByText('Nobody was heard calling it without mutual TLS').waitFor()
    await accessible(page)
    await narrow(page)
    await strip.getByTestId('mark').first().click()
    await page.getByTestId('rollout').or(page.getByText('not known any more')).first().waitFor()
    await finish()
  })

  test('route: the rates of its rules', async () => {
    const { page, finish } = await open({ width: 1440 })
    await page.goto('/gui/meshes/default/routes/MeshHTTPRoute/orders')
    await page.getByTestId('route-rate').getByText('requests a second').waitFor()
    await page.getByTestId('rule-rates').getByRole('row').filter({ hasText: '/limited' }).locator('[data-shape="local.http.requestRate"]').getByTestId('did').waitFor()
    await page.getByTestId('rule-rates').getByRole('row').filter({ hasText: '/flaky' }).waitFor()
    await page.getByTestId('minutes').locator('[data-known="true"] i.failed').first().waitFor()
    await accessible(page)
    await narrow(page)
    await page.goto('/gui/meshes/default/policies/MeshTimeout/slow-timeout')
    await page.getByTestId('rule-rates').locator('[data-shape="http.requestTimeout"]').getByTestId('did').waitFor()
    await narrow(page)
    await finish()
  })

  test('why: from the list of failures to the policy that ended one, as the command says', async () => {
    const { page, finish } = await open({ width: 1440 })
    await page.getByRole('link', { name: 'Failures', exact: true }).click()
    await page.getByTestId('filter-status').selectOption('504')
    await page.getByTestId('failures').getByRole('row').filter({ hasText: 'request timeout' }).first().getByRole('link').first().waitFor()
    await accessible(page)
    await narrow(page)
    await page.getByTestId('failures').getByRole('row').filter({ hasText: 'request timeout' }).first().getByRole('link').first().click()
    await page.getByTestId('why-words').getByText('request timeout').waitFor()
    await page.getByTestId('because').getByText('slow-timeout').waitFor()
    await page.getByTestId('usual').getByText('of this rule failed in the last 15 minutes').waitFor()
    await page.getByTestId('in-time').getByText('orders-1').waitFor()
    const say = await page.getByTestId('command').locator('code').first().innerText()
    assert.match(await world.run(...say.split(' ').slice(1)), /request timeout[^]*http\.requestTimeout "300ms"/)
    await accessible(page)
    await narrow(page)
    await finish()
  })

  test('why: a request that nobody keeps says so, and where to go', async () => {
    const { page, finish } = await open({ expected: ['/_requests/'] })
    await page.goto('/gui/meshes/default/requests/nobody-has-this')
    await page.getByTestId('error').getByText('no sidecar keeps a failed request').waitFor()
    await page.getByRole('link', { name: 'which failed requests are kept' }).waitFor()
    await accessible(page)
    await finish()
  })

  test('tap: started, a request opened, stopped', async () => {
    const { page, finish } = await open({ width: 1440 })
    await page.getByRole('link', { name: 'Tap', exact: true }).click()
    await page.getByTestId('tap-start').click()
    await page.getByTestId('wrong').getByText('Write whose requests').waitFor()
    await page.getByTestId('tap-who').fill('frontend-1')
    await page.getByTestId('tap-who').press('Enter')
    await page.getByTestId('tap-state').getByText('Watching frontend-1').waitFor()
    const row = page.getByTestId('tap-lines').getByRole('row').filter({ hasText: 'orders/slow' }).filter({ hasText: '504' })
    await row.first().waitFor()
    await page.getByTestId('tap-stop').click()
    await page.getByTestId('tap-state').getByText('Ended').waitFor()
    await row.first().getByRole('button').click()
    await page.getByTestId('tap-detail').getByText('slow-timeout').waitFor()
    await accessible(page)
    await narrow(page)
    await page.getByTestId('tap-detail').getByRole('link', { name: 'Why it ended so' }).click()
    await page.getByTestId('why-words').getByText('request timeout').waitFor()
    await finish()
  })

  test('topology: the whole mesh, then around a service by the keyboard, and the same as a table', async () => {
    const { page, finish } = await open({ width: 1440 })
    await page.keyboard.press('g')
    await page.keyboard.press('g')
    await page.getByTestId('counts').getByText('4 services').waitFor()
    await page.getByTestId('calls').getByRole('row').filter({ hasText: 'orders' }).getByText('mutual TLS').first().waitFor()
    await accessible(page)
    await narrow(page)
    await page.getByTestId('topology').locator('[data-service="orders"]').focus()
    await page.keyboard.press('Enter')
    await page.getByTestId('around-card').getByText('orders').first().waitFor()
    assert.match(page.url(), /around=orders/)
    await accessible(page)
    await page.getByTestId('show-policies').click()
    await page.getByTestId('focus').waitFor()
    await finish()
  })
  // What somebody asks who sees the pages for the first time, from the home of the mesh, by what is read there.
  test('five questions: what fails most, why one failed, who sets a timeout, who calls in plain text, what changed last', async () => {
    const { page, finish } = await open({ width: 1440 })
    const home = async () => { await page.getByRole('link', { name: 'Home', exact: true }).click(); await page.getByTestId('verdict').waitFor() }
    await home()
    assert.match(await page.getByTestId('home-services').locator('tbody th').first().innerText(), /^orders$/)
    await page.getByTestId('worst').getByRole('row').filter({ hasText: 'PathPrefix /slow' }).getByText('request timeout').first().waitFor()
    const [last] = (await world.ask('GET', '/_history?size=1')).items
    await page.getByTestId('changed-last').getByRole('link', { name: `Revision ${last.revision}` }).waitFor()

    await page.getByRole('link', { name: 'Failures', exact: true }).click()
    await page.getByTestId('failures').getByRole('row').filter({ hasText: '/slow' }).first().getByRole('link').first().click()
    await page.getByTestId('because').getByText('slow-timeout').waitFor()

    await page.getByRole('link', { name: 'Routes', exact: true }).click()
    await page.getByTestId('objects').getByRole('link', { name: 'orders' }).click()
    const timeout = page.getByTestId('rule-rates').getByRole('row').filter({ hasText: '/slow' }).locator('[data-shape="http.requestTimeout"]')
    assert.match(await timeout.innerText(), /300ms\s+MeshTimeout\s+slow-timeout/)

    await home() // the demo asks a workload for its address before its mesh is strict
    await page.getByTestId('home-services').getByRole('link', { name: 'web' }).click()
    await page.getByTestId('in-plain').getByRole('row').filter({ hasText: '127.0.0.1' }).filter({ hasText: 'web-1' }).waitFor()
    await finish()
  })
})
