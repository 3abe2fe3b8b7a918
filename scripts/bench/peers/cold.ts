import { complain } from './load.js'
import { type Entrant, type Figures, within } from './measure.js'
import { initialize } from './messages.js'
import { startBare } from './measured-process.js'

const starts = 7
const patience = 10_000

/**
 * From the start of node to the first answer on standard output: milliseconds of seven, in turn, after one that
 * does not count.
 */
export async function cold(entrants: readonly Entrant[]): Promise<Figures> {
  const runs = entrants.map((entrant) => ({ ...entrant, times: [] as number[], failed: false }))
  for (let i = 0; i <= starts; i++) {
    for (const run of runs) {
      if (run.failed) continue
      try {
        const time = await startOnce(run.module)
        if (i > 0) run.times.push(time)
      } catch (error) {
        run.failed = true
        complain(run.name, error)
      }
    }
  }
  return Object.fromEntries(runs.flatMap(({ name, failed, times }) => (failed ? [] : [[name, times]])))
}

async function startOnce(module: string): Promise<number> {
  const start = performance.now()
  const server = startBare(module)
  try {
    server.input.write(`${initialize}\n`)
    let answer = ''
    const answered = new Promise<number>((resolve) => {
      server.output.on('data', (chunk) => {
        answer += chunk
        if (answer.includes('"serverInfo"')) resolve(performance.now() - start)
      })
    })
    return await within(Promise.race([answered, server.diesEarly()]), patience, 'the first answer')
  } finally {
    await server.end()
  }
}
