import { inspect } from 'node:util'
import * as assert from 'uvu/assert'
import {
  http,
  introspection,
  jwt,
  mount,
  serveHttp,
  serveSse,
  serveStdio,
  serveWebSocket,
  shared,
  sse,
  stdio,
  TransportError,
  websocket,
} from 'caduceus/transports'
import { suite } from '../support/suite.js'

const test = suite('options of every transport')

type Given = Readonly<Record<string, unknown>>
type Values = readonly unknown[]

/** What each kind of option is not, and what it is. */
const kinds = {
  count: {
    wrong: [0, -1, 0.5, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '1', null, true, 1n, []],
    right: [1, 1_000_000],
  },
  time: {
    wrong: [0, -1, Number.NaN, Number.NEGATIVE_INFINITY, '1', null, true, 1n, []],
    right: [0.5, 2 ** 31, Number.POSITIVE_INFINITY],
  },
  delay: { wrong: [-1, Number.NaN, '1', null, true, 1n], right: [0, 0.5, Number.POSITIVE_INFINITY] },
  port: { wrong: [-1, 0.5, 65_536, Number.NaN, '80', null, true], right: [0, 65_535] },
  flag: { wrong: [0, 1, 'true', null, {}], right: [true, false] },
  text: { wrong: ['', 1, null, {}, 'a\0b'], right: ['localhost'] },
  path: { wrong: ['', 'mcp', '/a b', '/a?b', '/a#b', 1, null], right: ['/', '/a/b'] },
  hosts: {
    wrong: [
      'h',
      null,
      [''],
      [1],
      ['https://h/'],
      ['https://h'],
      ['h/'],
      ['h/mcp'],
      ['h:'],
      ['h:99999'],
      ['::1'],
      ['*.h'],
      ['me@h'],
      ['a b'],
      ['höst'],
    ],
    right: [['h'], ['h:8443'], ['*'], ['[::1]'], ['[::1]:80'], ['127.0.0.1'], ['a_b.C'], []],
  },
  origins: {
    wrong: [
      'https://h',
      null,
      [''],
      ['h'],
      ['https://h/'],
      ['https://h/a'],
      ['https://*.h'],
      ['https://h:99999'],
      [1],
    ],
    right: [['https://h'], ['http://h:1'], ['*'], ['null'], ['vscode-webview://a'], ['HTTPS://H:443'], []],
  },
  proxies: {
    wrong: [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 'yes', null],
    right: [true, false, 0, 2],
  },
  object: { wrong: [1, 'x', null, []], right: [{}] },
  server: { wrong: [{}, 1, null, 'x'], right: [] },
  resume: {
    wrong: [
      1,
      'yes',
      null,
      [],
      { maxEvents: 0.5 },
      { maxBytes: 0 },
      { maxAge: 0 },
      { maxStreams: '1' },
      { maxAgee: 1 },
    ],
    right: [true, false, {}, { maxAge: Number.POSITIVE_INFINITY }, { maxTotalBytes: 1 }],
  },
  stream: { wrong: [1, 'x', {}, null], right: [] },
  function: { wrong: [1, 'x', {}, null], right: [] },
} satisfies Record<string, { readonly wrong: Values; readonly right: Values }>

type Kind = keyof typeof kinds

const listening = {
  port: 'port',
  host: 'text',
  allowedHosts: 'hosts',
  allowedOrigins: 'origins',
  health: 'flag',
  metrics: 'flag',
  drainDelay: 'delay',
  trustProxy: 'proxies',
  tls: 'object',
  server: 'server',
  'limits.messageBytes': 'count',
  'limits.pendingBytes': 'count',
  'limits.pendingBytesPerClient': 'count',
  'limits.bufferedBytes': 'count',
  'limits.connections': 'count',
  'limits.connectionsPerClient': 'count',
  'timeouts.headers': 'time',
  'timeouts.keepAlive': 'time',
  authenticate: 'function',
  auth: 'object',
  'timeouts.authenticate': 'time',
} as const

const mounted = {
  allowedHosts: 'hosts',
  allowedOrigins: 'origins',
  cors: 'flag',
  trustProxy: 'proxies',
  'limits.requestsPerClient': 'count',
  drainDelay: 'delay',
  'limits.messageBytes': 'count',
  'limits.pendingBytes': 'count',
  'limits.pendingBytesPerClient': 'count',
  'streams.commentInterval': 'time',
  'limits.bufferedBytes': 'count',
  'streams.resume': 'resume',
  'streams.retryInterval': 'time',
  'streams.openAfter': 'time',
  'streams.endAfter': 'time',
  authenticate: 'function',
  auth: 'object',
  'timeouts.authenticate': 'time',
} as const

const factories: {
  readonly [Name in string]: {
    make(options: Given): unknown
    readonly options: { readonly [Option in string]: Kind }
  }
} = {
  serveHttp: {
    make: (options) => serveHttp(options),
    options: {
      ...listening,
      ...mounted,
      path: 'path',
      'timeouts.body': 'time',
    },
  },
  mount: { make: (options) => mount(options), options: mounted },
  serveSse: {
    make: (options) => serveSse(options),
    options: {
      ...listening,
      'timeouts.open': 'time',
      path: 'path',
      messagesPath: 'path',
      cors: 'flag',
      commentInterval: 'time',
    },
  },
  serveWebSocket: {
    make: (options) => serveWebSocket(options),
    options: { ...listening, 'timeouts.open': 'time', path: 'path', pingInterval: 'time' },
  },
  serveStdio: {
    make: (options) => serveStdio(options),
    options: {
      input: 'stream',
      output: 'stream',
      'limits.messageBytes': 'count',
      endTimeout: 'delay',
      exit: 'flag',
    },
  },
  stdio: {
    make: (options) => stdio({ command: 'x', ...options }),
    options: {
      cwd: 'text',
      'limits.messageBytes': 'count',
      'limits.queuedBytes': 'count',
      stopTimeout: 'time',
    },
  },
  http: {
    make: (options) => http('http://h/', options),
    options: {
      'limits.connections': 'count',
      'limits.messageBytes': 'count',
      connectTimeout: 'time',
      stream: 'flag',
      streamIdleTimeout: 'time',
      'limits.streams': 'count',
      headersTimeout: 'time',
      idleTimeout: 'time',
      sseFallback: 'flag',
    },
  },
  sse: {
    make: (options) => sse('http://h/', options),
    options: { 'limits.messageBytes': 'count', connectTimeout: 'time', streamIdleTimeout: 'time' },
  },
  websocket: {
    make: (options) => websocket('ws://h/', options),
    options: {
      'limits.messageBytes': 'count',
      'limits.queuedBytes': 'count',
      connectTimeout: 'time',
      pingInterval: 'time',
    },
  },
  shared: {
    make: (options) => shared('x', { path: '/tmp/x', ...options }),
    options: { 'limits.messageBytes': 'count', 'limits.queuedBytes': 'count', waitForName: 'flag' },
  },
}

/** Options in which only the one at this path is given. */
function at(path: string, value: unknown): Given {
  const [name = '', rest] = path.split('.')
  return { [name]: rest === undefined ? value : { [rest]: value } }
}

for (const [name, { make, options }] of Object.entries(factories)) {
  for (const [option, kind] of Object.entries(options)) {
    test(`${name}: a wrong ${option} is refused by name`, () => {
      for (const value of kinds[kind].wrong) refuses(() => make(at(option, value)), option, value)
    })

    test(`${name}: a valid ${option} is accepted`, () => {
      for (const value of [...kinds[kind].right, undefined])
        if (option !== 'auth' || value === undefined) make(at(option, value))
    })
  }

  test(`${name}: an unknown option is refused`, () => {
    refuses(() => make({ timeoutMs: 1 }), 'timeoutMs', 1)
  })
}

test('mount: port options are refused, as it has no port', () => {
  const ofPort = ['port', 'host', 'path', 'tls', 'server', 'health', 'metrics']
  const ofConnections = ['limits.connections', 'limits.connectionsPerClient']
  const times = ['timeouts.headers', 'timeouts.keepAlive', 'timeouts.body']
  for (const option of [...ofPort, ...ofConnections, ...times]) refuses(() => mount(at(option, 1)), option, 1)
})

test('an unknown nested option is refused with its path', () => {
  const issuer = 'https://as.example'
  const auth = { resource: 'https://h/mcp', authorizationServers: [issuer], timeoutMs: 1 } as never
  const placed: Readonly<Record<string, () => unknown>> = {
    'tls.timeoutMs': () => http('https://h/', { tls: { timeoutMs: 1 } as object }),
    'auth.timeoutMs': () => serveHttp({ auth }),
    'jwt.timeoutMs': () => jwt({ issuer, timeoutMs: 1 } as never),
    'introspection.timeoutMs': () => introspection({ issuer, timeoutMs: 1 } as never),
  }
  for (const [place, make] of Object.entries(placed)) {
    const { data } = refuses(make, place, 1)
    assert.equal(data, { field: place })
  }
})

/** The name of the option is in the error, and whatever is below it. */
function refuses(make: () => unknown, option: string, value: unknown): TransportError {
  try {
    make()
  } catch (error) {
    assert.ok(error instanceof TransportError && error.code === 'BAD_OPTION', String(error))
    const { field } = error.data as { field: string }
    assert.ok(field === option || field.startsWith(`${option}.`), `${option}: ${error.message}`)
    assert.ok(error.message.startsWith(`${field}: expected `), error.message)
    return error
  }
  return assert.unreachable(`${option}: ${inspect(value)} was taken`) as never
}

test.run()
