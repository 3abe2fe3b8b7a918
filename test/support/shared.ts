// Runs the test files that the runner names on its fourth pipe, one after another, in this one process. What a file leaves behind
// is told as the failure of that file, so that the next one finds the process as new.
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'

/** What the runner asks for: a transpiled file, where its facts go, and its folder for temporary files. */
interface Order {
  readonly file: string
  readonly facts: string
  readonly folder: string
}

// uvu looks at this when it is loaded: it starts nothing by itself then.
Object.assign(globalThis, { UVU_DEFER: true })
const { exec } = await import('uvu')
const { beginFile } = await import('./suite.js')
const { reportTo } = await import('./report.js')
const runner = new Socket({ fd: 3 })

for await (const line of createInterface({ input: runner })) {
  await runFile(JSON.parse(line) as Order)
  runner.write('done\n')
}
process.exit()

async function runFile({ file, facts, folder }: Order): Promise<void> {
  const env = { ...process.env }
  process.env.TMPDIR = folder
  Object.assign(globalThis, { UVU_QUEUE: [[null]] })
  reportTo(facts)
  const end = beginFile()
  try {
    await import(pathToFileURL(file).href)
    await exec()
    await end()
  } catch (error) {
    console.error(inspect(error))
    await end(error)
  } finally {
    restoreEnvironment(env)
  }
}

function restoreEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
}
