import { defineServer, defineTool, field, serveHttp, startClient, startServer, http } from '../../index.js'
import { Network } from './network/network.js'
import { takeSockets } from './network/take-sockets.js'
import { takeGlobals } from './world/globals.js'
import { Program } from './world/program.js'
import { Simulator } from './world/simulator.js'
import { Trace } from './world/trace.js'

const [seed = '1', tell] = process.argv.slice(2)
const log = console.log
const real = performance.now.bind(performance)
async function once(seed: number, tell: boolean): Promise<void> {
  const start = real()
  const simulator = new Simulator(seed, new Trace(tell ? log : undefined))
  const network = new Network(simulator)
  const host = new Program(simulator, 'host', '127.0.0.1')
  const undo = [takeGlobals(host, simulator.native), takeSockets(network)]
  const s = new Program(simulator, 'server', '127.0.0.2')
  const c = new Program(simulator, 'client', '127.0.0.3')
  const append = defineTool({
    name: 'append',
    session: true,
    input: { value: field.string() },
    async run({ value }, ctx) {
      return String(await ctx.update('list', (list: unknown = []) => [...(list as string[]), value]))
    },
  })
  const definition = defineServer({ name: 'sim', version: '1', tools: [append] })
  let done = false
  const main = async (): Promise<void> => {
    const server = await s.enter(() =>
      startServer(definition, { transport: serveHttp({ host: '127.0.0.2', port: 3000 }), clock: s.world, logger: false, onBlocked: 'ignore' }),
    )
    simulator.note('main', `server at ${server.url}`)
    const client = await c.enter(() =>
      startClient({ transport: http('http://127.0.0.2:3000/mcp'), clock: c.world, logger: false, onBlocked: 'ignore' }),
    )
    const all = []
    for (let i = 0; i < 200; i++) {
      const call = c.enter(() => client.callTool('append', { value: `v${i}` }).then((r) => simulator.note('main', `call ${i}: ${r.text?.length}`)))
      all.push(call)
      if (i % 10 === 9) await Promise.all(all)
    }
    await Promise.all(all)
    simulator.note('main', 'stops')
    await c.enter(() => client.close())
    await s.enter(() => server.stop())
    done = true
  }
  main().catch((error) => {
    log(error)
    done = true
  })
  const end = await simulator.run({ until: 600_000, done: () => done })
  const before = simulator.now
  const rest = await simulator.run({ until: 1_200_000 })
  for (const each of undo.reverse()) each()
  log(seed, end, rest, before, simulator.steps, simulator.trace.end().slice(0, 16), `${(real() - start).toFixed(0)} ms`)
}
for (let i = 0; i < 3; i++) await once(Number(seed), tell === 'tell')
await once(Number(seed) + 1, false)
