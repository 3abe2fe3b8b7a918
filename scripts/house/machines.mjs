// The pictures of the state machines, as Mermaid draws them, made of the machines themselves.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

/** Where each machine is, and the page that shows it between `<!-- machine NAME -->` and `<!-- end -->`. */
const pictures = [
  { file: 'client/connection/client-machine.ts', name: 'connectionMachine', page: '.github/CONTRIBUTING.md' },
  { file: 'server/holdings/session-machine.ts', name: 'sessionMachine', page: '.github/CONTRIBUTING.md' },
]

/** The pages with their pictures as they should be: path to text. */
export async function drawMachines(root) {
  const pages = new Map()
  for (const { file, name, page } of pictures) {
    if (!existsSync(join(root, file)) || !existsSync(join(root, page))) continue
    const machine = await load(root, file, name)
    const text = pages.get(page) ?? readFileSync(join(root, page), 'utf8')
    const [before, after] = [`<!-- machine ${name} -->\n`, '<!-- end -->']
    const start = text.indexOf(before) + before.length
    const end = text.indexOf(after, start)
    if (start < before.length || end === -1)
      throw new Error(`${page}: no place for ${name}: ${before}${after}`)
    pages.set(page, `${text.slice(0, start)}\`\`\`mermaid\n${drawn(machine)}\n\`\`\`\n${text.slice(end)}`)
  }
  return pages
}

/** Findings for pages whose picture is not that of its machine. */
export async function checkMachines(root) {
  const pages = await drawMachines(root)
  return [...pages]
    .filter(([page, text]) => readFileSync(join(root, page), 'utf8') !== text)
    .map(([path]) => ({
      path,
      line: 1,
      text: 'the picture is not of its machine: node scripts/machines.mjs',
    }))
}

async function load(root, file, name) {
  const options = { bundle: true, write: false, format: 'esm', platform: 'node', logLevel: 'warning' }
  const stdin = { contents: `export { ${name} } from './${file}'`, resolveDir: root, loader: 'ts' }
  const { outputFiles } = await build({ ...options, stdin, banner: { js: requireHere } })
  const module = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`)
  return module[name]
}

/** Some packages are CommonJS, which a bundle of ES modules has no `require` for. */
const requireHere = `import { createRequire } from 'node:module'; const require = createRequire(${JSON.stringify(import.meta.url)});`

function drawn({ root }) {
  const lines = ['stateDiagram-v2', `  [*] --> ${root.initial.target[0].key}`]
  for (const state of Object.values(root.states)) {
    for (const [event, transitions] of state.transitions)
      for (const { target, guard, reenter } of transitions) {
        // without a target nothing changes
        if (target === undefined || (target[0] === state && !reenter)) continue
        lines.push(`  ${state.key} --> ${target[0].key}: ${labelOf(event, guard)}`)
      }
    if (state.type === 'final') lines.push(`  ${state.key} --> [*]`)
  }
  for (const [event, transitions] of root.transitions)
    for (const { target } of transitions)
      if (target !== undefined)
        lines.push(`  ${target[0].key}`, `  note right of ${target[0].key}: ${event}, from any`)
  return lines.join('\n')
}

/** A delay is an event of its own: `xstate.after.backoff.connection.disconnected`. */
function labelOf(event, guard) {
  const [, delay] = /^xstate\.after\.(\w+)\./.exec(event) ?? []
  const label = delay === undefined ? event : `after ${delay}`
  return guard === undefined ? label : `${label} [${typeof guard === 'string' ? guard : guard.type}]`
}
