import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { firstServer, secondServer } from './_sizes-sdk.js'

// node _sizes-sdk-program.js 1|2: a server of that SDK on standard input and output
if (process.argv[2] === '1') await firstServer().connect(new StdioServerTransport())
else serveStdio(secondServer)
process.stdin.on('end', () => process.exit())
