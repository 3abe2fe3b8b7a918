import { closeSync, openSync, readdirSync } from 'node:fs'
import { fileAuthStorage } from '../../../client/auth/file-storage.js'
import { openDescriptors } from '../../support/counted.js'
import { fileSessions, makeRecord } from './_file-store.js'

// Runs below a limit that its parent has set: of the size of files (large), or of open descriptors (many). Tells what came of each step.
const [fault = '', folder = ''] = process.argv.slice(2)
const sessions = `${folder}/sessions`
const store = fileSessions({ folder: sessions })
const storage = fileAuthStorage(`${folder}/auth`)
const { signal } = new AbortController()
const told: unknown[] = []

async function attempt(work: () => unknown): Promise<unknown> {
  try {
    return await work()
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

async function largeFiles(): Promise<void> {
  const filling = 'x'.repeat(500_000)
  await store.save(makeRecord('a', 1, { n: 1 }))
  await storage.write('k', { n: 1 })
  const before = openDescriptors()
  for (let round = 2; round < 12; round++) {
    told.push(await attempt(() => store.save(makeRecord('a', round, { filling }))))
    told.push(await attempt(() => storage.write('k', { filling })))
  }
  told.push(openDescriptors() - before)
  told.push((await store.load('a'))?.state, await storage.read('k'))
  await store.save(makeRecord('a', 20, { n: 20 }))
  await storage.write('k', { n: 20 })
  told.push((await store.load('a'))?.state, await storage.read('k'))
}

async function manyDescriptors(): Promise<void> {
  await fileSessions({ folder: sessions }).save(makeRecord('a', 7, { n: 7 }))
  await storage.write('k', { n: 1 })
  const held: number[] = []
  try {
    for (;;) held.push(openSync('/dev/null', 'r'))
  } catch (error) {
    told.push((error as { code?: unknown }).code)
  }
  told.push(await attempt(() => store.save(makeRecord('b', 1))))
  told.push(await attempt(() => store.load('a')))
  told.push(await attempt(() => storage.write('k', { n: 2 })))
  told.push(await attempt(() => storage.read('k')))
  told.push(await attempt(() => storage.exclusive('k', async () => 'mine', signal)))
  for (const descriptor of held) closeSync(descriptor)
  // what an earlier program has saved is known by now: an older record does not replace it
  await store.save(makeRecord('b', 1, { n: 1 }))
  await store.save(makeRecord('a', 3, { n: 3 }))
  told.push((await store.load('a'))?.state, (await store.load('b'))?.state)
  told.push(await storage.exclusive('k', () => storage.read('k'), signal))
}

await (fault === 'large' ? largeFiles() : manyDescriptors())
told.push(readdirSync(sessions).length, readdirSync(`${folder}/auth`).length)
process.stdout.write(JSON.stringify(told))
