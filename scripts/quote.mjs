// node scripts/quote.mjs [page ...]: puts programs into the pages that quote them, and what they print.
// A page names a program with `<!-- test/examples/x.ts -->`; a `text` block after it is what the program prints.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { printed, quotedPrograms, withPrograms } from './house/quotes.mjs'
import { listFiles, repository, floors } from './house/sources.mjs'
import { transpile } from './house/transpile.mjs'

const wanted = process.argv.slice(2)
const pages = ['README.md', ...floors.flatMap((floor) => listFiles(repository, floor))].filter((path) =>
  wanted.length > 0 ? wanted.includes(path) : path.endsWith('.md'),
)
await transpile(repository)
for (const page of pages) {
  const text = readFileSync(join(repository, page), 'utf8')
  const outputs = new Map()
  for (const { program, prints } of quotedPrograms(text))
    if (prints) outputs.set(program, await printed(repository, program))
  const renewed = withPrograms(text, (path) => readFileSync(join(repository, path), 'utf8'), outputs)
  if (renewed === text) continue
  writeFileSync(join(repository, page), renewed)
  console.log(page)
}
