import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { officialParts } from './_official-server.js'

serveStdio(await officialParts())
process.stdin.on('end', () => process.exit())
