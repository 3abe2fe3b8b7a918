import { ProtocolError } from '../wire/errors.js'
import { readYaml } from './yaml.js'

/** Characters of a front matter; instructions stand below it. */
const maxLength = 65_536

/**
 * The YAML in front of a `SKILL.md`, as a JSON object: what stands between a first line `---` and the next
 * (Agent Skills, SKILL.md format). Loads the package `yaml` at the first call. Rejects with BAD_FRONT_MATTER,
 * naming the line.
 */
export async function readFrontMatter(text: string): Promise<{ [field: string]: unknown }> {
  const begin = /^\uFEFF?---[ \t]*\r?\n/.exec(text)
  if (begin === null) throw bad('line 1: expected ---, which begins the front matter')
  const rest = text.slice(begin[0].length, begin[0].length + maxLength)
  const lines = rest.split(/\r?\n/)
  const end = lines.findIndex((line) => /^(?:---|\.\.\.)[ \t]*$/.test(line))
  const isCut = text.length > begin[0].length + rest.length && end === lines.length - 1
  if (end === -1 || isCut)
    throw bad(`line 1: the front matter has no end: a line --- within ${maxLength} characters`)
  return await readYaml(lines.slice(0, end).join('\n'), 2)
}

function bad(problem: string): ProtocolError {
  return new ProtocolError('BAD_FRONT_MATTER', problem)
}
