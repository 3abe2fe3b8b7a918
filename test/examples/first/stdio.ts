import { serveStdio, startServer } from 'caduceus'
import { calculator } from './calculator.js'

await startServer(calculator, { transport: serveStdio() })
