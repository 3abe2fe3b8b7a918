// node scripts/error-index.mjs: writes the page of all error codes, protocol/errors.md; `npm run check` says when it is stale.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorPage, readErrorIndex } from './house/error-index.mjs'
import { repository } from './house/sources.mjs'

const { text, findings } = readErrorIndex(repository)
for (const finding of findings) console.error(`${finding.path}:${finding.line} ${finding.text}`)
if (text === undefined) process.exitCode = 1
else writeFileSync(join(repository, errorPage), text)
