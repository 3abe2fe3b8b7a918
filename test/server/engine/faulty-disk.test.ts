import { mkdirSync, readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { run } from '../../support/project.js'
import { suite, type TestContext } from '../../support/suite.js'
import { fileSessions, makeRecord } from './_file-store.js'
import { makeFolder } from '../../support/folder.js'

const test = suite('faulty disks', { timeout: 20_000 })
const program = fileURLToPath(new URL('./_faulty-disk-program.js', import.meta.url))

/** What the program tells that runs below a limit of this process's shell. */
async function runBelow(t: TestContext, limit: string, fault: string): Promise<unknown[]> {
  const script = `trap '' XFSZ; ${limit}; exec "$@"`
  const args = ['-c', script, 'sh', process.execPath, program, fault, makeFolder(t)]
  const { code, output } = await run('sh', args, process.cwd(), t.signal)
  assert.is(code, 0, output)
  return JSON.parse(output) as unknown[]
}

test.slow('a save beyond the file size limit fails, keeps the old record and leaks nothing', async (t) => {
  const told = await runBelow(t, 'ulimit -f 100', 'large')
  assert.equal(told, [
    ...Array.from({ length: 20 }, () => 'EFBIG'),
    0,
    { n: 1 },
    { n: 1 },
    { n: 20 },
    { n: 20 },
    1,
    1,
  ])
})

test.slow('a lack of descriptors fails its own operations only', async (t) => {
  const told = await runBelow(t, 'ulimit -n 60', 'many')
  const failed = Array.from({ length: 6 }, () => 'EMFILE')
  assert.equal(told, [...failed, { n: 7 }, { n: 1 }, { n: 1 }, 2, 1])
})

test('a file that cannot be removed does not hide the records of the store', async (t) => {
  const folder = makeFolder(t)
  const earlier = fileSessions({ folder })
  for (const id of ['a', 'b', 'c']) await earlier.save(makeRecord(id, 1))
  const stuck = join(folder, '.0b7e1d8e-53cf-4b55-9d7a-0b3d3a8e2f10.tmp')
  mkdirSync(stuck) // a folder where a file of a killed program would be
  utimesSync(stuck, 0, 0)
  await fileSessions({ folder, maxSessions: 2 }).save(makeRecord('d', 1))
  assert.is(readdirSync(folder).filter((name) => name.endsWith('.session')).length, 2)
})

test.run()
