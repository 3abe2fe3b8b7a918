// second tier: time
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { Ajv } from 'ajv'
import { http, startClient } from 'caduceus'
import { until } from 'caduceus/testing'
import { freePort } from '../support/free-port.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'
import { caduceus, newHome, serverFile } from './_caduceus.js'
import { begin, connectTo, servedAt } from './_serve.js'

const test = suite('caduceus serve, and the section caduceus of its file', { timeout: 30_000 })
const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
const [adas, bobs] = ['token-of-ada-0123456789', 'token-of-bob-0123456789']

function place(t: TestContext) {
  const home = newHome(t)
  const write = (section: object, mcpServers: object = { one: entry, two: entry }): void =>
    writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers, caduceus: section }))
  return { home, write }
}

function clientWith(t: TestContext, url: string, token: string) {
  const client = startClient({ transport: http(url, { auth: token }), logger: false })
  t.after(() => client.close())
  return client
}

/** Programs that start on a busy machine. */
const patient = { timeout: 20_000 }

test('what is offered, to whom, and where, is in the file, and follows it', async (t) => {
  const { home, write } = place(t)
  mkdirSync(join(home, 'secrets'))
  writeFileSync(join(home, 'secrets', 'bob'), `${bobs}\n`)
  const section = (servers: object, more: object = {}) => ({
    name: 'team',
    instructions: 'For ada and bob.',
    listen: { port: '${PORT:-0}', path: '/all', health: true },
    tokens: { ada: { token: '${ADA_TOKEN}', scopes: ['two'] }, bob: '${file:secrets/bob}', ...more },
    servers,
  })
  write(section({ one: { allow: ['add', 'echo'], rename: { add: 'plus' } }, two: { scopes: ['two'] } }))
  const { line, stop } = begin(t, ['serve', 'mcp.json'], home, { ADA_TOKEN: adas })
  const [, url = ''] = await line(servedAt)
  assert.match(url, /\/all$/)
  assert.is((await fetch(new URL('/healthz', url))).status, 200)
  const refused = await fetch(url, { method: 'POST', headers: { authorization: 'Bearer other' } })
  assert.is(refused.status, 401)
  const [ada, bob] = [clientWith(t, url, adas), clientWith(t, url, bobs)]
  const names = async (client: typeof ada): Promise<string[]> =>
    (await client.listTools()).tools.map(({ name }) => name).sort()
  await until(async () => (await names(ada)).includes('two__add'), patient)
  assert.equal(await names(bob), ['one__echo', 'plus'])
  assert.is((await bob.callTool('plus', { a: 1, b: 2 })).text, '3')
  assert.match(ada.server?.instructions ?? '', /^For ada and bob\./)
  assert.is((await ada.callTool('two__add', { a: 1, b: 1 })).text, '2')
  // what changes applies at once; who has no token any more is out
  write({ ...section({ one: { deny: ['add'] } }), tokens: { ada: '${ADA_TOKEN}' } })
  await line(/one has changed, two has changed, caduceus\.tokens has changed/)
  await until(
    async () => !(await names(ada)).includes('plus') && (await names(ada)).includes('one__fail'),
    patient,
  )
  assert.match(
    String(await bob.callTool('one__echo', { message: 'x' }).catch((error) => error)),
    /401|token|UNAUTHORIZED/i,
  )
  // what is wrong changes nothing, and is told with its place
  writeFileSync(join(home, 'mcp.json'), `{\n "mcpServers": {},\n "caduceus": {\n  "tokenz": {} } }`)
  await line(
    /mcp\.json:4:3: caduceus\.tokenz: expected an option among .*"tokens".*all servers stay as they are/,
  )
  assert.is((await ada.callTool('one__echo', { message: 'still' })).text, 'still')
  write({ ...section({ one: { deny: ['add'] } }), tokens: { ada: '${ADA_TOKEN}' }, listen: { port: 1 } })
  await line(/caduceus\.listen has changed: it applies at the next start/)
  // what a file does not say any more lets nobody in
  writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers: { one: entry, two: entry } }))
  await line(/has no caduceus\.tokens any more: those of before count/)
  assert.is((await fetch(url, { method: 'POST' })).status, 401)
  assert.is((await ada.callTool('one__echo', { message: 'in' })).text, 'in')
  assert.is(await stop(), 0)
})

test('what changes in the file while it starts is taken at once', async (t) => {
  const { home, write } = place(t)
  // one that never answers, so that it is not told yet that it is served
  const slow = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] }
  const servers = { one: entry, slow }
  const listen = { port: await freePort() }
  write({ listen, startTimeout: 60_000, tokens: { ada: adas, bob: bobs } }, servers)
  const { line, stop, child } = begin(t, ['serve', 'mcp.json'], home)
  const url = `http://127.0.0.1:${listen.port}/mcp`
  const refusal = (token: string): Promise<string> =>
    clientWith(t, url, token)
      .ready()
      .then(
        () => '',
        (error: Error) => error.message,
      )
  await until(async () => (await refusal(bobs)) === '', patient)
  write({ listen, startTimeout: 60_000, tokens: { ada: adas } }, servers)
  await line(/caduceus\.tokens has changed/)
  assert.is(await refusal(adas), '')
  const refused = await refusal(bobs)
  assert.match(refused, /token|401|UNAUTHORIZED/i)
  assert.is(child.exitCode, null)
  // it is told to stop while one server of the file does not come
  assert.is(await stop(), 1)
})

test('who may use a server changes though its entry is wrong, or lacks a variable', async (t) => {
  const { home, write } = place(t)
  write({ listen: { port: 0 } }, { one: entry })
  const { line, stop } = begin(t, ['serve', 'mcp.json'], home)
  const [, url = ''] = await line(servedAt)
  const client = clientWith(t, url, adas)
  await until(async () => (await client.listTools()).tools.some(({ name }) => name === 'one__add'), patient)
  const servers = { one: { deny: ['add'] } }
  write({ listen: { port: 0 }, servers }, { one: { ...entry, env: { KEY: '${IS_NOT_SET_ANYWHERE}' } } })
  await line(/one needs the variable IS_NOT_SET_ANYWHERE.*it stays as it was/)
  await until(async () => !(await client.listTools()).tools.some(({ name }) => name === 'one__add'), patient)
  assert.is((await client.callTool('one__echo', { message: 'on' })).text, 'on')
  // and back, once all is right
  write({ listen: { port: 0 }, servers: {} }, { one: entry })
  await until(async () => (await client.listTools()).tools.some(({ name }) => name === 'one__add'), patient)
  assert.is(await stop(), 0)
})

test('a certificate is read again when it is told', async (t) => {
  const { home, write } = place(t)
  const certify = (name: string): void => {
    const [key, cert] = ['key', 'cert'].map((kind) => join(home, `${kind}.pem`))
    execFileSync(
      'openssl',
      [
        ...[
          'req',
          '-x509',
          '-newkey',
          'ec',
          '-pkeyopt',
          'ec_paramgen_curve:prime256v1',
          '-nodes',
          '-days',
          '1',
        ],
        ...['-keyout', key ?? '', '-out', cert ?? '', '-subj', `/CN=${name}`],
      ],
      { stdio: 'ignore' },
    )
  }
  certify('first.example')
  write({ listen: { port: 0, health: true, tls: { cert: 'cert.pem', key: 'key.pem' } } }, { one: entry })
  const { line, stop, child } = begin(t, ['serve', 'mcp.json'], home)
  const [, url = ''] = await line(servedAt)
  const nameOf = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const asked = get(new URL('/healthz', url), { rejectUnauthorized: false, agent: false }, (answer) => {
        const { socket } = answer as unknown as {
          socket: { getPeerCertificate(): { subject: { CN: string } } }
        }
        resolve(socket.getPeerCertificate().subject.CN)
        answer.resume()
      })
      asked.once('error', reject)
    })
  assert.is(await nameOf(), 'first.example')
  certify('second.example')
  child.kill('SIGHUP')
  await line(/nothing has changed/)
  assert.is(await nameOf(), 'second.example')
  writeFileSync(join(home, 'key.pem'), 'no key')
  child.kill('SIGHUP')
  await line(/listen\.tls cannot be used/)
  assert.is(await nameOf(), 'second.example')
  assert.is(await stop(), 0)
})

test('what is wrong in the section is told with its line and column', async (t) => {
  const { home, write } = place(t)
  const cases: readonly (readonly [section: unknown, told: RegExp])[] = [
    [[], /caduceus: expected an object, got an array/],
    [
      { tokens: { ada: 'short' } },
      /:\d+:\d+: caduceus\.tokens\.ada: expected a token of 16 printable characters/,
    ],
    [{ tokens: { ada: adas, bob: adas } }, /caduceus\.tokens\.bob: expected another token than that of ada/],
    [{ tokens: { ada: '${NO_SUCH_TOKEN}' } }, /caduceus needs the variable NO_SUCH_TOKEN/],
    [
      { listen: { drainDelay: 10_001 } },
      /caduceus\.listen\.drainDelay: expected milliseconds, 10000 at most/,
    ],
    [{ tokens: { ada: '${file:nowhere}' } }, /caduceus needs the file nowhere: it cannot be read \(ENOENT\)/],
    [{ listen: { port: 'x' } }, /caduceus\.listen\.port: expected a port from 0 to 65535, got "x"/],
    [{ listen: { tls: { cert: 'nowhere', key: 'k' } } }, /listen\.tls: nowhere cannot be read \(ENOENT\)/],
    [
      { servers: { onee: {} } },
      /caduceus\.servers\.onee: expected an option among one, two \(did you mean "servers\.one"\?\)/,
    ],
    [
      { servers: { one: { deny: 'x' } } },
      /caduceus\.servers\.one\.deny: expected an array of names, got "x"/,
    ],
    [
      { servers: { one: { breaker: { failures: 0 } } } },
      /caduceus\.servers\.one\.breaker\.failures: expected a whole number/,
    ],
    [{ servers: { one: { per: 'user' } } }, /caduceus\.servers\.one\.per: expected 'gateway'/],
    [{ servers: { one: { permits: 'x' } } }, /caduceus\.servers\.one\.permits: a file has no functions/],
    [{ separator: '/' }, /caduceus\.separator: expected 1 to 8 letters/],
    [{ toolSearch: { pinned: 'x' } }, /caduceus\.toolSearch\.pinned: expected an array of names/],
    [
      { engine: { redis: 'redis://r', keys: [adas] } },
      /caduceus\.engine\.keys: expected an array of texts of 32/,
    ],
    [{ engine: { redis: 'redis://r', keys: adas } }, /caduceus\.engine\.keys: expected an array/],
    [{ engine: { files: 'kept', keys: [`${adas}${adas}${adas}`] } }, /caduceus\.engine\.keys: expected none/],
    [{ engine: {} }, /caduceus\.engine: expected \{ "files": "FOLDER" \} or/],
    [{ rate: { calls: 1, per: 'week' } }, /caduceus\.rate\.per: expected 'second' or 'minute' or 'hour'/],
    [{ listen: { host: '0.0.0.0', port: 0 } }, /allowedHosts/],
  ]
  writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers: { one: entry }, caducues: {} }))
  assert.match((await caduceus(t, ['serve', 'mcp.json'], { home })).err, 'did you mean "caduceus"?')
  for (const [section, told] of cases) {
    write(section as object)
    const { code, err } = await caduceus(t, ['serve', 'mcp.json'], { home })
    assert.is(code, 2, `${JSON.stringify(section)}: ${err}`)
    assert.match(err, told)
    assert.not.match(err, adas)
    assert.is(err.trim().split('\n').length, 1, err)
  }
})

test('the schema for editors has what the file may say, and nothing else', async (t) => {
  const schema = JSON.parse(readFileSync(inRoot('command', 'mcp.schema.json'), 'utf8'))
  const { home, write } = place(t)
  const { team, server } = schema.definitions
  const levels: readonly (readonly [section: (unknown: object) => object, properties: object])[] = [
    [(unknown) => unknown, team.properties],
    [(unknown) => ({ listen: unknown }), team.properties.listen.properties],
    [(unknown) => ({ listen: { tls: unknown } }), team.properties.listen.properties.tls.properties],
    [(unknown) => ({ engine: unknown }), team.properties.engine.properties],
    [(unknown) => ({ rate: unknown }), team.properties.rate.properties],
    [(unknown) => ({ engine: { files: 'kept' }, signIn: unknown }), team.properties.signIn.properties],
    [
      (unknown) => ({ tokens: { ada: unknown } }),
      team.properties.tokens.additionalProperties.anyOf[1].properties,
    ],
    [
      (unknown) => ({ servers: { one: { breaker: unknown } } }),
      server.properties.breaker.anyOf[1].properties,
    ],
  ]
  const namesIn = async (section: object): Promise<string[]> => {
    write(section)
    const { err } = await caduceus(t, ['serve', 'mcp.json'], { home })
    return (/(?:among|of) ((?:\w+, )+\w+)/.exec(err)?.[1] ?? err)
      .replace(/, got$/, '')
      .split(', ')
      .sort()
  }
  for (const [section, properties] of levels)
    assert.equal(await namesIn(section({ zzz: 1 })), Object.keys(properties).sort())
  // of a program, which a file cannot have
  const own = ['per', 'max', 'lazy', 'idle', 'auth', 'lists']
  const options = (await namesIn({ servers: { one: { zzz: 1 } } })).filter((name) => name !== 'permits')
  assert.equal([...options, ...own].sort(), Object.keys(server.properties).sort())
  const isValid = new Ajv({ strict: false }).compile(schema)
  const one = { deny: ['a'], per: 'session', breaker: false }
  assert.ok(isValid({ mcpServers: { one: entry }, caduceus: { tokens: { ada: 'x' }, servers: { one } } }))
  assert.not.ok(isValid({ caduceus: { tokenz: {} } }))
  const page = readFileSync(inRoot('command', 'README.md'), 'utf8')
  const [, example = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? []
  assert.ok(isValid(JSON.parse(example)), JSON.stringify(isValid.errors))
})

test('told to stop, it says that it is not ready, and serves on for the delay', async (t) => {
  const { home, write } = place(t)
  write({ listen: { port: 0, health: true, drainDelay: 5_000 } })
  const { line, child } = begin(t, ['serve', 'mcp.json'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  // while it stops, nothing is started any more
  const add = (b: number) => client.callTool('one__add', { a: 1, b }).then(({ text }) => text, String)
  await until(async () => (await add(1)) === '2', patient)
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await until(async () => (await fetch(new URL('/readyz', url))).status === 503, patient)
  assert.is(await add(2), '3')
  await client.close()
  assert.equal(await ended, [0, null])
})

test.run()
