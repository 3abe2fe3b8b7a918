import { createHash } from 'node:crypto'
import * as assert from 'uvu/assert'
import type { SkillEntry } from 'caduceus/protocol'
import { skillsFrom } from 'caduceus/server'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { startParts } from '../_servers.js'
import { posted, startStateless } from '../_stateless.js'
import { folderOf, skillText, twoSkills } from './_folders.js'

const test = suite('skills on the wire')

type Ask = (
  method: string,
  params?: object,
) => Promise<{ result?: Record<string, unknown>; error?: { code: number } }>

const main = 'skill://git-workflow/SKILL.md'

async function inSession(
  t: TestContext,
  revision: string,
  directoryRead = true,
  pageSize = 100,
): Promise<Ask> {
  const skills = await skillsFrom(folderOf(t, twoSkills), { directoryRead })
  const { server } = await startParts(t, { skills }, { limits: { pageSize } })
  const client = await new RawClient(t, server.url).open('raw', revision)
  return (method, params) => client.ask(method, params as never) as never
}

async function stateless(t: TestContext, directoryRead = true, pageSize = 100): Promise<Ask> {
  const skills = await skillsFrom(folderOf(t, twoSkills), { directoryRead })
  const { send } = await startStateless(t, { skills }, { limits: { pageSize } })
  return async (method, params) => (await send(posted(method, params))).messages[0] as never
}

const ways: Readonly<
  Record<string, (t: TestContext, directoryRead?: boolean, pageSize?: number) => Promise<Ask>>
> = {
  '2024-11-05': (t, ...others) => inSession(t, '2024-11-05', ...others),
  '2025-11-25': (t, ...others) => inSession(t, '2025-11-25', ...others),
  '2026-07-28': stateless,
}

for (const [revision, start] of Object.entries(ways)) {
  test(`${revision}: skills are listed and got, and every file is what the entry says`, async (t) => {
    const ask = await start(t)
    const { result } = await ask('skills/list')
    const skills = result?.skills as SkillEntry[]
    assert.equal(
      skills.map(({ uri }) => uri),
      ['skill://acme/billing/refunds/SKILL.md', main],
    )
    assert.equal((await ask('skills/get', { uri: main })).result?.skill, skills[1])
    for (const { uri, digest, size } of skills.flatMap(({ resources }) =>
      resources === 'dynamic' ? [] : resources,
    )) {
      const contents = (await ask('resources/read', { uri })).result?.contents as
        | {
            text?: string
            blob?: string
          }[]
        | undefined
      const part = contents?.[0]
      const bytes =
        part?.text === undefined ? Buffer.from(part?.blob ?? '', 'base64') : Buffer.from(part.text)
      assert.equal(
        [`sha256:${createHash('sha256').update(bytes).digest('hex')}`, bytes.length],
        [digest, size],
      )
    }
    const modern = revision === '2026-07-28'
    assert.equal([result?.resultType, result?.ttlMs], modern ? ['complete', 0] : [undefined, undefined])
  })

  test(`${revision}: each folder can be read, and other paths are -32602`, async (t) => {
    const ask = await start(t)
    const read = async (uri: string) => {
      const { resources } = (await ask('resources/directory/read', { uri })).result as {
        resources: { uri: string; mimeType: string }[]
      }
      return resources.map((one) => [one.uri, one.mimeType])
    }
    assert.equal(await read('skill://git-workflow'), [
      [main, 'text/markdown'],
      ['skill://git-workflow/assets', 'inode/directory'],
      ['skill://git-workflow/references', 'inode/directory'],
    ])
    assert.equal(await read('skill://git-workflow/assets'), [
      ['skill://git-workflow/assets/logo.png', 'image/png'],
    ])
    assert.equal(await read('skill://acme'), [['skill://acme/billing', 'inode/directory']])
    for (const uri of [
      main,
      'skill://git-workflow/',
      'skill://',
      'skill://other',
      '',
      'file:///etc',
      '../..',
    ])
      assert.is((await ask('resources/directory/read', { uri })).error?.code, -32602, uri)
  })

  test(`${revision}: an unknown skill is refused`, async (t) => {
    const ask = await start(t, false)
    for (const uri of [
      'skill://git-workflow',
      'skill://git-workflow/references/COMMITS.md',
      'skill://x/SKILL.md',
      '__proto__',
    ])
      assert.is((await ask('skills/get', { uri })).error?.code, -32602, uri)
    for (const params of [{}, { uri: 5 }]) assert.is((await ask('skills/get', params)).error?.code, -32602)
    assert.is((await ask('resources/directory/read', { uri: 'skill://git-workflow' })).error?.code, -32601)
    const absent = revision === '2026-07-28' ? -32602 : -32002
    for (const uri of [
      'skill://git-workflow/.hidden',
      'skill://git-workflow/../README.md',
      'skill://README.md',
    ])
      assert.is((await ask('resources/read', { uri })).error?.code, absent, uri)
  })

  test(`${revision}: lists come in pages, and a cursor is good for its own list only`, async (t) => {
    const ask = await start(t, true, 1)
    const first = (await ask('skills/list')).result
    const second = (await ask('skills/list', { cursor: first?.nextCursor })).result
    assert.is((second?.skills as SkillEntry[] | undefined)?.[0]?.uri, main)
    assert.is(second?.nextCursor, undefined)
    const uri = 'skill://git-workflow'
    const cursor = (await ask('resources/directory/read', { uri })).result?.nextCursor
    const next = (await ask('resources/directory/read', { uri, cursor })).result?.resources as {
      uri: string
    }[]
    assert.is(next[0]?.uri, 'skill://git-workflow/assets')
    for (const params of [
      { uri: `${uri}/assets`, cursor },
      { uri, cursor: first?.nextCursor },
      { uri, cursor: 'x' },
    ])
      assert.is((await ask('resources/directory/read', params)).error?.code, -32602)
    assert.is((await ask('skills/list', { cursor })).error?.code, -32602)
  })
}

test('the extension is declared in both eras, and resources list the skills', async (t) => {
  const skills = await skillsFrom(folderOf(t, twoSkills))
  const { send } = await startStateless(t, { skills })
  const [answer] = (await send(posted('server/discover'))).messages
  assert.equal((answer?.result?.capabilities as { extensions?: object } | undefined)?.extensions, {
    'io.modelcontextprotocol/skills': {},
  })
  const [listed] = (await send(posted('resources/list'))).messages
  assert.equal(
    (listed?.result?.resources as { uri: string }[] | undefined)?.map(({ uri }) => uri),
    ['skill://acme/billing/refunds/SKILL.md', main],
  )
})

test('a server without skills does not know the methods', async (t) => {
  const { client } = await startParts(t, {})
  for (const method of ['skills/list', 'skills/get', 'resources/directory/read'])
    assert.is((await client.ask(method, { uri: 'skill://a' })).error?.code, -32601)
})

test('a custom handler may serve other skills', async (t) => {
  const entry = {
    uri: 'skill://daily/SKILL.md',
    frontmatter: { name: 'daily', description: 'x' },
    resources: 'dynamic',
  }
  const { client } = await startParts(t, {
    resources: [],
    extensions: { 'io.modelcontextprotocol/skills': {} },
    handleRequest: ({ method }, _ctx, next) => (method === 'skills/list' ? { skills: [entry] } : next()),
  })
  assert.equal((await client.ask('skills/list')).result?.skills, [entry])
  assert.is((await client.ask('skills/get', { uri: entry.uri })).error?.code, -32601)
})

test('a large skill does not hold up others', async (t) => {
  const files = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`a/${at}.txt`, `${at}`]))
  const skills = await skillsFrom(folderOf(t, { ...files, 'a/SKILL.md': skillText('a') }), {
    directoryRead: true,
  })
  const { client } = await startParts(t, { skills })
  const all = await Promise.all(Array.from({ length: 50 }, () => client.ask('skills/list')))
  assert.ok(
    all.every(({ result }) => (result?.skills as SkillEntry[] | undefined)?.[0]?.resources.length === 501),
  )
})

test.run()
