// second tier: time
import { once } from 'node:events'
import { connect, Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { type ActorRef, startActor, supervisorAt } from 'caduceus/runtime'
import { startServer } from 'caduceus/server'
import { until } from 'caduceus/testing'
import { serveHttp } from 'caduceus/transports'
import { doorActor } from '../../../server/processes/door.js'
import type { Sharing } from '../../../transports/contract/sharing.js'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'

const test = suite('door of several processes', { timeout: 60_000 })
const module = new URL('./_loaded.js', import.meta.url)

test('connections count over all processes until they or their process end', async (t) => {
  const transport = serveHttp({ limits: { connections: 2 }, health: true, timeouts: { keepAlive: 60_000 } })
  const server = await startServer(module, { transport, processes: 2, logger: false })
  t.after(() => server.stop())
  const port = Number(server.port)
  const held = [await ask(t, port), await ask(t, port)]
  assert.equal(
    held.map(({ answer }) => answer),
    ['200', '200'],
  )
  assert.is((await ask(t, port)).answer, 'refused')
  held[0]?.socket.destroy()
  await until(async () => (await ask(t, port)).answer === '200', { timeout: 30_000 })
  assert.is((await ask(t, port)).answer, 'refused')
  for (const each of await server.processes()) each.kill()
  for (let i = 0; i < 2; i++)
    await until(async () => (await ask(t, port)).answer === '200', { timeout: 30_000 })
  assert.is((await ask(t, port)).answer, 'refused')
})

test('a connection that ends while it waits for a process is not counted', async () => {
  let take: (socket: Socket, ended: () => void) => void = () => {}
  const address = { url: '', host: '', port: 0, drainDelay: 0, stopListening: () => {} }
  const sharing: Sharing = {
    port: 0,
    options: () => ({}),
    listen: async (_scope, fn) => {
      take = fn
      return address
    },
    serve: () => serveHttp(),
  }
  const door = await startActor(doorActor, { sharing, place: { address: undefined } })
  const socket = new Socket()
  let ended = 0
  take(socket, () => (ended += 1))
  socket.destroy()
  await once(socket, 'close')
  assert.is(ended, 1)
  await door.stop()
})

test('a crash of the door keeps address and sessions', async (t) => {
  const server = await startServer(module, { transport: serveHttp(), processes: 1, logger: false })
  t.after(() => server.stop())
  const { url } = server
  const client = await new RawClient(t, url).open()
  assert.is(await client.text('count'), '1')
  const doorOf = async (): Promise<ActorRef | undefined> => {
    const children = await supervisorAt(server.ref as ActorRef).children()
    return children.find(({ ref }) => ref?.name === 'door')?.ref as ActorRef | undefined
  }
  const door = await doorOf()
  assert.ok(door)
  door.kill()
  await until(async () => (await doorOf())?.alive === true && (await doorOf()) !== door, { timeout: 30_000 })
  assert.is(server.url, url)
  // a connection of its own, which the new door has taken
  const other = new RawClient(t, url)
  other.sessionId = client.sessionId
  await until(async () => (await other.post({ jsonrpc: '2.0', id: 0, method: 'ping' })).status === 200, {
    timeout: 30_000,
  })
  assert.is(await other.text('count'), '2')
})

test('requests on new connections are answered during replacement', async (t) => {
  const transport = serveHttp({ health: true })
  const server = await startServer(module, { transport, processes: 2, logger: false })
  t.after(() => server.stop())
  let isOver = false
  const problems: string[] = []
  const loops = Array.from({ length: 4 }, async () => {
    let asked = 0
    for (; !isOver; asked += 1) {
      const { socket, answer } = await ask(t, Number(server.port))
      if (answer !== '200') problems.push(answer)
      socket.destroy()
    }
    return asked
  })
  for (let i = 0; i < 2; i++) await server.reload()
  isOver = true
  for (const asked of await Promise.all(loops)) assert.ok(asked > 5, String(asked))
  assert.equal(problems, [])
})

test.run()

/** Asks on a connection of its own, which stays open where it was not refused. */
async function ask(t: TestContext, port: number): Promise<{ socket: Socket; answer: string }> {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  // a refusal may come as a reset
  socket.on('error', () => {})
  socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
  const text = await new Promise<unknown>((resolve) => socket.once('data', resolve).once('close', resolve))
  return { socket, answer: /^HTTP\/1.1 (\d+)/.exec(String(text))?.[1] ?? 'refused' }
}
