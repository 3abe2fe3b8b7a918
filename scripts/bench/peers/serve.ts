import type { Contender } from './measure.js'

const [module = '', transport = '', more = '0'] = process.argv.slice(2)
/** Milliseconds after which a server that was forgotten ends by itself. */
const longestLife = 120_000
void serve()

/** One contender as a server process: tells its port over IPC, then its CPU whenever it is asked, and ends with the IPC channel. */
async function serve(): Promise<void> {
  setTimeout(() => process.exit(1), longestLife).unref()
  const { contender } = (await import(module)) as { contender: Contender }
  const port = await start(contender)
  if (process.send === undefined) return
  process.on('message', (question) => {
    if (question === 'cpu') process.send?.({ cpu: process.cpuUsage() })
    else process.exit()
  })
  process.on('disconnect', () => process.exit())
  process.send({ ready: { port } })
}

/** The port, where there is one. */
async function start(contender: Contender): Promise<number | undefined> {
  if (transport === 'http') return contender.http()
  if (transport === 'stdio') await contender.stdio()
  else if (contender.modern === undefined) throw new Error(`${module} does not speak 2026-07-28`)
  else return contender.modern(Number(more))
  return undefined
}
