import { createHash } from 'node:crypto'
import * as assert from 'uvu/assert'
import { type Client, type Skill, startClient } from 'caduceus/client'
import { defineServer, skillsFrom, startServer } from 'caduceus/server'
import { http, serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { folderOf, skillText, twoSkills } from '../../server/skills/_folders.js'
import { discover } from '../_modern.js'
import { json, listen, result } from '../../transports/_http.js'
import { rejection } from '../_raw.js'

const test = suite('client/skills')

const eras = ['handshake', 'modern'] as const
type Era = (typeof eras)[number]

/** A server of these skills, and a client of it; `read` is what was read of resources. */
async function start(t: TestContext, era: Era, directoryRead = true, cache?: { ttl: number }) {
  const read: unknown[] = []
  const skills = await skillsFrom(folderOf(t, twoSkills), { directoryRead })
  const definition = defineServer({
    name: 's',
    version: '1',
    skills,
    ...(cache !== undefined && { cache }),
    handleRequest: ({ method, params }, _ctx, next) => {
      if (method === 'resources/read') read.push(params.uri)
      return next()
    },
  })
  const server = await startServer(definition, {
    transport: serveHttp(),
    logger: false,
    limits: { pageSize: 1 },
  })
  t.after(() => server.stop())
  return { client: connect(t, server.url ?? '', era), read }
}

function connect(t: TestContext, url: string, era: Era): Client {
  const client = startClient({ transport: http(url), era, logger: false, timeout: 4_000 })
  t.after(() => client.close())
  return client
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const value of values) list.push(value)
  return list
}

for (const era of eras) {
  test(`${era}: skills are listed without reading a file and read on demand`, async (t) => {
    const { client, read } = await start(t, era)
    const skills = await all(client.skills())
    assert.equal(
      skills.map(({ name, description, problem }) => [name, description, problem]),
      [
        ['refunds', 'Does refunds.', undefined],
        ['git-workflow', 'Does git-workflow.', undefined],
      ],
    )
    assert.equal(read, [])
    const [, skill] = skills as [Skill, Skill]
    assert.match(await skill.load(), 'See references/COMMITS.md.')
    const commits = await skill.read('references/COMMITS.md')
    assert.equal(
      [commits.text, commits.mimeType, commits.path],
      ['# Commits\n', 'text/markdown', 'references/COMMITS.md'],
    )
    assert.is((await skill.read('./assets/../references/COMMITS.md')).text, '# Commits\n')
    const logo = await skill.read('skill://git-workflow/assets/logo.png')
    assert.equal([[...logo.bytes], logo.text], [[0x89, 0x50, 0xff, 0x00], undefined])
    assert.is(read.length, 4)
    assert.throws(() => Object.assign(skill.frontmatter, { name: 'x' }))
  })

  test(`${era}: a file that is not in the skill entry is not requested`, async (t) => {
    const { client, read } = await start(t, era)
    const skill = await client.getSkill('skill://git-workflow/SKILL.md')
    const outside = [
      'absent.md',
      '../acme/billing/refunds/SKILL.md',
      '/etc/passwd',
      'skill://acme/billing/refunds/SKILL.md',
      'references',
      'a//b',
      'skill://git-workflow/../x',
      '..',
      'http://169.254.169.254/',
    ]
    for (const path of outside) {
      const error = await rejection(skill.read(path))
      assert.is(error.code, 'BAD_SKILL', path)
      assert.equal((error.data as { sent: boolean }).sent, false)
      assert.ok(error.message.includes(JSON.stringify(path).slice(1, 20)), error.message)
    }
    assert.is((await rejection(skill.read(''))).code, 'BAD_OPTION')
    assert.equal(read, [])
  })

  test(`${era}: missing skills are refused, and folders can be listed`, async (t) => {
    const { client } = await start(t, era)
    assert.is((await rejection(client.getSkill('skill://other/SKILL.md'))).code, -32602 as never)
    const folder = await all(client.readDirectory('skill://git-workflow'))
    assert.equal(
      folder.map(({ name, mimeType }) => [name, mimeType]),
      [
        ['git-workflow', 'text/markdown'],
        ['assets', 'inode/directory'],
        ['references', 'inode/directory'],
      ],
    )
    assert.is(
      (await rejection(all(client.readDirectory('skill://git-workflow/SKILL.md')))).code,
      -32602 as never,
    )
    assert.is((await rejection(all(client.skills({ maxPages: 1 })))).code, 'TOO_MANY_PAGES')
  })

  test(`${era}: a server without the skills extension is not asked`, async (t) => {
    const { client } = await start(t, era, false)
    assert.is((await rejection(all(client.readDirectory('skill://git-workflow')))).code, 'NOT_SUPPORTED')
    assert.is(client.supports('resources/directory/read'), false)
    assert.is(client.supports('skills/list'), true)
    const bare = await startServer(defineServer({ name: 'bare', version: '1' }), {
      transport: serveHttp(),
      logger: false,
    })
    t.after(() => bare.stop())
    const other = connect(t, bare.url ?? '', era)
    for (const call of [all(other.skills()), other.getSkill('skill://a/SKILL.md')]) {
      const { code, data } = await rejection(call)
      assert.equal([code, (data as { sent: boolean }).sent], ['NOT_SUPPORTED', false])
    }
  })
}

const body = skillText('pdf')
const form = 'A form.\n'
const main = 'skill://pdf/SKILL.md'
const forms = 'skill://pdf/FORMS.md'

function fileOf(uri: string, text: string) {
  return {
    uri,
    digest: `sha256:${createHash('sha256').update(text).digest('hex')}`,
    size: Buffer.byteLength(text),
  }
}

const honest = {
  uri: main,
  frontmatter: { name: 'pdf', description: 'Does pdf.' } as Record<string, unknown>,
  resources: [fileOf(main, body), fileOf(forms, form)] as unknown,
}

interface Lie {
  readonly entry?: object
  /** The contents of files by uri. */
  readonly files?: Readonly<Record<string, unknown>>
  readonly got?: object
}

/** A server of 2026-07-28 that says what the test wants. */
async function lying(t: TestContext, { entry = {}, files = {}, got }: Lie) {
  const { url, seen } = await listen(t, (one) => {
    const { method, params } = one.message
    const uri = String(params?.uri)
    const whole = { ...honest, ...entry }
    const answers: Record<string, object> = {
      'skills/list': {
        skills: [
          whole,
          {
            ...honest,
            uri: 'skill://good/SKILL.md',
            resources: 'dynamic',
            frontmatter: { name: 'good', description: 'x' },
          },
        ],
      },
      'skills/get': { skill: got ?? whole },
      'resources/read': { contents: [files[uri] ?? [{ uri, text: uri === main ? body : form }]].flat() },
    }
    if (method === 'server/discover')
      return discover(one, { resources: {}, extensions: { 'io.modelcontextprotocol/skills': {} } })
    return json(
      one,
      result(one, { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...answers[method ?? ''] }),
    )
  })
  const client = connect(t, url, 'modern')
  const reads = () => seen.all.filter(({ message }) => message.method === 'resources/read').length
  return { client, reads }
}

test('a skill with correct digests is read', async (t) => {
  const { client } = await lying(t, {})
  const skill = await client.getSkill(main)
  assert.is(await skill.load(), body)
  assert.is((await skill.read('FORMS.md')).text, form)
})

const lies: Readonly<Record<string, Lie & { readonly says: string }>> = {
  'another text of the same size': {
    files: { [main]: { uri: main, text: body.replace('well', 'ill!') } },
    says: 'its digest is not',
  },
  'a longer text': { files: { [main]: { uri: main, text: `${body}more` } }, says: 'its size is not' },
  'bytes in their place': { files: { [main]: { uri: main, blob: 'AAAA' } }, says: 'its size is not' },
  'no content': { files: { [main]: [] }, says: 'expected one content, got 0' },
  'two contents': {
    files: {
      [main]: [
        { uri: main, text: body },
        { uri: main, text: body },
      ],
    },
    says: 'expected one content, got 2',
  },
  'another description in the entry': {
    entry: { frontmatter: { name: 'pdf', description: 'Does good.' } },
    says: 'front matter is not that of the entry',
  },
  'a field less in the entry': {
    files: { [main]: { uri: main, text: skillText('pdf', 'x', 'allowed-tools: Bash\n') } },
    entry: { resources: [fileOf(main, skillText('pdf', 'x', 'allowed-tools: Bash\n'))] },
    says: 'front matter is not that of the entry',
  },
  'a front matter that cannot be read': {
    files: { [main]: { uri: main, text: '---\nname: &a pdf\n---\n' } },
    entry: { resources: [fileOf(main, '---\nname: &a pdf\n---\n')] },
    says: 'line 2',
  },
}

for (const [what, { says, ...lie }] of Object.entries(lies)) {
  test(`a skill unlike its digest is refused: ${what}`, async (t) => {
    const { client } = await lying(t, lie)
    const [skill] = await all(client.skills())
    const error = await rejection(skill?.load() ?? Promise.resolve())
    assert.equal([error.code, (error.data as { path: string }).path], ['BAD_SKILL', 'SKILL.md'])
    assert.match(error.message, 'SKILL.md')
    assert.ok(error.message.includes(says), error.message)
  })
}

const file = fileOf(main, body)
const badEntries: Readonly<Record<string, object>> = {
  'another name': { frontmatter: { name: 'other', description: 'x' } },
  'no description': { frontmatter: { name: 'pdf' } },
  'no SKILL.md': { resources: [fileOf(forms, form)] },
  'no list': { resources: 'all' },
  'null in the list': { resources: [null] },
  'a file outside': { resources: [file, fileOf('skill://other/x.md', 'x')] },
  'a file above': { resources: [file, fileOf('skill://pdf/../x.md', 'x')] },
  'a file above, encoded': { resources: [file, fileOf('skill://pdf/%2e%2e/x.md', 'x')] },
  'a slash in a name': { resources: [file, fileOf('skill://pdf/a%2f..%2fb', 'x')] },
  'a broken escape': { resources: [file, fileOf('skill://pdf/%zz', 'x')] },
  'a file twice': { resources: [file, file] },
  'another kind of digest': { resources: [{ ...file, digest: 'md5:00' }] },
  'a digest in capitals': { resources: [{ ...file, digest: file.digest.toUpperCase() }] },
  'a negative size': { resources: [{ ...file, size: -1 }] },
  'no size': { resources: [{ uri: main, digest: file.digest }] },
  'too many files': {
    resources: [file, ...Array.from({ length: 512 }, (_, at) => fileOf(`skill://pdf/${at}`, ''))],
  },
  'too many bytes': { resources: [file, { ...fileOf(forms, form), size: 16 * 1024 * 1024 }] },
  'a uri of no SKILL.md': { uri: 'skill://pdf/' },
}

for (const [what, entry] of Object.entries(badEntries)) {
  test(`a wrong skill entry is reported, not read: ${what}`, async (t) => {
    const { client, reads } = await lying(t, { entry })
    const [bad, good] = await all(client.skills())
    assert.ok(bad?.problem)
    const error = await rejection(bad?.load() ?? Promise.resolve())
    assert.is(error.code, 'BAD_SKILL')
    assert.ok(error.message.includes(bad?.problem ?? '?'))
    assert.is(good?.problem, undefined)
    assert.is(reads(), 0)
  })
}

test.slow(
  'a skill without digests is read within 16 MiB, and its front matter is compared',
  async (t) => {
    const half = { uri: forms, blob: Buffer.alloc(7 * 1024 * 1024).toString('base64') }
    const { client } = await lying(t, { entry: { resources: 'dynamic' }, files: { [forms]: half } })
    const skill = await client.getSkill(main)
    assert.is(skill.files, 'dynamic')
    assert.is(await skill.load(), body)
    for (const _ of [1, 2]) assert.is((await skill.read('FORMS.md')).bytes.length, 7 * 1024 * 1024)
    assert.match((await rejection(skill.read('FORMS.md'))).message, 'more than 16777216 bytes')
    assert.is((await rejection(skill.read('../x'))).code, 'BAD_SKILL')
  },
  { timeout: 20_000 },
)

test('an answer for another skill is refused', async (t) => {
  const { client } = await lying(t, { got: { ...honest, uri: 'skill://other/SKILL.md' } })
  assert.is((await rejection(client.getSkill(main))).code, 'INVALID_RESPONSE')
  for (const got of [{}, { uri: main }, { uri: 5, frontmatter: {}, resources: [] }]) {
    const other = await lying(t, { got })
    assert.is((await rejection(other.client.getSkill(main))).code, 'INVALID_RESPONSE')
  }
})

test('a cached skill is fetched again when its entry is newer', async (t) => {
  let version = 1
  const text = () => skillText('pdf', `Version ${version}.`)
  const { url, seen } = await listen(t, (one) => {
    const { method, params } = one.message
    if (method === 'server/discover')
      return discover(one, { resources: {}, extensions: { 'io.modelcontextprotocol/skills': {} } })
    const isRead = method === 'resources/read'
    const answer = isRead
      ? { contents: [{ uri: params?.uri, text: text() }], ttlMs: 600_000 }
      : { skill: { ...honest, resources: [fileOf(main, text())] }, ttlMs: 0 }
    return json(one, result(one, { resultType: 'complete', cacheScope: 'private', ...answer }))
  })
  const client = connect(t, url, 'modern')
  const old = await client.getSkill(main)
  assert.match(await old.load(), 'Version 1')
  assert.match(await old.load(), 'Version 1')
  const reads = () => seen.all.filter(({ message }) => message.method === 'resources/read').length
  assert.is(reads(), 1)
  version = 2
  const skill = await client.getSkill(main)
  assert.match(await skill.load(), 'Version 2')
  assert.is(reads(), 2)
  assert.is((await rejection(old.load({ fresh: true }))).code, 'BAD_SKILL')
})

test.run()
