import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { resolveInside, ServerError } from 'caduceus/server'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('server/definitions/file-roots')

async function folders(t: TestContext): Promise<{ root: string; other: string; outside: string }> {
  const top = await realpath(await mkdtemp(join(tmpdir(), 'caduceus-roots-')))
  t.after(() => rm(top, { recursive: true, force: true }))
  const [root, other, outside] = [join(top, 'root'), join(top, 'other'), join(top, 'root-not')]
  for (const folder of [root, other, outside]) await mkdir(folder)
  await mkdir(join(root, 'deep'))
  await writeFile(join(root, 'a.txt'), 'a')
  await writeFile(join(other, 'b.txt'), 'b')
  await writeFile(join(outside, 'secret.txt'), 'no')
  return { root, other, outside }
}

test('files inside a root have their real paths, whether they exist or not', async (t) => {
  const { root, other } = await folders(t)
  assert.is(await resolveInside(root, 'a.txt'), join(root, 'a.txt'))
  assert.is(await resolveInside(root, 'deep/../a.txt'), join(root, 'a.txt'))
  assert.is(await resolveInside(root, 'deep/new/file.txt'), join(root, 'deep/new/file.txt'))
  assert.is(await resolveInside(root, '..a.txt'), join(root, '..a.txt'))
  assert.is(await resolveInside(root, '.'), root)
  assert.is(await resolveInside([root, other], join(other, 'b.txt')), join(other, 'b.txt'))
  assert.is(await resolveInside(root, pathToFileURL(join(root, 'a b.txt')).href), join(root, 'a b.txt'))
})

test('no path reaches a file outside of the roots', async (t) => {
  const { root, outside } = await folders(t)
  await symlink(outside, join(root, 'link'))
  await symlink(join(outside, 'secret.txt'), join(root, 'file-link'))
  await symlink(join(outside, 'later.txt'), join(root, 'dangling'))
  await symlink('loop', join(root, 'loop'))
  const ways = [
    '../root-not/secret.txt',
    'deep/../../root-not/secret.txt',
    join(outside, 'secret.txt'),
    outside,
    '..',
    '/',
    'link/secret.txt',
    'link/new.txt',
    'file-link',
    'dangling',
    'loop',
    'a.txt\0.png',
    'file:///etc/passwd',
    `file://${root}/..%2Froot-not/secret.txt`,
    'file://elsewhere/share/a.txt',
    `${pathToFileURL(root).href}/%2e%2e/root-not/secret.txt`,
    7 as never,
  ]
  for (const way of ways)
    await resolveInside(root, way).then(
      (path) => assert.unreachable(`${way} leads to ${path}`),
      (error) => assert.is((error as ServerError).code, 'OUTSIDE_ROOTS', String(way)),
    )
})

test('a root may be a link itself', async (t) => {
  const { root, outside } = await folders(t)
  const alias = join(outside, 'alias')
  await symlink(root, alias)
  assert.is(await resolveInside(alias, 'a.txt'), join(root, 'a.txt'))
})

test('roots are absolute paths', async () => {
  for (const roots of [[], 'relative', [''], undefined as never])
    await resolveInside(roots, 'a').then(
      () => assert.unreachable(),
      (error) => assert.ok(error instanceof ServerError && error.code === 'BAD_OPTION'),
    )
})

test.run()
