import * as assert from 'uvu/assert'
import { gateway, type StartedUpstream, type Upstreams } from 'caduceus/server'
import { connect, Recording, until } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'
import { byHand } from './_by-hand.js'

const test = suite('gateway: options of a server change')

const ada = { issuer: 'https://issuer.example', subject: 'ada', clientId: 'app', scopes: [] }

/** A gateway of one server, whose entry the test replaces. */
async function replaceable(t: TestContext, first: Omit<StartedUpstream, 'start'>) {
  const begun = new Recording<() => void>('calls')
  const ups: ReturnType<typeof byHand>[] = []
  const start = () => {
    const up = byHand({
      tools: ['read', 'erase'],
      answers: {
        'tools/call': () =>
          new Promise((resolve) => begun.add(() => resolve({ content: [{ type: 'text', text: 'done' }] }))),
      },
    })
    ups.push(up)
    return up.client
  }
  let entry: StartedUpstream = { start, ...first }
  const listeners = new Set<(name: string) => void>()
  const set: Upstreams = {
    names: ['up'],
    has: (name) => name === 'up',
    get: () => entry,
    onState(fn) {
      listeners.add(fn)
      return () => void listeners.delete(fn)
    },
    close: async () => {},
  }
  const { client, close } = await connect(gateway(set), { principal: ada })
  t.after(close)
  const names = async (): Promise<string> =>
    (await client.listTools()).tools
      .map(({ name }) => name)
      .sort()
      .join()
  return {
    client,
    begun,
    ups,
    names,
    replace(next: Partial<StartedUpstream>) {
      entry = { start, ...next }
      for (const fn of listeners) fn('up')
    },
  }
}

test('what is offered follows, and neither the server nor a call under way notices', async (t) => {
  const { client, begun, ups, names, replace } = await replaceable(t, {})
  assert.is(await names(), 'up__erase,up__read')
  const call = client.callTool('up__erase')
  const end = await begun.next()
  replace({ options: { deny: ['erase'], rename: { read: 'look' } } })
  await until(async () => (await names()) === 'look')
  end()
  assert.is((await call).text, 'done')
  replace({})
  await until(async () => (await names()) === 'up__erase,up__read')
  assert.is(ups.length, 1)
})

test('scopes that a server needs from now on hide it from those without them', async (t) => {
  const { names, ups, replace } = await replaceable(t, {})
  assert.is(await names(), 'up__erase,up__read')
  replace({ options: { scopes: ['mail'] } })
  await until(async () => (await names()) === '')
  assert.is(ups.length, 1)
})

test('another way to start it, or for whom, is another client', async (t) => {
  const { names, ups, replace } = await replaceable(t, {})
  assert.is(await names(), 'up__erase,up__read')
  replace({ per: 'session' })
  await until(() => ups.length === 2)
  assert.is(await names(), 'up__erase,up__read')
  assert.equal(ups[0]?.told, ['close'])
})

test.run()
