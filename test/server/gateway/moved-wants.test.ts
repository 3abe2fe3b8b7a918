import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { gateway, type StartedUpstream, type UpstreamOptions, type Upstreams } from 'caduceus/server'
import { connect, Recording, until } from 'caduceus/testing'
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
    /** The client of a server that runs now. */
    up(name: string): ReturnType<typeof byHand> {
      const found = ups.get(name)
      if (found === undefined) throw new Error(`${name} has not started`)
      return found
    },
    add(name: string, uris: string[], options: UpstreamOptions = {}) {
      const start = () => {
        const up = byHand({
          capabilities: { resources: { subscribe: true, listChanged: true } },
          answers: {
            'resources/list': () => ({ resources: uris.map((uri) => ({ uri, name: uri })) }),
            'resources/templates/list': () => ({ resourceTemplates: [] }),
            'resources/read': ({ uri }) => ({ contents: [{ uri, text: name }] }),
          },
        })
        ups.set(name, up)
        return up.client
      }
      entries.set(name, { start, options })
      change(name)
    },
    remove(name: string) {
      entries.delete(name)
      change(name)
    },
  }
}

/** Callers who are told of updates: bob without scopes, ada with `big`. */
async function callers(t: TestContext, { set, up }: ReturnType<typeof servers>, era: (typeof eras)[number]) {
  const pair = await connect(gateway(set), { principal: somebody('bob', []), client: { era } })
  t.after(() => pair.close())
  const ada = startClient({ transport: pair.connectAs(somebody('ada', ['big'])), era, logger: false })
  t.after(() => ada.close())
  const [bobs, adas] = [new Recording<string>('updates of bob'), new Recording<string>('updates of ada')]
  pair.client.onNotification('notifications/resources/updated', ({ uri }) => bobs.add(uri))
  ada.onNotification('notifications/resources/updated', ({ uri }) => adas.add(uri))
  const told = (name: string, uri: string): boolean => up(name).told.includes(`subscribe ${uri}`)
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
}

test.run()
