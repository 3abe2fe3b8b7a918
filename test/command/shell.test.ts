// second tier: terminal
// shares a process
import { statSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { suite } from '../support/suite.js'
import { caduceus, newHome, overStdio, program } from './_caduceus.js'
import { commandLine, openTerminal, withTerminal } from './_terminal.js'

const test = suite('caduceus shell', { timeout: 30_000 })

test('piped lines run in order, and a mistake ends nothing', async (t) => {
  const input =
    'add a=1 b=2\ncall echo {"message":"hi"}\nad a=1\nread note://first\ngreet\nAda\nprompt review language=en\n'
  const { code, out, err } = await caduceus(t, ['shell', ...overStdio], { input })
  assert.is(code, 0, err)
  for (const part of ['3\n', 'hi\n', 'a note\n', 'hello Ada\n', 'user: Review this in en.\n'])
    assert.ok(out.includes(part), `${part} in ${out}`)
  assert.is(err, 'caduceus: ad is no command and no tool (did you mean "add"?)\n')
})

test('with --json each line has its value, a mistake, too', async (t) => {
  const input = 'add a=1 b=2\nad a=1\nread nowhere://x\n'
  const { code, out, err } = await caduceus(t, ['shell', '--json', ...overStdio], { input })
  assert.equal([code, err], [0, ''])
  const values = out
    .split(/^(?=\{)/m)
    .filter((text) => text.trim() !== '')
    .map((text) => JSON.parse(text) as { error?: { code: unknown } })
  // the number is one of the revision, and that depends on how fast the server started
  const codes = values.map(({ error }) => (typeof error?.code === 'number' ? 'a number' : error?.code))
  assert.equal(codes, [undefined, 'BAD_OPTION', 'a number'], out)
})

const inTerminal = withTerminal(test)

inTerminal('in a terminal the shell completes, relays questions and keeps history', async (t) => {
  const home = newHome(t)
  const { type, shows } = openTerminal(t, home, commandLine(process.execPath, program, 'shell', ...overStdio))
  await shows('help lists')
  type('ec', 'Tab')
  await shows('> echo')
  type(' message=hi', 'Enter')
  await shows('\nhi\n')
  type('greet', 'Enter')
  await shows('Who are you?')
  type('Ada', 'Enter')
  await shows('hello Ada')
  type('Up')
  await shows('> greet')
  assert.is(statSync(join(home, '.local/share/caduceus/history')).mode & 0o777, 0o600)
})

inTerminal('Ctrl-C aborts a call, and at the prompt ends the shell', async (t) => {
  const home = newHome(t)
  const { type, shows, until } = openTerminal(
    t,
    home,
    commandLine(process.execPath, program, 'shell', ...overStdio),
  )
  await shows('help lists')
  type('wait', 'Enter')
  // the server tells that it works on it
  await shows('waiting')
  type('C-c')
  await shows('gave it up')
  type('echo message=still', 'Enter')
  await shows('\nstill\n')
  type('C-c')
  await until((screen) => /exit \d/.test(screen))
})

inTerminal('an address to open is shown, and the user says whether it was visited', async (t) => {
  const home = newHome(t)
  const { type, shows } = openTerminal(t, home, commandLine(process.execPath, program, 'shell', ...overStdio))
  await shows('help lists')
  type('visit', 'Enter')
  await shows('Open this address if you trust it: https://example.com/pay')
  await shows('Done? [y/N]')
  type('y', 'Enter')
  await shows('paid: accept')
})

test.run()
