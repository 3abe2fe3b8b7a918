// GitHub's document as a server of `caduceus serve`, used by the inspector: it lists, searches, and calls a server
// that checks requests.
import { ok } from 'node:assert'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { githubFile, startChecking } from '../openapi/checking-server.mjs'
import { inspectWith, serve } from './hosts.mjs'

const issue = ['owner=o', 'repo=r', 'issue_number=7'].flatMap((one) => ['--tool-arg', one])

/** Answers a list of `{ name, run }`, and what stops the servers. */
export async function apiTrials(command, { inspector }) {
  const folder = mkdtempSync(join(tmpdir(), 'api-'))
  const api = await startChecking()
  const file = join(folder, 'mcp.json')
  const mcpServers = { github: { openapi: githubFile, baseUrl: api.url } }
  writeFileSync(file, JSON.stringify({ mcpServers, caduceus: { toolSearch: true } }))
  const plain = await serve([...command, 'serve', githubFile, '--base-url', api.url], folder)
  const searched = await serve([...command, 'serve', file], folder)
  const inspect = (served, ...args) =>
    inspectWith(inspector, folder, [served.url, '--transport', 'http', ...args])
  const call = (served, name, ...args) =>
    inspect(served, '--method', 'tools/call', '--tool-name', name, ...args).then(JSON.stringify)
  const trials = [
    {
      name: "the inspector lists GitHub's document and calls an operation",
      async run() {
        const { tools } = await inspect(plain, '--method', 'tools/list')
        const { name } = tools.find(({ name }) => /issues_get$/.test(name))
        ok((await call(plain, name, ...issue)).includes('issues/get'))
      },
    },
    {
      name: "the inspector searches GitHub's document and calls what it found",
      async run() {
        let found
        // the document is read meanwhile
        for (let tries = 0; found === undefined && tries < 20; tries += 1)
          found = /github__issues_get\b/.exec(
            await call(searched, 'search_tools', '--tool-arg', 'query=issues_get'),
          )
        const given = `arguments=${JSON.stringify({ owner: 'o', repo: 'r', issue_number: 7 })}`
        const args = ['--tool-arg', 'name=github__issues_get', '--tool-arg', given]
        ok((await call(searched, 'call_tool', ...args)).includes('issues/get'))
      },
    },
  ]
  const stop = async () => {
    await Promise.all([plain.stop(), searched.stop()])
    api.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return { trials, stop }
}
