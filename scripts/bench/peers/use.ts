import { drive, type Stretch } from './drive.js'
import type { Contender, ServerOfClient } from './measure.js'
import { echoed } from './messages.js'

type Order = 'cpu' | 'end' | { readonly drive: Stretch }

const [module = '', server = '{}'] = process.argv.slice(2)
const callers = 16
/** Milliseconds after which a client that was forgotten ends by itself. */
const longestLife = 120_000
void use()

/** One contender as a client process: connects, makes calls when it is told to, tells its CPU when asked, and ends with the IPC channel. */
async function use(): Promise<void> {
  setTimeout(() => process.exit(1), longestLife).unref()
  process.on('disconnect', () => process.exit())
  const { contender } = (await import(module)) as { contender: Contender }
  const echo = await contender.client(JSON.parse(server) as ServerOfClient)
  const call = async (): Promise<void> => {
    const text = await echo(echoed)
    if (text !== echoed) throw new Error(`echo: got ${String(text).slice(0, 300)}`)
  }
  const lanes = Array.from({ length: callers }, () => call)
  process.on('message', (order: Order) => {
    if (order === 'cpu') process.send?.({ cpu: process.cpuUsage() })
    else if (order === 'end') process.exit()
    // a call that fails ends the process, with the error on standard error
    else void drive(lanes, order.drive).then((count) => process.send?.({ count }))
  })
  process.send?.({ ready: {} })
}
