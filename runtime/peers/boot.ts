// What runs first in the thread or process of a peer.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { entryOf } from '../base/entries.js'
import { RuntimeError, show } from '../base/errors.js'
import type { Actor } from '../process/actor.js'
import { type Behaviour, defineActor } from '../process/behaviour.js'
import { processOf } from '../process/ref.js'
import { startActor } from '../process/root.js'
import { checkBehaviour } from '../process/start.js'
import { systemWorld, type World } from '../time/world.js'
import { memoryInUse, Reporter } from '../watch/reporter.js'
import { Border } from './border.js'
import {
  type BorderMessage,
  copyAsProcess,
  copyAsThread,
  isOurs,
  type Socket,
  type Wire,
} from './messages.js'
import { printToStandardError } from './output.js'
import { loadTypeScript } from './typescript.js'
import type { ErrorClasses } from './values.js'

/**
 * The way to the parent. It is this file's alone: what the module's code would send on it nobody reads, and much
 * of that would hold up the parent.
 */
interface Parent extends Wire {
  onMessage(fn: (message: BorderMessage, socket?: Socket) => void): void
  /** Posts the last message, and ends this thread or process. */
  end(last: BorderMessage): void
}

printToStandardError()
main(isMainThread ? parentProcess() : parentThread())

function main(parent: Parent, world: World = systemWorld): void {
  let border: Border | undefined
  const reporter = new Reporter({ world, most: 5_000 })
  parent.onMessage((message, socket) => {
    if (message.type === 'start') void start(parent, message, (made) => (border = made))
    else if (message.type === 'ping') parent.post({ type: 'pong', memory: memoryInUse() })
    else if (message.type === 'look') {
      const report = reporter.answer(message.question)
      if (report !== undefined) parent.post({ type: 'seen', report })
    } else border?.receive(message, socket)
  })
}

type Start = BorderMessage & { readonly type: 'start' }

/** The root of the tree over here: the parent of the module's actor, and of what stands in for others. */
async function start(parent: Parent, message: Start, use: (border: Border) => void): Promise<void> {
  const root = defineActor({
    name: 'peer',
    trapExit: true,
    async init(_input: undefined, ctx) {
      const host = processOf(ctx.self) as Actor
      const border = new Border(host, parent)
      border.most = message.maxMessageBytes
      use(border)
      try {
        await loadTypeScript()
        const { behaviour, errors } = await load(message.module)
        border.errors = errors
        const main = await ctx.start(behaviour, border.unpack(message.args), unhurried)
        parent.post({ type: 'ready', main: border.show(processOf(main)) })
        return { main }
      } catch (error) {
        parent.post({ type: 'failed', error: border.pack(error, 'error') })
        ctx.stop()
        return { main: undefined }
      }
    },
    info: {
      // The parent knows of the end by then. Exits of stand-ins are of no concern here.
      async exit({ main }, { from }, ctx) {
        if (from !== main) return
        await processOf(main).released
        ctx.stop()
      },
    },
  })
  const peer = await startActor(root, undefined, {
    ...unhurried,
    logLevels: message.log.logLevels,
    logger: message.log.style,
    onBlocked: message.reports ? 'report' : 'ignore',
  }).catch(() => undefined)
  if (peer === undefined) return over(parent)
  peer.onExit(() => over(parent))
}

/** The parent sets the time a start may take. */
const unhurried = { startTimeout: Number.POSITIVE_INFINITY }

function over(parent: Parent): void {
  parent.end({ type: 'over' })
}

interface PeerModule {
  readonly behaviour: Behaviour<unknown, unknown>
  readonly errors: ErrorClasses
}

async function load(module: string): Promise<PeerModule> {
  const { default: behaviour, errors = {} } = (await import(module)) as {
    readonly default?: unknown
    readonly errors?: ErrorClasses
  }
  try {
    checkBehaviour(behaviour)
  } catch {
    const message = `${module}: expected a behaviour as the default export, got ${show(behaviour)}`
    throw new RuntimeError('BAD_BEHAVIOUR', message, { data: { field: 'module' } })
  }
  return { behaviour: behaviour as Behaviour<unknown, unknown>, errors }
}

function parentThread(): Parent {
  const port = parentPort
  if (port === null || workerData?.caduceus !== 'peer') throw misused()
  const post = port.postMessage.bind(port)
  const close = port.close.bind(port)
  Object.assign(port, { postMessage: ignore, close: ignore })
  return {
    post: (message) => post(message),
    copy: copyAsThread,
    onMessage: (fn) => void port.on('message', (message: unknown) => isOurs(message) && fn(message)),
    end(last) {
      post(last)
      close()
    },
  }
}

function parentProcess(): Parent {
  const send = process.send?.bind(process)
  const disconnect = process.disconnect?.bind(process)
  if (send === undefined) throw misused()
  Object.assign(process, { send: taken, disconnect: ignore })
  // Whoever ends the parent ends this; a signal to the whole group is the parent's to answer.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, ignore)
  process.on('disconnect', () => process.exit())
  startGuard()
  return {
    post: (message) => void send(message, undefined, undefined, ignore),
    copy: copyAsProcess,
    onMessage(fn) {
      process.on('message', (message: unknown, socket) => {
        if (!isOurs(message)) return
        if (message.type === 'give') this.post({ type: 'given', id: message.id })
        fn(message, socket as Socket | undefined)
      })
    },
    end: (last) => void send(last, undefined, undefined, () => disconnect?.()),
  }
}

/** Its few megabytes buy that no process is left behind that spins, however this program's parent ended. */
function startGuard(): void {
  const resourceLimits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }
  // told, as the parent may be gone when the thread is up
  const workerData = process.ppid
  const guard = new Worker(entryOf('runtime/peers/guard.js'), {
    workerData,
    execArgv: [],
    env: {},
    resourceLimits,
  })
  guard.unref()
  // where there can be no thread, the end of the channel ends this
  guard.on('error', ignore)
}

function ignore(): void {}

function taken(): boolean {
  return true
}

function misused(): Error {
  return new Error('this is what runs in the thread or process of a peer: see definePeer')
}
