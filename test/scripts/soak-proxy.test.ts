import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { FaultyProxy } from '../../scripts/soak/proxy.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('proxy of the soak', { timeout: 20_000 })

/** A connection through a proxy: both its ends, and what each has heard. */
async function connected(t: TestContext) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const proxy = await FaultyProxy.start((server.address() as AddressInfo).port)
  t.after(() => proxy.close())
  const join = async () => {
    const accepted = once(server, 'connection') as Promise<[Socket]>
    const client = connect(proxy.port, '127.0.0.1')
    const [far] = await accepted
    const heard = { client: '', server: '' }
    client.setEncoding('utf8').on('data', (text: string) => {
      heard.client += text
    })
    far.setEncoding('utf8').on('data', (text: string) => {
      heard.server += text
    })
    for (const socket of [client, far]) {
      socket.on('error', () => {})
      t.after(() => socket.destroy())
    }
    return { client, server: far, heard }
  }
  return { proxy, join }
}

/** Resolves when this socket has been sent something that has arrived at its end of the proxy. */
async function written(socket: Socket, text: string): Promise<void> {
  await new Promise((resolve) => socket.write(text, resolve))
}

for (const [side, other] of [
  ['client', 'server'],
  ['server', 'client'],
] as const)
  test(`what a ${side} says waits for the end of a one-way cut, and what it hears does not`, async (t) => {
    const { proxy, join } = await connected(t)
    const before = await join()
    proxy.silence(side)
    const during = await join()
    for (const { [side]: silent, [other]: free, heard } of [before, during]) {
      await written(silent, 'from the silent side')
      const arrived = once(silent, 'data')
      await written(free, 'from the other')
      await arrived
      assert.equal([heard[side], heard[other]], ['from the other', ''])
    }
    proxy.clear()
    for (const { [other]: free, heard } of [before, during]) {
      if (heard[other] === '') await once(free, 'data')
      assert.is(heard[other], 'from the silent side')
    }
  })

test('a one-way cut holds where the silent side had more to say than was read', async (t) => {
  const { proxy, join } = await connected(t)
  const { client, server, heard } = await join()
  client.pause()
  const much = 'x'.repeat(64 * 2 ** 20)
  const sent = written(server, much)
  /** Resolves when that has not changed while the client said a lot of things. */
  const still = async (measure: () => number): Promise<void> => {
    for (let [before, same] = [-1, 0]; same < 300; before = measure()) {
      const arrived = once(server, 'data')
      await written(client, 'still here')
      await arrived
      same = measure() === before ? same + 1 : 0
    }
  }
  // The proxy reads no more, as nobody takes what it has.
  await still(() => server.writableLength)
  proxy.silence('server')
  client.resume()
  await still(() => heard.client.length)
  assert.ok(heard.client.length < much.length, 'all of it passed')
  proxy.clear()
  await sent
  while (heard.client.length < much.length) await once(client, 'data')
})

test.run()
