import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { type AuthStorage, fileAuthStorage, memoryAuthStorage, redisAuthStorage } from 'caduceus/client'
import { redisTest, startRedis } from '../../support/redis.js'
import { suite, type TestContext } from '../../support/suite.js'
import { rejection } from '../_raw.js'

const test = suite('storages of tokens', { timeout: 15_000 })

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'caduceus-auth-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return join(path, 'tokens')
}

const kinds: Record<string, (t: TestContext) => Promise<readonly [AuthStorage, AuthStorage]>> = {
  async memory() {
    const storage = memoryAuthStorage()
    return [storage, storage]
  },
  async file(t) {
    const path = await folder(t)
    return [fileAuthStorage(path), fileAuthStorage(path)]
  },
  async redis(t) {
    const { url } = await startRedis(t)
    return [redisAuthStorage({ url }), redisAuthStorage({ url })]
  },
}

for (const [kind, open] of Object.entries(kinds)) {
  const define = (promise: string, body: (t: TestContext) => unknown): void =>
    kind === 'redis' ? redisTest(test, promise, body) : test(promise, body)

  define(`${kind}: what one writes another reads, by key, until it is removed`, async (t) => {
    const [one, other] = await open(t)
    assert.is(await other.read('tokens https://as'), undefined)
    await one.write('tokens https://as', { token: 'x' })
    await one.write('tokens https://as/', { token: 'y' })
    assert.equal(await other.read('tokens https://as'), { token: 'x' })
    await other.write('tokens https://as', undefined)
    await other.write('tokens https://as', undefined)
    assert.is(await one.read('tokens https://as'), undefined)
    assert.equal(await one.read('tokens https://as/'), { token: 'y' })
  })

  define(`${kind}: work for one key is done by one at a time, also after a failure`, async (t) => {
    const pair = await open(t)
    let [inside, most, done] = [0, 0, 0]
    const work = async (): Promise<void> => {
      inside += 1
      most = Math.max(most, inside)
      await new Promise((resolve) => setImmediate(resolve))
      inside -= 1
      done += 1
      if (done % 3 === 0) throw new Error('failed')
    }
    const all = Array.from({ length: 12 }, (_, i) => {
      const { signal } = new AbortController()
      return (pair[i % 2] as AuthStorage).exclusive('k', work, signal)
    })
    const ends = await Promise.allSettled(all)
    assert.equal([most, done], [1, 12])
    assert.is(ends.filter(({ status }) => status === 'rejected').length, 4)
  })

  define(`${kind}: whoever waits for its turn can give up`, async (t) => {
    const [one, other] = await open(t)
    let [free, inside] = [(): void => {}, (): void => {}]
    const freed = new Promise<void>((resolve) => (free = resolve))
    const begun = new Promise<void>((resolve) => (inside = resolve))
    const hold = (): Promise<void> => {
      inside()
      return freed
    }
    const held = one.exclusive('k', hold, new AbortController().signal)
    await begun
    const controller = new AbortController()
    const waiting = other.exclusive('k', async () => 'never', controller.signal)
    controller.abort(new Error('given up'))
    assert.ok(await rejection(waiting))
    free()
    await held
    assert.is(await other.exclusive('k', async () => 'mine', t.signal), 'mine')
  })
}

test('file storage: owner-only mode, no temporary files, a broken file reads as empty', async (t) => {
  const path = await folder(t)
  const storage = fileAuthStorage(path)
  await storage.exclusive('k', () => storage.write('k', { token: 'x' }), t.signal)
  const [name = '', ...rest] = await readdir(path)
  assert.equal(rest, [])
  assert.is((await stat(path)).mode & 0o777, 0o700)
  assert.is((await stat(join(path, name))).mode & 0o777, 0o600)
  await writeFile(join(path, name), '{"key":')
  assert.is(await storage.read('k'), undefined)
})

test('file storage: a file that is not what was written of this key reads as empty', async (t) => {
  const path = await folder(t)
  const storage = fileAuthStorage(path)
  await storage.write('k', { token: 'x' })
  const [name = ''] = await readdir(path)
  for (const other of [
    ...[null, 5, ['list'], {}, { key: 'k' }, { key: 'k', value: null }, { key: 'k', value: 'text' }],
    { key: 'other', value: { token: 'theirs' } },
    { value: { token: 'anybody' } },
  ]) {
    await writeFile(join(path, name), JSON.stringify(other))
    assert.is(await storage.read('k'), undefined, JSON.stringify(other))
  }
  await storage.write('k', { token: 'y' })
  assert.equal(await storage.read('k'), { token: 'y' })
})

test('file: a pipe in the place of a value is refused by name, and not waited for', async (t) => {
  if (process.platform === 'win32') return
  const path = await folder(t)
  const storage = fileAuthStorage(path)
  await storage.write('a', { n: 1 })
  const [name = ''] = (await readdir(path)).filter((one) => one.endsWith('.json'))
  await rm(join(path, name))
  execFileSync('mkfifo', [join(path, name)])
  const error = await rejection(storage.read('a'))
  assert.match(error.message, name)
})

for (const [when, ms] of [
  ['long ago', -60_000],
  ['in the future, as its clock went', 3_600_000],
] as const)
  test(`file: the lock of a process that died ${when} is taken over`, async (t) => {
    const path = await folder(t)
    const storage = fileAuthStorage(path)
    let lockName = ''
    await storage.exclusive(
      'k',
      async () => {
        lockName = (await readdir(path)).find((name) => name.endsWith('.lock')) ?? ''
      },
      t.signal,
    )
    await writeFile(join(path, lockName), 'of somebody dead')
    const old = new Date(Date.now() + ms)
    await utimes(join(path, lockName), old, old)
    assert.is(await storage.exclusive('k', async () => 'mine', t.signal), 'mine')
    assert.equal(await readdir(path), [])
  })

test('file: the lock of a process that was killed is taken over at once', async (t) => {
  if (process.platform !== 'linux') return
  const path = await folder(t)
  const program = `
    const { fileAuthStorage } = await import(${JSON.stringify(import.meta.resolve('caduceus/client'))})
    const storage = fileAuthStorage(${JSON.stringify(path)})
    setInterval(() => {}, 60_000)
    await storage.exclusive('k', () => new Promise(() => console.log('has it')), new AbortController().signal)
  `
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { signal: t.signal })
  child.on('error', () => {})
  await once(child.stdout, 'data')
  const storage = fileAuthStorage(path)
  let hasEnded = false
  child.once('exit', () => {
    hasEnded = true
  })
  const mine = storage.exclusive('k', async () => hasEnded, t.signal)
  child.kill('SIGKILL')
  // without the 30 s after which one that is silent counts as dead
  assert.is(await mine, true)
  assert.equal(await readdir(path), [])
})

test('file: a wrong folder is an error of the caller', () => {
  assert.throws(() => fileAuthStorage(''), /folder: expected a non-empty string/)
})

test('concurrent waiters on a dead lock remove it and then take it one by one', async (t) => {
  const path = await folder(t)
  const storages = Array.from({ length: 8 }, () => fileAuthStorage(path))
  const [first] = storages as [AuthStorage]
  let lockName = ''
  await first.exclusive(
    'k',
    async () => {
      lockName = (await readdir(path)).find((name) => name.endsWith('.lock')) ?? ''
    },
    t.signal,
  )
  const old = new Date(Date.now() - 3_600_000)
  await writeFile(join(path, lockName), 'of somebody dead')
  await utimes(join(path, lockName), old, old)
  let inside = 0
  const work = async (): Promise<void> => {
    inside += 1
    await new Promise(setImmediate)
    assert.is(inside, 1)
    inside -= 1
  }
  await Promise.all(storages.map((storage) => storage.exclusive('k', work, t.signal)))
  assert.equal(await readdir(path), [])
})

test('file: a folder that others have a say in is refused', async (t) => {
  if (process.platform === 'win32') return
  const near = join(await folder(t), '..')
  const folders = {
    'is one that others may write to': join(near, 'open'),
    'is a link': join(near, 'link'),
    ...(process.getuid?.() === 0 && { 'belongs to somebody else': join(near, 'foreign') }),
  }
  const { link, foreign, open } = {
    link: join(near, 'link'),
    foreign: join(near, 'foreign'),
    open: join(near, 'open'),
  }
  for (const path of [foreign, open, join(near, 'mine')]) await mkdir(path, { mode: 0o700 })
  await chmod(open, 0o777)
  await symlink(join(near, 'mine'), link)
  if (process.getuid?.() === 0) await chown(foreign, 65_534, 65_534)
  for (const [problem, path] of Object.entries(folders)) {
    const storage = fileAuthStorage(path)
    const { signal } = new AbortController()
    for (const use of [
      () => storage.write('k', { token: 'x' }),
      () => storage.read('k'),
      () => storage.exclusive('k', async () => {}, signal),
    ]) {
      const error = await rejection(use())
      assert.ok(error.message.includes(problem), error.message)
      assert.is((error as { code?: unknown }).code, 'AUTHORIZATION_FAILED')
    }
    assert.equal(await readdir(path), [])
  }
})

test.run()
