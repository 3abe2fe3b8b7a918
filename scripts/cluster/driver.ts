import { setTimeout as sleep } from 'node:timers/promises'
import { Registry, startSupervisor } from 'caduceus'
import { Caller, callTimeout } from '../soak/calls.js'
import { HistoryLog } from '../soak/history-log.js'
import { startPace } from '../soak/pace.js'
import { createRandom } from '../soak/random.js'
import { joinCluster, type Participant } from './callers.js'
import { machineNow } from './clock.js'
import type { DriverCommand, DriverNews, DriverOrder } from './driver-words.js'

/** Milliseconds between two looks at whose turn it is. */
const lookEvery = 20
/** Milliseconds in which a change is told. */
const changeWithin = 5_000
/** Milliseconds after which everything that was opened anew is there. */
const calm = 3_000
/** Clients that are brought in at once. */
const atOnce = 10

const order = JSON.parse(process.argv[2] ?? '{}') as DriverOrder
const now = (): number => machineNow() - order.begun
const history = new HistoryLog(order.folder, now)
/** On a machine that has little time for us, calls of the day's rate would only pile up. */
const pace = startPace(() => [process.pid])
const counts = { calls: 0, open: 0, codes: new Map<string, number>() }
const random = createRandom(order.seed)
const caller = new Caller(
  {
    now,
    history,
    ledger: {
      begin() {
        counts.calls += 1
        counts.open += 1
      },
      settle(_id, { code }) {
        counts.open -= 1
        counts.codes.set(code, (counts.codes.get(code) ?? 0) + 1)
      },
    },
  },
  random,
)
const tree = await startSupervisor({
  name: 'driver',
  strategy: 'one_for_one',
  registry: new Registry(),
  logger: false,
})
const participants: Participant[] = []
for (let i = 0; i < order.places.length; i += atOnce)
  participants.push(
    ...(await Promise.all(
      order.places.slice(i, i + atOnce).map((place) => joinCluster(place, order.url, tree, history)),
    )),
  )
const timers: NodeJS.Timeout[] = []
process.on('message', (command: DriverCommand) => void obey(command))
process.once('disconnect', () => process.exit())
tell({ type: 'ready' })

async function obey(command: DriverCommand): Promise<void> {
  if (command === 'begin') begin()
  if (command === 'finish') {
    const wrong = await finish()
    history.flush()
    tellCalls()
    tell({ type: 'finished', wrong })
  }
  if (command !== 'close') return
  await Promise.all(participants.map((one) => one.close().catch(() => {})))
  await tree.stop()
  pace.stop()
  process.disconnect()
}

function begin(): void {
  const { callEvery } = order
  const turns = participants.map((one) => ({ one, next: pace.now() + random.between(0, callEvery) }))
  const calls = setInterval(() => {
    const at = pace.now()
    for (const turn of turns) {
      if (at < turn.next) continue
      turn.next = at + random.between(callEvery * 0.5, callEvery * 1.5)
      caller.any(turn.one)
    }
  }, lookEvery)
  timers.push(calls, setInterval(tellCalls, 2_000))
}

/** Nothing breaks any more: every call is settled, one more succeeds, and whoever listens is told of a change. */
async function finish(): Promise<string[]> {
  const wrong: string[] = []
  for (const timer of timers) clearInterval(timer)
  const end = now() + callTimeout
  while (counts.open > 0 && now() < end) await sleep(20)
  await sleep(calm)
  await Promise.all(
    participants.map(async (one) => {
      const { code, message } = await caller.make(one, 'echo')
      if (code !== 'ok') wrong.push(`last call failed: ${one.name}: ${code} ${message}`)
    }),
  )
  await Promise.all(
    participants
      .filter(({ listens }) => listens)
      .map(async (one) => {
        const before = one.updates
        await caller.make(one, 'touch')
        const late = pace.now() + changeWithin
        while (one.updates === before && pace.now() < late) await sleep(20)
        if (one.updates === before) wrong.push(`subscription dead: ${one.name}`)
      }),
  )
  return wrong
}

function tellCalls(): void {
  tell({ type: 'calls', calls: counts.calls, codes: Object.fromEntries(counts.codes) })
}

function tell(news: DriverNews): void {
  process.send?.(news)
}
