// Which mutant is on in this program. The host of test files says so in its own thread; threads and programs that tests start read it.
import { appendFileSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const key = Symbol.for('caduceus mutant')

/** Where the number that is on stands, with the file for the numbers that programs come by, when somebody wants to know. */
export const statePath = fileURLToPath(new URL('./switch.json', import.meta.url))

globalThis[key] ??= readState()
const state = globalThis[key]

/** True where the mutant of this number takes the place of the code; whoever gathers numbers is told of it. */
export function isOn(number) {
  state.seen?.(number)
  return state.on === number
}

function readState() {
  const { on, log } = read()
  if (log === undefined) return { on }
  const seen = new Set()
  const note = (number) => {
    if (seen.has(number)) return
    seen.add(number)
    tryTo(() => appendFileSync(log, `${number}\n`))
  }
  return { on, seen: note }
}

function read() {
  return tryTo(() => JSON.parse(readFileSync(statePath, 'utf8'))) ?? { on: 0 }
}

/** A program that may neither read nor write here runs as it is. */
function tryTo(work) {
  try {
    return work()
  } catch {
    return undefined
  }
}
