// second tier: package
// time limit: 180 s
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { freePort } from '../support/free-port.js'
import { linkDevelopmentPackage, packOnce } from '../support/packed.js'
import { run } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'
import { Browser } from '../transports/authorization/_browser.js'

const test = suite('the tutorial', { timeout: 150_000 })

test('each step of the tutorial prints what its page says, except for ports', async (t) => {
  const { folder: packed } = await packOnce(t.signal)
  const folder = join(packed, 'notes')
  mkdirSync(folder)
  // what `npm install caduceus` leaves there
  symlinkSync(join(packed, 'node_modules'), join(folder, 'node_modules'))
  const [port, view] = [await freePort(), await freePort()]
  const page = readFileSync(inRoot('server/guide/tutorial.md'), 'utf8')
    .replaceAll(/\b3000\b/g, String(port))
    .replaceAll(/\b4000\b/g, String(view))
  const names: string[] = []
  for (const [, name = '', text = ''] of page.matchAll(
    /^`(\w+\.mjs)`:\n\n<!-- .* -->\n```js\n([\s\S]*?)^```$/gm,
  )) {
    writeFileSync(join(folder, name), text)
    names.push(name)
  }
  assert.equal(names, ['notes.mjs', 'server.mjs', 'client.mjs', 'break.mjs'])
  const blocks = [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, kind, text = '']) => ({
    kind,
    text,
  }))
  const lines = blocks.flatMap(({ kind, text }) => (kind === 'sh' ? text.trim().split('\n') : []))
  const prints = blocks.flatMap(({ kind, text }) => (kind === '' || kind === 'text' ? [text] : []))
  const [, server = '', list = '', add = '', client = '', broken = '', serve = '', call = '', ...more] = lines
  assert.equal([lines.length, more.length, prints.length], [8, 0, 2])
  // npx takes seconds to find what is there: the first line shows that it does
  const direct = (line: string) => line.replaceAll('npx caduceus', 'node_modules/.bin/caduceus')
  const say = (line: string) => run('sh', ['-c', direct(line)], folder, t.signal)

  const first = begin(t, server, folder)
  assert.match(await first.line(/^http:.*$/m), server.replace(/.*# /, ''))
  const listed = await run('sh', ['-c', list], folder, t.signal)
  assert.ok(listed.code === 0 && /add[\s\S]*break/.test(listed.output), listed.output)
  assert.match((await say(add)).output, /^1: buy tea$/m)
  const reports = (text: string): string => text.replaceAll(/report [\d.]+/g, 'report N')
  // the log of a client goes to standard error
  const printed = (line: string) => say(`${line} 2>/dev/null`)
  const said = await printed(client)
  assert.equal([said.code, reports(said.output)], [0, reports(prints[0] ?? '')])
  assert.equal(await printed(broken), { code: 0, output: prints[1] })

  assert.match(page, /stop it with Ctrl-C/)
  await first.stop()
  const second = begin(t, `${direct(serve)} --http ${port}`, folder)
  const shown = await second.line(/is served at (\S+)[\s\S]*shown at (\S+)\n/)
  const [, served, address = ''] = /served at (\S+)[\s\S]*shown at (\S+)/.exec(shown) ?? []
  assert.is(served, `http://127.0.0.1:${port}/mcp`)
  assert.is(new URL(address).port, String(view))
  assert.is((await fetch(address)).status, 200)
  const failed = await say(call)
  assert.match(failed.output, /report [\d.]+/)
  assert.match((await say(add)).output, /^1: buy tea$/m)
  await second.stop()
  const [, dev = ''] = /`(npx caduceus dev [^`]*)`/.exec(page) ?? []
  const third = begin(t, `${direct(dev)} --http ${port}`, folder)
  await third.line(/is served at/)
  assert.match((await say(add)).output, /^1: buy tea$/m)
  await third.stop()
})

test('its last step has a user log in with a browser, and know who it is', async (t) => {
  const whole = await packOnce(t.signal)
  linkDevelopmentPackage(whole, 'oidc-provider')
  const folder = join(whole.folder, 'login')
  mkdirSync(folder)
  symlinkSync(join(whole.folder, 'node_modules'), join(folder, 'node_modules'))
  const port = await freePort()
  const page = readFileSync(inRoot('server/guide/tutorial-login.md'), 'utf8').replaceAll(
    /\b3000\b/g,
    String(port),
  )
  const [, program = ''] = /```js\n([\s\S]*?)^```$/m.exec(page) ?? []
  writeFileSync(join(folder, 'login.mjs'), program)
  writeFileSync(join(folder, 'notes.mjs'), readFileSync(inRoot('test/examples/guide/tutorial/notes.mjs')))
  const lines = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, line = '']) => line.trim())
  const [, server = '', list = '', login = '', call = '', ...more] = lines
  assert.equal(more, [])
  // logins of this test alone
  const own = (line: string): string =>
    `XDG_DATA_HOME=${folder}/data ${line.replace('npx caduceus', 'node_modules/.bin/caduceus')}`
  const say = (line: string) => run('sh', ['-c', own(line)], folder, t.signal)
  await begin(t, server, folder).line(/^http:.*$/m)
  const refused = await say(list)
  assert.ok(refused.code === 4 && /login/.test(refused.output), refused.output)
  const signing = begin(t, own(`${login} --no-browser`), folder)
  const address = await signing.line(/http:\S+authorize\S+/)
  const browser = new Browser()
  const consent = await browser.open(address)
  assert.match(consent.text, /as you: <b>Ada<\/b>, signed in at My company/)
  assert.is((await browser.press(consent, 'allow')).status, 200)
  await signing.ended
  const [, printed = ''] = /```text\n([\s\S]*?)^```$/m.exec(page) ?? []
  const { code, output } = await say(`${call} 2>/dev/null`)
  assert.equal([code, output], [0, printed])
})

test.run()

/** A line of the page that goes on until Ctrl-C, which a terminal sends to all that the line has started. */
function begin(t: TestContext, line: string, cwd: string) {
  const child: ChildProcess = spawn('sh', ['-c', line], { cwd, detached: true })
  const kill = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    } catch {
      // it has ended
    }
  }
  t.after(() => kill('SIGKILL'))
  const ended = once(child, 'close')
  let told = ''
  return {
    ended,
    line: (pattern: RegExp): Promise<string> =>
      new Promise((resolve, reject) => {
        const look = (chunk: Buffer | string = ''): void => {
          told += chunk
          const found = pattern.exec(told)
          if (found !== null) resolve(found[0])
        }
        child.stdout?.on('data', look)
        child.stderr?.on('data', look)
        void ended.then(() => reject(new Error(`${line} has ended, and told: ${told}`)))
        look()
      }),
    async stop(): Promise<void> {
      kill('SIGINT')
      await ended
    },
  }
}
