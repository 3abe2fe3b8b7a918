import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { repository } from '../house/sources.mjs'
import { contents, everyPage } from './contents.mjs'
import { read, titleOf } from './pages.mjs'

/** Writes `llms.txt` (llmstxt.org): every page with a line of what it is about, as Markdown beside the pages; `llms-full.txt` has them all. */
export function writeTexts(out, { options, doors }) {
  for (const path of ['README.md', ...everyPage]) {
    mkdirSync(dirname(join(out, 'text', path)), { recursive: true })
    cpSync(join(repository, path), join(out, 'text', path))
  }
  writeFileSync(join(out, 'text', 'options.md'), options)
  const groups = contents.map(
    ({ title, pages }) => `## ${title}\n\n${pages.map((path) => `- ${link(path)}`).join('\n')}\n`,
  )
  const head =
    '# Caduceus\n\n> MCP clients and servers for Node as supervised processes: whatever dies comes back.\n'
  const others = [
    '## Beyond pages\n',
    '- [All options](text/options.md): tables of the options of all functions, with types and defaults.',
    ...doors.map(({ name, place }) => `- [${name}](${place}/index.html): what each of its exports promises.`),
    '- [Everything in one file](llms-full.txt)\n',
  ]
  const all = [head, `- ${link('README.md')}\n`, ...groups, others.join('\n')]
  writeFileSync(join(out, 'llms.txt'), all.join('\n'))
  writeFileSync(join(out, 'llms-full.txt'), ['README.md', ...everyPage].map(read).join('\n\n'))
}

/** A page's title, and the first sentence of it; the page of a room has the name of the room. */
function link(path) {
  const text = read(path)
  const title = titleOf(path)
  const about = text
    .split('\n\n')
    .find((block) => /^[A-Z`[]/.test(block) && !block.startsWith('```'))
    ?.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return `[${title}](text/${path})${about === undefined ? '' : `: ${firstSentence(about)}`}`
}

/** Up to the first full stop that ends a sentence and is not within code. */
function firstSentence(text) {
  const ends = [...text.matchAll(/[.?!](?= |$)/g)].map(({ index }) => index + 1)
  const end = ends.find((at) => text.slice(0, at).split('`').length % 2 === 1) ?? text.length
  return text.slice(0, end).replace(/:$/, '.')
}
