// The client that the official suite runs: node client.mjs URL; the scenario is in the environment.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { repository } from '../house/sources.mjs'
import { mirror } from '../house/transpile.mjs'

process.setSourceMapsEnabled(true)
const { runScenario } = await import(
  pathToFileURL(join(repository, mirror, 'test', 'conformance', 'auth-client.js')).href
)
await runScenario(process.argv[2])
