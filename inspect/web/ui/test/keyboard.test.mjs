// Screens by the keyboard alone: what has the focus is seen, Tab leads through in the order of the
// page, Enter acts, and Escape leaves.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inDemo } from './world.mjs'

// focused is what has the focus: its test id, or its text; and whether that is seen.
const focused = (page) => page.evaluate(() => {
  const e = document.activeElement
  const style = getComputedStyle(e)
  return { id: e.dataset.testid ?? e.textContent.trim().slice(0, 40), tag: e.tagName, isSeen: style.outlineStyle !== 'none' && Number.parseFloat(style.outlineWidth) >= 2 }
})

// tabTo presses Tab until something has the focus, each stop of which is seen.
async function tabTo(page, id, most = 60) {
  const stops = []
  for (let i = 0; i < most; i++) {
    await page.keyboard.press('Tab')
    const at = await focused(page)
    assert.ok(at.isSeen, `the focus at ${at.tag} ${at.id} is not seen`)
    stops.push(at.id)
    if (at.id === id) return stops
  }
  assert.fail(`Tab does not lead to ${id}: ${stops}`)
}

describe('by the keyboard', () => {
  const world = inDemo()
  const { open } = world
  const go = async (page, keys, title) => {
    for (const key of keys) await page.keyboard.press(key)
    await page.getByTestId('title').getByText(title).waitFor()
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1', 'the heading of the screen has the focus')
  }

  test('plan: written, planned and applied', async () => {
    const { page, finish } = await open()
    await go(page, ['g', 'l'], 'Plan a change')
    assert.deepEqual((await tabTo(page, 'doc')).slice(-4), ['plan-documents', 'plan-delete', 'plan-shadow', 'doc'])
    await page.keyboard.type('{type: MeshRetry, mesh: default, name: zz-keys, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 8}}}]}}')
    await page.keyboard.press('Tab')
    assert.equal((await focused(page)).id, 'do-plan')
    await page.keyboard.press('Enter')
    await page.getByTestId('summary').waitFor()
    await page.keyboard.press('Tab')
    assert.equal((await focused(page)).id, 'do-apply')
    await page.keyboard.press('Enter')
    await page.getByTestId('applied').waitFor()
    await world.ask('DELETE', '/meshes/default/meshretries/zz-keys')
    await finish()
  })

  test('simulate: asked by Enter, and what is hidden opens', async () => {
    const { page, finish } = await open()
    await go(page, ['g', 's'], 'Simulate')
    await tabTo(page, 'sim-from')
    await page.keyboard.type('frontend-1')
    await page.keyboard.press('Escape') // the list of suggestions
    assert.deepEqual(await tabTo(page, 'sim-url'), ['sim-method', 'sim-url'])
    await page.keyboard.type('http://web/')
    await page.keyboard.press('Enter')
    await page.getByTestId('branch').first().waitFor()
    assert.deepEqual(await tabTo(page, 'More about the caller and the request'), ['sim-headers', 'sim-answers', 'More about the caller and the request'])
    await page.keyboard.press('Enter')
    assert.deepEqual(await tabTo(page, 'sim-authz'), ['sim-as', 'sim-plaintext', 'sim-sni', 'sim-version', 'sim-body', 'sim-draw', 'sim-authz'])
    await finish()
  })

  test('graph: a node is a link, and the table opens', async () => {
    const { page, finish } = await open()
    await page.goto('/gui/meshes/default/graph?focus=MeshRetry/mr-1')
    await page.getByTestId('graph').waitFor()
    await page.getByTestId('focus').focus()
    const stops = await tabTo(page, 'The same as a table')
    assert.ok(stops.some((s) => s.includes('frontend-1')), `${stops}`)
    await page.keyboard.press('Enter')
    await page.getByRole('row', { name: 'MeshRetry mr-1 acts at MeshHTTPRoute route-1' }).waitFor()
    await page.getByTestId('graph').getByRole('link', { name: 'Dataplane frontend-1' }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(/focus=Dataplane\/frontend-1/)
    await finish()
  })

  test('timeline: a change is chosen', async () => {
    const { page, finish } = await open()
    await world.ask('POST', '/_apply', '{type: MeshRetry, mesh: default, name: zz-first, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 8}}}]}}')
    const { revision } = await world.ask('POST', '/_apply', '{type: MeshRetry, mesh: default, name: zz-second, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 8}}}]}}')
    await go(page, ['g', 't'], 'Timeline')
    await page.getByTestId('changes').getByRole('button', { name: String(revision), exact: true }).waitFor()
    await tabTo(page, String(revision))
    await tabTo(page, String(revision - 1))
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: `Revision ${revision - 1}` }).waitFor()
    assert.match(page.url(), new RegExp(`revision=${revision - 1}$`))
    for (const name of ['zz-first', 'zz-second']) await world.ask('DELETE', `/meshes/default/meshretries/${name}`)
    await finish()
  })

  test('problems: filtered, followed, and the list of keys left by Escape', async () => {
    await world.ask('POST', '/_apply', '{type: MeshRetry, mesh: default, name: zz-lost, spec: {targetRef: {kind: MeshHTTPRoute, name: nobody}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 9}}}]}}')
    const { page, finish } = await open()
    await go(page, ['g', 'i'], 'Problems')
    await page.getByTestId('owners').getByText('zz-lost').first().waitFor()
    assert.deepEqual((await tabTo(page, 'filter-code')).slice(-3), ['filter-text', 'filter-severity', 'filter-code'])
    await page.getByTestId('filter-text').focus()
    await page.keyboard.type('zz-lost')
    await page.getByTestId('total').getByText('of 1 owner').waitFor()
    await tabTo(page, 'MeshRetry/default/zz-lost')
    await page.keyboard.press('Enter')
    await page.getByTestId('title').getByText('zz-lost').waitFor()
    await page.keyboard.press('?')
    await page.getByTestId('keys').waitFor()
    await page.keyboard.press('Escape')
    await page.getByTestId('keys').waitFor({ state: 'hidden' })
    await world.ask('DELETE', '/meshes/default/meshretries/zz-lost')
    await finish()
  })
})
