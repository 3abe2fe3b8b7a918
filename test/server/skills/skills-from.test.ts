import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { defineResource, defineServer, type ServerError, skillsFrom } from 'caduceus/server'
import { suite, type TestContext } from '../../support/suite.js'
import { folderOf, skillText, twoSkills } from './_folders.js'

const test = suite('server/skills/skills-from')

async function refusal(folder: string, options?: object): Promise<string> {
  try {
    await skillsFrom(folder, options as never)
  } catch (error) {
    assert.is((error as ServerError).code, 'BAD_DEFINITION')
    return (error as Error).message
  }
  throw new Error('was read')
}

function refused(t: TestContext, files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  return refusal(folderOf(t, files))
}

test('each folder with a SKILL.md is a skill, with all its files', async (t) => {
  const folder = folderOf(t, twoSkills)
  for (const given of [folder, pathToFileURL(folder)]) {
    const [refunds, workflow] = (await skillsFrom(given)).skills.map(({ entry }) => entry)
    assert.is(refunds?.uri, 'skill://acme/billing/refunds/SKILL.md')
    assert.equal(workflow?.frontmatter, {
      name: 'git-workflow',
      description: 'Does git-workflow.',
      license: 'MIT',
    })
    const text = twoSkills['git-workflow/SKILL.md'] ?? ''
    const own = { digest: `sha256:${createHash('sha256').update(text).digest('hex')}`, size: text.length }
    const files = workflow?.resources === 'dynamic' ? [] : (workflow?.resources ?? [])
    assert.equal(files[0], { uri: 'skill://git-workflow/SKILL.md', ...own })
    assert.equal(
      files.map(({ uri }) => uri.slice('skill://git-workflow/'.length)),
      ['SKILL.md', 'assets/logo.png', 'references/COMMITS.md'],
    )
  }
})

test('a nested skill shares its files with the outer one; a folder may be a skill', async (t) => {
  const files = {
    'outer/SKILL.md': skillText('outer'),
    'outer/inner/SKILL.md': skillText('inner'),
    'outer/inner/a b#c?.txt': 'text',
  }
  const folder = folderOf(t, files)
  for (const given of [folder, join(folder, 'outer')]) {
    const [outer, inner] = (await skillsFrom(given)).skills.map(({ entry }) => entry.resources)
    assert.is(outer?.length, 3)
    assert.equal(
      (inner as { uri: string }[]).map(({ uri }) => uri),
      ['skill://outer/inner/SKILL.md', 'skill://outer/inner/a%20b%23c%3F.txt'],
    )
  }
})

test('an invalid skill is refused with its file', async (t) => {
  const wrong: Readonly<Record<string, string | Uint8Array>> = {
    'no front matter': '# Title',
    'not UTF-8': Buffer.from([0x2d, 0xff, 0xfe]),
    'of another name': skillText('other'),
    'without a description': '---\nname: a\n---\n',
    'with a description that is too long': `---\nname: a\ndescription: ${'x'.repeat(1025)}\n---\n`,
    'with a number as its name': '---\nname: 1\ndescription: x\n---\n',
    'with a field twice': '---\nname: a\nname: a\ndescription: x\n---\n',
  }
  for (const [what, content] of Object.entries(wrong))
    assert.match(await refused(t, { 'a/SKILL.md': content }), /^skills: .*a[/\\]SKILL\.md: /, what)
  assert.match(await refused(t, { 'Big/SKILL.md': skillText('Big') }), 'lowercase')
  assert.match(await refused(t, { 'a/skill.md': skillText('a') }), 'expected the name SKILL.md')
  assert.match(await refused(t, { 'a/README.md': '' }), 'has no SKILL.md')
  assert.match(await refusal(join(folderOf(t, {}), 'absent')), 'cannot be read')
  assert.match(await refusal(join(folderOf(t, { file: '' }), 'file')), 'expected a folder')
  assert.match(await refusal(folderOf(t, twoSkills), { directoryread: true }), 'directoryRead')
  assert.match(await refusal(5 as never), 'folder: expected the path of a folder')
})

test.slow(
  'a skill has at most 512 files and 16 MiB',
  async (t) => {
    const many = Object.fromEntries(Array.from({ length: 511 }, (_, at) => [`a/${at}.txt`, '']))
    const main = { 'a/SKILL.md': skillText('a') }
    await skillsFrom(folderOf(t, { ...main, ...many }))
    assert.match(await refused(t, { ...main, ...many, 'a/one-more.txt': '' }), '513 files, more than 512')
    const big = Buffer.alloc(16 * 1024 * 1024 - skillText('a').length)
    await skillsFrom(folderOf(t, { ...main, 'a/big.bin': big }))
    assert.match(
      await refused(t, { ...main, 'a/big.bin': big, 'a/b': 'x' }),
      '16777217 bytes, more than 16777216',
    )
    const far = Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`s${at}/big.bin`, big]))
    assert.match(await refused(t, { ...main, ...far }), 'more than 67108864 bytes in all')
  },
  { timeout: 30_000 },
)

test('symbolic links must stay inside the folder and form no cycle', async (t) => {
  const secret = folderOf(t, { 'secret.txt': 'secret', 'x/SKILL.md': skillText('x') })
  const folder = folderOf(t, { 'a/SKILL.md': skillText('a'), 'shared.md': 'for all' })
  symlinkSync(join(folder, 'shared.md'), join(folder, 'a', 'inside.md'))
  assert.is((await skillsFrom(folder)).skills[0]?.entry.resources.length, 2)
  const hostile: readonly (readonly [string, string, string])[] = [
    [join(secret, 'secret.txt'), 'a/out.txt', 'leads out'],
    [join(secret, 'x'), 'x', 'leads out'],
    ['../..', 'a/up', 'leads out'],
    ['..', 'a/circle', 'leads to a folder that it lies in'],
    ['/proc/self/environ', 'a/environ', 'leads out'],
    ['nowhere', 'a/dangling', 'cannot be read'],
    [`${folder}-sibling`, 'a/sibling', 'cannot be read'],
  ]
  for (const [target, path, says] of hostile) {
    const own = folderOf(t, { 'a/SKILL.md': skillText('a') })
    symlinkSync(target, join(own, path))
    assert.match(await refusal(own), says, path)
  }
})

test('a pipe is refused, and an unreadable file is named', async (t) => {
  if (process.platform === 'win32') return // has neither
  const folder = folderOf(t, { 'a/SKILL.md': skillText('a') })
  execFileSync('mkfifo', [join(folder, 'a', 'pipe')])
  assert.match(await refusal(folder), 'pipe: expected a file or a folder')
  if (process.getuid?.() === 0) return // root reads all files
  const closed = folderOf(t, { 'a/SKILL.md': skillText('a'), 'a/closed.md': '' })
  chmodSync(join(closed, 'a/closed.md'), 0)
  assert.match(await refusal(closed), /closed\.md cannot be read/)
})

test('the files are served as they were when they were read', async (t) => {
  const folder = folderOf(t, { 'a/SKILL.md': skillText('a') })
  const { files } = await skillsFrom(folder)
  writeFileSync(join(folder, 'a/SKILL.md'), 'changed')
  assert.is(await files.get('skill://a/SKILL.md')?.read({} as never), skillText('a'))
})

test('a server declares its skills, and wrong ones name the field', async (t) => {
  const skills = await skillsFrom(folderOf(t, twoSkills), { directoryRead: true })
  const { declared, extensions, resources } = defineServer({ name: 's', version: '1', skills })
  assert.equal([declared.resources, declared.tools], [true, false])
  assert.equal(extensions, { 'io.modelcontextprotocol/skills': { directoryRead: true } })
  assert.equal(
    resources.map(({ name, description, mimeType }) => [name, description, mimeType]),
    [
      ['refunds', 'Does refunds.', 'text/markdown'],
      ['git-workflow', 'Does git-workflow.', 'text/markdown'],
    ],
  )
  const taken = defineResource({ name: 'x', uri: 'skill://git-workflow/assets/logo.png', read: () => '' })
  const wrong: readonly (readonly [object, string])[] = [
    [{ skills: './skills' }, 'skills: expected what skillsFrom resolves to'],
    [{ skills: Promise.resolve(skills) }, 'skills: expected what skillsFrom resolves to'],
    [
      { skills, extensions: { 'io.modelcontextprotocol/skills': {} } },
      'extensions: expected none that skills declares',
    ],
    [{ skills, resources: [taken] }, 'resources[0]: expected a uri that no file of a skill has'],
    [{ methods: { 'skills/list': {} } }, 'names that are not of the protocol'],
  ]
  for (const [part, says] of wrong)
    assert.throws(
      () => defineServer({ name: 's', version: '1', ...part }),
      (error: ServerError) => error.code === 'BAD_DEFINITION' && error.message.includes(says),
      says,
    )
})

test.run()
