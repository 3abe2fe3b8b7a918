// second tier: third party, time
// shares a process
// time limit: 180 s
// GitHub's document: `node scripts/openapi/install.mjs` installs it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { until } from 'caduceus/testing'
import * as assert from 'uvu/assert'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'
import { newHome } from './_caduceus.js'
import { begin, connectTo } from './_serve.js'

const test = suite("caduceus serve, of GitHub's document", { timeout: 120_000 })
const {
  githubFile: file,
  isInstalled,
  startChecking,
} = await import(pathToFileURL(inRoot('scripts', 'openapi', 'checking-server.mjs')).href)
const withDocument = isInstalled
  ? test
  : (promise: string) => test.skip(promise, 'node scripts/openapi/install.mjs installs the documents')

/** The address of a server that checks what it is asked by the document. */
async function checking(t: TestContext): Promise<string> {
  const { url, stop } = await startChecking()
  t.after(stop)
  return url
}

/** An official client of what a command serves, which ends well. */
async function official(t: TestContext, args: readonly string[], home: string) {
  const { line, stop } = begin(t, ['serve', ...args], home)
  const [, address = ''] = await line(listening)
  const client = new Client({ name: 'official', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(address)))
  const call = async (name: string, given: Record<string, unknown>): Promise<string> => {
    const { content } = await client.callTool({ name, arguments: given })
    return (content as { text: string }[]).map((part) => part.text).join('')
  }
  const end = async (): Promise<void> => {
    await client.close()
    assert.is(await stop(), 0)
  }
  return { client, call, end }
}

const listening = /(http:\/\/127\.0\.0\.1:\d+\/mcp)/
const issue = { owner: 'o', repo: 'r', issue_number: 7 }

withDocument('an official client lists its tools and calls one', async (t) => {
  const baseUrl = await checking(t)
  const { client, call, end } = await official(t, [file, '--base-url', baseUrl, '--http', '0'], newHome(t))
  const names: string[] = []
  let cursor: string | undefined
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor })
    names.push(...page.tools.map(({ name }) => name))
    cursor = page.nextCursor
  } while (cursor !== undefined)
  assert.is(names.length, 844)
  const name = names.find((one) => /issues_get$/.test(one)) ?? ''
  assert.match(await call(name, issue), '"operation":"issues/get"')
  // what the checking server would refuse is refused before it is sent
  const refused = await client.callTool({ name, arguments: { owner: 'o', repo: 'r' } }).catch(String)
  assert.match(JSON.stringify(refused), 'issue_number')
  await end()
})

withDocument('a client searches its tools and calls what it found', async (t) => {
  const baseUrl = await checking(t)
  const home = newHome(t)
  const caduceus = { listen: { port: 0 }, toolSearch: true }
  const mcpServers = { github: { openapi: file, baseUrl } }
  writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers, caduceus }))
  const { line, stop } = begin(t, ['serve', 'mcp.json'], home)
  const [, address = ''] = await line(listening)
  const client = connectTo(t, address)
  let found: string | undefined
  // the document is read meanwhile
  await until(
    async () => {
      const { text } = await client.callTool('search_tools', { query: 'issues_get' })
      found = /\b(github__issues_get)\b/.exec(text)?.[1]
      return found !== undefined
    },
    { timeout: 60_000 },
  )
  const answer = await client.callTool('call_tool', { name: found ?? '', arguments: issue })
  assert.match(answer.text, '"operation":"issues/get"')
  await client.close()
  assert.is(await stop(), 0)
})

test.run()
