import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { repository } from '../house/sources.mjs'
import { contents, everyPage } from './contents.mjs'

/** Writes `llms.txt` (llmstxt.org): every page with a line of what it is about, as Markdown beside the pages; `llms-full.txt` has them all. */
export function writeTexts(out) {
  for (const path of ['README.md', ...everyPage]) {
    mkdirSync(dirname(join(out, 'text', path)), { recursive: true })
    cpSync(join(repository, path), join(out, 'text', path))
  }
  const groups = contents.map(
    ({ title, pages }) => `## ${title}\n\n${pages.map((path) => `- ${link(path)}`).join('\n')}\n`,
  )
  const head =
    '# Caduceus\n\n> MCP clients and servers for Node as supervised processes: whatever dies comes back.\n'
  writeFileSync(join(out, 'llms.txt'), [head, `- ${link('README.md')}\n`, ...groups].join('\n'))
  writeFileSync(join(out, 'llms-full.txt'), ['README.md', ...everyPage].map(read).join('\n\n'))
}

/** A page's title, and the first sentence of it. */
function link(path) {
  const text = read(path)
  const title = /^# (.+)$/m.exec(text)?.[1] ?? path
  const about = text
    .split('\n\n')
    .find((block) => /^[A-Z`[]/.test(block) && !block.startsWith('```'))
    ?.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .split(/(?<=[.:?]) /)[0]
  return `[${title}](text/${path})${about === undefined ? '' : `: ${about}`}`
}

function read(path) {
  return readFileSync(join(repository, path), 'utf8')
}
