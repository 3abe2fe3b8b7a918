// second tier: time, third party, redis
// shares a process
// time limit: 180 s
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import * as assert from 'uvu/assert'
import { parse, parseAllDocuments } from 'yaml'
import { settings } from '../../command/serving/settings.js'
import { selfSigned } from '../support/certificate.js'
import { freePort } from '../support/free-port.js'
import { redisTest, startRedis } from '../support/redis.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'
import { newHome } from './_caduceus.js'
import { begin, servedAt } from './_serve.js'

const test = suite('the files of server/guide/deploy', { timeout: 60_000 })
const textOf = (name: string): string => readFileSync(inRoot('server', 'guide', 'deploy', name), 'utf8')
const variables = new Set(settings.map(({ variable }) => variable))

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

interface Container {
  readonly env: readonly { readonly name: string; readonly value?: string }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
}

/** The objects of kubernetes.yaml by their kinds. */
function kubernetesObjects(): ReadonlyMap<
  string,
  { spec: { template: { spec: { containers: Container[] } } } }
> {
  const documents = parseAllDocuments(textOf('kubernetes.yaml'))
  for (const { errors } of documents) assert.equal(errors, [])
  return new Map(documents.map((one) => one.toJS()).map((one) => [one.kind, one]))
}

function compose(): { services: { mcp: { environment: Record<string, string> }; redis: object } } {
  return parse(textOf('compose.yaml'))
}

/** The command of the image as JSON, that of its health check, and its variables. */
function image() {
  const text = textOf('Dockerfile')
  const jsonAfter = (pattern: RegExp): string[] => JSON.parse(pattern.exec(text)?.[1] ?? '[]')
  const env = Object.fromEntries(
    [...text.matchAll(/^ENV (\w+)=(.*)$/gm)].map(([, name, value]) => [String(name), String(value)]),
  )
  return { command: jsonAfter(/^CMD (.*)$/m), check: jsonAfter(/^HEALTHCHECK .*? CMD (.*)$/m), env }
}

/** The unit's command line and variables. */
function unit() {
  const text = textOf('caduceus.service')
  const env = [...text.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value])
  return { command: (/^ExecStart=(.*)$/m.exec(text)?.[1] ?? '').split(' '), env: Object.fromEntries(env) }
}

/** A folder as the files want it, and the command line for it: the program is that of this repository. */
function place(t: TestContext, command: readonly string[]) {
  const home = newHome(t)
  writeFileSync(join(home, 'mcp.json'), textOf('mcp.json'))
  symlinkSync(inRoot('node_modules'), join(home, 'node_modules'))
  assert.match(command.slice(0, 2).join(' '), /^(?:\/usr\/bin\/)?node node_modules\/\.bin\/caduceus$/)
  return { home, args: command.slice(2) }
}

async function post(url: string, session: string | undefined, message: object, token?: string) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session !== undefined && { 'mcp-session-id': session }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })
  const text = await response.text()
  const json = text.startsWith('{') ? text : (/^data: (\{.*)$/m.exec(text)?.[1] ?? 'null')
  return {
    status: response.status,
    session: response.headers.get('mcp-session-id') ?? undefined,
    body: JSON.parse(json),
  }
}

const initialize = {
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'deployed', version: '1.0.0' },
  },
}
const call = { id: 2, method: 'tools/call', params: { name: 'memory__read_graph', arguments: {} } }
const ada = 'token-of-ada-0123456789'

/** Asks again and again: no event of this process tells that another one is ready. */
async function askUntil(t: TestContext, holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(50, undefined, { signal: t.signal })
}

/** Serves, calls a tool, ends by SIGTERM, serves again, and goes on in the same session. */
async function servedTwice(
  t: TestContext,
  home: string,
  args: readonly string[],
  env: Record<string, string>,
) {
  let session: string | undefined
  for (const turn of ['first', 'second']) {
    const { line, stop } = begin(t, args, home, env)
    const [, url = ''] = await line(servedAt)
    for (const path of ['/healthz', '/readyz'])
      assert.is((await fetch(new URL(path, url))).status, 200, `${turn} ${path}`)
    assert.is((await post(url, undefined, initialize)).status, 401)
    session ??= (await post(url, undefined, initialize, ada)).session
    // of the server itself nothing is known until it is up
    await askUntil(t, async () => {
      const called = await post(url, session, call, ada)
      assert.is(called.status, 200, turn)
      return JSON.stringify(called.body).includes('entities')
    })
    const before = performance.now()
    assert.is(await stop(), 0)
    assert.ok(performance.now() - before < 20_000, 'within the grace')
  }
}

redisTest(test, 'the image serves, and its sessions survive a restart in Redis', async (t) => {
  const redis = await startRedis(t)
  const { command, env } = image()
  const { home, args } = place(t, command)
  const { environment } = compose().services.mcp
  assert.is(environment.CADUCEUS_ENGINE, 'redis://redis:6379')
  await servedTwice(t, home, args, {
    ...{ ...env, ...environment, CADUCEUS_HTTP: '0', CADUCEUS_ENGINE: redis.url },
    ...{ CADUCEUS_KEYS: ada.repeat(4), CADUCEUS_TOKENS: `ada=${ada}`, MEMORY_FILE: join(home, 'memory') },
  })
})

test('the health check of the image tells a server that is ready from none', async (t) => {
  const { command, check, env } = image()
  const { home, args } = place(t, command)
  const { line, stop } = begin(t, args, home, {
    ...{ ...env, CADUCEUS_HTTP: '0', CADUCEUS_ALLOWED_HOSTS: 'localhost,127.0.0.1' },
    MEMORY_FILE: join(home, 'memory'),
  })
  const [, url = ''] = await line(servedAt)
  const healthy = () =>
    spawnSync(
      process.execPath,
      check.slice(1).map((word) => word.replace(':3000', `:${new URL(url).port}`)),
    ).status
  assert.is(healthy(), 0)
  await stop()
  assert.is(healthy(), 1)
})

test('the unit serves, and its sessions survive a restart in its folder', async (t) => {
  const { command, env } = unit()
  const { home, args } = place(t, command)
  mkdirSync(join(home, 'state'))
  const own = Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      String(value).replace('/var/lib/caduceus', join(home, 'state')),
    ]),
  )
  await servedTwice(t, home, args, { ...own, CADUCEUS_HTTP: '0', CADUCEUS_TOKENS: `ada=${ada}` })
})

test('every variable in the files is one that serve reads', () => {
  for (const name of [
    'Dockerfile',
    'compose.yaml',
    'kubernetes.yaml',
    'caduceus.service',
    'nginx.conf',
    'README.md',
  ])
    for (const [found] of textOf(name).matchAll(/CADUCEUS_[A-Z_]+/g))
      assert.ok(variables.has(found), `${name}: ${found}`)
})

test('probes ask what is answered, at ports that the container has', () => {
  const objects = kubernetesObjects()
  assert.equal([...objects.keys()], ['Deployment', 'Service', 'PodDisruptionBudget', 'NetworkPolicy'])
  const [container] = objects.get('Deployment')?.spec.template.spec.containers ?? []
  assert.ok(container)
  const ports = new Map(container.ports.map(({ name, containerPort }) => [name, String(containerPort)]))
  assert.is(ports.get('http'), image().env.CADUCEUS_HTTP)
  assert.is(container.env.find(({ name }) => name === 'CADUCEUS_METRICS')?.value, ports.get('metrics'))
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const) {
    const { path, port } = container[probe].httpGet
    assert.ok(['/healthz', '/readyz'].includes(path) && port === 'http', probe)
  }
})

/** Runs a test where a program is installed; else it is skipped, which names the program. */
function needing(name: string, promise: string, fn: (t: TestContext) => void | Promise<void>): void {
  const { error } = spawnSync(name, ['--version'])
  if (error === undefined) test(promise, fn)
  else test.skip(promise, `${name} is not installed`)
}

function passes(command: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  assert.is(status, 0, `${command} ${args.join(' ')}: ${stdout}${stderr}`)
}

needing('nginx', 'nginx takes its file', (t) => {
  const home = newHome(t)
  const { cert, key } = selfSigned()
  writeFileSync(join(home, 'cert.pem'), cert)
  writeFileSync(join(home, 'key.pem'), key)
  writeFileSync(join(home, 'nginx.conf'), textOf('nginx.conf').replaceAll('/etc/ssl/mcp', home))
  passes('nginx', [
    '-t',
    '-p',
    home,
    '-c',
    join(home, 'nginx.conf'),
    '-g',
    `pid ${home}/pid; error_log stderr;`,
  ])
})

needing('haproxy', 'HAProxy takes its file', (t) => {
  const home = newHome(t)
  const { cert, key } = selfSigned()
  writeFileSync(join(home, 'mcp.pem'), `${cert}${key}`)
  writeFileSync(join(home, 'haproxy.cfg'), textOf('haproxy.cfg').replaceAll('/etc/haproxy', home))
  passes('haproxy', ['-c', '-f', join(home, 'haproxy.cfg')])
})

/** What is beside `/mcp`, with `signIn` and logins at servers behind a gateway. */
const pathsBeside = [
  ...['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-authorization-server'],
  ...['/authorize', '/authorize/x', '/token', '/register', '/revoke', '/jwks'],
  ...['/sign-in/x', '/sign-in/callback', '/sign-in/more/x', '/upstream/callback/a', '/upstream/sign-in/x'],
  '/readyz',
]

/** Says what it is asked for, and what a proxy tells of it. */
async function startEcho(t: TestContext): Promise<number> {
  const echo = createServer(({ url, headers }, response) => {
    const { host, 'x-forwarded-for': clients, 'x-forwarded-proto': scheme } = headers
    response.end(JSON.stringify([url, host, String(clients).split(', ').at(-1), scheme]))
  })
  t.after(() => echo.close())
  await once(echo.listen(0, '127.0.0.1'), 'listening')
  return (echo.address() as AddressInfo).port
}

/** Starts a proxy, and asks it for each path: the last address that it names is that of its client. */
async function passesOn(t: TestContext, port: number, [name, ...args]: readonly [string, ...string[]]) {
  const proxy = spawn(name, args, { stdio: 'ignore' })
  const ended = once(proxy, 'close')
  t.after(async () => {
    proxy.kill()
    await ended
  })
  const headers = { host: 'mcp.example.com:8443', 'x-forwarded-for': '192.0.2.1' }
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })
  t.after(() => dispatcher.destroy())
  const ask = async (path: string): Promise<[number, string]> => {
    const answer = await request(`https://127.0.0.1:${port}${path}`, { dispatcher, headers })
    return [answer.statusCode, await answer.body.text()]
  }
  while (
    !(await ask('/mcp').then(
      () => true,
      () => proxy.exitCode !== null,
    ))
  )
    await pause(20)
  for (const path of ['/mcp', ...pathsBeside]) {
    const [status, text] = await ask(path)
    assert.equal([status, JSON.parse(text)], [200, [path, headers.host, '127.0.0.1', 'https']], path)
  }
  assert.is((await ask('/metrics'))[0], 404)
}

needing('nginx', 'nginx passes on all paths but those of operators', async (t) => {
  const home = newHome(t)
  const { cert, key } = selfSigned()
  writeFileSync(join(home, 'cert.pem'), cert)
  writeFileSync(join(home, 'key.pem'), key)
  const port = await freePort()
  const file = textOf('nginx.conf')
    .replaceAll('/etc/ssl/mcp', home)
    .replace('127.0.0.1:3000', `127.0.0.1:${await startEcho(t)}`)
    .replace('listen 8443', `listen 127.0.0.1:${port}`)
  writeFileSync(join(home, 'nginx.conf'), file)
  const settings = `daemon off; master_process off; pid ${home}/pid; error_log stderr;`
  await passesOn(t, port, ['nginx', '-p', home, '-c', join(home, 'nginx.conf'), '-g', settings])
})

needing('haproxy', 'HAProxy passes on all paths but those of operators', async (t) => {
  const home = newHome(t)
  const { cert, key } = selfSigned()
  writeFileSync(join(home, 'mcp.pem'), `${cert}${key}`)
  const port = await freePort()
  const file = textOf('haproxy.cfg')
    .replaceAll('/etc/haproxy', home)
    .replace('127.0.0.1:3000', `127.0.0.1:${await startEcho(t)}`)
    .replace('bind :8443', `bind 127.0.0.1:${port}`)
    // descriptors that a machine of tests may not have
    .replace('maxconn 10000', 'maxconn 100')
  writeFileSync(join(home, 'haproxy.cfg'), file)
  await passesOn(t, port, ['haproxy', '-db', '-f', join(home, 'haproxy.cfg')])
})

needing('systemd-analyze', 'systemd takes the unit', (t) => {
  const home = newHome(t)
  writeFileSync(
    join(home, 'caduceus.service'),
    textOf('caduceus.service').replace('/usr/bin/node', process.execPath),
  )
  passes('systemd-analyze', ['verify', '--man=no', join(home, 'caduceus.service')])
})

needing('promtool', 'Prometheus takes the rules', () =>
  passes('promtool', ['check', 'rules', inRoot('server', 'guide', 'deploy', 'alerts.yml')]),
)

test('rules and the dashboard name what /metrics prints, and labels that it has', async (t) => {
  const home = newHome(t)
  const entry = {
    command: process.execPath,
    args: [inRoot('.t', 'test', 'command', '_server.js'), '--stdio'],
  }
  writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers: { one: entry } }))
  const port = String(await freePort())
  const { line, stop } = begin(t, ['serve', 'mcp.json', '--http', '0', '--metrics', port], home)
  const [, metrics = ''] = await line(/metrics are at (\S+)/)
  const [, url = ''] = await line(servedAt)
  const { session } = await post(url, undefined, initialize)
  const params = { name: 'one__add', arguments: { a: 1, b: 2 } }
  // of the server itself nothing is known until it is up
  const called = async (): Promise<boolean> =>
    (await post(url, session, { id: 2, method: 'tools/call', params })).body.result !== undefined
  await askUntil(t, called)
  const text = await (await fetch(metrics)).text()
  assert.is((await fetch(new URL('/metrics', url))).status === 200, false)
  const kinds = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
  const { panels } = JSON.parse(textOf('dashboard.json'))
  const exprs: string[] = [
    ...parse(textOf('alerts.yml')).groups[0].rules.map(({ expr }: { expr: string }) => expr),
    ...panels.flatMap(({ targets }: { targets: { expr: string }[] }) => targets.map(({ expr }) => expr)),
  ]
  const named = new Set(exprs.flatMap((expr) => expr.match(/\b(?:caduceus|process|nodejs)_\w+/g) ?? []))
  assert.ok(named.size > 10)
  for (const name of named) assert.ok(kinds.has(name.replace(/_bucket$/, '')), name)
  assert.match(text, /caduceus_tool_calls_total\{server="caduceus",tool="one__add",outcome="ok"\} 1/)
  assert.match(text, /^caduceus_sessions\{server="caduceus"\} 1$/m)
  assert.match(text, /^caduceus_processes [1-9]/m)
  assert.is(await stop(), 0)
})

test.run()
