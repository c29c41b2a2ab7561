// The plan of a change beyond its effects: what changes in Envoy's resources, deletions, previews.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { accessible, inDemo } from './world.mjs'

const retry = (name, numRetries, labels = '') => `type: MeshRetry
mesh: default
name: ${name}
${labels}spec:
  targetRef: {kind: MeshHTTPRoute, name: route-2}
  to:
  - targetRef: {kind: Mesh}
    default: {http: {numRetries: ${numRetries}}}
`
const shadow = 'labels: {kuma.io/effect: shadow}\n'
describe('a plan', () => {
  const world = inDemo()
  const { open } = world

  test('says what changes in each resource of Envoy, as the command does', async () => {
    const { page, finish } = await open()
    await page.goto('/gui/meshes/default/plan')
    await page.getByTestId('doc').fill(retry('mr-2', 77))
    await page.getByTestId('do-plan').click()
    await page.getByTestId('envoy').waitFor()
    assert.equal(await page.getByTestId('fields').count(), 0, 'nothing is told unasked')
    await page.getByTestId('do-diff').click()
    const field = page.getByTestId('fields').filter({ hasText: 'retry_policy.num_retries' })
    await field.waitFor()
    assert.deepEqual(await field.locator('del, ins').allInnerTexts(), ['500', '77'])
    assert.match(page.url(), /diff=true/)
    await accessible(page)
    assert.equal(await page.getByTestId('command').first().locator('code').innerText(), 'weft plan -f - --diff')
    const api = await world.ask('POST', '/_apply?dryRun=true&include=diff', retry('mr-2', 77))
    const paths = api.envoy.flatMap((r) => r.fields.map((f) => f.path))
    assert.deepEqual(await page.getByTestId('fields').locator('dt').allInnerTexts(), paths)
    await page.reload() // the address holds what was asked
    await page.getByTestId('fields').filter({ hasText: 'num_retries' }).waitFor()
    await finish()
  })

  test('of a deletion, which is then made', async () => {
    await world.ask('POST', '/_apply', retry('zz-gone', 9))
    const { page, finish } = await open({ expected: ['/gone-'] })
    await page.goto('/gui/meshes/default/policies/MeshRetry/zz-gone')
    await page.getByTestId('plan-deletion').click()
    await page.getByTestId('summary').getByText('1 object would change').waitFor()
    await page.getByText('MeshRetry/default/zz-gone').waitFor()
    assert.match(await page.getByTestId('command').first().innerText(), /weft plan --delete MeshRetry zz-gone -m default/)
    await accessible(page)
    await page.getByTestId('plan-object').fill('MeshRetry/mr-2')
    assert.ok(await page.getByTestId('do-apply').isDisabled(), 'what is written was not planned')
    await page.getByTestId('do-plan').click()
    const effect = page.getByTestId('effects').locator('tbody tr').filter({ hasText: 'http.numRetries' })
    await effect.waitFor()
    assert.deepEqual(await effect.locator('del, ins').allInnerTexts(), ['500', '9'])
    await page.getByTestId('plan-object').fill('MeshRetry/zz-gone')
    await page.getByTestId('do-plan').click()
    await page.getByTestId('summary').getByText('1 object would change').waitFor()
    await page.getByTestId('do-apply').click()
    await page.getByTestId('applied').getByText('MeshRetry/zz-gone deleted').waitFor()
    assert.ok(!(await world.ask('GET', '/meshes/default/meshretries')).items.some((o) => o.name === 'zz-gone'))
    await page.getByTestId('plan-object').fill('MeshRetry/gone-already')
    await page.getByTestId('do-plan').click()
    await page.getByTestId('error').waitFor()
    await page.getByTestId('plan-documents').click()
    assert.equal(await page.getByTestId('error').count(), 0)
    await page.getByTestId('doc').waitFor()
    await finish()
  })

  test('of previews, as if they took part, which are not applied', async () => {
    const { page, finish } = await open()
    await page.goto('/gui/meshes/default/plan')
    await page.getByTestId('doc').fill(retry('a-preview', 33, shadow))
    await page.getByTestId('do-plan').click()
    await page.getByTestId('summary').getByText('1 object would change; 0 of').waitFor()
    assert.equal(await page.getByTestId('effects').count(), 0)
    await page.getByTestId('plan-shadow').check()
    await page.getByTestId('do-plan').click()
    await page.getByTestId('effects').locator('ins').getByText('33').waitFor()
    await page.getByText('planned as if it took part').waitFor()
    assert.ok(await page.getByTestId('do-apply').isDisabled())
    assert.match(page.url(), /shadow=true/)
    assert.equal(await page.getByTestId('command').first().locator('code').innerText(), 'weft plan -f - --shadow')
    await accessible(page)
    await world.ask('POST', '/_apply', retry('a-preview', 33, shadow))
    await page.goto('about:blank')
    await page.goto(world.server + '/gui/meshes/default/plan?shadow=true') // what is stored
    await page.getByTestId('effects').locator('ins').getByText('33').waitFor()
    await world.ask('DELETE', '/meshes/default/meshretries/a-preview')
    await finish()
  })
})
