import { EventEmitter, once } from 'node:events'
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { childSpec, defineActor, type ProcessRef, type RefOf } from 'caduceus/runtime'
import { adopt, guard, OwnerToken, type StrayKind } from '../../../runtime/faults/containment.js'
import { processOf } from '../../../runtime/process/ref.js'
import { suite, type TestContext } from '../../support/suite.js'
import { ending } from '../_family.js'
import { type Scene, scene } from '../_strays.js'

const test = suite('containment of HTTP exchanges')
const error = new Error('stray')

function throws(): never {
  throw error
}

/** What goes wrong while a request is served, by path; `/good` answers after the whole body has come. */
const faults: Record<string, (req: IncomingMessage, res: ServerResponse) => unknown> = {
  '/callback': throws,
  '/data': (req) => req.on('data', throws),
  '/end': (req) => req.resume().on('end', throws),
  '/async': async (req) => {
    for await (const chunk of req) throw new Error('stray', { cause: chunk })
  },
  '/rejection': (req) => req.on('data', () => Promise.reject(error)),
  '/timer': () => setTimeout(throws, 1),
  '/timer-after-data': (req) => req.on('data', () => setTimeout(throws, 1)),
  '/tick': (req) => req.resume().on('end', () => process.nextTick(throws)),
  '/early-tick': () => process.nextTick(throws),
  '/response-error': (_, res) => res.destroy(error),
  '/finish': (req, res) => req.resume().on('end', () => res.on('prefinish', throws).end('good')),
  '/good': (req, res) => req.resume().on('end', () => res.end('good')),
}

/** What the owner of each exchange heard. */
interface Failure {
  path: string
  error: unknown
  kind: StrayKind
}

/** A server owned by an actor, as a listener is; every exchange is an owner of its own, which answers 500 or destroys. */
function listenerOf(failures: Failure[], options: { fence: boolean }) {
  const serve = (ref: ProcessRef, req: IncomingMessage, res: ServerResponse): void => {
    const path = req.url ?? ''
    const fault = faults[path] ?? throws
    if (!options.fence) return void fault(req, res)
    const fail = (reason: unknown, kind: StrayKind): void => {
      failures.push({ path, error: reason, kind })
      if (res.writableEnded) return
      if (res.headersSent || res.destroyed) res.destroy()
      else res.writeHead(500).end('failed')
    }
    const token = new OwnerToken(`exchange ${path}`, { fail }, processOf(ref).tree)
    adopt(token, req)
    adopt(token, res)
    guard(token, () => void fault(req, res))
  }
  return defineActor({
    name: 'listener',
    async init(_: undefined, ctx) {
      const { self } = ctx
      const server = createServer((req, res) => serve(self, req, res))
      ctx.own(async () => {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      return { server }
    },
    call: { port: ({ server }: { server: Server }) => (server.address() as AddressInfo).port },
  })
}

interface Web extends Scene {
  readonly listener: ProcessRef
  readonly failures: Failure[]
  /** Sends a body to a path; answers the status, or what became of the connection. */
  post(path: string): Promise<number | string>
}

async function web(t: TestContext, options = { fence: true }): Promise<Web> {
  const at = await scene(t)
  const failures: Failure[] = []
  const listener = listenerOf(failures, options)
  const { ref } = await at.tree.startChild(childSpec(listener, undefined, { restart: 'temporary' }))
  assert.ok(ref)
  const port = await (ref as RefOf<typeof listener>).call('port')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const post = (path: string): Promise<number | string> =>
    new Promise((resolve) => {
      const sent = request({ host: '127.0.0.1', port, path, method: 'POST', agent }, (res) => {
        res.resume()
        res.on('error', () => resolve('broken off'))
        res.on('end', () => resolve(res.statusCode ?? 0))
      })
      sent.on('error', (reason) => resolve((reason as { code?: string }).code ?? 'error'))
      sent.end('a body')
    })
  return { ...at, listener: ref, failures, post }
}

const strayPaths = ['/timer', '/timer-after-data', '/tick', '/rejection', '/async']

for (const path of ['/callback', '/data', '/end', ...strayPaths]) {
  test(`${path.slice(1)}: the exchange gets 500, and the connection goes on`, async (t) => {
    if (strayPaths.includes(path)) t.expectStray(1)
    const at = await web(t)
    assert.is(await at.post('/good'), 200)
    assert.is(await at.post(path), 500)
    assert.is(await at.post('/good'), 200)
    assert.equal(
      at.failures.map((failure) => [failure.path, (failure.error as Error).message]),
      [[path, 'stray']],
    )
    assert.ok(at.listener.alive)
    await at.untouched()
  })
}

test('an exchange that fails in its response, or after it, affects no other', async (t) => {
  const at = await web(t)
  assert.is(await at.post('/response-error'), 'ECONNRESET')
  assert.is(await at.post('/good'), 200)
  assert.is(await at.post('/finish'), 200)
  assert.is(await at.post('/good'), 200)
  assert.equal(
    at.failures.map((failure) => [failure.path, failure.error]),
    [['/finish', error]],
  )
  assert.ok(at.listener.alive)
  await at.untouched()
})

test('limit: a tick that throws before the body ends parsing of its connection only', async (t) => {
  t.expectStray(1)
  const at = await web(t)
  assert.is(await at.post('/early-tick'), 500)
  assert.is.not(await at.post('/good'), 200)
  assert.is(await at.post('/good'), 200)
  assert.is(at.failures.length, 1)
  assert.ok(at.listener.alive)
  await at.untouched()
})

test('of twenty concurrent exchanges, the faulty ones fail alone', async (t) => {
  t.expectStray(5)
  const at = await web(t)
  const paths = Array.from({ length: 20 }, (_, i) => ['/timer', '/good', '/data', '/good'][i % 4] ?? '')
  const answers = await Promise.all(paths.map((path) => at.post(path)))
  assert.equal(
    answers,
    paths.map((path) => (path === '/good' ? 200 : 500)),
  )
  assert.is(at.failures.length, 10)
  assert.ok(at.listener.alive)
  await at.untouched()
})

test('without adoption a body callback belongs to the listener, which ends with it', async (t) => {
  t.expectStray(1)
  const at = await web(t, { fence: false })
  const ended = ending(at.listener)
  void at.post('/data')
  assert.equal(await ended, { type: 'crash', error })
  await at.untouched()
})

test('an adopted emitter tells whether anybody listens, also when a listener throws', () => {
  const failures: unknown[] = []
  const emitter = new EventEmitter()
  adopt(new OwnerToken('an owner', { fail: (reason) => failures.push(reason) }, null), emitter)
  assert.is(emitter.emit('nobody'), false)
  emitter.on('event', throws)
  assert.is(emitter.emit('event'), true)
  assert.is(failures.length, 1)
})

test.run()
