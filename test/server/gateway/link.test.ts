import * as assert from 'uvu/assert'
import { createFakeClock, systemWorld } from 'caduceus/runtime'
import { McpError } from 'caduceus/protocol'
import type { Upstream } from 'caduceus/server'
import type { Peer } from 'caduceus/transports'
import { Places } from '../../../transports/base/places.js'
import { maxWanted, UpstreamLink } from '../../../server/gateway/link.js'
import { foundAt } from '../../../server/gateway/components.js'
import { suite } from '../../support/suite.js'

/** Who wants what is not known yet. */
const later = () => (): void => {}
const test = suite('gateway: one server')

for (const { what, lazy, after } of [
  { what: 'a lazy client is closed after ten minutes without a call', lazy: true, after: 1 },
  { what: 'a client that is not lazy stays', lazy: false, after: 0 },
])
  test(`by default ${what}`, async () => {
    const clock = createFakeClock()
    const closed: string[] = []
    const client = {
      name: 'up',
      state: { phase: 'ready', reason: undefined },
      close: async () => void closed.push('up'),
      request: () => {},
      onState: () => {},
    } as unknown as Upstream
    let began: () => void = () => {}
    const started = new Promise<void>((resolve) => {
      began = resolve
    })
    const link = new UpstreamLink({
      name: 'up',
      record: newRecord(),
      entry: { start: () => client, lazy },
      options: {},
      requestTimeout: 1_000,
      startTimeout: 3_000,
      world: { ...systemWorld, ...clock, now: () => clock.now() },
      began: () => began(),
      failed: (error) => assert.unreachable(String(error)),
      lent: () => {},
      logins: undefined,
      resourceUpdated: () => {},
    })
    link.begin()
    await started
    await clock.advance(599_999)
    link.sweep()
    assert.ok(link.isRunning)
    await clock.advance(1)
    link.sweep()
    assert.is(link.isRunning, !lazy)
    await Promise.resolve()
    assert.is(closed.length, after)
    await clock.advance(100_000_000)
    link.sweep()
    assert.is(link.isRunning, !lazy)
    link.end()
  })

test('a server is asked for so many resources, of one client a share: none is lost', () => {
  const asked = new Set<string>()
  const client = {
    name: 'up',
    state: { phase: 'ready', reason: undefined },
    subscribe: async (uri: string) => void asked.add(uri),
    unsubscribe: async (uri: string) => void asked.delete(uri),
    close: async () => {},
  } as unknown as Upstream
  const link = new UpstreamLink({
    name: 'up',
    record: newRecord(),
    entry: client,
    options: {},
    requestTimeout: 1_000,
    startTimeout: 3_000,
    world: systemWorld,
    began: () => {},
    failed: (error) => assert.unreachable(String(error)),
    lent: () => {},
    logins: undefined,
    resourceUpdated: () => {},
  })
  const from = (remoteAddress: string) => ({ transport: 'http', headers: {}, remoteAddress })
  const want = (uri: string, peer: Peer) => link.want(uri, uri, peer)
  const share = (maxWanted * 3) / 4
  const undo = want('a:0', from('192.0.2.1'))
  for (let n = 1; n < share; n++) want(`a:${n}`, from('192.0.2.1'))
  const refused = (peer: Peer, message: RegExp) =>
    assert.throws(
      () => want('one:more', peer),
      (error: Error) => error instanceof McpError && error.code === 429 && message.test(error.message),
    )
  refused(from('192.0.2.1'), /^up is asked for changes of 3000 resources for one client already$/)
  want('a:0', from('192.0.2.1'))
  for (let n = share; n < maxWanted; n++) want(`b:${n}`, from('192.0.2.2'))
  refused(from('192.0.2.3'), /^up is asked for changes of 4000 resources already$/)
  // a session that comes back has what it had
  want('one:more', { transport: '', headers: {}, remoteAddress: undefined, trusted: true })()
  undo()
  refused(from('192.0.2.3'), /4000/)
  undo()
  want('one:more', from('192.0.2.3'))
  link.end()
})

test('a hundred thousand changes of one resource are few, and the last one is told', async () => {
  const clock = createFakeClock()
  const told: string[] = []
  const client = {
    name: 'up',
    state: { phase: 'ready', reason: undefined },
    subscribe: async () => {},
    unsubscribe: async () => {},
    close: async () => {},
  } as unknown as Upstream
  const link = new UpstreamLink({
    name: 'up',
    record: newRecord(),
    entry: client,
    options: {},
    requestTimeout: 1_000,
    startTimeout: 3_000,
    world: { ...systemWorld, ...clock, now: () => clock.now() },
    began: () => {},
    failed: (error) => assert.unreachable(String(error)),
    lent: () => {},
    logins: undefined,
    resourceUpdated: (uri) => told.push(uri),
  })
  const peer = { transport: 'http', headers: {}, remoteAddress: '192.0.2.1' }
  link.want('a:1', 'a:1', peer)
  link.want('a:2', 'a:2', peer)
  for (let n = 0; n < 100_000; n++) link.updated('a:1')
  link.updated('a:2')
  assert.equal(told.splice(0), ['a:1', 'a:2'])
  await clock.advance(100)
  assert.equal(told.splice(0), ['a:1'])
  await clock.advance(10_000)
  assert.equal(told.splice(0), [])
  link.updated('a:1')
  assert.equal(told, ['a:1'])
  link.updated('a:1')
  link.end()
  assert.is(clock.pending, 0)
})

test('until templates are known clients are refused, not sessions that come back', () => {
  const link = new UpstreamLink({
    ...{ name: 'up', record: newRecord(), options: { permits: () => true }, requestTimeout: 1_000 },
    startTimeout: 3_000,
    entry: { start: () => Promise.reject(new Error('not started')) },
    world: systemWorld,
    began: () => {},
    failed: () => {},
    lent: () => {},
    logins: undefined,
    resourceUpdated: () => {},
  })
  const aim = { uri: 'user://1', templates: [], all: [], isLikely: true, isListed: false, link }
  const found = foundAt('user://1', [aim], 'one', () => undefined, later)
  const relayed = found && 'resource' in found ? found.resource.relayed : undefined
  const peer: Peer = { transport: '', headers: {}, remoteAddress: undefined }
  assert.throws(() => relayed?.want?.(peer), /it is not known yet what it offers/)
  relayed?.want?.({ ...peer, trusted: true })()
})

test('where names of tools are denied, no verdict is kept of what callers write', () => {
  const link = new UpstreamLink({
    ...{ name: 'up', record: newRecord(), options: { deny: ['erase'] }, requestTimeout: 1_000 },
    startTimeout: 3_000,
    entry: { start: () => Promise.reject(new Error('not started')) },
    world: systemWorld,
    began: () => {},
    failed: () => {},
    lent: () => {},
    logins: undefined,
    resourceUpdated: () => {},
  })
  const kept: string[] = []
  Object.assign(link.filter, { offers: (own: string) => kept.push(own) > 0 })
  const find = (uri: string): unknown => {
    const aim = { uri, templates: [], all: [], isLikely: true, isListed: false, link }
    return foundAt(uri, [aim], 'one', () => undefined, later)
  }
  assert.ok(find('user://1'))
  assert.is(find('erase'), undefined)
  assert.equal(kept, [])
})

test.run()

function newRecord() {
  return {
    server: undefined,
    lists: undefined,
    wanted: new Map(),
    places: new Places(maxWanted),
    wasReady: false,
    unwant: () => {},
  }
}
