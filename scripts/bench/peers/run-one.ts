import { openHttpClient, openStdioClient, withServer } from './clients.js'
import { cold } from './cold.js'
import { cpuPerRequest } from './load.js'
import { type Entrant, type Figures, type Scenario, within } from './measure.js'
import { openModern } from './modern.js'
import { openSessions } from './sessions.js'
import { openStdio } from './stdio.js'

type Measure = (entrants: readonly Entrant[], profiles: string | undefined) => Promise<Figures>

const [scenario = '', entrants = '[]', profiles] = process.argv.slice(2)
/** Milliseconds for one round of one scenario; whoever started this process waits a little longer. */
const patience = 90_000
const measures: Readonly<Record<Scenario, Measure>> = {
  session_c16: (all, folder) => cpuPerRequest(all, (module) => openSessions(module, folder)),
  modern_c16: (all, folder) => cpuPerRequest(all, (module) => openModern(module, 0, folder)),
  modern200_c16: (all, folder) => cpuPerRequest(all, (module) => openModern(module, 200, folder)),
  stdio_c64: (all, folder) => cpuPerRequest(all, (module) => openStdio(module, folder)),
  cold,
  http_client_c16: (all, folder) =>
    withServer((url) => cpuPerRequest(all, (module) => openHttpClient(module, url, folder))),
  stdio_client_c16: (all, folder) => cpuPerRequest(all, (module) => openStdioClient(module, folder)),
}
void run()

/** One round of one scenario; prints the figures. The load on servers is made here; servers and clients are children, which end with this process. */
async function run(): Promise<void> {
  const measure = measures[scenario as Scenario]
  const figures = await within(measure(JSON.parse(entrants) as Entrant[], profiles), patience, scenario)
  process.stdout.write(`${JSON.stringify(figures)}\n`, () => process.exit(0))
}
