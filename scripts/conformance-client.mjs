// npm run --silent conformance:client -- URL: the client that the official suite runs, once for each scenario. What a scenario tells it is in
// MCP_CONFORMANCE_SCENARIO and MCP_CONFORMANCE_CONTEXT; without them it lists, reads and calls all that a server has. The revision it finds out by itself.
import { runMirrored } from './conformance/run-mirror.mjs'

const [url, ...more] = process.argv.slice(2)
if (url === undefined || more.length > 0 || !URL.canParse(url)) {
  console.error(
    'usage: npm run --silent conformance:client -- URL, where URL is the address of an MCP server',
  )
  process.exitCode = 2
} else {
  await runMirrored('client.ts')
}
