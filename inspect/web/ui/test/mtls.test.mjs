// Mutual TLS on the screens, with real Envoys that show each other certificates: who is who, who
// may call, who calls in plain text, and how far the mesh is.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { accessible, inDemo, through, until } from './world.mjs'

const permission = (allow) => `type: MeshTrafficPermission
mesh: default
name: to-orders
spec:
  targetRef: {kind: Dataplane, name: orders-1}
  rules:
  - default:
      deny: [{spiffeID: {type: Exact, value: spiffe://default/nobody}}]
      allow: [${allow.map((value) => `{spiffeID: {type: Exact, value: ${value}}}`)}]
`

describe('mutual TLS', () => {
  const world = inDemo()
  const { open } = world
  const one = async (name) => (await world.ask('GET', `/meshes/default/_mtls?name=${name}`)).items.find((d) => d.name === name)

  // mode has the mesh take mutual TLS so, as the only thing of it that is changed.
  const mode = async (is) => {
    const mesh = await world.ask('GET', '/meshes/default')
    await world.ask('POST', '/_apply', JSON.stringify([{ ...mesh, mtls: { ...mesh.mtls, backends: mesh.mtls.backends.map((b) => ({ ...b, mode: is })) } }]), 'application/json')
    await until(`all inbounds are ${is}`, async () => (await world.ask('GET', '/meshes/default/_mtls')).items.every((d) => d.certificate && d.inbounds.every((i) => i.held.toUpperCase() === is)))
  }

  test('a dataplane: who it is, its certificate, its inbounds, and who calls in plain text', async () => {
    await mode('PERMISSIVE')
    const { page, finish } = await open()
    await page.goto('/gui/meshes/default/dataplanes/orders-1')
    const { identity } = await world.ask('GET', '/meshes/default/dataplanes/orders-1/_explain')
    await page.getByTestId('identity').getByText(identity.names[0], { exact: true }).waitFor()
    await page.getByTestId('leaf').getByText(/ends in \d+ [dhm]/).waitFor()
    const { certificate, inbounds } = await one('orders-1')
    await page.getByTestId('issuer').getByText(`Mesh/default ca, root ${certificate.root.slice(0, 16)}`, { exact: true }).waitFor()
    await page.getByTestId('inbounds').getByText('Permissive').first().waitFor()
    await accessible(page)
    const { inbounds: at } = await world.ask('GET', '/meshes/default/dataplanes/orders-1/_explain')
    await through(at[0].address, inbounds[0].port, 'orders', '/flaky').catch(() => {}) // in plain text, whatever it answers
    await page.getByTestId('senders').getByRole('row').filter({ hasText: `port ${inbounds[0].port}` }).first().waitFor()
    await accessible(page)
    assert.match(await page.getByTestId('command').nth(1).innerText(), /weft mtls status --name orders-1 -m default/)
    const printed = await world.run('mtls', 'status', '--name', 'orders-1', '-m', 'default')
    assert.ok(printed.includes(identity.names[0]) && printed.includes('Permissive'), printed)
    await finish()
  })

  test('the mesh: its phase, whom each step waits for, its roots', async () => {
    await mode('PERMISSIVE')
    const { page, finish } = await open()
    await page.goto('/gui/problems')
    const panel = page.getByTestId('mtls')
    const { phase, progress, authorities } = await world.ask('GET', '/meshes/default/_mtls?size=1')
    await panel.getByTestId('phase').getByText(`Phase ${phase.number} of 4, done when ${phase.done}.`).waitFor()
    const certificates = progress.steps.find((s) => s.step === 'certificates')
    await panel.getByTestId('steps').getByRole('row', { name: `Sidecars have their certificates ${certificates.done} of ${certificates.total}` }).waitFor()
    await panel.getByTestId('roots').getByText(authorities[0].signs.slice(0, 16)).first().waitFor()
    await panel.getByText('Steady').waitFor()
    await accessible(page)
    assert.match(await panel.getByTestId('command').innerText(), /weft mtls status -m default/)
    await finish()
  })

  test('permissions: at the inbound, for a simulated caller, and a plan that lets in more', async () => {
    await mode('PERMISSIVE')
    const who = async (name) => (await world.ask('GET', `/meshes/default/dataplanes/${name}/_explain`)).identity.names[0]
    const [caller, other] = [await who('frontend-1'), await who('orders-1')]
    await world.ask('POST', '/_apply', permission([caller]))
    const { page, finish } = await open()
    await page.goto('/gui/meshes/default/dataplanes/orders-1')
    await page.getByRole('button', { name: 'Explain inbound http' }).click()
    const table = page.getByTestId('permissions')
    await table.getByRole('row').filter({ hasText: caller }).filter({ hasText: 'allow' }).getByRole('link', { name: 'to-orders' }).first().waitFor()
    await table.getByRole('row').filter({ hasText: 'spiffe://default/nobody' }).filter({ hasText: 'deny' }).first().waitFor()
    await accessible(page)

    await page.goto('/gui/meshes/default/simulate?from=frontend-1&url=http://orders/flaky')
    const allowed = page.getByTestId('permission').first()
    await allowed.getByText('allow', { exact: true }).waitFor()
    await allowed.getByRole('link', { name: 'to-orders' }).first().waitFor()
    await page.getByTestId('sim-more').locator('summary').click()
    await page.getByTestId('sim-as').fill(other)
    await page.getByRole('button', { name: 'Simulate', exact: true }).click()
    const denied = page.getByTestId('permission').first()
    await denied.getByText('deny', { exact: true }).waitFor()
    await page.getByTestId('considered').first().getByText('to-orders').first().waitFor()
    assert.match(page.url(), /as=spiffe/)
    const verdict = JSON.parse(await world.run('simulate', '--from', 'frontend-1', '--as', other, 'GET', 'http://orders/flaky', '-o', 'json'))
    const found = verdict.branches[0].permission ?? verdict.branches[0].backends[0].inbounds[0].permission
    for (const c of found.considered) await page.getByTestId('considered').first().getByText(c.why).first().waitFor()
    assert.match(await page.getByTestId('command').first().innerText(), new RegExp(`--as ${other} GET http://orders/flaky`))
    await accessible(page)

    await page.goto('/gui/meshes/default/plan')
    await page.getByTestId('doc').fill(permission([caller, other]))
    await page.getByTestId('do-plan').click()
    const wider = page.getByTestId('access').getByRole('row').filter({ hasText: other }).filter({ hasText: 'widens' })
    await wider.waitFor()
    // /admin stays web's alone: a decision of its own, which does not change.
    assert.deepEqual([await wider.locator('del').innerText(), await wider.locator('ins').innerText()], ['deny', 'allow'])
    await page.getByTestId('widening').getByText('let in more').waitFor()
    await accessible(page)
    await world.ask('DELETE', '/meshes/default/meshtrafficpermissions/to-orders')
    await finish()
  })

  test('strict: the phase says so when no inbound takes plain text', async () => {
    await mode('STRICT')
    const { page, finish } = await open()
    await page.goto('/gui/problems')
    await page.getByTestId('phase').getByText('Phase 4 of 4, done when no inbound takes plain text, as is so now.').waitFor()
    await page.goto('/gui/meshes/default/dataplanes/orders-1')
    await page.getByTestId('inbounds').getByText('Strict').first().waitFor()
    await accessible(page)
    await finish()
  })
})
