// Our client against servers behind mcp-proxy: it finds the era, uses everything, and comes back when the proxy is killed in the middle of a call.
import { deepStrictEqual, ok } from 'node:assert'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { mirror } from '../house/transpile.mjs'

const handshake = '2025-11-25'
const modern = '2026-07-28'

/** How our client goes about it, and the revision it ends up with. */
export const ourWays = [
  { name: 'handshake', era: 'handshake', revision: handshake },
  { name: 'auto', era: 'auto', revision: modern },
  { name: 'modern', era: 'modern', revision: modern },
  { name: 'handshake over HTTP+SSE', era: 'handshake', revision: handshake, endpoint: 'sse' },
]

/** The client and transports of the transpiled sources below `root`. */
export async function loadOurs(root) {
  const load = (floor) => import(pathToFileURL(join(root, mirror, floor, 'index.js')).href)
  const [{ startClient }, { http, sse }] = await Promise.all([load('client'), load('transports')])
  return { startClient, http, sse }
}

/** Runs `trial` with a client of the proxy, which is closed afterwards; rejects with what was not as it should be. */
export async function withOurs(ours, proxy, { era, revision, endpoint = 'http' }, trial) {
  const client = ours.startClient({
    transport: ours[endpoint](endpoint === 'sse' ? proxy.sseUrl : proxy.url),
    era,
    logger: false,
    backoff: { base: 20, cap: 200 },
    onElicit: () => ({ action: 'accept', content: { name: 'Žofie' } }),
    onSample: () => ({ role: 'assistant', model: 'm1', content: { type: 'text', text: 'hello' } }),
  })
  try {
    await client.ready()
    deepStrictEqual(client.server.revision, revision)
    await trial(client, proxy)
  } finally {
    await client.close()
  }
}

/** What our own server offers, and a proxy that is killed. */
export async function tryOwnServer(client, proxy) {
  await useOwnServer(client)
  let call
  await new Promise((onProgress) => {
    call = client.callTool('slow', {}, { onProgress }).catch((error) => error)
  })
  await proxy.kill()
  await proxy.restart()
  const error = await call
  ok(['CONNECTION_LOST', 'SESSION_NOT_FOUND'].includes(error.code), error)
  deepStrictEqual(error.data.sent, true)
  await client.listTools()
  await useOwnServer(client)
}

/** What server-everything offers, as far as a proxy passes it on. */
export async function tryEverything(client, proxy) {
  await useEverything(client)
  await proxy.kill()
  await proxy.restart()
  await client.listTools()
  await useEverything(client)
}

async function useOwnServer(client) {
  const { tools } = await client.listTools()
  deepStrictEqual(tools.map(({ name }) => name).slice(0, 3), ['echo', 'steps', 'seen'])
  const said = 'žluťoučký 🐍\u2028'
  deepStrictEqual((await client.callTool('echo', { text: said })).text, said)
  deepStrictEqual((await client.readResource('f:///a')).text, 'file a')
  deepStrictEqual((await client.getPrompt('greet', { who: 'Eva' })).text, 'Greet Eva.')
  const ref = { type: 'ref/prompt', name: 'greet' }
  const { completion } = await client.complete({ ref, argument: { name: 'who', value: 'x' } })
  deepStrictEqual(completion.values, ['xa'])
  deepStrictEqual((await client.callTool('echo')).isError, true)
  deepStrictEqual(await client.callTool('none').catch(({ code }) => code), -32602)
  const changed = news(client, 'notifications/tools/list_changed')
  const updated = news(client, 'notifications/resources/updated')
  await client.subscribe('x:page') // resolves when all that is listened for has been said
  deepStrictEqual((await client.callTool('change')).text, 'changed')
  await changed
  deepStrictEqual((await updated).uri, 'x:page')
}

async function useEverything(client) {
  const names = []
  for await (const { name } of client.tools()) names.push(name)
  ok(names.includes('get-sum'))
  deepStrictEqual((await client.callTool('echo', { message: 'hé' })).text, 'Echo: hé')
  const weather = await client.callTool('get-structured-content', { location: 'Chicago' })
  deepStrictEqual(weather.json.temperature, 36)
  const seen = []
  const onProgress = ({ progress }) => seen.push(progress)
  await client.callTool('trigger-long-running-operation', { duration: 0.2, steps: 2 }, { onProgress })
  deepStrictEqual(seen[0], 1) // the client within the proxy forgets progress that comes in one piece with the result
  ok((await client.readResource('demo://resource/dynamic/text/3')).text.startsWith('Resource 3: '))
  deepStrictEqual((await client.getPrompt('args-prompt', { city: 'Brno' })).text, "What's weather in Brno?")
}

/** The next notification of a method. */
function news(client, method) {
  return new Promise((resolve) => {
    const undo = client.onNotification(method, (params) => {
      undo()
      resolve(params)
    })
  })
}
