// npm run interop: our server on standard input and output behind mcp-proxy, used by the official client and by ours, in every pair of revisions; and
// server-everything behind it, used by ours. The proxy is killed under our client, and started again. Then `caduceus serve` with three servers of
// others, called by the inspector and by mcporter, and with GitHub's API, called by the inspector.
// The first run installs scripts/interop/package-lock.json, and scripts/openapi/package-lock.json.
import { deepStrictEqual } from 'node:assert'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { floors, repository } from './house/sources.mjs'
import { mirror, transpile } from './house/transpile.mjs'
import { apiTrials } from './interop/api.mjs'
import { hostTrials } from './interop/hosts.mjs'
import { install } from './interop/install.mjs'
import { loadOurs, ourWays, tryEverything, tryOwnServer, withOurs } from './interop/our-client.mjs'
import { startProxy } from './interop/proxy.mjs'
import { install as installDocuments } from './openapi/install.mjs'

const everything = [
  join(repository, 'node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js'),
  'stdio',
]
const modes = [
  { name: 'legacy', mode: 'legacy', revision: '2025-11-25' },
  { name: 'auto', mode: 'auto', revision: '2026-07-28' },
  { name: 'modern', mode: { pin: '2026-07-28' }, revision: '2026-07-28' },
]
/** Milliseconds for all that one client does. */
const limit = 20_000

process.exitCode = await main()

async function main() {
  const programs = install()
  const bin = programs.proxy
  const broken = await transpile(repository, [...floors, 'test/server'])
  for (const { text } of broken) console.error(`does not parse: ${text}`)
  const ours = await loadOurs(repository)
  const own = [join(repository, mirror, 'test', 'server', '_interop-program.js')]
  const official = modes.map((mode) => ({
    name: `official client: ${mode.name}`,
    run: (proxy) => tryClient(proxy.url, mode),
  }))
  const mine = (trial) =>
    ourWays.map((way) => ({
      name: `our client: ${way.name}`,
      run: (proxy) => withOurs(ours, proxy, way, trial),
    }))
  const tally = { passed: 0, failed: 0 }
  for (const upstream of ['legacy', 'auto', 'modern'])
    await tryAll(
      bin,
      { what: 'our server', program: own, upstream },
      [...official, ...mine(tryOwnServer)],
      tally,
    )
  for (const upstream of ['legacy', 'auto'])
    await tryAll(
      bin,
      { what: 'server-everything', program: everything, upstream },
      mine(tryEverything),
      tally,
    )
  await trySet(hostTrials(repository, mirror, programs), tally)
  installDocuments()
  await trySet(apiTrials([join(repository, mirror, 'command', 'main.js')], programs), tally)
  console.log(`${tally.passed} passed, ${tally.failed} failed`)
  return tally.failed === 0 ? 0 : 1
}

/** Runs trials, one after the other, with one proxy in front of one server. */
async function tryAll(bin, { what, program, upstream }, trials, tally) {
  const proxy = await startProxy(bin, program, upstream)
  try {
    for (const { name, run } of trials)
      await tryOne(`${what} behind mcp-proxy: ${upstream}, ${name}`, within(run(proxy)), tally)
  } finally {
    await proxy.stop()
  }
}

async function trySet(starting, tally) {
  const { trials, stop } = await starting
  try {
    for (const { name, run } of trials) await tryOne(`caduceus serve, ${name}`, run(), tally)
  } finally {
    await stop()
  }
}

async function tryOne(name, trial, tally) {
  const problem = await trial.then(
    () => undefined,
    (error) => error,
  )
  tally[problem === undefined ? 'passed' : 'failed'] += 1
  console.log(`${problem === undefined ? 'ok  ' : 'FAIL'} ${name}`)
  if (problem !== undefined) console.log(problem)
}

/** Lists, calls, reads, sees progress and hears of a change; rejects with what was not as it should be. */
async function tryClient(url, { mode, revision }) {
  const client = new Client({ name: 'official', version: '2' }, { versionNegotiation: { mode } })
  try {
    const changed = new Promise((resolve) => {
      client.setNotificationHandler('notifications/tools/list_changed', () => resolve('changed'))
    })
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    deepStrictEqual(client.getNegotiatedProtocolVersion(), revision)
    const { tools } = await client.listTools()
    deepStrictEqual(tools.map(({ name }) => name).slice(0, 3), ['echo', 'steps', 'seen'])
    const said = 'žluťoučký 🐍'
    deepStrictEqual(await textOf(client, 'echo', { text: said }), said)
    deepStrictEqual((await client.readResource({ uri: 'f:///a' })).contents[0].text, 'file a')
    deepStrictEqual((await client.callTool({ name: 'echo', arguments: {} })).isError, true)
    deepStrictEqual(await client.callTool({ name: 'none' }).catch(({ code }) => code), -32602)
    if (mode !== 'legacy') await client.listen({ toolsListChanged: true })
    await textOf(client, 'change')
    deepStrictEqual(await changed, 'changed')
  } finally {
    await client.close()
  }
}

async function textOf(client, name, args = {}) {
  return (await client.callTool({ name, arguments: args })).content[0].text
}

function within(promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`took longer than ${limit} ms`)), limit)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
