// npm run api -- 'what changes for users': writes the reports of the public API, and the page of all names,
// from the declarations.
//   node scripts/api.mjs ['a sentence']
// A report that changes needs the sentence: it goes into the section "Unreleased" of CHANGELOG.md, with the
// digest of the reports. `npm run check` looks for that digest, so nobody changes the API without a word to
// users.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { checkApi, digestOf } from './house/api-digest.mjs'
import { namesPage, readApi } from './house/api.mjs'
import { repository } from './house/sources.mjs'

process.exitCode = await main(process.argv.slice(2).join(' ').trim())

async function main(sentence) {
  const api = await readApi(repository)
  if (api === undefined) return 1
  const changed = [...api].filter(([path, text]) => textOf(path) !== text).map(([path]) => path)
  const needed = changed.some((path) => path !== namesPage) || checkApi(repository).length > 0
  if (needed && sentence === '') {
    console.error(
      `api: ${changed.join(', ') || 'CHANGELOG.md'}: say what changes for users: npm run api -- 'a sentence'`,
    )
    return 1
  }
  for (const path of changed) {
    mkdirSync(dirname(join(repository, path)), { recursive: true })
    writeFileSync(join(repository, path), api.get(path))
    console.log(path)
  }
  if (needed) tell(sentence)
  return 0
}

/** Adds a line to the part "API" of what is not released, which is its first. */
function tell(sentence) {
  const path = join(repository, 'CHANGELOG.md')
  const text = readFileSync(path, 'utf8')
  const line = `- ${sentence} (API ${digestOf(repository)})\n`
  const part = '\n## Unreleased\n\nAPI\n\n'
  const renewed = text.includes(part)
    ? text.replace(part, () => `${part}${line}`)
    : text.replace('\n## Unreleased\n', () => `${part}${line}`)
  writeFileSync(path, renewed)
  console.log('CHANGELOG.md')
}

function textOf(path) {
  return existsSync(join(repository, path)) ? readFileSync(join(repository, path), 'utf8') : undefined
}
