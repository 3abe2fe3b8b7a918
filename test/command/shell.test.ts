import { execFileSync, spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { splitWords } from '../../command/split-words.js'
import { suite } from '../support/suite.js'
import { caduceus, environmentOf, newHome, overStdio, program } from './_caduceus.js'

const test = suite('caduceus shell', { timeout: 30_000 })
const hasTmux = spawnSync('tmux', ['-V']).status === 0

test('lines of a pipe are worked off in order, and a mistake ends nothing', async (t) => {
  const input =
    'add a=1 b=2\ncall echo {"message":"hi"}\nad a=1\nread note://first\ngreet\nAda\nprompt review language=en\n'
  const { code, out, err } = await caduceus(t, ['shell', ...overStdio], { input })
  assert.is(code, 0, err)
  for (const part of ['3\n', 'hi\n', 'a note\n', 'hello Ada\n', 'user: Review this in en.\n'])
    assert.ok(out.includes(part), `${part} in ${out}`)
  assert.is(err, 'caduceus: ad is no command and no tool (did you mean "add"?)\n')
})

test('quotes keep words together, and an object is one word', () => {
  assert.equal(splitWords(`echo message="a \\"b\\" c" d='e f'`), ['echo', 'message=a "b" c', 'd=e f'])
  assert.equal(splitWords('call echo {"message": "a  b"}'), ['call', 'echo', '{"message": "a  b"}'])
})

const inTerminal: typeof test = Object.assign(
  hasTmux ? test : (promise: string) => test.skip(promise, 'tmux is not installed'),
  test,
)

inTerminal('in a terminal it completes, asks what the server asks, and keeps its history', async (t) => {
  const home = newHome(t)
  const socket = join(home, 'tmux')
  const tmux = (...args: string[]): string =>
    execFileSync('tmux', ['-S', socket, ...args], { env: environmentOf(home), encoding: 'utf8' })
  const quoted = [process.execPath, program, 'shell', ...overStdio].map((word) => `'${word}'`).join(' ')
  tmux('-f', '/dev/null', 'new-session', '-d', '-x', '100', '-y', '40', '-c', home, quoted)
  t.after(() => spawnSync('tmux', ['-S', socket, 'kill-server']))
  // a terminal tells nobody of its changes
  const shows = async (text: string): Promise<void> => {
    for (;;) {
      const screen = tmux('capture-pane', '-p')
      if (screen.includes(text)) return
      if (t.signal.aborted) throw new Error(`expected ${text} in\n${screen}`)
      await sleep(50)
    }
  }
  await shows('help lists')
  tmux('send-keys', 'ec', 'Tab')
  await shows('> echo')
  tmux('send-keys', ' message=hi', 'Enter')
  await shows('\nhi\n')
  tmux('send-keys', 'greet', 'Enter')
  await shows('Who are you?')
  tmux('send-keys', 'Ada', 'Enter')
  await shows('hello Ada')
  tmux('send-keys', 'Up')
  await shows('> greet')
  assert.is(statSync(join(home, '.local/share/caduceus/history')).mode & 0o777, 0o600)
})

test.run()
