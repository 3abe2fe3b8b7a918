// second tier: terminal
// shares a process
// time limit: 240 s
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../support/suite.js'
import { caduceus, environmentOf, newHome, program } from './_caduceus.js'

const test = suite('texts of servers on a terminal', { timeout: 60_000 })
const server = fileURLToPath(new URL('./_steering-server.js', import.meta.url))
const there = spawnSync('script', ['--version']).status === 0

/** What a terminal of its own gets, byte by byte; `keys` are typed once something has come. */
function onTerminal(t: TestContext, line: string, keys = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('script', ['-qec', `${process.execPath} ${program} ${line}`, '/dev/null'], {
      cwd: newHome(t),
      env: { ...environmentOf(newHome(t)), TERM: 'xterm' },
      signal: t.signal,
    })
    let got = ''
    let typed = false
    child.stdout.on('data', (chunk: Buffer) => {
      got += chunk
      // behind a prompt the cursor is put where the answer begins
      // biome-ignore lint/suspicious/noControlCharactersInRegex: as readline writes it
      if (!typed && /(?:: |\[y\/N\] |> )(?:\x1b\[\d+G)?$/.test(got)) {
        typed = true
        child.stdin.write(keys)
      }
    })
    child.once('error', reject)
    child.once('close', () => resolve(got))
  })
}

/** The command, and the marks of the texts that it shows. */
const shown: readonly (readonly [string, string, readonly string[], string?])[] = [
  ['list', '', ['name', 'version', 'tool', 'property', 'description', 'uri', 'prompt']],
  ['list --json', '', ['name', 'tool', 'description']],
  ['check', '', ['name', 'tool']],
  ['types', '', ['description', 'property']],
  ['complete p a=x', '', ['completion']],
  ['read r://1', '', ['read']],
  ['prompt p', '', ['message']],
  ['call text', '', ['text']],
  ['call failed', '', ['failed']],
  ['call error', '', ['error']],
  ['call image', '', ['mime']],
  ['call link', '', ['link', 'label']],
  ['call facts', '', ['fact']],
  ['call progress', '', ['step']],
  ['call nosuch', '', ['tool']],
  ['call form', '', ['question', 'title', 'about'], 'x\r'],
  ['call address', '', ['reason'], 'n\r'],
  ['list', 'refuses', ['refused']],
  ['list', 'dies', ['stderr']],
  ['list --verbose', '', ['stderr']],
  ['shell', '', ['name', 'error'], 'call error\rexit\r'],
]

for (const [line, how, marks, keys] of shown) {
  const promise = `caduceus ${line}${how && ` of a server that ${how}`}: all is shown, nothing steers`
  if (!there) test.skip(promise, 'script (util-linux) is not installed')
  else
    test(promise, async (t) => {
      const got = await onTerminal(t, `${line} -- ${process.execPath} ${server} ${how}`, keys)
      for (const mark of marks) assert.match(got, `<${mark}>`, `${mark} in ${JSON.stringify(got)}`)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: what the server wrote
      const steers = /\x1b\[31m<|\x1b\]0;|\x07|\u009b|\x7f|\u202e|\u2066|\u{e0041}/u.exec(got)
      assert.is(steers, null, JSON.stringify(got))
    })
}

test('stderr has no control codes when stdout is a file', async (t) => {
  if (!there) return
  const got = await onTerminal(t, `call failed -- ${process.execPath} ${server} > /dev/null`)
  assert.match(got, '<failed>')
  assert.not.match(got, '\x1b[31m<')
})

for (const [line, how, mark] of [
  ['list', 'unlisted', 'unlisted'],
  ['list', 'refuses', 'refused'],
  ['call failed', 'serves', 'failed'],
  ['call error', 'serves', 'error'],
] as const)
  test(`an error is one line, whatever lines a server has put there: ${line}, ${how}`, async (t) => {
    const { code, err } = await caduceus(t, [
      ...line.split(' '),
      '--',
      process.execPath,
      server,
      how,
      'lines',
    ])
    assert.is.not(code, 0)
    assert.match(err, new RegExp(`^caduceus: [^\\n]*it broke caduceus: <${mark}>[^\\n]*\\n$`))
  })

test('the list of a shell tells what failed in one line', async (t) => {
  const args = ['shell', '--', process.execPath, server, 'unlisted', 'lines']
  const { err } = await caduceus(t, args, { input: 'list\n' })
  assert.match(err, /^[^\n]*it broke caduceus: <unlisted>\n$/)
})

test('a pipe gets the result unchanged', async (t) => {
  const { out } = await caduceus(t, ['call', 'text', '--', process.execPath, server])
  assert.match(out, '\x1b[31m<text>')
})

test.run()
