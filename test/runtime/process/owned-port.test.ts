import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { type ActorContext, supervisorSpec } from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import { gather, Recorder, startTree, worker, workerOf } from '../_family.js'

const test = suite('a port owned by an actor')

/** An init that listens on a free port first, and on the same one in every later incarnation. */
function listener(t: TestContext): { init(ctx: ActorContext): Promise<void>; connected(): Promise<Socket> } {
  const known = { port: 0 }
  return {
    async init(ctx) {
      const sockets = new Set<Socket>()
      const server = createServer((socket) => sockets.add(socket.on('error', () => {})))
      ctx.own(async () => {
        const closed = new Promise((resolve) => server.close(resolve))
        for (const socket of sockets) socket.destroy()
        await closed
      })
      server.listen(known.port, '127.0.0.1')
      await once(server, 'listening')
      known.port = (server.address() as AddressInfo).port
    },
    async connected() {
      const socket = connect(known.port, '127.0.0.1')
      t.after(() => socket.destroy())
      await once(socket, 'connect')
      return socket.on('error', () => {})
    },
  }
}

test('OTP-87 a crash frees the port before the next incarnation listens', async (t) => {
  const log = new Recorder()
  const crashes = gather(t, 'crash')
  const { init, connected } = listener(t)
  const tree = await startTree(t, { strategy: 'one_for_one', children: [worker(log, 'a', { init })] })
  assert.equal(await log.next(1), ['start a'])
  for (let i = 0; i < 3; i++) {
    const socket = await connected()
    ;(await workerOf(tree, 'a')).cast('crash')
    await once(socket, 'close')
    assert.equal(await log.next(2), ['end a', 'start a'])
  }
  await connected()
  assert.equal(
    crashes.map(({ during }) => during),
    ['crash', 'crash', 'crash'],
  )
  await tree.stop()
})

test('OTP-87 a killed supervisor frees the ports of its children before it restarts', async (t) => {
  const log = new Recorder()
  const reports = gather(t, 'supervisor')
  const { init, connected } = listener(t)
  const inner = supervisorSpec({
    name: 'inner',
    strategy: 'one_for_one',
    children: [worker(log, 'a', { init })],
  })
  const tree = await startTree(t, { strategy: 'one_for_one', children: [inner] })
  assert.equal(await log.next(1), ['start a'])
  for (let i = 0; i < 3; i++) {
    await connected()
    ;(await tree.children())[0]?.ref?.kill()
    assert.equal(await log.next(2), ['end a', 'start a'])
  }
  await connected()
  assert.equal(
    reports.map(({ context }) => context),
    ['child_terminated', 'child_terminated', 'child_terminated'],
  )
  await tree.stop()
})

test('a start that fails after it listened frees the port before the next attempt', async (t) => {
  const log = new Recorder()
  const { init: listen } = listener(t)
  const health = { failures: 0 }
  const init = async (ctx: ActorContext): Promise<void> => {
    await listen(ctx)
    if (health.failures-- > 0) throw new Error('not yet')
  }
  const crashes = gather(t, 'crash')
  const tree = await startTree(t, { strategy: 'one_for_one', children: [worker(log, 'a', { init })] })
  health.failures = 2
  ;(await workerOf(tree, 'a')).kill()
  assert.equal(await log.next(3), ['start a', 'end a', 'start a'])
  assert.equal(
    crashes.map(({ reason }) => (reason.type === 'crash' ? String(reason.error) : reason.type)),
    ['Error: not yet', 'Error: not yet'],
  )
  await tree.stop()
})

test.run()
