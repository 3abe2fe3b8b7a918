import * as assert from 'uvu/assert'
import type { TransportError } from 'caduceus/transports'
import { batchFileOf, throughShell } from '../../../transports/stdio/batch-file.js'
import { startOnWindows } from '../../../transports/stdio/spawn.js'
import { suite } from '../../support/suite.js'

const test = suite('batch files of Windows')

const files = new Set([
  'C:\\Program Files\\nodejs\\npx.cmd',
  'C:\\Program Files\\nodejs\\node.exe',
  'C:\\Program Files\\nodejs\\node.cmd',
  'C:\\work\\run.bat',
  'C:\\work\\tools\\serve.cmd',
  'C:\\x\\a.bat',
  'D:\\bin\\npx.cmd',
  'D:\\bin\\uvx.exe',
])
const place = { path: 'C:\\Windows;;C:\\Program Files\\nodejs;D:\\bin', cwd: 'C:\\work' }

const found: readonly (readonly [string, string | undefined])[] = [
  ['npx', 'C:\\Program Files\\nodejs\\npx.cmd'],
  ['npx.cmd', 'C:\\Program Files\\nodejs\\npx.cmd'],
  ['C:\\x\\a.bat', 'C:\\x\\a.bat'],
  ['C:\\x\\a.bat. .', 'C:\\x\\a.bat'],
  ['run', 'C:\\work\\run.bat'],
  ['tools/serve', 'C:\\work\\tools\\serve.cmd'],
  ['.\\tools\\serve', 'C:\\work\\tools\\serve.cmd'],
  ['D:\\bin\\npx', 'D:\\bin\\npx.cmd'],
  ['node', undefined],
  ['uvx', undefined],
  ['npx.exe', undefined],
  ['tools/npx', undefined],
  ['cmd.example', undefined],
]

for (const [command, file] of found) {
  test(`${command} is ${file ?? 'no batch file'}`, () => {
    assert.is(
      batchFileOf({ ...place, command }, (one) => files.has(one)),
      file,
    )
  })
}

test('without PATH only the folder is searched', () => {
  assert.is(
    batchFileOf({ command: 'npx', path: undefined, cwd: 'C:\\work' }, (one) => files.has(one)),
    undefined,
  )
})

/** What the shell of Windows reads of a text outside of quotes: a caret takes the meaning of what follows. */
function read(text: string): string {
  let out = ''
  for (let i = 0; i < text.length; i += 1) {
    const char = text[i] ?? ''
    if (char === '^') {
      i += 1
      out += text[i] ?? ''
    } else {
      assert.not.match(char, /[()%!"<>&|;,*?[\]`]/, `${char} means something in ${text}`)
      out += char
    }
  }
  return out
}

/** As programs of Windows take a command line apart: backslashes count before a quote only. */
function split(line: string): string[] {
  const args: string[] = []
  let arg: string | undefined
  let isQuoted = false
  for (let i = 0; i < line.length; i += 1) {
    const slashes = /^\\*/.exec(line.slice(i))?.[0].length ?? 0
    if (slashes > 0) {
      const isBeforeQuote = line[i + slashes] === '"'
      arg = (arg ?? '') + '\\'.repeat(isBeforeQuote ? slashes >> 1 : slashes)
      i += slashes
      if (isBeforeQuote && slashes % 2 === 1) {
        arg += '"'
        continue
      }
    }
    const char = line[i]
    if (char === undefined) break
    if (char === '"') {
      isQuoted = !isQuoted
      arg ??= ''
    } else if (char === ' ' && !isQuoted) {
      if (arg !== undefined) args.push(arg)
      arg = undefined
    } else arg = (arg ?? '') + char
  }
  if (arg !== undefined) args.push(arg)
  return args
}

const nasty = [
  'a',
  ' ',
  '"',
  '\\',
  '%',
  '^',
  '&',
  '|',
  '<',
  '>',
  '(',
  ')',
  '!',
  ';',
  ',',
  '*',
  '?',
  '`',
  '[',
  'é',
]

test('each argument arrives unchanged through any number of shells', () => {
  let seed = 7
  const chance = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return seed % below
  }
  for (const [text, times] of [
    ['@"%~dp0\\node.exe" "%~dp0\\npx-cli.js" %*', 2],
    ['@echo %1', 1],
  ] as const)
    for (let round = 0; round < 2_000; round += 1) {
      const args = Array.from({ length: chance(4) }, () =>
        Array.from({ length: chance(9) }, () => nasty[chance(nasty.length)]).join(''),
      )
      const { args: given, command } = throughShell(
        { file: 'C:\\Program Files (x86)\\a&b\\npx.cmd', args, text },
        { SystemRoot: 'D:\\Win' },
      )
      assert.is(command, 'D:\\Win\\System32\\cmd.exe')
      assert.equal(given.slice(0, 3), ['/d', '/s', '/c'])
      const line = String(given[3])
      assert.ok(line.startsWith('"') && line.endsWith('"'))
      // the name of the file is read once, what it is given as often as it passes that on
      const once = read(line.slice(1, -1))
      const name = 'C:\\Program Files (x86)\\a&b\\npx.cmd'
      assert.is(once.slice(0, name.length), name)
      const rest = once.slice(name.length)
      assert.equal(split(times === 2 ? read(rest.replaceAll(/^ /g, '')) : rest), args, line)
    }
})

test('a published command starts in the shell, and a program without', () => {
  const env = { Path: place.path, SYSTEMROOT: 'C:\\Windows' }
  const disk = { exists: (file: string) => files.has(file), read: () => 'node %*' }
  const npx = startOnWindows({ command: 'npx', args: ['-y', 'a server'], env, cwd: 'C:\\work' }, disk)
  assert.equal(npx, {
    command: 'C:\\Windows\\System32\\cmd.exe',
    args: ['/d', '/s', '/c', '"C:\\Program^ Files\\nodejs\\npx.cmd ^^^"-y^^^" ^^^"a^^^ server^^^""'],
    windowsVerbatimArguments: true,
  })
  const uvx = startOnWindows({ command: 'uvx', args: ['a & b'], env, cwd: 'C:\\work' }, disk)
  assert.equal(uvx, { command: 'uvx', args: ['a & b'] })
})

test('an argument impossible in a batch file is refused before the start', () => {
  const env = { PATH: place.path }
  const disk = { exists: (file: string) => files.has(file), read: () => '' }
  const args = ['fine', 'a\nb']
  try {
    startOnWindows({ command: 'npx', args, env, cwd: 'C:\\work' }, disk)
    assert.unreachable()
  } catch (error) {
    const { code, message, retryable } = error as TransportError
    assert.equal([code, retryable], ['SPAWN_FAILED', false])
    assert.is(message, 'npx could not be started: args[1]: a batch file takes no argument with a line end')
  }
})

test.run()
