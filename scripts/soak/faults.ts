import type { Verb } from '../sim/history/history.js'
import type { Host } from './host.js'
import type { TcpProxy } from '../../test/support/tcp-proxy.js'

/** What a fault may do besides. */
export interface FaultScope {
  /** From here on calls in flight of whoever is concerned may be lost. */
  cut(): void
  /** The server, which nobody could reach, is back. */
  back(): void
  between(low: number, high: number): number
  wait(ms: number): Promise<void>
}

/** One way in which something breaks, until it works again. */
export interface Fault {
  readonly kind: string
  readonly verb: Verb
  /** How likely it is, beside the others of its target. Default: 1. */
  readonly weight?: number
  /** Clients may give up their sessions. */
  readonly outlastsPatience?: boolean
  run(scope: FaultScope): Promise<void>
}

/** Something that breaks, and whom that concerns. */
export interface Target {
  readonly name: string
  readonly clients: readonly string[]
  /** How likely it is, beside the others, to be the next. */
  readonly weight: number
  readonly faults: readonly Fault[]
}

/** The longest that something stands still, in ms: nobody loses a connection by that. */
const longestPause = 3_000
/** The shortest and the longest, in ms, that a server is frozen for so long that clients lose patience. */
const longFreeze = [8_000, 20_000] as const

/** How a server that listens breaks; only one of ours can be told to. */
export function hostFaults(host: Host, ours: boolean): readonly Fault[] {
  const restart = async (
    { cut, back, wait, between }: FaultScope,
    end: () => Promise<void>,
  ): Promise<void> => {
    cut()
    await end()
    cut()
    await wait(between(0, 1_500))
    await host.start()
    cut()
    back()
  }
  const told: readonly Fault[] = [
    { kind: 'stop', verb: 'stop', run: (scope) => restart(scope, () => host.stop()) },
    { kind: 'group', verb: 'crash', run: (scope) => tell(scope, host, 'crash') },
    { kind: 'forget', verb: 'forget', run: (scope) => tell(scope, host, 'forget') },
  ]
  return [
    { kind: 'kill', verb: 'kill', run: (scope) => restart(scope, () => host.kill()) },
    { kind: 'freeze', verb: 'freeze', run: (scope) => freeze(scope, (name) => host.signal(name)) },
    {
      kind: 'long freeze',
      verb: 'freeze',
      weight: 0.4,
      outlastsPatience: true,
      run: (scope) => freezeLong(scope, (name) => host.signal(name)),
    },
    ...(ours ? told : []),
  ]
}

/** How the way to a server breaks. */
export function proxyFaults(proxy: TcpProxy): readonly Fault[] {
  return [
    {
      kind: 'reset',
      verb: 'reset',
      async run({ cut }) {
        cut()
        proxy.reset()
      },
    },
    {
      kind: 'half',
      verb: 'cut',
      async run({ cut, wait, between }) {
        proxy.onCut(cut)
        proxy.half()
        await wait(between(100, 1_000))
        proxy.clear()
      },
    },
    {
      kind: 'stall',
      verb: 'cut',
      async run({ wait, between }) {
        proxy.hold()
        await wait(between(200, longestPause))
        proxy.clear()
      },
    },
    {
      kind: 'stall, reset',
      verb: 'cut',
      async run({ cut, wait, between }) {
        proxy.hold()
        await wait(between(200, longestPause))
        cut()
        proxy.reset()
        proxy.clear()
      },
    },
    {
      kind: 'one-way cut',
      verb: 'oneWayCut',
      async run({ cut, wait, between }) {
        proxy.silence(between(0, 1) === 0 ? 'client' : 'server')
        await wait(between(200, longestPause))
        if (between(0, 1) === 0) {
          cut()
          proxy.reset()
        }
        proxy.clear()
      },
    },
    {
      kind: 'delay',
      verb: 'slow',
      async run({ wait, between }) {
        proxy.delay(between(20, 300))
        await wait(between(500, longestPause))
        proxy.clear()
      },
    },
  ]
}

/** How a server that is the child process of a client breaks; `pid` is 0 while there is none. */
export function childFaults(pid: () => number): readonly Fault[] {
  return [
    {
      kind: 'child kill',
      verb: 'kill',
      async run({ cut }) {
        cut()
        signal(pid(), 'SIGKILL')
      },
    },
    {
      kind: 'child freeze',
      verb: 'freeze',
      run(scope) {
        const frozen = pid()
        return freeze(scope, (name) => signal(frozen, name))
      },
    },
  ]
}

/** Something of ours that is killed at once. */
export function killFault(kind: string, kill: () => void): Fault {
  return {
    kind,
    verb: 'crash',
    async run({ cut }) {
      cut()
      kill()
    },
  }
}

async function freeze(
  { wait, between }: FaultScope,
  send: (name: 'SIGSTOP' | 'SIGCONT') => void,
): Promise<void> {
  send('SIGSTOP')
  try {
    await wait(between(200, longestPause))
  } finally {
    send('SIGCONT')
  }
}

/** For as long as some clients wait for a sign of life: they may give it up at any time. */
async function freezeLong(
  { wait, between, cut }: FaultScope,
  send: (name: 'SIGSTOP' | 'SIGCONT') => void,
): Promise<void> {
  const [least, most] = longFreeze
  send('SIGSTOP')
  try {
    for (let left = between(least, most); left > 0; left -= 1_000) {
      cut()
      await wait(Math.min(left, 1_000))
    }
  } finally {
    cut()
    send('SIGCONT')
  }
}

async function tell({ cut, wait }: FaultScope, host: Host, command: 'crash' | 'forget'): Promise<void> {
  cut()
  host.tell(command)
  // Whoever is told last is told within this time.
  await wait(1_000)
  cut()
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    if (pid > 0) process.kill(pid, name)
  } catch (error) {
    // It has ended by itself, or was killed with its client.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
