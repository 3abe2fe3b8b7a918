// second tier: time
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import * as assert from 'uvu/assert'
import { definePeer, type RefOf, startActor } from 'caduceus/runtime'
import { giveSocket } from '../../../runtime/peers/give-socket.js'
import { suite, type TestContext } from '../../support/suite.js'
import type porter from './_porter.js'

const test = suite('sockets for peers', { timeout: 20_000 })
const module = new URL('./_porter.js', import.meta.url)

test('a socket is served by the process it is given to', async (t) => {
  const peer = await start(t, 'process')
  const pid = await peer.call('pid')
  const { port } = await listen(t, (socket) => assert.ok(giveSocket(peer, 'serve', socket)))
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => say(port, `hello ${i}`)))
  assert.equal(
    answers,
    answers.map((_, i) => `${pid}: hello ${i}`),
  )
  assert.is(await peer.call('served'), 20)
})

test('messages and sockets keep their order', async (t) => {
  const peer = await start(t, 'process')
  const counts: Promise<number>[] = []
  const { port } = await listen(t, (socket) => {
    giveSocket(peer, 'serve', socket)
    counts.push(peer.call('served'))
  })
  await Promise.all(Array.from({ length: 5 }, () => say(port, 'hello')))
  assert.equal(await Promise.all(counts), [1, 2, 3, 4, 5])
})

test('a refused socket stays with the caller: thread, or dead peer', async (t) => {
  const thread = await start(t, 'thread')
  const gone = await start(t, 'process')
  await gone.stop()
  const { port } = await listen(t, (socket) => {
    assert.not(giveSocket(thread, 'serve', socket))
    assert.not(giveSocket(gone, 'serve', socket))
    socket.resume().end('mine')
  })
  assert.is(await say(port, 'hello'), 'mine')
})

test('a socket that cannot be delivered is closed: unknown cast, or dead process', async (t) => {
  const peer = await start(t, 'process')
  const { port } = await listen(t, (socket) => assert.ok(giveSocket(peer, 'nonsense', socket)))
  assert.is(await say(port, 'hello'), '')
})

test('sockets for a process that dies first are closed, and their server can close', async (t) => {
  const peer = await start(t, 'process')
  const blocked = peer.call('block', 60_000, { timeout: 60_000 }).catch(() => {})
  let given = 0
  const { port } = await listen(t, (socket) => {
    assert.ok(giveSocket(peer, 'serve', socket))
    given += 1
    if (given === 3) peer.kill()
  })
  assert.equal(await Promise.all([1, 2, 3].map(() => say(port, 'hello'))), ['', '', ''])
  await blocked
})

test.run()

async function start(t: TestContext, kind: 'thread' | 'process'): Promise<RefOf<typeof porter>> {
  const peer = await startActor(definePeer<typeof porter>({ kind, module }), undefined, {
    startTimeout: 20_000,
    logger: false,
  })
  t.after(() => peer.alive && peer.stop())
  return peer
}

async function listen(t: TestContext, serve: (socket: Socket) => void): Promise<{ port: number }> {
  const server = createServer({ pauseOnConnect: true }, serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => new Promise((resolve) => server.close(resolve)))
  return { port: (server.address() as AddressInfo).port }
}

/** What is answered until the end of the connection. */
async function say(port: number, what: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(what)
  return text(socket).catch(() => '')
}
