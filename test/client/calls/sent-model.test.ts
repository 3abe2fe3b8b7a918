// second tier: time
// time limit: 120 s
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import * as assert from 'uvu/assert'
import { type CallOptions, type Client, ClientError } from 'caduceus/client'
import { CaduceusError, createFakeClock } from 'caduceus/runtime'
import { stdio } from 'caduceus/transports'
import { inRoot } from '../../support/root.js'
import { suite } from '../../support/suite.js'
import { type Entry, type Fate, fates, LedgerServer, looks } from './_ledger.js'
import { watch } from '../_raw.js'

const test = suite('calls against the ledger of the server')
const runs = Number(process.env.MODEL_RUNS ?? 300)

const processRuns = 15
const program = inRoot('test', 'client', 'calls', '_ledger-server.mjs')

const kinds = ['changes', 'looks', 'reads'] as const

/** How a call is made. */
interface Made {
  readonly type: 'call'
  readonly kind: (typeof kinds)[number]
  readonly retry: CallOptions['retry']
  readonly timeout: number
  readonly wait: boolean
}

type Step =
  | Made
  | {
      readonly type: 'list' | 'drop' | 'refuse' | 'client' | 'transport' | 'close' | 'reconnect'
    }
  | { readonly type: 'advance'; readonly ms: number }
  | { readonly type: 'abort'; readonly call: number }

const call: fc.Arbitrary<Made> = fc.record({
  type: fc.constant('call'),
  kind: fc.constantFrom(...kinds),
  retry: fc.constantFrom(undefined, 'safe', 'never'),
  timeout: fc.constantFrom(50, 1_000, 60_000),
  wait: fc.boolean(),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: call },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('advance'),
      ms: fc.constantFrom(1, 60, 2_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('abort'), call: fc.nat(5) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constantFrom('list', 'list', 'drop', 'refuse', 'client', 'transport', 'reconnect', 'close'),
    }),
  },
)

/** What a caller was told. */
interface Outcome {
  readonly made: Made
  readonly key: string
  times: number
  error: unknown
}

async function turns(): Promise<void> {
  for (let i = 0; i < 8; i++) await new Promise(setImmediate)
}

function make(client: Client, { kind, retry, timeout, wait }: Made, key: string, signal: AbortSignal) {
  const options: CallOptions = {
    timeout,
    wait,
    signal,
    ...(retry !== undefined && { retry }),
  }
  if (kind === 'reads') return client.request('resources/read', { uri: key }, { ...options, fresh: true })
  return client.callTool(kind === 'looks' ? looks : 'changes', { key }, options)
}

test(
  'property: each call settles once, its sent flag is true, no retry without leave',
  async (t) => {
    const property = fc.asyncProperty(
      fc.constantFrom('handshake' as const, 'modern' as const),
      fc.array(fc.constantFrom(...fates), { maxLength: 12 }),
      fc.array(step, { minLength: 1, maxLength: 14 }),
      async (era, given, steps) => {
        const clock = createFakeClock()
        const server = new LedgerServer(given as Fate[], era)
        const { client, kill } = watch(t, {
          transport: server.transport,
          era,
          clock,
          backoff: { base: 100, cap: 400, random: () => 1 },
          retryBudget: { perMinute: 3 },
        })
        server.kill = kill
        const outcomes: Outcome[] = []
        const controllers: AbortController[] = []
        const unheard: unknown[] = []
        const begin = (made: Made): void => {
          const outcome: Outcome = {
            made,
            key: `call-${outcomes.length}`,
            times: 0,
            error: undefined,
          }
          const controller = new AbortController()
          outcomes.push(outcome)
          controllers.push(controller)
          make(client, made, outcome.key, controller.signal).then(
            () => (outcome.times += 1),
            (error: unknown) => {
              outcome.times += 1
              outcome.error = error
            },
          )
        }
        await turns()
        for (const one of steps) {
          if (one.type === 'call') begin(one)
          else if (one.type === 'advance') await clock.advance(one.ms)
          else if (one.type === 'abort') controllers[one.call]?.abort()
          else if (one.type === 'drop') server.drop()
          else if (one.type === 'refuse') server.refusals += 2
          else if (one.type === 'list')
            client.request('tools/list', {}, { timeout: 50 }).catch((error) => unheard.push(error))
          else if (one.type === 'reconnect') client.reconnect().catch((error) => unheard.push(error))
          else if (one.type === 'close') client.close().catch((error) => unheard.push(error))
          else kill(one.type)
          await turns()
        }
        for (let minute = 0; minute < 2; minute++) {
          await clock.advance(61_000)
          await turns()
        }
        const closing = client.close()
        await clock.advance(10_000)
        await closing
        await turns()
        for (const outcome of outcomes) judge(outcome, server.entry(outcome.key))
      },
    )
    await fc.assert(property, { numRuns: runs })
  },
  { timeout: 60_000 },
)

const realFate = fc.constantFrom('answered', 'dies', 'leaves', 'silent')
const realCall = fc.record({
  retry: fc.constantFrom(undefined, 'safe', 'never'),
  fates: fc.array(realFate, { minLength: 1, maxLength: 2 }),
  timeout: fc.constantFrom(40, 500),
})

test(
  'property: the same holds for servers killed by their calls',
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'ledger-'))
    t.after(() => rmSync(folder, { recursive: true }))
    let run = 0
    const property = fc.asyncProperty(
      fc.array(realCall, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      async (calls, isClosedEarly) => {
        run += 1
        const file = join(folder, String(run))
        writeFileSync(file, '')
        const transport = stdio({
          command: process.execPath,
          args: [program, file],
          stopTimeout: 100,
        })
        const { client } = watch(t, { transport })
        await client.ready()
        const outcomes = calls.map(({ retry, fates: order, timeout }, at) => {
          const key = `call-${at}`
          const made: Made = {
            type: 'call',
            kind: 'changes',
            retry,
            timeout,
            wait: true,
          }
          const outcome: Outcome = { made, key, times: 0, error: undefined }
          const options = { timeout, ...(retry !== undefined && { retry }) }
          const settled = client.callTool('any', { key, fates: order }, options).then(
            () => {
              outcome.times += 1
            },
            (error: unknown) => {
              outcome.times += 1
              outcome.error = error
            },
          )
          return { outcome, settled }
        })
        if (isClosedEarly) await outcomes[0]?.settled
        else await Promise.all(outcomes.map(({ settled }) => settled))
        await client.close()
        await Promise.all(outcomes.map(({ settled }) => settled))
        const lines = readFileSync(file, 'utf8').split('\n')
        for (const { outcome } of outcomes) {
          const times = lines.filter((line) => line === outcome.key).length
          judge(outcome, { seen: times, done: times, asked: 0 })
        }
      },
    )
    await fc.assert(property, { numRuns: processRuns })
  },
  { timeout: 60_000 },
)

function judge({ made, key, times, error }: Outcome, { seen, done, asked }: Entry): void {
  const { retry, kind } = made
  const story = `${key} ${JSON.stringify(made)}: seen ${seen}, done ${done}, ${String(error)}`
  assert.is(times, 1, story)
  const mayRepeat = retry === 'safe' || (retry === undefined && kind !== 'changes')
  // each round is a request of its own, which may get lost once
  assert.ok(done <= (mayRepeat ? 2 + asked : 1), story)
  if (error === undefined) return assert.ok(done > 0, story)
  if (!(error instanceof CaduceusError)) throw error
  if (!(error instanceof ClientError)) return assert.ok(seen > 0, story)
  const { sent } = error.data as { readonly sent: boolean }
  assert.type(sent, 'boolean', story)
  if (!sent) assert.is(seen, 0, story)
  assert.is(error.retryable, mayHelp(error), story)
}

/** Whether another try may fare better. */
function mayHelp({ code, cause }: ClientError): boolean {
  if (code === 'REQUEST_FAILED') return cause instanceof CaduceusError && cause.retryable
  if (code === 'CONNECTION_LOST') return !(cause instanceof CaduceusError && cause.code === 'UNAUTHORIZED')
  return ['TIMEOUT', 'NOT_READY', 'SESSION_NOT_FOUND', 'QUEUE_FULL'].includes(code)
}

test.run()
