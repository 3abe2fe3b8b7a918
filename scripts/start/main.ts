import { parseArgs } from 'node:util'
import { formatTree, http, inspect, type Observation, observe, withClient } from '../../index.js'
import { acts, askEverybody, type Outcome, play } from './acts.js'
import { createScreen, type Screen } from './screen.js'
import { setStage, type Stage } from './stage.js'

const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, keep: { type: 'boolean', default: false } },
})
void main()

/**
 * The main job on real input: one supervised tree of MCP clients and servers, broken in every way it promises to survive.
 * `--json` prints the facts instead of the story, `--keep` leaves the tree up until Ctrl-C, and shows it in a browser.
 */
async function main(): Promise<void> {
  const screen = createScreen(values.json)
  const begin = performance.now()
  const stage = await setStage()
  await using view = values.keep
    ? await observe({ name: 'demonstration', port: 0, actions: true })
    : undefined
  if (view !== undefined) screen.line(`To see it live, open ${view.url}`)
  try {
    const outcomes = await tellStory(stage, screen)
    const facts = {
      ok: outcomes.every(wentOn),
      seconds: Math.round(performance.now() - begin) / 1_000,
      outcomes,
    }
    screen.heading(
      facts.ok ? 'Whatever died came back, and nobody else noticed.' : 'Something did not come back.',
    )
    if (values.json) console.log(JSON.stringify(facts, null, 2))
    process.exitCode = facts.ok ? 0 : 1
    if (view !== undefined) await interrupted(screen, stage, view)
  } finally {
    await stage.close()
  }
}

async function tellStory(stage: Stage, screen: Screen): Promise<Outcome[]> {
  screen.heading('One supervised tree of MCP clients and servers')
  screen.tree(formatTree(inspect(stage.tree.ref)))
  const { tools } = await stage.everything.listTools()
  screen.line(
    `\n   everything has ${tools.length} tools; files reads ${stage.folder}; counters listens on ${stage.server.url}`,
  )
  let counters = await askEverybody(stage)
  screen.line(`   a one-off client counts in a session of its own: ${await countOnce(stage)}`)
  screen.line(`   the counters of the three sessions: ${counters.join(', ')}`)
  const outcomes: Outcome[] = []
  for (const [i, act] of acts.entries()) {
    const outcome = await play(act, stage)
    outcomes.push(outcome)
    screen.outcome(outcome, i + 1)
    if (outcome.counters.some((count, session) => count !== (counters[session] ?? 0) + 1)) break
    counters = [...outcome.counters]
  }
  return outcomes
}

/** A client for one call, which leaves nothing behind. */
function countOnce({ server }: Stage): Promise<string> {
  return withClient(
    { transport: http(server.url ?? '') },
    async (client) => (await client.callTool('count')).text,
  )
}

/** Every session has counted once in every act so far, and nothing else. */
function wentOn({ counters }: Outcome, i: number): boolean {
  return counters.length === 3 && counters.every((count) => count === i + 2)
}

function interrupted(screen: Screen, stage: Stage, view: Observation): Promise<void> {
  screen.line(`\nStill up: ${stage.server.url}. Ctrl-C ends it.`)
  screen.line(`Its processes are seen, and killed, at ${view.url}`)
  // The servers are children of this process and in groups of their own: they end with the tree.
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => resolve())
  })
}
