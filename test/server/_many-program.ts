import { startServer } from 'caduceus/server'
import { serveStdio } from 'caduceus/transports'
import { manyDefinition } from './_many.js'

// node _many-program.js [gate] [limits as JSON]
const [gate = '64', limits = '{}'] = process.argv.slice(2)
await startServer(manyDefinition(Number(gate)), { transport: serveStdio(), limits: JSON.parse(limits) })
