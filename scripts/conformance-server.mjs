// npm run conformance:server -- --port P: the server that the official suite is run against, alone on 127.0.0.1; prints its URL first.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { floors, repository } from './house/sources.mjs'
import { mirror, transpile } from './house/transpile.mjs'

const broken = await transpile(repository, [...floors, 'test/conformance'])
for (const { text } of broken) console.error(`does not parse: ${text}`)
process.setSourceMapsEnabled(true)
await import(pathToFileURL(join(repository, mirror, 'test', 'conformance', 'server.js')).href)
