// second tier: redis
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { inspect } from 'node:util'
import { equal, is, match, not, ok } from 'uvu/assert'
import { systemWorld } from 'caduceus/runtime'
import type { TransportError } from 'caduceus/transports'
import { openRedis, type RedisConnection } from '../../../transports/redis/connection.js'
import { type RedisOptions, readRedisOptions } from '../../../transports/redis/options.js'
import { redisScript } from '../../../transports/redis/script.js'
import { startAllowance } from '../../support/allowance.mjs'
import { selfSigned } from '../../support/certificate.js'
import { freePort } from '../../support/free-port.js'
import { heard } from '../../support/heard.js'
import { redisTest, startRedis } from '../../support/redis.js'
import { suite, type TestContext } from '../../support/suite.js'
import { TcpProxy } from '../../support/tcp-proxy.js'

const test = suite('redis connection', { timeout: 15_000 })
const secret = 'a-pass/word:@-of-nobody'

redisTest(test, 'user and password come from address or options, never shown', async (t) => {
  const { port } = await startRedis(t, { password: secret })
  const withAddress = await open(t, { url: `redis://:${encodeURIComponent(secret)}@127.0.0.1:${port}` })
  is(await withAddress.command('SET', 'key', 'value'), 'OK')
  is(withAddress.name, `redis 127.0.0.1:${port}`)
  const url = `redis://127.0.0.1:${port}`
  const withOption = await open(t, { url, username: 'default', password: secret })
  is(await withOption.command('GET', 'key'), 'value')
  for (const password of [undefined, 'another one']) {
    const error = await refused(t, { url, password })
    is(error.code, 'BAD_OPTION')
    match(error.message, /^redis 127\.0\.0\.1:\d+ refuses this user and password: .*(?:WRONGPASS|NOAUTH)/)
    not.match(inspect(error, { depth: 9 }), /another one/)
  }
})

redisTest(test, 'a missing Redis right is a wrong option', async (t) => {
  const server = await startRedis(t)
  const { url } = server
  server.cli('ACL', 'SETUSER', 'nosy', 'on', '>secret', '~*', '+@read', '-info')
  const error = await refused(t, { url, username: 'nosy', password: 'secret' })
  is(error.code, 'BAD_OPTION')
  match(error.message, /NOPERM/)
})

redisTest(test, 'rediss uses TLS with the trust of the options', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'caduceus-tls-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const { cert, key } = selfSigned()
  const [certFile, keyFile] = [join(folder, 'cert'), join(folder, 'key')]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
  const port = await freePort()
  const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', certFile]
  await startRedis(t, { args: ['--tls-port', String(port), '--tls-auth-clients', 'no', ...files] })
  const connection = await open(t, { url: `rediss://localhost:${port}`, tls: { ca: cert } }, ['channel'])
  is(await connection.command('SET', 'key', 'value'), 'OK')
  const error = await refused(t, { url: `rediss://localhost:${port}` })
  is(error.code, 'CLUSTER_UNAVAILABLE')
  match(error.message, /self-signed certificate/)
})

redisTest(test, 'an unreachable Redis is reported with the reason within 5 s', async (t) => {
  const port = await freePort()
  const error = await refused(t, { url: `redis://127.0.0.1:${port}` })
  is(error.code, 'CLUSTER_UNAVAILABLE')
  is(error.retryable, true)
  equal(error.data, { engine: `redis 127.0.0.1:${port}` })
  match(error.message, `redis 127.0.0.1:${port} is away: connect ECONNREFUSED`)
})

redisTest(test, 'a replica is not used', async (t) => {
  const primary = await startRedis(t)
  const { url } = await startRedis(t, { replicaOf: primary.port })
  const error = await refused(t, { url })
  is(error.code, 'CLUSTER_UNAVAILABLE')
  match(error.message, /it is a slave/)
})

redisTest(test, 'a server that becomes a replica is left until it is primary again', async (t) => {
  const primary = await startRedis(t)
  const other = await startRedis(t)
  const connection = await open(t, { url: other.url }, ['channel'])
  const health = heard<boolean>()
  connection.onHealth(health.add)
  other.cli('REPLICAOF', '127.0.0.1', String(primary.port))
  const error = await connection.command('SET', 'key', 'value').catch((error: TransportError) => error)
  is((error as TransportError).code, 'CLUSTER_UNAVAILABLE')
  is(await health.next(), false)
  other.cli('REPLICAOF', 'NO', 'ONE')
  is(await health.next(), true)
  is(await connection.command('SET', 'key', 'value'), 'OK')
})

redisTest(test, 'a silent Redis is away after a second, and back once it answers', async (t) => {
  const server = await startRedis(t)
  const connection = await open(t, { url: server.url }, ['channel'])
  const health = heard<boolean>()
  connection.onHealth(health.add)
  server.freeze()
  const began = performance.now()
  const allowed = startAllowance(1_900)
  const asked = await Promise.all(['a', 'b'].map((key) => failure(connection.command('SET', key, 1))))
  const took = performance.now() - began
  // in turn they would take two seconds
  ok(took >= 990 && allowed.left() > 0, `${took} ms`)
  for (const { code } of asked) is(code, 'CLUSTER_UNAVAILABLE')
  is(connection.isUp, false)
  const again = startAllowance(500)
  await failure(connection.command('SET', 'c', 1))
  ok(again.left() > 0)
  server.thaw()
  is(await health.next(), false)
  is(await health.next(), true)
  equal(health.all, [false, true])
})

redisTest(test, 'large transfers get the time of a slow line, both ways', async (t) => {
  const server = await startRedis(t)
  const { port } = await startSlowLine(t, server.port)
  const connection = await open(t, { url: `redis://127.0.0.1:${port}` })
  const health = heard<boolean>()
  connection.onHealth(health.add)
  const large = 'x'.repeat(3_000_000)
  const began = performance.now()
  is(await connection.command('SET', 'key', large), 'OK')
  is(await connection.command('GET', 'key'), large)
  ok(performance.now() - began > 2_500)
  equal(health.all, [])
})

redisTest(test, 'a silent server is away after the configured timeout', async (t) => {
  const server = await startRedis(t)
  const options = { world: systemWorld, own: t.after, commandTimeout: 2_000 }
  const connection = await openRedis(readRedisOptions({ url: server.url }), options)
  server.freeze()
  const began = performance.now()
  const allowed = startAllowance(3_500)
  match((await failure(connection.command('GET', 'key'))).message, /within 2000 ms/)
  const took = performance.now() - began
  ok(took >= 1_990 && allowed.left() > 0, `${took} ms`)
})

redisTest(test, 'the database of the address is used and must exist', async (t) => {
  const server = await startRedis(t)
  const connection = await open(t, { url: `${server.url}/3` })
  await connection.command('SET', 'key', 'value')
  equal(server.cli('-n', '3', 'GET', 'key'), ['value'])
  await server.kill()
  await server.start({ wiped: true })
  const again = async (): Promise<unknown> =>
    connection.command('SET', 'key', 'value').catch(() => new Promise((done) => setTimeout(done, 20)))
  while ((await again()) !== 'OK') t.signal.throwIfAborted()
  equal(server.cli('-n', '3', 'GET', 'key'), ['value'])
  const { code, message, data } = await refused(t, { url: `${server.url}/99` })
  equal([code, data], ['BAD_OPTION', { field: 'url' }])
  match(message, /there is no database 99/)
})

redisTest(test, 'channels follow a failover that cuts no connection', async (t) => {
  const primary = await startRedis(t)
  const replica = await startRedis(t, { replicaOf: primary.port })
  const proxy = await TcpProxy.start(primary.port)
  t.after(() => proxy.close())
  const connection = await open(t, { url: `redis://127.0.0.1:${proxy.port}` }, ['channel'])
  const [health, messages] = [heard<boolean>(), heard<string>()]
  connection.onHealth(health.add)
  connection.onMessage(messages.add)
  replica.cli('REPLICAOF', 'NO', 'ONE')
  proxy.aim(replica.port)
  primary.cli('REPLICAOF', '127.0.0.1', String(replica.port))
  await failure(connection.command('SET', 'key', 'value'))
  while (replica.cli('PUBSUB', 'NUMSUB', 'channel')[1] !== '1') {
    t.signal.throwIfAborted()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  while (!connection.isUp) await health.next()
  replica.cli('PUBLISH', 'channel', 'text')
  is(await messages.next(), 'channel')
  is(await connection.command('SET', 'key', 'value'), 'OK')
})

redisTest(test, 'an aborted command does not run after later ones', async (t) => {
  const server = await startRedis(t)
  for (let round = 0; round < 5; round += 1) {
    const connection = await open(t, { url: server.url })
    const health = heard<boolean>()
    connection.onHealth(health.add)
    server.freeze()
    await failure(connection.command('SET', 'key', 'old'))
    server.thaw()
    while (!(await health.next()));
    await connection.command('SET', 'key', 'new')
    is(await connection.command('GET', 'key'), 'new')
    connection.close()
    is(server.cli('GET', 'key')[0], 'new')
  }
})

redisTest(test, 'a blocked program reads pending answers before it gives up', async (t) => {
  const { url } = await startRedis(t)
  const connection = await open(t, { url })
  const asked = connection.command('SET', 'key', 'value')
  await new Promise((resolve) => setImmediate(resolve))
  const until = performance.now() + 1_300
  while (performance.now() < until);
  is(await asked, 'OK')
  is(connection.isUp, true)
})

redisTest(test, 'a killed and restarted Redis is found and subscribed again', async (t) => {
  const server = await startRedis(t)
  const connection = await open(t, { url: server.url }, ['channel'])
  const [health, messages] = [heard<boolean>(), heard<string>()]
  connection.onHealth(health.add)
  connection.onMessage(messages.add)
  await server.kill()
  is(await health.next(), false)
  match((await failure(connection.command('GET', 'key'))).message, /is away/)
  await server.start()
  is(await health.next(), true)
  server.cli('PUBLISH', 'channel', 'text')
  is(await messages.next(), 'channel')
})

redisTest(test, 'cut channels are noticed without traffic', async (t) => {
  const { port } = await startRedis(t)
  const proxy = await TcpProxy.start(port)
  t.after(() => proxy.close())
  const connection = await open(t, { url: `redis://127.0.0.1:${proxy.port}` }, ['channel'])
  const health = heard<boolean>()
  connection.onHealth(health.add)
  const allowed = startAllowance(2_000)
  proxy.silence('server')
  is(await health.next(), false)
  ok(allowed.left() > 0)
  proxy.clear()
  is(await health.next(), true)
})

redisTest(test, 'a script unknown to the server is sent again', async (t) => {
  const server = await startRedis(t)
  const script = redisScript('return ARGV[1]')
  const connection = await open(t, { url: server.url }, [], [script])
  is(await connection.run(script, [], ['one']), 'one')
  server.cli('SCRIPT', 'FLUSH')
  is(await connection.run(script, [], ['two']), 'two')
  const broken = await failure(connection.run(redisScript('return nothing()'), [], []))
  is(broken.code, 'CLUSTER_UNAVAILABLE')
  match(broken.message, /nothing/)
  is(connection.isUp, true)
})

redisTest(test, 'a closed connection sends nothing and leaves nothing', async (t) => {
  const server = await startRedis(t)
  const connection = await open(t, { url: server.url }, ['channel'])
  const health = heard<boolean>()
  connection.onHealth(health.add)
  const undo = connection.onHealth(() => ok(false, 'it was undone'))
  undo()
  connection.close()
  connection.close()
  equal(health.all, [false])
  match((await failure(connection.command('GET', 'key'))).message, /it is closed/)
})

test('options are checked before connecting', () => {
  const read = (options: unknown) => {
    try {
      return readRedisOptions(options as RedisOptions)
    } catch (error) {
      return error as TransportError
    }
  }
  const { name, host, port, database } = readRedisOptions({ url: 'redis://[::1]/3' })
  equal([name, host, port, database], ['redis [::1]:6379/3', '::1', 6379, 3])
  const wrong: [unknown, RegExp][] = [
    [{}, /url: expected redis:/],
    [{ url: 'http://127.0.0.1' }, /url: expected redis:/],
    [{ url: 'redis://user:hidden@127.0.0.1/x' }, /url: expected redis:.*…@127/],
    [{ url: 'redis://u:%zz@10.0.0.9' }, /url: expected redis:.*%25/],
    [{ url: 'redis://a', password: 7 }, /password: expected/],
    [{ url: 'redis://a', tls: {} }, /tls: expected nothing/],
    [{ url: 'redis://a', pasword: 'x' }, /password/],
  ]
  for (const [options, text] of wrong) {
    const error = read(options)
    is((error as TransportError).code, 'BAD_OPTION')
    match((error as TransportError).message, text)
    not.match(inspect(error), /hidden/)
  }
})

async function open(
  t: TestContext,
  options: RedisOptions,
  channels: readonly string[] = [],
  scripts: Parameters<typeof openRedis>[1]['scripts'] = [],
): Promise<RedisConnection> {
  return openRedis(readRedisOptions(options), { world: systemWorld, own: t.after, channels, scripts })
}

async function refused(t: TestContext, options: RedisOptions): Promise<TransportError> {
  const allowed = startAllowance(6_000)
  const error = await failure(open(t, options))
  ok(allowed.left() > 0)
  return error
}

/** A line to `port` that passes 100,000 bytes in 50 ms, in either direction. */
async function startSlowLine(t: TestContext, port: number): Promise<AddressInfo> {
  const slow = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks)
      for (let at = 0; at < chunk.length; at += 100_000) {
        const piece = chunk.subarray(at, at + 100_000)
        await new Promise((resolve) => setTimeout(resolve, piece.length / 2_000))
        yield piece
      }
  }
  const line = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    t.after(() => {
      near.destroy()
      far.destroy()
    })
    pipeline(near, slow, far).catch(() => {})
    pipeline(far, slow, near).catch(() => {})
  })
  t.after(() => line.close())
  line.listen(0, '127.0.0.1')
  await once(line, 'listening')
  return line.address() as AddressInfo
}

async function failure(asked: Promise<unknown>): Promise<TransportError> {
  return asked.then(
    () => {
      throw new Error('it was done')
    },
    (error: TransportError) => error,
  )
}

test.run()
