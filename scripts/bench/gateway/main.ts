import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Drive, Driven } from '../cluster/load.js'
import { cpuOf, familyOf, residentBytes } from '../linux.js'
import { median } from '../measure.js'
import { AskedProgram } from '../asked-program.js'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    sessions: { type: 'string', default: '50' },
    /** Where the gateways of others are installed already. */
    others: { type: 'string' },
    /** Without the gateways of others. */
    alone: { type: 'boolean', default: false },
    /** With mcp-hub, which listens at all addresses of the machine. */
    hub: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
const sessions = Number(values.sessions)
const stretch = 1_500
const others = ['mcp-proxy@6.7.19', 'supergateway@4.0.0', ...(values.hub ? ['mcp-hub@4.2.1'] : [])]

/** One way to the server. */
interface Way {
  readonly name: string
  readonly tool: string
  readonly port: number
  /** The process whose CPU is counted; undefined: there is none in between. */
  readonly pid: number | undefined
  /** It is spoken to over HTTP+SSE: it has nothing else. */
  readonly isEvents?: boolean
}

/** In ms of CPU and ms a call. */
interface Figures extends Omit<Driven, 'calls' | 'seconds'> {
  readonly cpu: number
  readonly rate: number
}

/**
 * What a gateway costs: calls straight to the server, through a program that only passes bytes on, through this
 * library's gateway, and through those of others. Each is a process of its own, as are load and server.
 */
async function main(): Promise<void> {
  const undo: (() => unknown)[] = []
  try {
    const start = (program: string, ...args: string[]): AskedProgram => {
      const asked = new AskedProgram(new URL(program, import.meta.url), ...args)
      undo.push(() => asked.end())
      return asked
    }
    const load = start('../cluster/load.js')
    const upstream = start('./upstream.js')
    const direct = await upstream.ask<number>('port')
    const serving = fileURLToPath(new URL('./upstream.js', import.meta.url))
    const bare = start('./bare.js', String(direct))
    const overHttp = start('./ours.js', `http://127.0.0.1:${direct}/mcp`)
    const overPipe = start('./ours.js', '', serving)
    const ways: Way[] = [
      { name: 'no gateway', tool: 'echo', port: direct, pid: undefined },
      { name: 'bytes only', tool: 'echo', port: await bare.ask<number>('port'), pid: bare.pid },
      { name: 'ours, http', tool: 'up__echo', port: await overHttp.ask<number>('port'), pid: overHttp.pid },
      { name: 'ours, stdio', tool: 'up__echo', port: await overPipe.ask<number>('port'), pid: overPipe.pid },
    ]
    if (!values.alone) ways.push(...(await startOthers(serving, undo)))
    for (const { name, port, isEvents } of ways)
      if (isEvents) await load.ask('openEvents', { name, port, sessions })
      else await load.ask('open', { name, at: port, to: port, sessions })
    for (const lanes of [1, sessions]) await compare(load, ways, lanes)
    console.log(`memory with ${sessions} sessions, with what a gateway has started:`)
    for (const { name, pid } of ways)
      if (pid !== undefined) console.log(`  ${name.padEnd(14)}${memoryOf(pid)}`)
  } finally {
    for (const fn of undo.reverse()) await fn()
  }
}

await main()

async function compare(load: AskedProgram, ways: readonly Way[], lanes: number): Promise<void> {
  const figures = ways.map(() => [] as Figures[])
  // the first one warms up
  for (let round = 0; round <= rounds; round += 1)
    for (const [at, way] of ways.entries()) {
      const measured = await measure(load, way, lanes)
      if (round > 0) figures[at]?.push(measured)
    }
  console.log(`echo of 100 bytes, ${lanes} at once:`)
  const ratio = (own: readonly Figures[], of: (one: Figures, round: number) => number): string =>
    median(own.map(of)).toFixed(2)
  for (const [at, { name }] of ways.entries()) {
    const own = figures[at] ?? []
    const [straight = [], bytes = []] = figures
    const added = ({ median: ms }: Figures, round: number): number => ms - Number(straight[round]?.median)
    const cpu = ratio(own, ({ cpu: ms }, round) => ms / Number(bytes[round]?.cpu))
    const late = ratio(own, (one, round) => added(one, round) / added(bytes[round] as Figures, round))
    console.log(
      `  ${name.padEnd(14)}${ratio(own, ({ rate }) => rate).padStart(9)} calls/s,` +
        ` ${ratio(own, ({ median: ms }) => ms)} ms until the answer, ${ratio(own, ({ p99 }) => p99)} for the slowest 1 %` +
        (at === 0
          ? ''
          : `; CPU ${ratio(own, ({ cpu: ms }) => ms)} ms a call, ${cpu} of bytes only; added time ${late} of it`),
    )
  }
}

async function measure(load: AskedProgram, { name, tool, pid }: Way, lanes: number): Promise<Figures> {
  const call = { name: tool, arguments: { text: 'a'.repeat(100) } }
  const drive: Drive = { name, call, ms: stretch, lanes }
  const before = pid === undefined ? 0 : cpuOf(pid)
  const { calls, seconds, ...times } = await load.ask<Driven>('drive', drive)
  const used = pid === undefined ? 0 : cpuOf(pid) - before
  return { cpu: used / calls, rate: calls / seconds, ...times }
}

/** Gateways that npm has; each starts the server by itself, some one for each session. */
async function startOthers(serving: string, undo: (() => unknown)[]): Promise<Way[]> {
  const folder = values.others ?? install(undo)
  const command = (name: string): string => join(folder, 'node_modules', '.bin', name)
  const server = `${process.execPath} ${serving}`
  const [one, two] = [await freePort(), await freePort()]
  const proxy = [
    '--port',
    String(one),
    '--host',
    '127.0.0.1',
    '--server',
    'stream',
    '--',
    process.execPath,
    serving,
  ]
  const supergateway = [
    '--stdio',
    server,
    '--outputTransport',
    'streamableHttp',
    '--stateful',
    '--port',
    String(two),
  ]
  const hub = values.hub ? [await startHub(command('mcp-hub'), serving, undo)] : []
  return [
    ...hub,
    await startOther('mcp-proxy', one, command('mcp-proxy'), proxy, undo),
    await startOther(
      'supergateway',
      two,
      command('supergateway'),
      [...supergateway, '--logLevel', 'none'],
      undo,
    ),
  ]
}

/** What it remembers goes to a folder of its own, not to the user's. */
async function startHub(command: string, serving: string, undo: (() => unknown)[]): Promise<Way> {
  const folder = mkdtempSync(join(tmpdir(), 'hub-'))
  undo.push(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'mcp.json')
  const up = { command: process.execPath, args: [serving] }
  writeFileSync(file, JSON.stringify({ mcpServers: { up } }))
  const port = await freePort()
  const env = {
    ...process.env,
    HOME: folder,
    XDG_STATE_HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  }
  const way = await startOther(
    'mcp-hub',
    port,
    command,
    ['--port', String(port), '--config', file],
    undo,
    env,
  )
  return { ...way, tool: 'up__echo', isEvents: true }
}

async function startOther(
  name: string,
  port: number,
  command: string,
  args: readonly string[],
  undo: (() => unknown)[],
  env = process.env,
): Promise<Way> {
  const child = spawn(command, args, { stdio: 'ignore', env })
  undo.push(() => end(child))
  await answersAt(port, child)
  return { name, tool: 'echo', port, pid: Number(child.pid) }
}

function install(undo: (() => unknown)[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateways-'))
  undo.push(() => rmSync(folder, { recursive: true, force: true }))
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder, ...others], {
    stdio: 'ignore',
  })
  return folder
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Rejects after 60 s, and when the program has ended. */
async function answersAt(port: number, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (child.exitCode !== null) break
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`${child.spawnfile} does not answer at port ${port}`)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const family = familyOf(Number(child.pid))
  child.kill('SIGKILL')
  await once(child, 'exit')
  for (const pid of family.slice(1))
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // it has ended with its parent
    }
}

function memoryOf(pid: number): string {
  const all = familyOf(pid)
  const mebibytes = all.reduce((sum, each) => sum + residentBytes(each), 0) / 2 ** 20
  return `${Math.round(mebibytes)} MiB in ${all.length} ${all.length === 1 ? 'process' : 'processes'}`
}
