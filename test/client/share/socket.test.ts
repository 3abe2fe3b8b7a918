import { spawnSync } from 'node:child_process'
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import * as assert from 'uvu/assert'
import {
  type Client,
  clientSpec,
  shareClients,
  type ShareOptions,
  shareSpec,
  withClient,
} from 'caduceus/client'
import { type ActorRef, Registry, startSupervisor } from 'caduceus/runtime'
import { shared, sharedClients } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { rawNear, rejection, watchNear } from '../_raw.js'
import { bare, greetings, own, socketPath, startShare, usePeer } from './_share.js'

const test = suite('shared clients, the socket', { timeout: 20_000 })

test('the socket is for its user alone, and so is a folder that is made for it', async (t) => {
  const path = join(dirname(socketPath(t)), 'deep', 'er', 's')
  const { share } = await own(t, { path })
  assert.is(lstatSync(path).mode & 0o777, 0o600)
  assert.ok(lstatSync(path).isSocket())
  assert.is(statSync(dirname(path)).mode & 0o777, 0o700)
  assert.equal(readdirSync(dirname(path)), ['s'])
  await share.close()
  await share.closed
  assert.equal(readdirSync(dirname(path)), [])
})

test('the socket that a dead process has left is replaced', async (t) => {
  const path = socketPath(t)
  const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  assert.is(spawnSync(process.execPath, ['-e', script]).signal, 'SIGKILL')
  assert.ok(existsSync(path))
  await own(t, { path })
  assert.is((await usePeer(t, path).client.callTool('echo', { text: 'hi' })).text, 'hi')
  assert.equal(readdirSync(dirname(path)), ['s'])
})

test('a socket that somebody listens on is left alone, and so is what is no socket', async (t) => {
  const { path, client } = await own(t)
  const second = await rejection(shareClients(client, { path, logger: false }))
  assert.is(second.constructor.name, 'TransportError')
  assert.is(second.code, 'LISTEN_FAILED')
  assert.match(second.message, 'another program')
  assert.is((await usePeer(t, path).client.callTool('echo', { text: 'still' })).text, 'still')
  const file = join(dirname(path), 'file')
  writeFileSync(file, 'precious')
  assert.is((await rejection(shareClients(client, { path: file, logger: false }))).code, 'LISTEN_FAILED')
  assert.is(readFileSync(file, 'utf8'), 'precious')
  assert.equal(readdirSync(dirname(path)).sort(), ['file', 's'])
})

const isRoot = process.getuid?.() === 0
const foreign = 'a socket that another user has made is not connected to'
if (!isRoot) test.skip(foreign, 'only root can give a file away')
else
  test(foreign, async (t) => {
    const { path } = await own(t)
    chownSync(path, 12_345, 12_345)
    const error = await rejection(usePeer(t, path).client.ready())
    assert.is(error.code, 'CONNECT_FAILED')
    assert.match(error.message, 'belongs to user 12345, and not to us (user 0)')
    assert.is((await rejection(sharedClients({ path }))).code, 'CONNECT_FAILED')
  })

test('of ten that find the socket of a dead process at once, one gets it', async (t) => {
  const path = socketPath(t)
  const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', script])
  const { client } = watchNear(t, { name: 'files' })
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => startShare(t, client, { path })))
  assert.is(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') assert.is((outcome.reason as { code: unknown }).code, 'LISTEN_FAILED')
  assert.is((await usePeer(t, path).client.callTool('echo', { text: 'hi' })).text, 'hi')
  assert.equal(readdirSync(dirname(path)), ['s'])
})

test('a foreign program on the socket is refused and affects nobody', async (t) => {
  const { path } = await own(t, { limits: { messageBytes: 100_000 } })
  const peer = usePeer(t, path)
  await peer.client.ready()
  const web = bare(t, path)
  web.say('GET / HTTP/1.1', 'Host: localhost', '')
  assert.match((await web.lines.next()).error?.message ?? '', 'caduceus/open')
  await web.closed
  const binary = bare(t, path)
  binary.socket.write(Buffer.from([0xff, 0xfe, 0x0a]))
  await binary.closed
  const long = bare(t, path)
  long.socket.write('x'.repeat(200_000))
  await long.closed
  const mad = bare(t, path)
  mad.say(
    ...greetings,
    'not json',
    { jsonrpc: '2.0', id: 7, result: {} },
    { jsonrpc: '2.0', id: 8, method: 'ping' },
  )
  const codes: unknown[] = []
  for (let n = 0; n < 4; n++) {
    const { id, error } = await mad.lines.next()
    codes.push(error?.code ?? id)
  }
  assert.equal(codes, ['hello', 1, -32700, 8])
  mad.say(
    { jsonrpc: '2.0', id: 9, method: 'initialize', params: {} },
    { jsonrpc: '2.0', id: 10, method: 'subscriptions/listen' },
  )
  assert.is((await mad.lines.next()).error?.code, -32600)
  assert.is((await mad.lines.next()).error?.code, -32601)
  assert.is((await peer.client.callTool('echo', { text: 'fine' })).text, 'fine')
})

test.slow('a program that pauses reading gets its answers later and delays no other', async (t) => {
  const { path } = await own(t, { limits: { bufferedBytes: 65_536 } })
  const peer = usePeer(t, path)
  const lazy = bare(t, path)
  lazy.say(...greetings)
  await lazy.lines.next(({ id }) => id === 1)
  lazy.socket.pause()
  const params = { name: 'long', arguments: { length: 100_000 } }
  lazy.say(
    ...Array.from({ length: 60 }, (_, n) => ({ jsonrpc: '2.0', id: n + 2, method: 'tools/call', params })),
  )
  for (let n = 0; n < 60; n++)
    assert.is((await peer.client.callTool('long', { length: 1_000 })).text.length, 1_000)
  lazy.socket.resume()
  const answered = new Set<unknown>()
  while (answered.size < 60) answered.add((await lazy.lines.next(({ id }) => Number(id) > 1)).id)
})

test('any crash in the share tree reconnects programs without client effects', async (t) => {
  const registry = new Registry()
  const { path, share, client, states } = await own(t, { registry })
  const peer = usePeer(t, path)
  await peer.client.ready()
  const server = (await peer.client.callTool('who')).text
  const relays = registry.whereis('relays of share') as ActorRef
  for (const name of ['listener of share', 'relays of share', 'socket of share']) {
    registry.whereis(name)?.kill()
    const call = () => peer.client.callTool('who', {}, { retry: 'safe' })
    let text = ''
    while (text === '')
      text = await call().then(
        (result) => result.text,
        () => '',
      )
    assert.is(text, server)
  }
  assert.is.not(registry.whereis('relays of share'), relays)
  assert.equal(share.peers().length, 1)
  assert.is(client.state.phase, 'ready')
  assert.is(states.all.filter(({ phase }) => phase === 'ready').length, 1)
})

test('property: each call has one outcome whatever ends, its answer or a true error', async (t) => {
  const registry = new Registry()
  const { path, said, kill } = await own(t, { registry })
  const peers = [usePeer(t, path), usePeer(t, path), usePeer(t, path)]
  const ends = [
    () => kill('transport'),
    () => registry.whereis('relays of share')?.kill(),
    () => kill('client'),
    () => registry.whereis('listener of share')?.kill(),
  ]
  const outcomes: string[] = []
  for (const [round, end] of ends.entries()) {
    const calls = Array.from({ length: 60 }, (_, n) =>
      peers[n % 3]?.client.callTool('late', { after: n % 5 }, { timeout: 60_000 }).then(
        ({ text }) => assert.is(text, 'too late'),
        (error: Error & { code: unknown; retryable: boolean }) => {
          assert.ok(error.retryable, `${error.code} ${error.message}`)
          outcomes.push(String(error.code))
        },
      ),
    )
    await said.next((line) => line === 'got tools/call late')
    end()
    await Promise.all(calls)
    // its connection may be about to end with what was ended: then it is made again, as it may be
    const echoed = peers[0]?.client.callTool(
      'echo',
      { text: `round ${round}` },
      { retry: { attempts: 5, safe: true } },
    )
    assert.is((await echoed)?.text, `round ${round}`)
  }
  // one that never left was made again, one that had was told
  assert.equal(
    outcomes.filter((code) => code !== 'CONNECTION_LOST' && code !== '-32603'),
    [],
  )
})

test('a share can run in a tree, like its clients', async (t) => {
  const path = socketPath(t)
  const supervisor = await startSupervisor({
    name: 'app',
    strategy: 'one_for_one',
    logger: false,
    children: [clientSpec({ name: 'files', transport: rawNear() }), shareSpec({ path })],
  })
  t.after(() => supervisor[Symbol.asyncDispose]())
  const { client } = usePeer(t, path)
  assert.is((await client.callTool('echo', { text: 'embedded' })).text, 'embedded')
  await supervisor.stop()
  assert.not(existsSync(path))
})

test('an orderly stop finishes calls and accepts no new programs', async (t) => {
  const { path, share, said } = await own(t)
  const peer = usePeer(t, path)
  const call = peer.client.callTool('late', { after: 200 })
  await said.next((line) => line === 'got tools/call late')
  await share.close()
  assert.is((await call).text, 'too late')
  assert.is((await rejection(sharedClients({ path }))).code, 'CONNECT_FAILED')
})

test('withClient over a share leaves nothing at the owner', async (t) => {
  const { path, share, said } = await own(t)
  const use = async (client: Client): Promise<string> => {
    await client.subscribe('x://one')
    return (await client.callTool('echo', { text: 'short' })).text
  }
  assert.is(await withClient({ transport: shared('files', { path }), logger: false }, use), 'short')
  await said.next((line) => line === 'told resources/unsubscribe x://one')
  assert.equal(share.peers(), [])
})

test('options are checked before anything is begun', async (t) => {
  const path = socketPath(t)
  const { client } = watchNear(t)
  const wrong: readonly (readonly [Partial<Record<keyof ShareOptions, unknown>>, string])[] = [
    [{ path: 'relative' }, 'path'],
    [{ path: `/${'x'.repeat(104)}` }, 'path'],
    [{ path: '/a\0b' }, 'path'],
    [{ path, limits: { connections: 0 } }, 'limits.connections'],
    [{ path, names: 'files' }, 'names'],
    [{ path, colour: 'red' } as object, 'colour'],
    [{ path, logger: 3 }, 'logger'],
  ]
  for (const [options, field] of wrong) {
    const error = await rejection(shareClients(client, options as unknown as ShareOptions))
    assert.is(error.code, 'BAD_OPTION', field)
    assert.is((error.data as { field: unknown }).field, field)
  }
  const what = await rejection(shareClients({} as unknown as Client, { path }))
  assert.equal((what.data as { field: unknown }).field, 'clients')
  assert.throws(() => shared('', { path }), /name: expected/)
  assert.throws(() => shared('files', { path: 'here' }), /path: expected an absolute path/)
  assert.throws(() => shared('files', { path, wait: true } as unknown as { path: string }), /wait/)
  mkdirSync(join(dirname(path), 'taken'))
  const taken = await rejection(shareClients(client, { path: join(dirname(path), 'taken'), logger: false }))
  assert.is(taken.code, 'LISTEN_FAILED')
})

test.run()
