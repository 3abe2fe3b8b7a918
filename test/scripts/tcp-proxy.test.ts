import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../support/suite.js'
import { TcpProxy } from '../support/tcp-proxy.js'

const test = suite('proxy on which connections break', { timeout: 20_000 })

/** A connection through a proxy: both its ends, and what each has heard. */
async function connected(t: TestContext) {
  const server = await listening(t)
  const proxy = await TcpProxy.start((server.address() as AddressInfo).port)
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

async function listening(t: TestContext): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return server
}

/** Resolves when this socket has been sent something that has arrived at its end of the proxy. */
async function written(socket: Socket, text: string): Promise<void> {
  await new Promise((resolve) => socket.write(text, resolve))
}

for (const [side, other] of [
  ['client', 'server'],
  ['server', 'client'],
] as const)
  test(`in a one-way cut what a ${side} sends waits, and what it receives arrives`, async (t) => {
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

test.slow('a one-way cut holds when the silent side had unread data', async (t) => {
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

test('a full cut ends connections and refuses new ones until mended', async (t) => {
  const { proxy, join } = await connected(t)
  const { client, server } = await join()
  const ends = [client, server].map(closed)
  proxy.cut()
  await Promise.all(ends)
  const refused = connect(proxy.port, '127.0.0.1').on('error', () => {})
  await closed(refused)
  assert.is(proxy.open, 0)
  proxy.clear()
  const { client: again, server: far, heard } = await join()
  const arrived = once(far, 'data')
  await written(again, 'hello')
  await arrived
  assert.is(heard.server, 'hello')
})

test('a hold stops all data and delivers it afterwards', async (t) => {
  const { proxy, join } = await connected(t)
  const one = await join()
  proxy.hold()
  const other = await join()
  for (const { client, server } of [one, other]) {
    await written(client, 'up')
    await written(server, 'down')
  }
  assert.is(proxy.open, 2)
  assert.equal([one.heard, other.heard], [empty(), empty()])
  const arrived = [one, other].flatMap(({ client, server }) => [once(client, 'data'), once(server, 'data')])
  proxy.clear()
  await Promise.all(arrived)
  assert.equal([one.heard, other.heard], [passed(), passed()])
})

test('delayed data arrives in order', async (t) => {
  const { proxy, join } = await connected(t)
  const { client, server, heard } = await join()
  proxy.delay(200)
  const began = performance.now()
  await written(client, 'a')
  await written(client, 'b')
  await once(server, 'data')
  assert.ok(performance.now() - began >= 199)
  while (heard.server !== 'ab') await once(server, 'data')
})

test('the proxy can be retargeted for new connections', async (t) => {
  const { proxy, join } = await connected(t)
  const before = await join()
  const other = await listening(t)
  proxy.aim((other.address() as AddressInfo).port)
  const accepted = once(other, 'connection') as Promise<[Socket]>
  const client = connect(proxy.port, '127.0.0.1').on('error', () => {})
  t.after(() => client.destroy())
  const [far] = await accepted
  far.on('error', () => {})
  t.after(() => far.destroy())
  const arrived = once(before.server, 'data')
  await written(before.client, 'still here')
  await arrived
})

/** Once the socket is gone, with an error or without. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.on('close', () => resolve()))
}

const empty = () => ({ client: '', server: '' })
const passed = () => ({ client: 'down', server: 'up' })

test.run()
