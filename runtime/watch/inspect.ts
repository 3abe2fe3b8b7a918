import type { Actor } from '../process/actor.js'
import type { Child } from '../supervision/child.js'
import { cut } from '../base/cut.js'
import { handled } from '../base/promise.js'
import { RuntimeError, show } from '../base/errors.js'
import { formatReason } from '../base/exit.js'
import type { Process } from '../process/process.js'
import { badOption } from '../base/check.js'
import { ProcessRef, processOf } from '../process/ref.js'
import type { RestartWindow } from '../supervision/restart-window.js'

/** One process of a tree, as data. */
export interface TreeNode {
  /** Its id under its supervisor, or its name. */
  readonly id: string
  readonly name: string
  /** Undefined for a child that does not run. */
  readonly process: number | undefined
  readonly kind: 'actor' | 'supervisor' | 'task'
  readonly status: 'starting' | 'running' | 'suspended' | 'stopping' | 'restarting' | 'stopped' | 'ended'
  /** The names it holds in the registry. */
  readonly names: readonly string[]
  /** Messages that wait. */
  readonly mailbox: number
  /** Milliseconds since this incarnation started. */
  readonly uptime: number
  /** How often its supervisor restarted it. */
  readonly restarts: number
  /** Why it ended, if it has. */
  readonly reason?: string
  /** Supervisors only. */
  readonly strategy?: string
  /** Supervisors only: restarts left in the current window. */
  readonly restartsLeft?: number
  /** Root only: stray errors without an owner; something in this process of Node is broken. */
  readonly degraded?: number
  /** What the `[describe]` method of the actor's state says, if there is one. */
  readonly about?: string
  readonly children: readonly TreeNode[]
}

/**
 * The key of a method on an actor's state that describes it in a few words for `inspect`, at once: what is no text
 * is made one, of a long text 500 characters are kept.
 */
export const describe: unique symbol = Symbol.for('caduceus.describe')

/** A handle with a process tree: a process, a supervisor, a server, a client, clients or a pool. */
export type Inspectable = ProcessRef | { readonly ref: ProcessRef | undefined }

/**
 * Reads the tree below a process, in one go and without sending messages. Throws NOPROC for a handle whose
 * tree does not run, BAD_OPTION for what is no handle.
 */
export function inspect(what: Inspectable): TreeNode {
  const process = processOf(refOf(what))
  const top = nodeOf(process, undefined)
  const open: Open[] = [{ process, children: top.children }]
  // Level by level, not by recursion: nothing bounds the depth.
  for (const { process, children } of open) fillIn(process, children, open)
  return top
}

function refOf(what: Inspectable): ProcessRef {
  if (what instanceof ProcessRef) return what
  const ref: unknown = what?.ref
  if (ref instanceof ProcessRef) return ref
  if (typeof what === 'object' && what !== null && 'ref' in what && ref === undefined)
    throw new RuntimeError('NOPROC', `inspect: the tree of ${show(what)} is not there now`)
  throw badOption('inspect', 'a process, or a supervisor, server, client or pool', what)
}

/** What there is to say of one process, without its place in the tree. */
export type NodeFacts = Omit<TreeNode, 'children'>

type Node = NodeFacts & { readonly children: Node[] }

interface Open {
  readonly process: Process
  readonly children: Node[]
}

/** The tree as indented text, one process a line; only the first 100 levels indent. Throws BAD_OPTION. */
export function formatTree(node: TreeNode): string {
  if (!Array.isArray(node?.children)) throw badOption('formatTree', 'what inspect() answers', node)
  const lines: string[] = []
  const open: Line[] = [{ node, lead: '', below: '' }]
  for (let line = open.pop(); line !== undefined; line = open.pop()) write(line, lines, open)
  return lines.join('\n')
}

function nodeOf(process: Process, record: Child | undefined): Node {
  return { ...factsOf(process, record), children: [] }
}

/** Calls `[describe]` of its state. */
export function factsOf(process: Process, record: Child | undefined): NodeFacts {
  const actor = process.kind === 'task' ? undefined : (process as Actor)
  const state = actor?.state as { strategy?: string; window?: RestartWindow } | undefined
  const { clock, strays } = process.tree
  const about = tellAbout(actor?.state)
  return {
    id: record?.spec.id ?? process.name,
    name: process.name,
    process: process.id,
    kind: process.kind,
    status: actor?.phase ?? (process.reason === null ? 'running' : 'ended'),
    names: (process.extras?.names ?? []).map(({ name }) => name),
    mailbox: process.backlog,
    uptime: clock.now() - process.startedAt,
    restarts: record?.restarts ?? 0,
    ...(process.reason === null ? {} : { reason: formatReason(process.reason) }),
    ...(process.kind === 'supervisor' && state?.strategy !== undefined ? { strategy: state.strategy } : {}),
    ...(process.kind === 'supervisor' && state?.window !== undefined
      ? { restartsLeft: state.window.left(clock.now()) }
      : {}),
    ...(process.parent === null && strays > 0 ? { degraded: strays } : {}),
    ...(about === undefined ? {} : { about }),
  }
}

/** Characters of what an actor says of itself. */
const longest = 500

/** Calls `[describe]` of the user's state, which may throw. */
function tellAbout(state: unknown): string | undefined {
  try {
    const own = state as { [describe]?: () => unknown } | null | undefined
    const about = own?.[describe]?.()
    if (about === undefined) return undefined
    if (about instanceof Promise) {
      // whoever looks is not to blame for what comes of it
      void handled(about)
      return '(its describe is async)'
    }
    const text = String(about)
    return text.length > longest ? `${cut(text, longest)}…` : text
  } catch {
    return '(its describe failed)'
  }
}

function fillIn(process: Process, children: Node[], open: Open[]): void {
  for (const { process: child, record } of childrenOf(process)) {
    if (child === undefined) {
      children.push(vacant(record))
      continue
    }
    const node = nodeOf(child, record)
    children.push(node)
    open.push({ process: child, children: node.children })
  }
}

/** What is below a process: one that runs, or the record of a child that does not. */
export type Below =
  | { readonly process: Process; readonly record?: undefined }
  | { readonly process: Process; readonly record: Child }
  | { readonly process: undefined; readonly record: Child }

/** Supervised children in start order, then tasks and linked children without a spec. */
export function childrenOf(process: Process): readonly Below[] {
  const below: Below[] = []
  const records = (process.reason === null ? [...(process.slots?.() ?? [])] : []) as Child[]
  const others = new Set([...(process.links ?? [])].filter((other) => other.parent === process))
  for (const record of records) {
    // A child that starts is not in its record yet.
    const filling = record.process ?? [...others].find((other) => other.slot === record)
    if (filling !== undefined) others.delete(filling)
    below.push({ process: filling, record } as Below)
  }
  for (const other of others) below.push({ process: other })
  return below
}

function vacant(record: Child): Node {
  return { ...vacancyOf(record), children: [] }
}

/** Of a child that does not run. */
export function vacancyOf({ spec, status, restarts }: Child): NodeFacts {
  const kind = spec.type === 'supervisor' ? 'supervisor' : 'actor'
  return {
    id: spec.id,
    name: spec.id,
    process: undefined,
    kind,
    status,
    names: [],
    mailbox: 0,
    uptime: 0,
    restarts,
  }
}

/** A line that is still to be written, with the prefixes of itself and of its children. */
interface Line {
  readonly node: TreeNode
  readonly lead: string
  readonly below: string
}

/** Three characters a level. */
const widest = 300

function write({ node, lead, below }: Line, lines: string[], open: Line[]): void {
  lines.push(lead + summary(node))
  const deeper = below.length < widest
  // `open` is a stack.
  for (const [i, child] of [...node.children.entries()].reverse()) {
    const last = i === node.children.length - 1
    open.push({
      node: child,
      lead: `${below}${last ? '└─ ' : '├─ '}`,
      below: deeper ? `${below}${last ? '   ' : '│  '}` : below,
    })
  }
}

/** A name or a description must not look like the line of another process. */
const lineEnds = /\s*[\n\v\f\r\u0085\u2028\u2029]\s*/g

function summary(node: TreeNode): string {
  const facts = [
    node.degraded === undefined ? undefined : `degraded: ${node.degraded} stray errors of nobody`,
    node.strategy === undefined ? undefined : `${node.strategy}, ${node.restartsLeft} restarts left`,
    node.status === 'running' ? undefined : node.status,
    node.about,
    node.restarts > 0 ? `restarted ${node.restarts}x` : undefined,
    node.mailbox > 0 ? `${node.mailbox} waiting` : undefined,
    node.reason,
  ].filter((fact) => fact !== undefined)
  const title = node.id === node.name ? node.id : `${node.id} (${node.name})`
  const line = facts.length === 0 ? title : `${title}  ${facts.join(', ')}`
  return line.replace(lineEnds, ' ')
}
