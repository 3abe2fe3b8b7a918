import * as assert from 'uvu/assert'
import { readSettings, settings } from '../../command/serving/settings.js'
import { readTeamFile } from '../../command/serving/team-file.js'
import { serverOptionsOf } from '../../command/serving/team-listening.js'
import { suite } from '../support/suite.js'

const test = suite('options and variables of caduceus serve')

const read = (
  values: Record<string, string | boolean | string[]>,
  env: Record<string, string> = {},
  section: object = {},
) =>
  readTeamFile(
    'mcp.json',
    JSON.stringify({ caduceus: section }),
    [],
    async ({ entry }) => entry,
    readSettings({ values }, env),
  )

const key = 'k'.repeat(32)

test('an option comes before a variable, and that before the file', async () => {
  const section = { listen: { port: 1, host: '127.0.0.1', path: '/file' }, rate: { calls: 1, per: 'hour' } }
  const env = { CADUCEUS_HTTP: '2', CADUCEUS_PATH: '/variable', CADUCEUS_RATE: '', CADUCEUS_HOST: '::1' }
  const { listen, rate } = await read({ http: '3', host: '127.0.0.2' }, env, section)
  assert.equal(listen, { host: '127.0.0.2', port: 3, path: '/variable' })
  assert.equal(rate, { calls: 1, per: 'hour' })
})

test('each of them has a value that is taken, and a variable of its own', async () => {
  const samples: Record<string, string> = {
    ...{ 'listen.port': '0', 'listen.host': '0.0.0.0', 'listen.path': '/m', 'listen.allowedHosts': 'a, b:1' },
    ...{ 'listen.allowedOrigins': 'https://a.example', 'listen.trustProxy': '2', 'listen.health': 'true' },
    ...{ 'listen.drainDelay': '2000' },
    ...{ 'listen.tls.cert': 'c', 'listen.tls.key': 'k', tokens: 'ada=0123456789abcdef', rate: '60/minute' },
    ...{
      engine: 'redis://r:1',
      'engine.keys': `${key}  ${key}2`,
      idle: '5000',
      'metrics.port': '9464',
      'metrics.host': '::1',
      observe: '0',
    },
    ...{ 'log.level': 'debug', 'log.format': 'json' },
  }
  assert.equal(settings.map(({ field }) => field).sort(), Object.keys(samples).sort())
  assert.is(new Set(settings.map(({ variable }) => variable)).size, settings.length)
  const env = Object.fromEntries(settings.map(({ field, variable }) => [variable, samples[field] ?? '']))
  const team = await read({}, env)
  assert.equal(team.listen.allowedHosts, ['a', 'b:1'])
  assert.is(team.listen.trustProxy, 2)
  assert.is(team.idle, 5000)
  assert.equal(team.metrics, { port: 9464, host: '::1' })
  assert.equal(team.rate, { calls: 60, per: 'minute' })
  assert.equal(team.engine, { redis: 'redis://r:1', keys: [key, `${key}2`] })
  assert.equal([...(team.tokens?.values() ?? [])], [{ name: 'ada', scopes: [] }])
  assert.is((serverOptionsOf('f', team).logLevels as Record<string, string>)['server.request'], 'debug')
})

test('what is wrong is told by the name under which it was given', async () => {
  for (const [values, env, expected] of [
    [{ http: 'x' }, {}, /^--http: expected a port from 0 to 65535, got "x"$/],
    [{}, { CADUCEUS_HTTP: '70000' }, /^CADUCEUS_HTTP: expected a port/],
    [{ log: 'loud' }, {}, /^--log: expected/],
    [{ idle: 'soon' }, {}, /^--idle: expected milliseconds/],
    [{ rate: 'many' }, {}, /^--rate: expected/],
    [{ 'trust-proxy': 'maybe' }, {}, /^--trust-proxy: expected/],
    [{ 'tls-cert': 'c' }, {}, /tls\.key/],
    [{}, { CADUCEUS_TOKENS: 'secret' }, /^CADUCEUS_TOKENS: expected NAME=TOKEN/],
    [{}, { CADUCEUS_TOKENS: 'ada=short' }, /^CADUCEUS_TOKENS: expected a token of 16/],
    [{}, { CADUCEUS_TOKENS: '' }, /^CADUCEUS_TOKENS is empty/],
    [{}, { CADUCEUS_KEYS: ' ' }, /^CADUCEUS_KEYS is empty: give it KEY, or leave it out to sign nothing/],
    [{}, { CADUCEUS_KEY: key }, /^CADUCEUS_KEY is not read \(did you mean CADUCEUS_KEYS="KEY ..."\?\)$/],
    [
      { engine: 'redis://r:1' },
      { CADUCEUS_KEYS: `${key} short` },
      /^CADUCEUS_KEYS: expected an array of texts of 32/,
    ],
    [{ engine: 'kept' }, { CADUCEUS_KEYS: key }, /^CADUCEUS_KEYS: expected none: they are for/],
    [{}, { CADUCEUS_KEYS: key }, /^CADUCEUS_KEYS: expected \{ "redis"[^,]*beside it$/],
    [{}, { CADUCEUS_TOKENS: 'ada=0123456789abcdef ada=0123456789abcdeg' }, /^CADUCEUS_TOKENS: ada has two/],
    [{}, { CADUCEUS_TOKEN: 'ada=0123456789abcdef' }, /^CADUCEUS_TOKEN is not read/],
  ] as const) {
    const told = await Promise.resolve()
      .then(() => read(values as Record<string, string>, env as Record<string, string>))
      .then(
        () => '',
        (error: unknown) => (error as Error).message,
      )
    assert.match(told, expected)
    assert.not.match(told, /secret|short"/)
  }
})

test.run()
