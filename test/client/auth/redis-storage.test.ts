// second tier: redis
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { oauth, redisAuthStorage, withClient } from 'caduceus/client'
import { http, type TransportError } from 'caduceus/transports'
import { redisTest, startRedis } from '../../support/redis.js'
import { suite, type TestContext } from '../../support/suite.js'
import { TcpProxy } from '../../support/tcp-proxy.js'
import { rejection } from '../_raw.js'
import { quickSignIn, startGuarded, startOAuthServer } from './_oauth.js'

const test = suite('tokens in Redis', { timeout: 40_000 })
const program = fileURLToPath(new URL('./_program.js', import.meta.url))

redisTest(test, 'ten programs that share a token make one refresh', async (t) => {
  const redis = await startRedis(t)
  const issuer = await startOAuthServer(t)
  const server = await startGuarded(t, issuer)
  const auth = oauth({ signIn: quickSignIn(), storage: redisAuthStorage({ url: redis.url }) })
  t.after(() => auth.close())
  const transport = http(server.url, { auth, stream: false })
  const call = () =>
    withClient({ transport, logger: false }, async (client) => (await client.callTool('x')).text)
  assert.is(await call(), 'in')
  issuer.good.clear()
  const outputs = Array.from({ length: 10 }, async () => {
    const child = spawn(process.execPath, [program, server.url, redis.url], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
    })
    const [code] = await once(child, 'close')
    return [code, text.trim()]
  })
  // they end by themselves: a connection that nobody uses holds no program
  assert.equal(await Promise.all(outputs), Array(10).fill([0, 'in,in']))
  assert.equal([issuer.reuses, issuer.of('/authorize').length, issuer.of('/token').length], [0, 1, 2])
  assert.equal(
    redis
      .cli('keys', '*')
      .map((key) => key.replace(/http\S+/g, 'URL'))
      .sort(),
    [
      '{caduceus-auth}:value:client URL',
      '{caduceus-auth}:value:server URL',
      '{caduceus-auth}:value:tokens URL URL',
    ],
  )
})

redisTest(test, 'a holder that lost its lock writes nothing and leaves the next lock alone', async (t) => {
  const redis = await startRedis(t)
  const { url } = redis
  const [one, other] = [redisAuthStorage({ url }), redisAuthStorage({ url })]
  const lock = '{caduceus-auth}:lock:k'
  const frozen = gate()
  const late = one.exclusive(
    'k',
    async () => {
      frozen.begin()
      await frozen.opened
      await one.write('tokens', { token: 'late' })
    },
    t.signal,
  )
  await frozen.begun
  redis.cli('del', lock) // as if its lease was over
  const next = gate()
  const held = other.exclusive(
    'k',
    async () => {
      await other.write('tokens', { token: 'next' })
      next.begin()
      await next.opened
    },
    t.signal,
  )
  await next.begun
  frozen.open()
  const error = await rejection(late)
  assert.equal([error.code, error.retryable], ['CLUSTER_UNAVAILABLE', true])
  assert.is(redis.cli('exists', lock)[0], '1')
  next.open()
  await held
  assert.equal(await one.read('tokens'), { token: 'next' })
  assert.is(redis.cli('exists', lock)[0], '0')
})

redisTest(test, 'a lock expires by itself, and its holder extends it', async (t) => {
  const redis = await startRedis(t)
  const { url } = redis
  const storage = redisAuthStorage({ url, prefix: 'mine' })
  const work = gate()
  const held = storage.exclusive(
    'k',
    async () => {
      work.begin()
      await work.opened
    },
    t.signal,
  )
  await work.begun
  const left = (): number => Number(redis.cli('pttl', '{mine}:lock:k')[0])
  assert.ok(left() > 0 && left() <= 10_000)
  redis.cli('pexpire', '{mine}:lock:k', '5000')
  while (left() <= 5_000) await new Promise((resolve) => setTimeout(resolve, 50))
  work.open()
  await held
})

redisTest(test, 'without Redis everything is refused as retryable', async (t) => {
  const redis = await startRedis(t)
  const proxy = await TcpProxy.start(redis.port)
  t.after(() => proxy.close())
  const storage = redisAuthStorage({ url: `redis://127.0.0.1:${proxy.port}` })
  await storage.write('k', { token: 'x' })
  proxy.hold()
  for (const refused of [
    storage.read('k'),
    storage.write('k', { token: 'y' }),
    storage.exclusive('k', async () => 'never', t.signal),
  ]) {
    const { code, retryable } = await rejection(refused)
    assert.equal([code, retryable], ['CLUSTER_UNAVAILABLE', true])
  }
  proxy.clear()
  await until(t, async () => (await storage.read('k').catch(() => undefined)) !== undefined)
})

redisTest(test, 'a token renewed without Redis is written once it is back', async (t) => {
  const redis = await startRedis(t)
  const proxy = await TcpProxy.start(redis.port)
  t.after(() => proxy.close())
  const storage = redisAuthStorage({ url: `redis://127.0.0.1:${proxy.port}` })
  const cut = gate()
  const held = storage.exclusive(
    'k',
    async () => {
      proxy.cut()
      cut.begin()
      await storage.write('tokens', { token: 'renewed' })
    },
    t.signal,
  )
  await cut.begun
  await until(t, async () => (await rejection(storage.read('tokens'))).code === 'CLUSTER_UNAVAILABLE')
  proxy.clear()
  await held
  assert.equal(await storage.read('tokens'), { token: 'renewed' })
})

test('options that cannot work are refused, and no password is shown', () => {
  for (const nothing of [undefined, null, 7])
    assert.throws(
      () => redisAuthStorage(nothing as never),
      (error: TransportError) => error.code === 'BAD_OPTION' && /expected an object/.test(error.message),
    )
  assert.throws(() => redisAuthStorage({ url: 'http://a' }), /url: expected redis:/)
  assert.throws(
    () => redisAuthStorage({ url: 'redis://a', prefix: '' }),
    /prefix: expected a non-empty string/,
  )
  assert.throws(
    () => redisAuthStorage({ url: 'ftp://u:canary@a' }),
    (error: Error) => !error.message.includes('canary'),
  )
})

/** Work that waits until it is let go. */
function gate() {
  const gate = { begin: (): void => {}, open: (): void => {} }
  const begun = new Promise<void>((resolve) => (gate.begin = resolve))
  const opened = new Promise<void>((resolve) => (gate.open = resolve))
  return Object.assign(gate, { begun, opened })
}

async function until(t: TestContext, holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) {
    t.signal.throwIfAborted()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

test.run()
