// The thread that looks whether the main thread's event loop turns.
import { readFileSync, writeSync } from 'node:fs'
import { Session } from 'node:inspector'
import { parentPort, workerData } from 'node:worker_threads'
import { blockedText } from '../faults/blocked-text.js'
import { RestingPlace } from './resting-place.js'
import type { Finding, WatchdogData } from './watchdog.js'

const data = workerData as WatchdogData
const shared = new Int32Array(data.shared)
/** Milliseconds within which a loop that is at rest turns. */
const atOnce = 20
/** Milliseconds after which the thread itself writes what it has found. */
const lost = 5_000
/** Functions of a stack that are told. */
const deepest = 20

void watch()

/** Asks the loop to turn, again and again, unless the system says that it is at rest. */
async function watch(): Promise<never> {
  const { blockedAfter } = data
  const rest = new RestingPlace()
  for (;;) {
    // a loop that rests wakes for nothing
    do pause(blockedAfter / 2)
    while (rest.is(mainThreadIsAt()))
    const before = turns()
    const place = mainThreadIsAt()
    const askedAt = process.hrtime.bigint()
    parentPort?.postMessage('turn')
    if (turnsWithin(before, atOnce)) rest.learn(place)
    else if (!awaitTurn(before, blockedAfter - atOnce)) {
      await tell(before, askedAt)
      Atomics.wait(shared, 0, before)
    }
  }
}

async function tell(before: number, askedAt: bigint): Promise<void> {
  const elapsed = (): number => Number((process.hrtime.bigint() - askedAt) / 1_000_000n)
  const found = await inspectMain(before)
  // whoever debugs it may let it stand for as long as they like
  if (found === 'held') return
  if (data.exits && turns() === before) endProgram({ ...found, ms: elapsed() })
  parentPort?.postMessage({ ...found, ms: elapsed(), since: turns() === before ? askedAt : undefined })
  // nobody hears of an event before the loop turns
  if (data.prints && !awaitTurn(before, lost)) print({ ...found, ms: elapsed() }, 'and goes on')
}

function endProgram(finding: Finding): void {
  print(finding, 'the program ends')
  process.kill(process.pid, 'SIGKILL')
}

function print(finding: Finding, outcome: string): void {
  const lines = finding.stack.map((frame) => `\n    at ${frame}`).join('')
  try {
    writeSync(2, `caduceus: ${blockedText(finding)}: ${outcome}${lines}\n`)
  } catch {
    // standard error is closed
  }
}

function turns(): number {
  return Atomics.load(shared, 0)
}

/** Sleeps. */
function pause(ms: number): void {
  Atomics.wait(shared, 1, 0, ms)
}

function turnsWithin(before: number, ms: number): boolean {
  return Atomics.wait(shared, 0, before, ms) !== 'timed-out'
}

/** False if the loop did not turn for so long, as far as that is its own fault. */
function awaitTurn(before: number, ms: number): boolean {
  const step = ms / 4
  for (let late = 0; late < ms; ) {
    const start = performance.now()
    const first = mainThreadTimes()
    if (turnsWithin(before, step)) return true
    // This thread did not run either: the program was stopped, or the machine slept.
    const passed = Math.min(performance.now() - start, 2 * step)
    const { ran, waited } = mainThreadTimes()
    // Time in which the main thread was ready and got no processor is nobody's fault. A wait that goes on is
    // not counted by the system yet: of a thread that is ready, only what it ran is known to be its own.
    const own = isReady() ? ran - first.ran : passed - (waited - first.waited)
    late += Math.max(0, Math.min(own, passed))
  }
  return false
}

/** Milliseconds that it ran, and that it was ready and got no processor; without a system that says so, 0. */
function mainThreadTimes(): { readonly ran: number; readonly waited: number } {
  const [ran = 0, waited = 0] = (ofMainThread('schedstat') ?? '').split(' ').map(Number)
  return { ran: ran / 1e6, waited: waited / 1e6 }
}

function isReady(): boolean {
  return ofMainThread('syscall')?.startsWith('running') === true
}

/** The system call in which it sleeps, and its first argument; undefined if it runs, or nobody knows. */
function mainThreadIsAt(): string | undefined {
  return /^\d+ \w+/.exec(ofMainThread('syscall') ?? '')?.[0]
}

function ofMainThread(file: string): string | undefined {
  try {
    return readFileSync(`/proc/self/task/${process.pid}/${file}`, 'latin1')
  } catch {
    return undefined
  }
}

type Found = Pick<Finding, 'owner' | 'stack'>

interface Frame {
  readonly callFrameId: string
  readonly functionName: string
  readonly location: { readonly scriptId: string; readonly lineNumber: number }
}

/**
 * Pauses the main thread for as long as it takes to read its stack. Native code does not pause: the code that
 * called it does, at its next statement. `held`: a debugger has paused it.
 */
async function inspectMain(before: number): Promise<Found | 'held'> {
  const session = new Session()
  let isEnabled = false
  try {
    session.connectToMainThread()
    const paused = new Promise<Frame[] | 'held'>((resolve) =>
      session.once('Debugger.paused', ({ params }) =>
        // one that is paused already says so before it is enabled
        resolve(isEnabled ? (params.callFrames as unknown as Frame[]) : 'held'),
      ),
    )
    const urls = new Map<string, string>()
    session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url))
    session.post('Debugger.enable', () => (isEnabled = true))
    session.post('Debugger.pause')
    const frames = await Promise.race([paused, givenUp(before)])
    if (frames === 'held') return frames
    const [top, ...others] = frames
    // it turned meanwhile: what is found then is not what held it
    const isFound = top !== undefined && turns() === before
    const stack = isFound ? [top, ...others].slice(0, deepest).map((frame) => show(frame, urls)) : []
    const owner = isFound ? await ownerIn(session, top) : undefined
    // with a debugger beside, the end of the session does not end the pause
    if (top !== undefined) session.post('Debugger.resume')
    return { owner, stack }
  } catch {
    return { owner: undefined, stack: [] } // there is no inspector in this program
  } finally {
    session.disconnect()
  }
}

/** Resolves when the loop has turned, or when nobody can wait for it any longer. */
function givenUp(before: number): Promise<never[]> {
  const start = performance.now()
  const timeout = data.exits ? 1_000 : lost
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (turns() === before && performance.now() - start < timeout) return
      clearInterval(timer)
      resolve([])
    }, 20)
  })
}

/** Whose code runs, asked in the paused frame itself, whose async context it has. */
function ownerIn(session: Session, { callFrameId }: Frame): Promise<Finding['owner']> {
  const expression = `(() => {
    const token = globalThis[Symbol.for('caduceus.containment.2')]?.scope.getStore()
    if (token === undefined) return undefined
    const { name, afterlife, owner } = token
    const ancestors = []
    for (let at = owner?.parent; at; at = at.parent) ancestors.push(at.name)
    const id = owner?.serves?.id
    return { name, tree: afterlife?.tree ?? 0, ancestors, serves: id?.slice?.(0, 200) ?? id }
  })()`
  return new Promise((resolve) => {
    setTimeout(resolve, 1_000, undefined)
    session.post(
      'Debugger.evaluateOnCallFrame',
      { callFrameId, expression, silent: true, returnByValue: true },
      (_error, answer) => resolve(answer?.result.value as Finding['owner']),
    )
  })
}

function show({ functionName, location }: Frame, urls: ReadonlyMap<string, string>): string {
  const file = urls.get(location.scriptId) ?? 'unknown'
  return `${functionName === '' ? '(anonymous)' : functionName} (${file}:${location.lineNumber + 1})`
}
