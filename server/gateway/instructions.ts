import { cut } from '../../runtime/base/cut.js'

/** Characters of the instructions of one server: every session is told them, and hosts read some thousand. */
const longest = 16_384
/** Of all servers, as they are told. */
const mostOfAll = 262_144

/** What servers say of themselves, by their names, and whose instructions are cut or left out. */
export function instructionsOf(servers: Iterable<readonly [name: string, instructions: string]>): {
  readonly sections: ReadonlyMap<string, string>
  readonly cuts: readonly string[]
} {
  const sections = new Map<string, string>()
  const cuts: string[] = []
  let room = mostOfAll
  for (const [name, instructions] of servers) {
    const isWhole = instructions.length <= longest
    const text = quotedInstructions(name, isWhole ? instructions : `${cut(instructions, longest)} ...`)
    const fits = text.length <= room
    if (!isWhole || !fits) cuts.push(name)
    if (!fits) continue
    sections.set(name, text)
    room -= text.length
  }
  return { sections, cuts }
}

/**
 * Instructions of one server, to stand below its name. Each of its lines is quoted: whatever it begins
 * (headings of any kind, tags, fences of code) ends with the quotation, and is nobody else's.
 */
export function quotedInstructions(name: string, instructions: string): string {
  const lines = instructions.trim().split(/\r\n?|[\n\v\f\u0085\u2028\u2029]/)
  return [`# ${name}`, '', ...lines.map((line) => `> ${line}`.trimEnd())].join('\n')
}
