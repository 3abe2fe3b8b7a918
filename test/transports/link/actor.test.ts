import * as assert from 'uvu/assert'
import { buildNotification, buildRequest } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import {
  type ClientTransport,
  type Link,
  type LinkEvents,
  type LinkScope,
  TransportError,
} from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { startLink } from '../_link.js'

const test = suite('link actor')

type Made = { events: LinkEvents; scope: LinkScope; sent: string[]; closes: number }

/** A transport that does nothing by itself, and keeps what it was given. */
function puppet(link: Partial<Link> = {}): ClientTransport & { made: Made[] } {
  const made: Made[] = []
  return {
    name: 'puppet',
    made,
    connect(events, scope) {
      const own: Made = { events, scope, sent: [], closes: 0 }
      made.push(own)
      return {
        send: (text) => void own.sent.push(text),
        close() {
          own.closes += 1
          events.closed({})
        },
        ...link,
      }
    },
  }
}

test('a connection opens on demand and reports events in order, with its number', async (t) => {
  const transport = puppet()
  const link = await startLink(t, transport)
  assert.is(transport.made.length, 0)
  link.open(1)
  link.send(1, buildRequest(1, 'ping'))
  link.close(1)
  assert.equal(await link.closed(), {})
  const [made] = transport.made
  assert.equal(made?.sent, ['{"jsonrpc":"2.0","id":1,"method":"ping"}'])
  link.open(2)
  await until(() => transport.made.length === 2)
  const events = transport.made[1]?.events
  events?.opened({ pid: 1 })
  events?.message('one')
  events?.message('two')
  events?.trouble(new TransportError('BAD_RESPONSE', 'odd'))
  events?.lost(7, new TransportError('HTTP_STATUS', '500'))
  await link.news.next(({ type }) => type === 'lost')
  const told = link.news.all.slice(2).map((one) => [one.type, 'link' in one ? one.link : 0])
  assert.equal(told, [
    ['opened', 2],
    ['message', 2],
    ['message', 2],
    ['trouble', 2],
    ['lost', 2],
  ])
})

test('whoever waits for room waits together, however many messages come', async (t) => {
  const transport = puppet()
  const link = await startLink(t, transport)
  link.open(1)
  await until(() => transport.made.length === 1)
  const events = transport.made[0]?.events
  // in one turn, as of one chunk: the owner has had no time
  for (let i = 0; i < 2_000; i += 1) events?.message(String(i))
  const room = events?.room()
  assert.instance(room, Promise)
  assert.is(events?.room(), room)
  await room
  assert.is(events?.room(), undefined)
})

test('nothing is reported after the end, which is reported once', async (t) => {
  const transport = puppet()
  const link = await startLink(t, transport)
  link.open(1)
  await until(() => transport.made.length === 1)
  const events = transport.made[0]?.events
  events?.closed({ error: new TransportError('CONNECTION_LOST', 'gone') })
  events?.message('late')
  events?.opened()
  events?.lost(1, new TransportError('CONNECTION_LOST', 'late'))
  events?.closed({})
  assert.is((await link.closed()).error?.message, 'gone')
  link.open(2)
  await until(() => transport.made.length === 2)
  transport.made[1]?.events.message('fresh')
  assert.is((await link.news.next()).type, 'message')
})

test('a message for another connection is not sent, and its ticket says so', async (t) => {
  const transport = puppet()
  const link = await startLink(t, transport)
  link.open(2)
  const [old, revoked, good] = [1, 2, 3].map(() => ({ sent: false, revoked: false }))
  link.send(1, buildRequest(1, 'ping'), old)
  link.send(2, buildRequest(2, 'ping'), Object.assign(revoked ?? {}, { sent: false, revoked: true }))
  link.send(2, buildRequest(3, 'ping'), good)
  await until(() => good?.sent === true)
  assert.equal(transport.made[0]?.sent, ['{"jsonrpc":"2.0","id":3,"method":"ping"}'])
  assert.is(old?.sent, false)
  assert.is(revoked?.sent, false)
})

test('a transport that throws in connect fails that attempt for good with the error', async (t) => {
  const cause = new Error('no such thing')
  const link = await startLink(t, {
    name: 'broken',
    connect: () => {
      throw cause
    },
  })
  link.open(1)
  const { error, fatal } = await link.closed()
  assert.is(error?.code, 'CONNECT_FAILED')
  assert.is(error?.cause, cause)
  assert.is(fatal, true)
  link.open(2)
  assert.is((await link.closed()).error?.code, 'CONNECT_FAILED')
})

test('a transport that returns no link is told what was expected', async (t) => {
  const link = await startLink(t, { name: 'empty', connect: () => undefined as unknown as Link })
  link.open(1)
  assert.match((await link.closed()).error?.message ?? '', 'expected a link with send and close')
})

test('a transport that throws in send loses that request only', async (t) => {
  const transport = puppet({
    send() {
      throw new Error('not now')
    },
  })
  const link = await startLink(t, transport)
  link.open(1)
  link.send(1, buildRequest(5, 'ping'))
  link.send(1, buildNotification('notifications/initialized'))
  const lost = await link.news.next(({ type }) => type === 'lost')
  assert.is(lost.type === 'lost' && lost.id, 5)
  assert.is(lost.type === 'lost' && lost.error.code, 'SEND_FAILED')
  const trouble = await link.news.next()
  assert.is(trouble.type, 'trouble')
  link.close(1)
  assert.equal(await link.closed(), {})
})

test('a transport that throws in close or negotiated still ends', async (t) => {
  const transport = puppet({
    negotiated() {
      throw new Error('never heard of it')
    },
    close() {
      throw new Error('stuck')
    },
  })
  const link = await startLink(t, transport)
  link.open(1)
  link.negotiated(1, '2025-11-25')
  link.close(1)
  assert.equal(await link.closed(), {})
  assert.is(link.news.all.filter(({ type }) => type === 'trouble').length, 2)
})

test('non-text messages and other errors are converted', async (t) => {
  const transport = puppet()
  const link = await startLink(t, transport)
  link.open(1)
  await until(() => transport.made.length === 1)
  const events = transport.made[0]?.events as unknown as Record<string, (...args: unknown[]) => void>
  events.message?.(42)
  events.lost?.(1, new Error('plain'))
  events.closed?.({ error: 'a string', fatal: 1 })
  const { error, fatal } = await link.closed()
  assert.instance(error, TransportError)
  assert.is(fatal, false)
  const lost = link.news.all.find(({ type }) => type === 'lost')
  assert.is(lost?.type === 'lost' && lost.error.code, 'CONNECTION_LOST')
})

test('resources of a connection are released at its end, newest first', async (t) => {
  const transport = puppet()
  const link = await startLink(t, transport)
  link.open(1)
  await until(() => transport.made.length === 1)
  const scope = transport.made[0]?.scope
  const released: string[] = []
  scope?.own(() => void released.push('first'))
  scope?.own({ [Symbol.dispose]: () => void released.push('second') })
  scope?.own({ [Symbol.asyncDispose]: async () => void released.push('third') })
  scope?.own(() => {
    throw new Error('a disposer that fails')
  })
  link.close(1)
  await link.closed()
  assert.equal(released, ['third', 'second', 'first'])
  assert.is(scope?.signal.aborted, true)
})

test('resources of a connection are released before its actor starts again', async (t) => {
  const transport = puppet()
  const link = await startLink(t, transport)
  link.open(1)
  await until(() => transport.made.length === 1)
  const order: string[] = []
  transport.made[0]?.scope.own(async () => {
    await new Promise((resolve) => setImmediate(resolve))
    order.push('released')
  })
  link.registry.whereis('transport')?.kill()
  await link.news.next(({ type }) => type === 'attached')
  order.push('attached')
  assert.equal(order, ['released', 'attached'])
  transport.made[0]?.events.message('from the dead')
  link.open(1)
  await until(() => transport.made.length === 2)
  transport.made[1]?.events.message('from the living')
  const first = await link.news.next(({ type }) => type === 'message')
  assert.is(first.type === 'message' && first.text, 'from the living')
})

test('a new connection begins only when the old one has ended', async (t) => {
  const closes: LinkEvents[] = []
  const transport: ClientTransport = {
    name: 'slow to end',
    connect(events) {
      events.opened()
      return {
        send() {},
        close() {
          if (closes.push(events) > 1) events.closed({})
        },
      }
    },
  }
  const link = await startLink(t, transport)
  link.open(1)
  await link.news.next(({ type }) => type === 'opened')
  link.open(2)
  await until(() => closes.length === 1)
  await until(() => true)
  assert.is(link.news.all.filter(({ type }) => type === 'opened').length, 1)
  closes[0]?.closed({})
  await link.news.next(({ type }) => type === 'opened')
})

test('a transport that never ends is given up after six seconds', async (t) => {
  const clock = createFakeClock()
  const transport: ClientTransport = { name: 'undying', connect: () => ({ send() {}, close() {} }) }
  const link = await startLink(t, transport, clock)
  link.open(1)
  link.close(1)
  await clock.advance(5_999)
  assert.is(
    link.news.all.some(({ type }) => type === 'closed'),
    false,
  )
  await clock.advance(1)
  assert.equal(await link.closed(), {})
})

test('a stray error of transport code is reported and ends nothing', async (t) => {
  const transport = puppet()
  const link = await startLink(t, transport)
  link.open(1)
  await until(() => transport.made.length === 1)
  const before = link.registry.whereis('transport')
  const fn = transport.made[0]?.scope.bind(() => {
    throw new Error('in a callback')
  })
  fn?.()
  assert.is(link.registry.whereis('transport'), before)
  assert.is(before?.alive, true)
})

/** Lets the actors run until something holds. */
async function until(holds: () => boolean): Promise<void> {
  do await new Promise((resolve) => setImmediate(resolve))
  while (!holds())
}

test.run()
