import { fileSessions, makeRecord } from './engine/_file-store.js'

// saves as quickly as it can, and says which version of which session has been saved
const [folder = ''] = process.argv.slice(2)
const store = fileSessions({ folder })
const filling = 'x'.repeat(100_000)

async function saveOnAndOn(id: string): Promise<void> {
  const known = (await store.load(id))?.version ?? 0
  for (let version = known + 1; ; version++) {
    await store.save(makeRecord(id, version, { version, filling }))
    process.stdout.write(`${id} ${version}\n`)
  }
}

await Promise.all(['a', 'b', 'c', 'd'].map(saveOnAndOn))
