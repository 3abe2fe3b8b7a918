import * as assert from 'uvu/assert'
import { createFakeClock, subscribe } from 'caduceus/runtime'
import { suite } from '../../../support/suite.js'
import { exchange, holding, startListener } from '../../_listener.js'

const test = suite('http health')

test('health is answered to any host, and says nothing else', async (t) => {
  const { url } = await startListener(t, {}, { health: true })
  for (const path of ['/healthz', '/readyz', '/readyz?verbose']) {
    const { status, ended, headers } = await exchange(t, at(url, path), {
      method: 'GET',
      headers: { host: '10.1.2.3', origin: 'http://evil.example' },
    })
    assert.equal([status, await ended], [200, 'ok\n'], path)
    assert.is(headers['cache-control'], 'no-store')
  }
  assert.is((await exchange(t, at(url, '/healthz'), { method: 'HEAD' })).status, 200)
  const refused = await exchange(t, at(url, '/healthz'), { method: 'POST', body: '' })
  assert.equal([refused.status, refused.headers.allow], [405, 'GET, HEAD'])
  assert.is((await exchange(t, at(url, '/healthz/x'), { method: 'GET' })).status, 404)
})

test('an internal error fails its health request and is reported', async (t) => {
  const told: unknown[] = []
  t.after(subscribe('stray', ({ error }) => told.push(error)))
  const broken = new Error('broken')
  let isBroken = true
  const problem = (): undefined => {
    if (isBroken) throw broken
  }
  const { url, listener } = await startListener(t, { problem }, { health: true })
  const { status, ended } = await exchange(t, at(url, '/readyz'), { method: 'GET' })
  assert.equal([status, await ended], [500, ''])
  assert.equal(told, [broken])
  isBroken = false
  assert.is((await exchange(t, at(url, '/readyz'), { method: 'GET' })).status, 200)
  assert.ok(listener().alive)
})

test('without the option there is no health', async (t) => {
  const { url } = await startListener(t)
  assert.is((await exchange(t, at(url, '/healthz'), { method: 'GET' })).status, 404)
  const foreign = { method: 'GET', headers: { host: 'evil.example' } }
  assert.is((await exchange(t, at(url, '/healthz'), foreign)).status, 403)
})

test('readiness ends before the listener, which serves while the balancer looks', async (t) => {
  const held = holding()
  const clock = createFakeClock()
  const listening = await startListener(
    t,
    held.port,
    { health: true, drainDelay: 300 },
    { drainTimeout: 2_000, clock },
  )
  const ready = () => exchange(t, at(listening.url, '/readyz'), { method: 'GET' })
  const slow = exchange(t, listening.url)
  const { answer } = await held.requests.next()
  const stopped = listening.stop()
  while ((await ready()).status === 200);
  assert.is((await exchange(t, at(listening.url, '/healthz'), { method: 'GET' })).status, 200)
  const late = exchange(t, listening.url)
  ;(await held.requests.next()).answer()
  assert.is((await late).status, 200)
  answer()
  assert.is((await slow).status, 200)
  await clock.advance(299)
  assert.is((await exchange(t, at(listening.url, '/healthz'), { method: 'GET' })).status, 200)
  await clock.advance(1)
  await stopped
  assert.is(
    await ready().then(
      () => 'served',
      () => 'refused',
    ),
    'refused',
  )
})

test('a server is not ready without a listener, and ready with the next', async (t) => {
  const listening = await startListener(t, {}, { health: true })
  const ready = async () => (await exchange(t, at(listening.url, '/readyz'), { method: 'GET' })).status
  listening.listener().kill()
  assert.is(await ready(), 503)
  await listening.restart()
  assert.is(await ready(), 200)
})

function at(url: string, path: string): string {
  return new URL(path, url).href
}

test.run()
