import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { systemWorld } from 'caduceus/runtime'
import { gateway, type StartedUpstream, type UpstreamOptions, type Upstreams } from 'caduceus/server'
import { connect, fakeClock, Recording, until } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'
import { byHand } from './_by-hand.js'

const test = suite('gateway: who hears of a resource', { timeout: 10_000 })
const eras = ['handshake', 'modern'] as const
const note = 'note://1'

const somebody = (subject: string, scopes: readonly string[]) => ({
  issuer: 'https://issuer.example',
  subject,
  clientId: 'app',
  scopes,
})

/** Servers with resources, which the test adds and removes. */
function servers() {
  const entries = new Map<string, StartedUpstream>()
  const ups = new Map<string, ReturnType<typeof byHand>>()
  const starts = new Map<string, StartedUpstream['start']>()
  const listeners = new Set<(name: string) => void>()
  const change = (name: string): void => {
    for (const fn of listeners) fn(name)
  }
  const set: Upstreams = {
    get names() {
      return [...entries.keys()]
    },
    has: (name) => entries.has(name),
    get: (name) => entries.get(name) as StartedUpstream,
    onState(fn) {
      listeners.add(fn)
      return () => void listeners.delete(fn)
    },
    close: async () => {},
  }
  return {
    set,
    hasStarted: (name: string): boolean => ups.has(name),
    /** The client of a server that runs now. */
    up(name: string): ReturnType<typeof byHand> {
      const found = ups.get(name)
      if (found === undefined) throw new Error(`${name} has not started`)
      return found
    },
    add(name: string, uris: string[], options: UpstreamOptions = {}, hidden: readonly string[] = []) {
      const start = () => {
        const up = byHand({
          capabilities: { resources: { subscribe: true, listChanged: true } },
          answers: {
            'resources/list': () => ({ resources: uris.map((uri) => ({ uri, name: uri })) }),
            'resources/templates/list': () => ({ resourceTemplates: [] }),
            'resources/read': ({ uri }) => {
              const isThere = uris.includes(String(uri)) || hidden.includes(String(uri))
              if (!isThere) throw McpError.notFound('Resource not found', { uri: String(uri) })
              return { contents: [{ uri, text: name }] }
            },
          },
        })
        ups.set(name, up)
        return up.client
      }
      starts.set(name, start)
      entries.set(name, { start, options })
      change(name)
    },
    /** Other options of a server that goes on. */
    change(name: string, options: UpstreamOptions) {
      entries.set(name, { start: starts.get(name) as StartedUpstream['start'], options })
      change(name)
    },
    remove(name: string) {
      entries.delete(name)
      change(name)
    },
  }
}

/** Callers who are told of updates: bob without scopes, ada with `big`. */
async function callers(
  t: TestContext,
  { set, up, hasStarted }: ReturnType<typeof servers>,
  era: (typeof eras)[number],
) {
  // a server that takes long to say that it tells is looked at again: none does, however busy the machine is
  const clock = { ...systemWorld, now: () => 0 }
  const pair = await connect(gateway(set), { principal: somebody('bob', []), client: { era }, clock })
  t.after(() => pair.close())
  const ada = startClient({ transport: pair.connectAs(somebody('ada', ['big'])), era, logger: false })
  t.after(() => ada.close())
  const [bobs, adas] = [new Recording<string>('updates of bob'), new Recording<string>('updates of ada')]
  pair.client.onNotification('notifications/resources/updated', ({ uri }) => bobs.add(uri))
  ada.onNotification('notifications/resources/updated', ({ uri }) => adas.add(uri))
  const told = (name: string, uri: string): boolean =>
    hasStarted(name) && up(name).told.includes(`subscribe ${uri}`)
  const update = (name: string, uri: string): void =>
    up(name).tell('notifications/resources/updated', { uri })
  /** Until the address is that of another server. */
  const readFrom = (name: string): Promise<unknown> =>
    until(async () => (await ada.readResource(note).catch(() => undefined))?.text === name)
  return { bob: pair.client, ada, bobs, adas, told, update, readFrom }
}

for (const era of eras) {
  test(`${era}: from the server that has it now, though the one before is back`, async (t) => {
    const all = servers()
    for (const name of ['a', 'b']) all.add(name, [note])
    all.add('c', ['mark://1'])
    const { ada, adas, told, update, readFrom } = await callers(t, all, era)
    await readFrom('a')
    for (const uri of [note, 'mark://1']) await ada.subscribe(uri)
    await until(() => told('a', note) && told('c', 'mark://1'))
    all.remove('a')
    await until(() => told('b', note))
    assert.is(await adas.next(), note)
    const before = all.up('a')
    all.add('a', [note])
    await until(() => all.up('a') !== before && told('a', note))
    await readFrom('b')
    update('a', note)
    update('c', 'mark://1')
    assert.is(await adas.next(), 'mark://1')
    update('b', note)
    assert.is(await adas.next(), note)
    // and back, once the other one goes
    all.remove('b')
    await readFrom('a')
    assert.is(await adas.next(), note)
    update('a', note)
    assert.is(await adas.next(), note)
  })

  test(`${era}: nobody who may not use the server that has it now`, async (t) => {
    const all = servers()
    all.add('a', [note, 'mark://1'])
    all.add('b', [note], { scopes: ['big'] })
    all.add('c', ['mark://2'])
    const { bob, ada, bobs, adas, told, update, readFrom } = await callers(t, all, era)
    await readFrom('a')
    for (const client of [bob, ada]) for (const uri of [note, 'mark://2']) await client.subscribe(uri)
    await until(() => told('a', note) && told('c', 'mark://2'))
    all.remove('a')
    await until(() => told('b', note))
    await readFrom('b')
    assert.is(await adas.next(), note)
    update('b', note)
    assert.is(await adas.next(), note)
    update('c', 'mark://2')
    assert.is(await bobs.next(), 'mark://2')
  })

  test(`${era}: nobody who subscribed to it before it was in a list that they may not see`, async (t) => {
    const all = servers()
    all.add('a', ['mark://1'])
    const { bob, ada, bobs, adas, told, update, readFrom } = await callers(t, all, era)
    for (const uri of [note, 'mark://1']) await bob.subscribe(uri)
    await until(() => told('a', note) && told('a', 'mark://1'))
    all.add('b', [note], { permits: (principal) => principal?.subject === 'ada' })
    await readFrom('b')
    await ada.subscribe(note)
    await until(() => told('b', note))
    update('b', note)
    assert.is(await adas.next(), note)
    update('a', 'mark://1')
    assert.is(await bobs.next(), 'mark://1')
  })

  test(`${era}: whoever has subscribed, when its server is another one by now`, async (t) => {
    const all = servers()
    all.add('a', [note])
    const { ada, adas, told, readFrom } = await callers(t, all, era)
    await readFrom('a')
    await ada.subscribe(note)
    await until(() => told('a', note))
    const before = all.up('a')
    all.add('a', [note])
    await until(() => all.up('a') !== before && told('a', note))
    assert.is(await adas.next(), note)
  })

  test(`${era}: from the server that lists it at last, though others were asked meanwhile`, async (t) => {
    const all = servers()
    all.add('a', [note])
    all.add('b', ['other://1'])
    const { ada, adas, told, update, readFrom } = await callers(t, all, era)
    await readFrom('a')
    await ada.subscribe(note)
    await until(() => told('a', note))
    all.remove('a')
    await until(() => told('b', note))
    assert.is(await adas.next(), note)
    all.add('c', [note])
    await until(() => told('c', note) && all.up('b').told.includes(`unsubscribe ${note}`))
    assert.is(await adas.next(), note)
    update('c', note)
    assert.is(await adas.next(), note)
  })

  test(`${era}: of an address in no list, whoever may use the server that tells`, async (t) => {
    const all = servers()
    all.add('a', ['mark://1'])
    all.add('b', ['other://1'], { scopes: ['big'] }, [note])
    const { bob, ada, bobs, adas, told, update, readFrom } = await callers(t, all, era)
    await readFrom('b')
    for (const client of [bob, ada]) await client.subscribe(note)
    await bob.subscribe('mark://1')
    await until(() => told('b', note) && told('a', 'mark://1'))
    update('b', note)
    assert.is(await adas.next(), note)
    update('a', 'mark://1')
    assert.is(await bobs.next(), 'mark://1')
  })

  for (const options of [{ deny: [note] }, { allow: ['mark://*'] }])
    test(`${era}: nobody, once it is not offered any more (${Object.keys(options)})`, async (t) => {
      const all = servers()
      all.add('a', [note, 'mark://1'])
      const { bob, bobs, told, update, readFrom } = await callers(t, all, era)
      await readFrom('a')
      for (const uri of [note, 'mark://1']) await bob.subscribe(uri)
      await until(() => told('a', note) && told('a', 'mark://1'))
      all.change('a', options)
      await until(async () => !(await bob.listResources()).resources.some(({ uri }) => uri === note))
      update('a', note)
      update('a', 'mark://1')
      assert.is(await bobs.next(), 'mark://1')
    })
}

for (const era of eras)
  test(`${era}: who subscribes before it is known which servers there are, too`, async (t) => {
    const all = servers()
    all.add('a', [note])
    let come = (): void => {}
    const coming = new Promise<Upstreams>((resolve) => {
      come = () => resolve(all.set)
    })
    const plan = gateway(() => coming, { startTimeout: 1 })
    const { client, close } = await connect(plan, { client: { era, backoff: { base: 1, cap: 5 } } })
    t.after(close)
    const heard = new Recording<string>('updates')
    client.onNotification('notifications/resources/updated', ({ uri }) => heard.add(uri))
    const subscribed = client.subscribe(note).catch(() => {})
    setImmediate(come)
    await subscribed
    await until(() => all.hasStarted('a'))
    await client.subscribe(note)
    await until(() => all.up('a').told.includes(`subscribe ${note}`))
    all.up('a').tell('notifications/resources/updated', { uri: note })
    assert.is(await heard.next(), note)
  })

test('what changed before a slow server said that it tells of it is looked at again', async (t) => {
  const clock = fakeClock()
  const asked = new Recording<() => void>('subscriptions')
  const up = byHand({
    capabilities: { resources: { subscribe: true } },
    answers: {
      'resources/list': () => ({ resources: [{ uri: note, name: 'n' }] }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
    },
  })
  Object.assign(up.client, { subscribe: () => new Promise<void>((resolve) => asked.add(resolve)) })
  const { client, close } = await connect(gateway({ up: up.client }), { clock })
  t.after(close)
  const updates = new Recording<string>('updates')
  client.onNotification('notifications/resources/updated', ({ uri }) => updates.add(uri))
  await client.subscribe(note)
  const answer = await asked.next()
  await clock.advance(300)
  assert.equal(updates.all, [])
  answer()
  await until(async () => {
    await clock.advance(100)
    return updates.all.length === 1
  })
})

test.run()
