// How soon screens are ready: what each shows when a person can begin with it.
import assert from 'node:assert/strict'

// ready fails where what a person waits for takes longer than so many milliseconds, as the median
// of several times, of which the first has nothing in its cache. A screen is what is waited for
// on a page after what begins it.
export async function ready(t, screens, most, { open, times = 5 }) {
  const slow = []
  for (const [what, begin, waits] of screens) {
    const took = []
    let { page, finish } = await open() // of its own, so that nothing is loaded yet
    for (let i = 0; i < times; i++) {
      const start = performance.now()
      await begin(page, i)
      await waits(page, i).first().waitFor()
      await page.evaluate(() => new Promise((done) => requestIdleCallback(done))) // it reacts
      took.push(Math.round(performance.now() - start))
    }
    await finish()
    const median = took.toSorted((a, b) => a - b)[Math.floor(times / 2)]
    t.diagnostic(`${what}: ${took[0]} ms first, median ${median} ms of ${took.join(', ')}`)
    if (median > most) slow.push(`${what}: ${median} of ${took}`)
  }
  assert.deepEqual(slow, [], `more than ${most} ms`)
}

// at begins with an address.
export const at = (address) => (page) => page.goto('/gui' + address, { waitUntil: 'commit' })
