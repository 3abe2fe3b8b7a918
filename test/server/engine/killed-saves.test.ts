// second tier: time
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { makeFolder } from '../../support/folder.js'
import { suite } from '../../support/suite.js'
import { fileSessions } from './_file-store.js'

const test = suite('file store')
const saving = fileURLToPath(new URL('../_saving-program.js', import.meta.url))

test(
  'a program killed during saves leaves each session whole, as last saved or newer',
  async (t) => {
    const folder = makeFolder(t)
    const saved = new Map<string, number>()
    for (let round = 1; round <= 4; round++) {
      await killWhileSaving(t, folder, { saved, lines: 37 * round })
      const store = fileSessions({ folder })
      for (const [id, version] of saved) {
        const record = await store.load(id)
        assert.ok(record !== undefined && record.version >= version, `${id} ${version}: ${record?.version}`)
        assert.is(record.state.version, record.version)
      }
    }
    assert.is(saved.size, 4)
  },
  { timeout: 30_000 },
)

async function killWhileSaving(
  t: { after(undo: () => unknown): void },
  folder: string,
  { saved, lines }: { saved: Map<string, number>; lines: number },
): Promise<void> {
  const child = spawn(process.execPath, [saving, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  let left = lines
  for await (const line of createInterface({ input: child.stdout })) {
    const [id = '', version] = line.split(' ')
    saved.set(id, Number(version))
    left -= 1
    if (left === 0) child.kill('SIGKILL')
  }
  await closed
}

test.run()
