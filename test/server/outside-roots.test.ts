import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { field } from 'caduceus/protocol'
import { definePrompt, defineResourceTemplate, defineTool, resolveInside } from 'caduceus/server'
import { suite, type TestContext } from '../support/suite.js'
import type { RawClient } from './_client.js'
import { startParts } from './_servers.js'

const test = suite('server/outside-roots')

async function start(t: TestContext): Promise<RawClient> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'caduceus-outside-')))
  t.after(() => rm(root, { recursive: true, force: true }))
  await writeFile(join(root, 'a.txt'), 'inside')
  const read = async (path: string) => readFile(await resolveInside(root, path), 'utf8')
  const { client } = await startParts(t, {
    tools: [defineTool({ name: 'read', input: { path: field.string() }, run: ({ path }) => read(path) })],
    resourceTemplates: [
      defineResourceTemplate({ uriTemplate: 'files:///{+path}', name: 'f', read: ({ path }) => read(path) }),
    ],
    prompts: [
      definePrompt({ name: 'sum', arguments: { path: field.string() }, get: ({ path }) => read(path) }),
    ],
  })
  return client
}

test('a tool tells the model that a path is outside of the roots', async (t) => {
  const client = await start(t)
  assert.is(await client.text('read', { path: 'a.txt' }), 'inside')
  const { result } = await client.call('read', { path: '../../etc/passwd' })
  assert.is(result?.isError, true)
  assert.is(result?.content?.[0]?.text, 'path: expected a file inside the roots, got "../../etc/passwd"')
})

test('a resource outside of the roots is not found', async (t) => {
  const client = await start(t)
  const { result } = await client.ask('resources/read', { uri: 'files:///a.txt' })
  assert.is((result?.contents as { text: string }[] | undefined)?.[0]?.text, 'inside')
  const { error } = await client.ask('resources/read', { uri: 'files:////etc/passwd' })
  assert.equal([error?.code, error?.message], [-32002, 'Resource not found'])
})

test('a prompt refuses a path argument outside of the roots', async (t) => {
  const client = await start(t)
  const { error } = await client.ask('prompts/get', { name: 'sum', arguments: { path: '/etc/passwd' } })
  assert.equal(
    [error?.code, error?.message],
    [-32602, 'path: expected a file inside the roots, got "/etc/passwd"'],
  )
})

test.run()
