import { equal, is, match, ok } from 'uvu/assert'
import type { ClusterEngine, Engine } from 'caduceus/server'
import { type EngineBench, engineSuite, type EngineSuiteOptions } from 'caduceus/testing'
import { fakeEngine } from '../../scripts/sim/store/engine.js'
import { suite } from '../support/suite.js'

const test = suite('engineSuite')

test('an engine that keeps its promises passes, and what it lacks is skipped by name', async () => {
  const all = collected(() => ({ at: () => fakeEngine().at('m') }))
  const some = collected(benchOf(), { lacks: ['outage', 'silence', 'loss', 'listeners', 'expiry'] })
  equal(all.skipped, [])
  is(some.tests.size + some.skipped.length, all.tests.size)
  ok(some.skipped.includes('a silent engine delays a second, then not at all (silence)'))
  is(await some.failureOf('a session has one owner, which others are told'), undefined)
})

test('an engine that forgets who owns a session fails by name', async () => {
  const forgetful = collected(benchOf(() => ({ save: async () => true })))
  const promise = 'a node cannot save a session that another node owns, or claimed anew'
  ok(await forgetful.failureOf(promise))
  const twice = collected(
    benchOf((engine) => ({
      claim: async (claim) => {
        const claimed = await engine.claim(claim)
        return claimed.type === 'owned' ? { type: 'claimed', epoch: 1 } : claimed
      },
    })),
  )
  ok(await twice.failureOf('a session has one owner, which others are told'))
  ok(await twice.failureOf('of nodes that claim a session at the same time one gets it'))
})

test('a bench without a hand has to say so', async () => {
  const { failureOf } = collected(benchOf())
  match(String(await failureOf('an unreachable engine fails to open')), 'the bench has no stop')
})

test('the bench is closed after all engines, also when a test fails', async () => {
  const seen: string[] = []
  const { failureOf } = collected(() => {
    const engine = fakeEngine().at('m')
    const at = (): ClusterEngine => ({
      ...engine,
      async open(ctx, as) {
        ctx.own(() => void seen.push('engine'))
        const opened = await engine.open(ctx, as)
        return changed(opened, { take: () => Promise.reject(new Error('it takes nothing')) })
      },
    })
    return { at, close: () => void seen.push('bench') }
  })
  is(await failureOf('nothing is sent to an absent node'), undefined)
  match(String(await failureOf('messages without room are refused together')), 'it takes nothing')
  equal(seen, ['engine', 'engine', 'bench', 'engine', 'engine', 'bench'])
})

test.run()

/** The tests that the suite defines, by name; nothing runs before `failureOf`. */
function collected(start: () => EngineBench, options?: EngineSuiteOptions) {
  const tests = new Map<string, () => Promise<void>>()
  const skipped: string[] = []
  const define = Object.assign((name: string, fn: () => Promise<void>) => tests.set(name, fn), {
    skip: (name: string) => skipped.push(name),
  })
  engineSuite(define, start, options)
  const failureOf = (name: string): Promise<unknown> =>
    (tests.get(name) ?? (() => Promise.reject(new Error(`no test ${name}`))))().then(
      () => undefined,
      (error: unknown) => error,
    )
  return { tests, skipped, failureOf }
}

function benchOf(change: (engine: Engine) => Partial<Engine> = () => ({})): () => EngineBench {
  return () => {
    const shared = fakeEngine()
    let places = 0
    const at = (): ClusterEngine => {
      places += 1
      const engine = shared.at(`machine ${places}`)
      const open: ClusterEngine['open'] = async (ctx, as) => {
        const opened = await engine.open(ctx, as)
        return changed(opened, change(opened))
      }
      return { ...engine, open }
    }
    return { at }
  }
}

/** The same, with some methods of its own. */
function changed(engine: Engine, own: Partial<Engine>): Engine {
  return new Proxy(engine, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return own[name as keyof Engine]
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
