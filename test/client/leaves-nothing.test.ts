// second tier: time
// shares a process
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { suite } from '../support/suite.js'
import { json, listen, polite, result } from '../transports/_http.js'
import { runs } from './_servers.js'

const test = suite('what clients leave behind', { timeout: 20_000 })
const program = fileURLToPath(new URL('./_ends-program.js', import.meta.url))

for (const [way, count] of [
  ['withClient', 1],
  ['asyncDispose', 1],
  ['startClients', 1],
  ['startClientPool', 2],
] as const) {
  test(`${way}: a closed client leaves no timer, socket, process or server`, async (t) => {
    const server = await listen(
      t,
      polite((seen) => json(seen, result(seen, {}))),
    )
    const child = spawn(process.execPath, [program, way, server.url], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    const said: string[] = []
    child.stdout.setEncoding('utf8').on('data', (text: string) => said.push(text))
    const [code] = await once(child, 'close', { signal: t.signal })
    assert.is(code, 0)
    const { pids, before = [], left = [] }: Record<string, string[]> = JSON.parse(said.join(''))
    // what Node had for itself at the beginning may have gone
    for (const kind of before) if (left.includes(kind)) left.splice(left.indexOf(kind), 1)
    assert.equal(left, [])
    assert.is(new Set(pids).size, 2 * count)
    assert.equal(
      pids?.filter((pid) => runs(Number(pid))),
      [],
    )
    const verbs = server.seen.all.map(({ method, message }) => message.method ?? method)
    assert.ok(verbs.includes('DELETE'), `the session was not ended: ${verbs.join(', ')}`)
  })
}

test.run()
