// second tier: time
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  childSpec,
  defineActor,
  Registry,
  startActor,
  startSupervisor,
  taskSupervisorSpec,
} from 'caduceus/runtime'
import { type Bell, type ClusterEngine, files, inMemory, type LocalEngine } from 'caduceus/server'
import { type EngineBench, engineSuite } from 'caduceus/testing'
import { LocalEngine as Local } from '../../../server/engine/local-engine.js'
import { type HostRef, hostActor } from '../../../server/processes/host.js'
import { HostedEngine } from '../../../server/processes/hosted-engine.js'
import type { NodeRef } from '../../../server/processes/node-ref.js'
import { suite, type Suite } from '../../support/suite.js'

const long = 60_000
const inMemoryTest = suite('hosted engine in memory', { timeout: 20_000 })
const filesTest = suite('hosted engine in files', { timeout: 20_000 })

engineSuite(definedBy(inMemoryTest), () => hosted(inMemory()), {
  lacks: ['outage', 'silence', 'loss', 'expiry'],
})

engineSuite(
  definedBy(filesTest),
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'caduceus-hosted-'))
    return hosted(files({ folder }), () => rmSync(folder, { recursive: true, force: true }))
  },
  { lacks: ['outage', 'silence', 'loss', 'expiry'] },
)

inMemoryTest.run()
filesTest.run()

/** The engine of a program, which each node asks as a process of that program does. */
async function hosted(engine: LocalEngine, close = (): void => {}): Promise<EngineBench> {
  const registry = new Registry()
  const program = await startSupervisor({
    name: 'program',
    registry,
    logger: false,
    strategy: 'rest_for_one',
    children: [
      taskSupervisorSpec({ name: 'tasks' }, { name: 'tasks' }),
      {
        id: 'engine',
        start(ctx) {
          const tasks = registry.whereis('tasks') as never
          const input = { engine: Local.parts(engine), tasks, maxSessions: 1_000, idleTimeout: long }
          return childSpec(hostActor, input, { name: 'engine' }).start(ctx)
        },
      },
    ],
  })
  const host = registry.whereis('engine') as HostRef
  return {
    at: () => processOf(host),
    close: async () => {
      await program.stop()
      close()
    },
  }
}

const nodeActor = defineActor({
  name: 'node',
  init: (ring: (bell: Bell) => void) => ring,
  cast: { bell: (ring, bell: Bell) => ring(bell) },
})

function processOf(host: HostRef): ClusterEngine {
  const settings = { lease: 2_500, keys: undefined, maxInbox: 10_000, isPrivate: true }
  const engine = new HostedEngine({ name: 'hosted', settings }, host, undefined)
  return {
    name: engine.name,
    settings,
    async open(ctx, { node }) {
      const ref = await startActor(nodeActor, (bell) => engine.ring(bell))
      ctx.own(() => ref.kill())
      await host.call('join', { name: node, ref: ref as unknown as NodeRef })
      return engine.open(ctx)
    },
  }
}

function definedBy(test: Suite) {
  return Object.assign((name: string, fn: () => Promise<void>) => test(name, fn), {
    skip: (name: string) => test.skip(name, 'its program ends with it, and its store has times of its own'),
  })
}
