// own process: it looks at what is loaded
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import * as assert from 'uvu/assert'
import { stdio, type StdioOptions, TransportError } from 'caduceus/transports'
import { inheritedNames, serverEnvironment } from '../../../transports/stdio/options.js'
import { createStderrRing } from '../../../transports/stdio/stderr.js'
import { heapInUse } from '../../support/collected.js'
import { suite } from '../../support/suite.js'

const test = suite('stdio client options')

for (const [field, options] of [
  ['options', undefined],
  ['options', 'node'],
  ['command', {}],
  ['command', { command: '' }],
  ['command', { command: 'a\0b' }],
  ['args', { command: 'x', args: 'y' }],
  ['args[1]', { command: 'x', args: ['y', 1] }],
  ['env', { command: 'x', env: [] }],
  ['env', { command: 'x', env: { 'a=b': '1' } }],
  ['env.KEY', { command: 'x', env: { KEY: 1 } }],
  ['cwd', { command: 'x', cwd: 1 }],
  ['stderr', { command: 'x', stderr: 'pipe' }],
  ['limits.messageBytes', { command: 'x', limits: { messageBytes: 0 } }],
  ['limits.queuedBytes', { command: 'x', limits: { queuedBytes: 1.5 } }],
  ['stopTimeout', { command: 'x', stopTimeout: -1 }],
  ['comand', { comand: 'x' }],
] as const) {
  test(`a wrong option is refused at once: ${field} of ${JSON.stringify(options)}`, () => {
    const error = thrownBy(() => stdio(options as unknown as StdioOptions))
    assert.is(error.code, 'BAD_OPTION')
    assert.equal(error.data, { field })
    assert.match(error.message, `${field}: expected `)
  })
}

test('a stdio transport is frozen data that names its command', () => {
  const transport = stdio({ command: process.execPath })
  assert.is(transport.name, `stdio ${basename(process.execPath)}`)
  assert.ok(Object.isFrozen(transport))
})

test('a client on stdio loads no undici', () => {
  const loaded = Object.keys(createRequire(import.meta.url).cache)
  assert.equal(
    loaded.filter((path) => path.includes('undici')),
    [],
  )
})

test('only harmless variables and the given ones pass, exported functions do not', () => {
  const own = {
    HOME: '/h',
    PATH: '/bin',
    SHELL: '() { evil; }',
    AWS_SECRET_ACCESS_KEY: 'x',
    NODE_OPTIONS: '--inspect',
  }
  assert.equal(serverEnvironment({ PATH: '/mine', TOKEN: 't' }, own), {
    HOME: '/h',
    PATH: '/mine',
    TOKEN: 't',
  })
})

test('inherited variables are documented for each platform', () => {
  const windows =
    'APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE'
  assert.is(inheritedNames('win32').join(' '), windows)
  const posix = 'HOME LANG LC_ALL LOGNAME PATH SHELL TERM TMPDIR TZ USER'
  for (const platform of ['linux', 'darwin'] as const) assert.is(inheritedNames(platform).join(' '), posix)
})

test('the ring keeps the last 20 lines and 8 KiB, also of an endless line', () => {
  const ring = createStderrRing()
  const push = (text: string): void => ring.push(Buffer.from(text))
  for (let i = 1; i <= 25; i++) push(`line ${i}\r\n`)
  push('half a li')
  assert.is(ring.lines().length, 20)
  assert.is(ring.lines().at(0), 'line 7')
  assert.is(ring.lines().at(-1), 'half a li')
  push(`ne\n${'y'.repeat(20_000)}\n${'z'.repeat(20_000)}`)
  assert.ok(ring.lines().join('').length <= 2 * 8 * 1024)
})

test.slow('the ring lets go of the chunks that its lines came in', async () => {
  const ring = createStderrRing()
  const kept: unknown[] = []
  const before = await heapInUse()
  for (let i = 0; i < 100; i++) {
    ring.push(Buffer.from(`why it ended\n${'long '.repeat(200_000)}`))
    kept.push(ring.lines())
  }
  const more = (await heapInUse()) - before
  assert.is(kept.length, 100)
  assert.ok(more < 10_000_000, `${more} bytes`)
})

function thrownBy(fn: () => unknown): TransportError {
  try {
    fn()
  } catch (error) {
    if (error instanceof TransportError) return error
  }
  throw new Error('expected a TransportError')
}

test.run()
