import { inspect } from 'node:util'
import * as assert from 'uvu/assert'
import { http, sse, stdio, TransportError, websocket } from 'caduceus/transports'
import { suite } from '../support/suite.js'

const test = suite('options of clients')

type Make = (options: Readonly<Record<string, unknown>>) => unknown

const makers: { readonly [Name in string]: Make } = {
  stdio: (options) => stdio({ command: 'x', ...options }),
  http: (options) => http('http://host/', options),
  sse: (options) => sse('http://host/', options),
  websocket: (options) => websocket('ws://host/', options),
}

const numbers: { readonly [Name in string]: { readonly times: string[]; readonly counts: string[] } } = {
  stdio: { times: ['stopTimeout'], counts: ['limits.messageBytes', 'limits.queuedBytes'] },
  http: {
    times: ['connectTimeout', 'headersTimeout', 'idleTimeout', 'streamIdleTimeout'],
    counts: ['limits.connections', 'limits.messageBytes', 'limits.streams'],
  },
  sse: { times: ['connectTimeout', 'streamIdleTimeout'], counts: ['limits.messageBytes'] },
  websocket: {
    times: ['connectTimeout', 'pingInterval'],
    counts: ['limits.messageBytes', 'limits.queuedBytes'],
  },
}

const noTimes = [Number.NaN, 0, -1, Number.NEGATIVE_INFINITY, '1', null, true, 1n]
const noCounts = [...noTimes, 1.5, Number.POSITIVE_INFINITY, 2 ** 53]

/** Options in which only the one at this path is given. */
function at(path: string, value: unknown): Readonly<Record<string, unknown>> {
  const [name = '', rest] = path.split('.')
  return { [name]: rest === undefined ? value : { [rest]: value } }
}

for (const [name, make] of Object.entries(makers)) {
  const { times = [], counts = [] } = numbers[name] ?? {}
  const wrong = [
    ...times.flatMap((field) => noTimes.map((value) => [field, value] as const)),
    ...counts.flatMap((field) => noCounts.map((value) => [field, value] as const)),
  ]
  for (const [field, value] of wrong) {
    test(`${name}: ${field} of ${inspect(value)} is refused`, () => {
      refuses(() => make(at(field, value)), field)
    })
  }

  test(`${name}: times of any length are accepted`, () => {
    for (const field of times)
      for (const ms of [0.5, 2 ** 31, 1e15, Number.POSITIVE_INFINITY]) make(at(field, ms))
  })

  test(`${name}: unknown options and non-objects are refused`, () => {
    refuses(() => make({ timeoutMs: 1 }), 'timeoutMs')
    if (name !== 'stdio') refuses(() => make(null as never), 'options')
  })
}

for (const [field, options] of [
  ['url', 'http://host/'],
  ['url', 'host'],
  ['url', 'ws://me:secret@host/'],
  ['url', 'ws://host/#a'],
] as const) {
  test(`websocket: ${options} is refused as an address`, () => refuses(() => websocket(options), field))
}

for (const name of ['http', 'sse', 'websocket'] as const) {
  test(`${name}: wrong headers, tls and auth are refused without showing secrets`, () => {
    const make = makers[name] as Make
    for (const [field, options] of [
      ['headers', { headers: 'secret' }],
      ['headers.Host', { headers: { Host: 'secret' } }],
      ['headers.x', { headers: { x: 'a\nsecret' } }],
      ['tls', { tls: 'secret' }],
      ['tls.key', { tls: { key: 1 } }],
      ['tls.passphrase', { tls: { passphrase: ['secret'] } }],
      ['auth', { auth: 7 }],
    ] as const)
      refuses(() => make(options), field)
  })
}

function refuses(make: () => unknown, field: string): void {
  try {
    make()
  } catch (error) {
    assert.ok(error instanceof TransportError && error.code === 'BAD_OPTION', String(error))
    assert.equal(error.data, { field })
    assert.ok(error.message.startsWith(`${field}: expected `), error.message)
    return assert.not.match(error.message, 'secret')
  }
  assert.unreachable('it was taken')
}

test.run()
