import { parseArgs } from 'node:util'
import { http, inspect, type Observation, observe, withClient } from '../../index.js'
import { acts, askEverybody, type Outcome, play } from './acts.js'
import { markedLines } from './changes.js'
import { createScreen, type Screen } from './screen.js'
import { setStage, type Stage } from './stage.js'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    step: { type: 'boolean', default: false },
  },
})
void main()

/**
 * The main job on real input: one supervised tree of MCP clients and servers, broken in every way it promises to survive.
 * `--json` prints the facts instead of the story, `--keep` leaves the tree up until Ctrl-C, and shows it in a browser, `--step`
 * waits for a key before each act.
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
    else
      screen.line(
        'To watch it live in a browser: npm start -- --keep; one act at a time: npm start -- --step',
      )
  } finally {
    await stage.close()
  }
}

async function tellStory(stage: Stage, screen: Screen): Promise<Outcome[]> {
  screen.heading('One MCP server with three users, two servers of others, and eight mishaps')
  for (const line of [
    'All of them are parts of one program, which starts each of its parts again when that ends.',
    'After each mishap everybody is asked: the counter of each user has to go on.\n',
  ])
    screen.line(`   ${line}`)
  const begin = inspect(stage.tree.ref)
  screen.tree(markedLines(begin, begin))
  const { tools } = await stage.everything.listTools()
  screen.line(
    `\n   everything has ${tools.length} tools; files reads ${stage.folder}; counters listens on ${stage.server.url}`,
  )
  let counters = await askEverybody(stage)
  screen.line(`   a one-off client counts in a session of its own: ${await countOnce(stage)}`)
  screen.line(`   the counters of the three sessions: ${counters.join(', ')}`)
  const keys = values.step ? process.stdin[Symbol.asyncIterator]() : undefined
  const outcomes: Outcome[] = []
  for (const [i, act] of acts.entries()) {
    if (keys !== undefined) await nextKey(screen, act.title, keys)
    const outcome = await play(act, stage)
    outcomes.push(outcome)
    screen.outcome(outcome, i + 1)
    if (outcome.counters.some((count, session) => count !== (counters[session] ?? 0) + 1)) break
    counters = [...outcome.counters]
  }
  await keys?.return?.()
  screen.heading('The same tree after all that (*: another process than at the beginning)')
  screen.tree(markedLines(begin, inspect(stage.tree.ref)))
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

/** Any key goes on; Ctrl-C ends the program as ever. Without a terminal, a line does. */
async function nextKey(screen: Screen, title: string, keys: AsyncIterator<unknown>): Promise<void> {
  screen.line(`\n   Next: ${title}. Press a key.`)
  const isTerminal = process.stdin.isTTY === true
  if (isTerminal) process.stdin.setRawMode(true)
  const { value } = await keys.next()
  if (isTerminal) process.stdin.setRawMode(false)
  if (String(value) === '\u0003') process.kill(process.pid, 'SIGINT')
}

function interrupted(screen: Screen, stage: Stage, view: Observation): Promise<void> {
  screen.line(`\nStill up: ${stage.server.url}. Ctrl-C ends it.`)
  screen.line(`Its processes are seen, and killed, at ${view.url}`)
  // The servers are children of this process and in groups of their own: they end with the tree.
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => resolve())
  })
}
