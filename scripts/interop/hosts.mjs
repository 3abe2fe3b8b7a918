// Programs of others that call tools from a terminal, before `caduceus serve`: the inspector, and mcporter.
import { deepStrictEqual } from 'node:assert'
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Ms of one call of a program of others: each starts Node, and a server. */
const timeout = 60_000
const run = promisify(execFile)

/**
 * Puts three servers of others behind one address, and calls them by both programs over both transports. Answers a list
 * of `{ name, run }`, and what stops the server.
 */
export async function hostTrials(repository, mirror, { inspector, mcporter }) {
  const folder = mkdtempSync(join(tmpdir(), 'hosts-'))
  const others = join(repository, 'node_modules', '@modelcontextprotocol')
  const of = (name, ...args) => ({
    command: process.execPath,
    args: [join(others, `server-${name}`, 'dist', 'index.js'), ...args],
  })
  const file = join(folder, 'mcp.json')
  const servers = {
    everything: of('everything', 'stdio'),
    files: of('filesystem', folder),
    think: of('sequential-thinking'),
  }
  writeFileSync(file, JSON.stringify({ mcpServers: servers }))
  const command = [join(repository, mirror, 'command', 'main.js'), 'serve', file]
  const served = await serve(command, folder)
  const local = { command: process.execPath, args: [...command, '--stdio'], env: { XDG_RUNTIME_DIR: folder } }
  writeFileSync(
    join(folder, 'mcporter.json'),
    JSON.stringify({ mcpServers: { http: { url: served.url }, stdio: local } }),
  )

  const inspect = (target, ...args) => inspectWith(inspector, folder, [...target, ...args])
  const port = async (...args) => {
    const options = { cwd: folder, timeout, env: { ...process.env, HOME: folder } }
    const { stdout } = await run(
      process.execPath,
      [mcporter, '--config', join(folder, 'mcporter.json'), ...args],
      options,
    )
    return stdout
  }
  const ways = { http: [served.url, '--transport', 'http'], stdio: [process.execPath, ...command, '--stdio'] }
  const trials = Object.entries(ways).flatMap(([way, target]) => [
    {
      name: `the inspector over ${way}`,
      async run() {
        const { tools } = await inspect(target, '--method', 'tools/list')
        const of = new Set(tools.map(({ name }) => name.split('__')[0]))
        deepStrictEqual([...of].sort(), ['everything', 'files', 'think'])
        const call = ['--method', 'tools/call', '--tool-name', 'everything__echo', '--tool-arg', 'message=hi']
        deepStrictEqual((await inspect(target, ...call)).content, [{ type: 'text', text: 'Echo: hi' }])
      },
    },
    {
      name: `mcporter over ${way}`,
      async run() {
        const { tools } = JSON.parse(await port('list', way, '--json'))
        deepStrictEqual(
          tools.some(({ name }) => name === 'think__sequentialthinking'),
          true,
        )
        deepStrictEqual((await port('call', `${way}.everything__echo`, 'message=hi')).trim(), 'Echo: hi')
        const thought = ['thought=one', 'thoughtNumber=1', 'totalThoughts=1', 'nextThoughtNeeded=false']
        const answer = await port('call', `${way}.think__sequentialthinking`, ...thought)
        deepStrictEqual(JSON.parse(answer).thoughtHistoryLength, 1)
      },
    },
  ])
  const stop = async () => {
    await served.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return { trials, stop }
}

/** Runs the inspector to its end, and answers the JSON that it prints. */
export async function inspectWith(inspector, folder, args) {
  const maxBuffer = 64 * 1024 * 1024
  const options = { cwd: folder, timeout, maxBuffer }
  const { stdout } = await run(process.execPath, [inspector, '--cli', ...args], options)
  return JSON.parse(stdout)
}

/** Resolves once it tells where it listens. */
export function serve(command, folder) {
  const env = { ...process.env, XDG_RUNTIME_DIR: folder }
  const child = spawn(process.execPath, [...command, '--http', '0'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const stop = () => {
    child.kill('SIGTERM')
    return ended
  }
  return new Promise((resolve, reject) => {
    let told = ''
    child.stderr.on('data', (chunk) => {
      told += chunk
      const [, url] = /is served at (http:\/\/127\.0\.0\.1:\S+)/.exec(told) ?? []
      if (url !== undefined) resolve({ url, stop })
    })
    void ended.then(() => reject(new Error(`serve ended, and told: ${told}`)))
  })
}
