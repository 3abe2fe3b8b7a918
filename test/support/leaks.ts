import { createHook } from 'node:async_hooks'
import type { ChildProcess } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { Server, Socket } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers'
import { startAllowance } from './allowance.mjs'
import { report, traceLeaks } from './report.js'

const handleNames = new Set([
  'FSEventWrap',
  'MessagePort',
  'PipeWrap',
  'ProcessWrap',
  'SignalWrap',
  'StatWatcher',
  'TCPServerWrap',
  'TCPSocketWrap',
  'TTYWrap',
  'UDPWrap',
])
const tracedTypes = new Set(['Immediate', 'MESSAGEPORT', 'TCPSERVERWRAP', 'TCPWRAP', 'Timeout', 'WORKER'])
const fewestLooks = 50
const ownedListeners = ['uncaughtException', 'unhandledRejection'] as const

const children = new Set<ChildProcess>()
const origins = new Map<number, string>()
const outputs: readonly unknown[] = [process.stdout, process.stderr]
const baseline = { handles: new Set<unknown>(), listeners: countListeners() }

subscribe('child_process', (message) => trackChild((message as { process: ChildProcess }).process))
if (traceLeaks) traceOrigins()

/** Takes what keeps the process alive now as given; called once, before a test file does anything. */
export function rememberBaseline(): void {
  baseline.handles = new Set(activeHandles())
  baseline.listeners = countListeners()
}

/**
 * Names what still keeps this process alive, and every child process that still runs, once `grace` ms have been given to closing
 * handles. Children found alive are killed. An empty list means nothing leaked.
 */
export async function findLeaks(grace: number): Promise<string[]> {
  const allowance = startAllowance(grace)
  await turn()
  // a machine that stands still meanwhile gives no turns
  for (let looks = 0; describeLeaks().length > 0 && (allowance.left() > 0 || looks < fewestLooks); looks += 1)
    await pause(5)
  const leaks = describeLeaks()
  if (leaks.length > 0) leaks.push(...describeOrigins())
  for (const child of children) killTree(child)
  return leaks
}

function describeLeaks(): string[] {
  const handles = activeHandles().filter(
    (handle) => !baseline.handles.has(handle) && !isChildOrItsPipe(handle),
  )
  const others = process.getActiveResourcesInfo().filter((name) => !handleNames.has(name))
  const listeners = countListeners()
  return [
    // one that could not be started at once throws, and never tells of its end
    ...[...children]
      .filter(({ pid }) => pid !== undefined)
      .map((child) => `child process ${child.pid}: ${child.spawnargs.join(' ')}`),
    ...handles.map(describeHandle),
    ...countNames(others),
    ...ownedListeners
      .filter((name) => (listeners[name] ?? 0) > (baseline.listeners[name] ?? 0))
      .map((name) => `process listener for ${name} (is a tree still alive?)`),
  ]
}

function activeHandles(): unknown[] {
  const { _getActiveHandles: list } = process as unknown as { _getActiveHandles(): unknown[] }
  return list.call(process).filter((handle) => !outputs.includes(handle))
}

/** Node adds one of its own with the first listener after somebody has loaded `node:domain`. */
function countListeners(): Partial<Record<string, number>> {
  const ours = (name: (typeof ownedListeners)[number]): readonly { readonly name: string }[] =>
    process.rawListeners(name).filter((listener) => listener.name !== 'domainUncaughtExceptionClear')
  return Object.fromEntries(ownedListeners.map((name) => [name, ours(name).length]))
}

/** The pipes of a living child are part of that child and not named twice; one that never started has none. */
function isChildOrItsPipe(handle: unknown): boolean {
  const pipesOf = ({ stdio }: Partial<ChildProcess>): readonly unknown[] => stdio ?? []
  return [...children].some((child) => child === handle || pipesOf(child).includes(handle))
}

function describeHandle(handle: unknown): string {
  if (handle instanceof Server) return `server listening on ${describeAddress(handle)}`
  if (handle instanceof Socket) {
    if (handle.remotePort === undefined) return `socket or pipe (${handle.destroyed ? 'destroyed' : 'open'})`
    return `socket ${handle.localAddress}:${handle.localPort} to ${handle.remoteAddress}:${handle.remotePort}`
  }
  return (handle as object).constructor.name
}

function describeAddress(server: Server): string {
  const address = server.address()
  if (address === null) return 'nothing (closing, connections still open)'
  return typeof address === 'string' ? address : `${address.address}:${address.port}`
}

function countNames(names: string[]): string[] {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, count]) => {
    const hint = traceLeaks ? '' : ' (--trace-leaks shows where they were made)'
    return name === 'Timeout' ? `${count} active timer${count > 1 ? 's' : ''}${hint}` : `${count} x ${name}`
  })
}

function trackChild(child: ChildProcess): void {
  children.add(child)
  child.once('spawn', () => report({ type: 'child', pid: child.pid ?? 0 }))
  child.once('error', () => child.pid === undefined && children.delete(child))
  child.once('exit', () => {
    children.delete(child)
    report({ type: 'childExit', pid: child.pid ?? 0 })
  })
}

function killTree(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL') // not the leader of a group: only the child itself can be addressed
  }
}

/** Remembers where timers and sockets were made; slows promises down, hence only on demand. */
function traceOrigins(): void {
  createHook({
    init(id, type) {
      if (tracedTypes.has(type)) origins.set(id, `${type} made${ownFrames(new Error().stack ?? '')}`)
    },
    destroy(id) {
      origins.delete(id)
    },
  }).enable()
}

function ownFrames(stack: string): string {
  const frames = stack.split('\n').filter((line) => !/node:|support\/leaks|^Error/.test(line))
  return frames.length === 0 ? ' by node itself' : `\n${frames.slice(0, 6).join('\n')}`
}

function describeOrigins(): string[] {
  return [...origins.values()].filter((origin) => !origin.includes('by node itself'))
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
