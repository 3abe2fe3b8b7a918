// second tier: time
// time limit: 60 s
import { spawn } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { text } from 'node:stream/consumers'
import * as assert from 'uvu/assert'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('npm start', { timeout: 40_000 })

interface Facts {
  readonly ok: boolean
  readonly seconds: number
  readonly outcomes: readonly {
    readonly title: string
    readonly callers: readonly string[]
    readonly restarted: readonly string[]
    readonly strays: readonly string[]
    readonly counters: readonly number[]
  }[]
}

test('the demonstration survives each fault it causes and cleans up', async () => {
  const child = spawn(process.execPath, [inRoot('scripts/run.mjs'), 'start', '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  assert.is(await ended, 0, errors)
  const { ok, seconds, outcomes } = JSON.parse(output) as Facts
  assert.ok(ok)
  assert.ok(seconds < 20, `${seconds} s`)
  assert.is(outcomes.length, 8)
  const [killed, crashed, rejection, thrown, spinning, session, listener, base] = outcomes
  assert.match(killed?.callers[0] ?? '', /an answer.*completed/)
  assert.equal(crashed?.restarted, ['client files / client', 'client files / transport'])
  for (const stray of [rejection, thrown]) {
    assert.match(stray?.callers[0] ?? '', 'Internal error')
    assert.match(stray?.strays[0] ?? '', /nobody (awaits|catches) this \(failed\)/)
    assert.equal(stray?.restarted, [])
  }
  assert.match(spinning?.callers[0] ?? '', /second session: \d+ pings were answered/)
  assert.match(spinning?.callers[1] ?? '', /spin took longer than 500 ms/)
  assert.equal(session?.restarted, [], 'a session comes back from the store, not by a restart')
  for (const group of [listener, base]) assert.is(group?.restarted.length, 4)
  assert.equal(base?.counters, [9, 9, 9], 'the counters of all sessions went on')
  const left = (await readdir(tmpdir())).filter((name) => name.startsWith('caduceus-'))
  assert.equal(left, [], 'no folder is left')
})

test('--step waits for a key before each act', async (t) => {
  const child = spawn(process.execPath, [inRoot('scripts/run.mjs'), 'start', '--step'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  let [output, keys] = ['', 0]
  for await (const chunk of child.stdout) {
    output += chunk
    if (output.split('Press a key.').length - 1 === keys) continue
    keys += 1
    child.stdin.write('\n')
  }
  assert.is(await ended, 0)
  assert.is(keys, 8)
  assert.match(output, /8\. what knows the tools of the server crashes[\s\S]*group \/ base: a new process/)
  assert.not.match(output.slice(output.indexOf('8. '), output.indexOf('The same tree')), 'thread of handlers')
  assert.match(output, /The same tree after all that[\s\S]* \* .*base {2}counters 1\.0\.0/)
})

test('--keep leaves the tree up until it is interrupted', async (t) => {
  const child = spawn(process.execPath, [inRoot('scripts/run.mjs'), 'start', '--keep'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  let output = ''
  const up = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk) => {
      output += chunk
      if (output.includes('Still up: ')) resolve()
    })
  })
  await up
  const url = output.match(/Still up: (http:\S+?)\. /)?.[1] ?? ''
  assert.is((await fetch(url, { method: 'OPTIONS' })).status, 405)
  assert.not.match(output, '\u001b[', 'no colours where nobody looks')
  child.kill('SIGINT')
  assert.is(await ended, 0)
})

test.run()
