// Takes the orders of a runner on the fourth pipe, one after another, in this one process.
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { inspect } from 'node:util'
import type { Choice } from './suite.js'

/** What every order says: where the facts of a test file go, and its folder for temporary files. */
export interface Order {
  readonly facts: string
  readonly folder: string
}

/** A test file to load, which of its tests run, and what is done when they have. */
export interface Plan {
  readonly href: string
  readonly choice?: Choice
  close?(): void
}

/** Runs the test file that `plan` names for each order, and ends the process after the last one. */
export async function takeOrders<Given extends Order>(plan: (order: Given) => Plan): Promise<never> {
  // uvu looks at this when it is loaded: it starts nothing by itself then.
  Object.assign(globalThis, { UVU_DEFER: true })
  const { exec } = await import('uvu')
  const { beginFile } = await import('./suite.js')
  const { reportTo } = await import('./report.js')
  const runner = new Socket({ fd: 3 })
  for await (const line of createInterface({ input: runner })) {
    await take(JSON.parse(line) as Given)
    runner.write('done\n')
  }
  process.exit()

  async function take(order: Given): Promise<void> {
    const env = { ...process.env }
    process.env.TMPDIR = order.folder
    Object.assign(globalThis, { UVU_QUEUE: [[null]] })
    reportTo(order.facts)
    const { href, choice, close } = plan(order)
    const end = beginFile(choice)
    try {
      await import(href)
      await exec()
      await end()
    } catch (error) {
      console.error(inspect(error))
      await end(error)
    } finally {
      restoreEnvironment(env)
      close?.()
    }
  }
}

function restoreEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
}
