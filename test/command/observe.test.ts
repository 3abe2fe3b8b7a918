// second tier: terminal
// shares a process
import { spawn } from 'node:child_process'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../support/suite.js'
import { commandLine, openTerminal, withTerminal } from './_terminal.js'
import { caduceus, environmentOf, newHome, program, serverFile } from './_caduceus.js'

const test = suite('caduceus observe', { timeout: 30_000 })

/** Serves the sample server, and resolves with its number once it may be looked at. */
async function serve(
  t: TestContext,
  home: string,
): Promise<{ pid: number | undefined; page: string; kill(): void; freeze(): void }> {
  const args = [program, 'serve', serverFile, '--http', '0', '--observe', '0']
  const child = spawn(process.execPath, args, {
    cwd: home,
    env: environmentOf(home),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let told = ''
  for await (const chunk of child.stderr) {
    told += chunk
    const [page] = /http:\S+secret=\S+/.exec(told) ?? []
    if (page !== undefined)
      return {
        ...{ pid: child.pid, page },
        kill: () => child.kill('SIGKILL'),
        freeze: () => child.kill('SIGSTOP'),
      }
  }
  throw new Error(told)
}

test('observe without an observable program says so and exits with 3', async (t) => {
  const { code, out, err } = await caduceus(t, ['observe'])
  assert.equal([code, out], [3, ''])
  assert.match(err, /^caduceus: no program of yours can be looked at: .*\n$/)
})

test('observe without a terminal prints the trees once, as text or JSON', async (t) => {
  const home = newHome(t)
  const { pid, page } = await serve(t, home)
  assert.match(page, /^http:\/\/127\.0\.0\.1:\d+\/#secret=[\w-]{32}$/)
  const { code, out } = await caduceus(t, ['observe'], { home })
  assert.is(code, 0)
  assert.match(out, /^server sample {2}rest_for_one, 3 restarts left\n├─ holdings {2}http:/)
  const byNumber = await caduceus(t, ['observe', String(pid), '--json'], { home })
  const picture = JSON.parse(byNumber.out)
  assert.equal([picture.program.pid, picture.program.name], [pid, '_server'])
  const wrong = await caduceus(t, ['observe', 'shop'], { home })
  assert.is(wrong.code, 2)
  assert.match(wrong.err, /expected a program.*_server \(\d+\), got shop/)
  await serve(t, home)
  const two = await caduceus(t, ['observe'], { home })
  assert.is(two.code, 2)
  assert.match(two.err, /which one\? _server \(\d+\), _server \(\d+\)/)
})

test('observe of a program that is frozen ends at its deadline', async (t) => {
  const home = newHome(t)
  const { pid, freeze } = await serve(t, home)
  await serve(t, home)
  freeze()
  for (const more of [[], ['--json']]) {
    const args = ['observe', String(pid), '--timeout', '500', ...more]
    const { code, out, err } = await caduceus(t, args, { home })
    assert.is(code, 3)
    assert.match(out + err, new RegExp(`_server \\(${pid}\\) has not answered within 500 ms`))
  }
})

const inTerminal = withTerminal(test)

inTerminal('observe in a terminal shows the trees live until the program ends', async (t) => {
  const home = newHome(t)
  const served = await serve(t, home)
  const { shows } = openTerminal(t, home, commandLine(process.execPath, program, 'observe'))
  await shows(`_server  pid ${served.pid}`)
  await shows('└─ transport (http_listener)')
  served.kill()
  await shows('the program has ended')
  await shows('exit 0')
})

inTerminal('observe of one that is frozen restores the terminal at its deadline', async (t) => {
  const home = newHome(t)
  const { pid, freeze } = await serve(t, home)
  freeze()
  const line = commandLine(process.execPath, program, 'observe', '--timeout', '500')
  const { until } = openTerminal(t, home, `echo before; ${line}`)
  await until((text) => text.startsWith(`before\ncaduceus: _server (${pid}) has not answered within 500 ms`))
  await until((text) => text.includes('exit 3'))
})

inTerminal('q ends observe and restores the terminal', async (t) => {
  const home = newHome(t)
  await serve(t, home)
  const line = commandLine(process.execPath, program, 'observe')
  const { type, until } = openTerminal(t, home, `echo before; ${line}`)
  await until((text) => text.includes('q ends') && !text.includes('before'))
  type('q')
  await until((text) => text.startsWith('before\nexit 0\n'))
})

test.run()
