// The thread that looks whether the main thread's event loop turns.
import { readFileSync, writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import { parentPort, workerData } from 'node:worker_threads'
import type { BlockedLoop, WatchdogData } from './watchdog.js'

watch(workerData as WatchdogData)

/** Looks four times as often as it has to: a late loop is told within a quarter of the time more. */
function watch({ beats, blockedAfter, exits }: WatchdogData): void {
  const counter = new Int32Array(beats)
  let last = Atomics.load(counter, 0)
  let since = performance.now()
  let waitedBefore = waited()
  let isTold = false
  const look = (): void => {
    const count = Atomics.load(counter, 0)
    if (count !== last) {
      last = count
      since = performance.now()
      waitedBefore = waited()
      isTold = false
      return
    }
    // time in which the main thread was ready and got no processor is nobody's fault
    const ms = performance.now() - since - (waited() - waitedBefore)
    if (ms < blockedAfter || isTold) return
    isTold = true
    void tell()
  }
  const tell = async (): Promise<void> => {
    const [count, start] = [last, since]
    const found = await inspectMain()
    // it turned meanwhile: what is found then is not what held it
    const turned = Atomics.load(counter, 0) !== count
    const ms = Math.round(performance.now() - start)
    const report: BlockedLoop = { ms, ...(turned ? nothing : found) }
    if (!exits) parentPort?.postMessage(report)
    else if (!turned) endProgram(report)
  }
  setInterval(look, blockedAfter / 4)
}

function endProgram({ ms, owner, stack }: BlockedLoop): void {
  const whose = owner === undefined ? '' : ` by ${owner.name}`
  const lines = stack.map((frame) => `\n    at ${frame}`).join('')
  writeSync(2, `caduceus: the event loop was blocked for ${ms} ms${whose}: the program ends${lines}\n`)
  process.kill(process.pid, 'SIGKILL')
}

/** Milliseconds that the main thread has waited for a processor; 0 where the system does not say. */
function waited(): number {
  try {
    const [, ns] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')
    return Number(ns) / 1e6
  } catch {
    return 0
  }
}

type Found = Pick<BlockedLoop, 'owner' | 'stack'>

interface Frame {
  readonly callFrameId: string
  readonly functionName: string
  readonly location: { readonly scriptId: string; readonly lineNumber: number }
}

/**
 * Pauses the main thread for as long as it takes to read its stack. Native code does not pause: nothing is
 * found then.
 */
async function inspectMain(): Promise<Found> {
  const session = new Session()
  try {
    session.connectToMainThread()
    const paused = new Promise<Frame[]>((resolve) => {
      session.once('Debugger.paused', ({ params }) => resolve(params.callFrames as unknown as Frame[]))
      setTimeout(resolve, patience, [])
    })
    const urls = new Map<string, string>()
    session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url))
    session.post('Debugger.enable')
    session.post('Debugger.pause')
    const frames = await paused
    const [top] = frames
    if (top === undefined) return nothing
    return {
      owner: await ownerIn(session, top),
      stack: frames.slice(0, deepest).map((frame) => show(frame, urls)),
    }
  } catch {
    return nothing // somebody else inspects it
  } finally {
    // ends the pause as well
    session.disconnect()
  }
}

const nothing: Found = { owner: undefined, stack: [] }
/** Milliseconds to wait for a pause. */
const patience = 1_000
const deepest = 20

/** Whose code runs, asked in the paused frame itself, whose async context it has. */
function ownerIn(session: Session, { callFrameId }: Frame): Promise<BlockedLoop['owner']> {
  const expression = `(() => {
    const token = globalThis[Symbol.for('caduceus.containment.2')]?.scope.getStore()
    return token === undefined ? undefined : { name: token.name, tree: token.afterlife?.tree ?? 0 }
  })()`
  return new Promise((resolve) => {
    setTimeout(resolve, patience, undefined)
    session.post(
      'Debugger.evaluateOnCallFrame',
      { callFrameId, expression, silent: true, returnByValue: true },
      (_error, answer) => resolve(answer?.result.value as BlockedLoop['owner']),
    )
  })
}

function show({ functionName, location }: Frame, urls: ReadonlyMap<string, string>): string {
  const file = urls.get(location.scriptId) ?? 'unknown'
  return `${functionName === '' ? '(anonymous)' : functionName} (${file}:${location.lineNumber + 1})`
}
