import * as assert from 'uvu/assert'
import type { Client, StartClientOptions } from 'caduceus/client'
import { type Heard, heard } from '../support/heard.js'
import type { Peer } from './_peer.js'
import { rejection } from './_raw.js'

const odd = 'žluťoučký 🐍\u2028"\\'

/** Answers of a user and of a model, for the servers of the official SDKs. */
export const answers: Partial<StartClientOptions> = {
  onElicit: { form: () => ({ action: 'accept', content: {} }), url: () => ({ action: 'decline' }) },
  onSample: () => ({ role: 'assistant', model: 'm1', content: { type: 'text', text: 'hello' } }),
  roots: [{ uri: 'file:///srv/one' }],
}

/** Uses what a server of the SDKs offers; `said` is its standard error. */
export async function tryAll(client: Client, said: Heard<string>): Promise<void> {
  await client.ready()
  assert.is(client.server?.instructions, 'Be kind.')
  await tryTools(client, said)
  await tryResources(client)
  const names: string[] = []
  for await (const { name } of client.prompts()) names.push(name)
  assert.equal(names, ['greet'])
  assert.is((await client.getPrompt('greet', { who: 'Žofie' })).text, 'Greet Žofie.')
  const prompt = {
    ref: { type: 'ref/prompt', name: 'greet' },
    argument: { name: 'who', value: 'x' },
  } as const
  assert.equal((await client.complete(prompt)).completion.values, ['xa'])
  await client.ping()
}

/** Uses a server that has no sessions, before and after it was started again: there is nothing to lose but what is in flight. */
export async function tryWithoutSessions(client: Client, peer: Peer): Promise<void> {
  await client.ready()
  await useWithoutSessions(client)
  const call = rejection(client.callTool('hang'))
  await peer.said.next((line) => line === 'hangs')
  await peer.kill()
  assert.is((await call).code, 'CONNECTION_LOST')
  // a connection that nobody uses may turn out to be gone only when it is used
  const waiting = client.callTool('echo', { text: 'waits' }, { retry: 'safe' })
  await peer.start()
  assert.is((await waiting).text, 'waits')
  await useWithoutSessions(client)
  assert.is(client.inspect().counts.sessions, 1)
}

async function useWithoutSessions(client: Client): Promise<void> {
  const names: string[] = []
  for await (const { name } of client.tools()) names.push(name)
  assert.ok(names.includes('echo'))
  assert.is((await client.callTool('echo', { text: odd })).text, odd)
  assert.equal((await client.callTool('sum', { a: 2, b: 40 })).json, { sum: 42 })
  assert.is((await client.callTool('echo', { text: 1 })).isError, true)
  assert.is((await client.readResource('f:///x')).text, 'file x')
  assert.is((await client.getPrompt('greet', { who: 'Žofie' })).text, 'Greet Žofie.')
  await client.ping()
}

/** Has the server ask for everything there is to ask for. */
export async function tryQuestions(client: Client): Promise<void> {
  const ask = async (kind: string) => JSON.parse((await client.callTool('ask', { kind })).text)
  assert.equal(await ask('form'), { action: 'accept', content: { sure: true } })
  assert.equal(await ask('url'), { action: 'decline' })
  assert.equal((await ask('sample')).content, { type: 'text', text: 'hello' })
  assert.equal(await ask('roots'), { roots: [{ uri: 'file:///srv/one' }] })
}

/** Has the server change something, and hears of it: the tools, a resource that was subscribed to, and a log of the level that was wanted. */
export async function hearChanges(client: Client): Promise<void> {
  const tools = heard<object>()
  const undo = [client.onNotification('notifications/tools/list_changed', tools.add)]
  const updates = heard<{ uri: string }>()
  undo.push(client.onNotification('notifications/resources/updated', updates.add))
  const logs = heard<{ data: unknown }>()
  undo.push(client.onNotification('notifications/message', logs.add))
  await client.setLevel('error')
  await client.subscribe('x:page')
  assert.is((await client.callTool('change')).text, 'changed')
  await tools.next()
  assert.is((await updates.next()).uri, 'x:page')
  assert.is((await logs.next()).data, 'more')
  assert.ok((await client.listTools()).tools.some(({ name }) => name === 'late'))
  for (const one of undo) one()
}

async function tryTools(client: Client, said: Heard<string>): Promise<void> {
  const names: string[] = []
  for await (const { name } of client.tools()) names.push(name)
  assert.equal(names.sort(), ['ask', 'change', 'cut', 'echo', 'hang', 'steps', 'sum'])
  assert.is((await client.callTool('echo', { text: odd })).text, odd)
  assert.equal((await client.callTool('sum', { a: 2, b: 40 })).json, { sum: 42 })
  const seen: unknown[] = []
  const onProgress = (progress: object) => seen.push(progress)
  assert.is((await client.callTool('steps', {}, { onProgress })).text, 'stepped')
  assert.equal(
    seen.map((one) => (one as { message: string }).message),
    ['step 1', 'step 2'],
  )
  assert.is((await client.callTool('echo', { text: 1 })).isError, true)
  const none = await client.callTool('none').catch((error) => error)
  assert.ok(none.isError === true || none.code === -32602)
  const controller = new AbortController()
  const call = rejection(client.callTool('hang', {}, { signal: controller.signal }))
  await said.next((line) => line === 'hangs')
  controller.abort()
  await call
  await said.next((line) => line === 'aborted')
}

async function tryResources(client: Client): Promise<void> {
  const uris: string[] = []
  for await (const { uri } of client.resources()) uris.push(uri)
  assert.equal(uris, ['x:page'])
  assert.is((await client.readResource('x:page')).text, 'a page')
  const templates = (await client.listTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate)
  assert.equal(templates, ['f:///{name}'])
  assert.is((await client.readResource('f:///x')).text, 'file x')
  assert.ok([-32002, -32602].includes(Number((await rejection(client.readResource('y:'))).code)))
  const ref = { type: 'ref/resource', uri: 'f:///{name}' } as const
  const { completion } = await client.complete({ ref, argument: { name: 'name', value: 'a' } })
  assert.equal(completion.values, ['ab'])
}
