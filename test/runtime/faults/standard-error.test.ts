// second tier: time
// shares a process
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('standard error', { timeout: 20_000 })
const writer = pathToFileURL(inRoot('.t', 'runtime', 'faults', 'standard-error.js')).href

/** A program that logs, in a process of its own; its standard error is not read before `read` is called. */
function start(t: TestContext, text: string) {
  const program = `import { standardError } from ${JSON.stringify(writer)}
    const line = (i) => i + 'x'.repeat(995) + '\\n'
    ${text}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program])
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const written = once(child.stdout, 'data')
  const said = { text: '' }
  const read = (until: RegExp): Promise<void> =>
    new Promise((resolve) =>
      child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
        said.text += chunk
        if (until.test(said.text)) resolve()
      }),
    )
  return { child, exited, written, read, said }
}

test('what is too much is dropped, and counted once there is room', async (t) => {
  const { child, exited, written, read, said } = start(
    t,
    `for (let i = 1000; i < 3000; i++) standardError.write(line(i))
    process.stdin.on('end', () => standardError.write(line(3000))).resume()
    console.log('written')`,
  )
  await written
  await read(/left out/)
  child.stdin.end()
  assert.equal(await exited, [0, null])
  await closed(child)
  // room may come and go meanwhile: each gap has its number
  let next = 1000
  let kept = 0
  for (const line of said.text.trimEnd().split('\n')) {
    const [, count] = /^caduceus: (\d+) lines are left out here, as/.exec(line) ?? []
    if (count === undefined) assert.is(line, `${next}${'x'.repeat(995)}`)
    if (count === undefined) kept += 1
    next += Number(count ?? 1)
  }
  assert.is(next, 3001)
  assert.ok(kept > 256 && kept < 2_000, `${kept} lines were kept`)
})

test('a program that ends gives its reader time, and ends without one', async (t) => {
  const ends = `for (let i = 1000; i < 1300; i++) standardError.write(line(i))
    console.log('written')
    process.exit(3)`
  const unread = start(t, ends)
  assert.equal(await unread.exited, [3, null])
  const { child, exited, written, read, said } = start(t, ends)
  await written
  void read(/never/)
  assert.equal(await exited, [3, null])
  await closed(child)
  assert.is(said.text.trimEnd().split('\n').length, 300)
})

async function closed({ stderr }: ChildProcessWithoutNullStreams): Promise<void> {
  if (!stderr.closed) await once(stderr, 'close')
}

test.run()
