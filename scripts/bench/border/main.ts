import { definePeer } from '../../../runtime/peers/peer.js'
import type { RefOf } from '../../../runtime/process/ref.js'
import { startActor } from '../../../runtime/process/root.js'
import { residentBytes } from '../linux.js'
import { median, ratePerSecond } from '../measure.js'
import echo from './echo.js'

const kinds = ['here', 'thread', 'process'] as const
type Kind = (typeof kinds)[number]
type Echo = RefOf<typeof echo>

const module = new URL('./echo.js', import.meta.url)
const small = { text: 'a'.repeat(20), count: 1, tags: ['a', 'b'] }
const starts = 10

/**
 * What a border costs. Absolute figures are this machine's; `here` is an actor of this program, for ratios.
 */
async function main(): Promise<void> {
  for (const kind of kinds) {
    console.log(`${kind}:`)
    const peer = await start(kind)
    const one = await ratePerSecond(5_000, async (count) => {
      for (let i = 0; i < count; i++) await peer.call('echo', small)
    })
    const many = await ratePerSecond(20_000, async (count) => {
      for (let left = count; left > 0; left -= 500)
        await Promise.all(Array.from({ length: 500 }, () => peer.call('echo', small)))
    })
    print('a call, one at a time', (1_000_000 / one).toFixed(1), 'µs')
    print('calls, 500 at a time', Math.round(many), '/s')
    await peer.stop()
    if (kind === 'here') continue
    print('start to ready', median(await repeat(starts, () => startTime(kind))).toFixed(0), 'ms')
    print('memory of an idle one', (await memory(kind)).toFixed(0), 'MB')
    const ends = await repeat(5, () => endOfSpin(kind))
    print(
      'kill of one that spins to the callers error',
      median(ends.map(({ told }) => told)).toFixed(1),
      'ms',
    )
    print('kill of one that spins to its release', median(ends.map(({ gone }) => gone)).toFixed(1), 'ms')
  }
}

void main()

function start(kind: Kind): Promise<Echo> {
  if (kind === 'here') return startActor(echo)
  return startActor(definePeer<typeof echo>({ kind, module }), undefined, {
    startTimeout: 30_000,
    logger: false,
  })
}

async function startTime(kind: Kind): Promise<number> {
  const since = performance.now()
  const peer = await start(kind)
  const ms = performance.now() - since
  await peer.stop()
  return ms
}

/** Of a process, what it has in memory; of a thread, what this program has more. */
async function memory(kind: Kind): Promise<number> {
  const some = 8
  const before = process.memoryUsage.rss()
  const peers = await Promise.all(Array.from({ length: some }, () => start(kind)))
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  const used =
    kind === 'thread'
      ? (process.memoryUsage.rss() - before) / some
      : median(await Promise.all(peers.map(async (peer) => residentBytes(await peer.call('pid')))))
  await Promise.all(peers.map((peer) => peer.stop()))
  return used / 2 ** 20
}

async function endOfSpin(kind: Kind): Promise<{ told: number; gone: number }> {
  const peer = await start(kind)
  peer.cast('spin')
  const lost = peer.call('pid', undefined, { timeout: 60_000 }).catch(() => performance.now())
  await new Promise((resolve) => setTimeout(resolve, 200))
  const stopped = peer.stop({ type: 'shutdown' }, 60_000).catch(() => {})
  const since = performance.now()
  peer.kill()
  const told = ((await lost) as number) - since
  await stopped
  return { told, gone: performance.now() - since }
}

async function repeat<T>(times: number, measure: () => Promise<T>): Promise<T[]> {
  const all: T[] = []
  for (let i = 0; i < times; i++) all.push(await measure())
  return all
}

function print(what: string, value: number | string, unit: string): void {
  console.log(`  ${what.padEnd(46)}${String(value).padStart(10)} ${unit}`)
}
