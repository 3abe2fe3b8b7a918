// Programs that pages quote, and what they print.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { mirror, outputPath } from './transpile.mjs'

const run = promisify(execFile)

const quote =
  /<!-- (test\/examples\/[\w./-]+\.(?:ts|mjs)) -->\n(?:```(?:ts|js)\n[\s\S]*?```\n)?(?:\n```text\n[\s\S]*?```\n)?/g

/** The programs that a page quotes, each with whether it says what the program prints. */
export function quotedPrograms(text) {
  return [...text.matchAll(quote)].map(([block, program]) => ({
    program,
    prints: block.includes('```text\n') || /^test\/examples\/guide\/.*\.ts$/.test(program),
    said: /```text\n([\s\S]*?)```\n$/.exec(block)?.[1],
  }))
}

/** The page with the programs as they are now, and what they print, by `outputs`. */
export function withPrograms(text, read, outputs) {
  return text.replaceAll(quote, (_block, program) => {
    const output = outputs.get(program)
    const language = program.endsWith('.ts') ? 'ts' : 'js'
    const code = `<!-- ${program} -->\n\`\`\`${language}\n${read(program)}\`\`\`\n`
    return output === undefined || output === '' ? code : `${code}\n\`\`\`text\n${output}\`\`\`\n`
  })
}

/** What a program prints on standard output. Rejects when it fails, or runs for more than 30 s. */
export async function printed(root, program, signal) {
  const { stdout } = await run(process.execPath, [join(root, mirror, outputPath(program))], {
    cwd: root,
    timeout: 30_000,
    signal,
  })
  return stdout
}
